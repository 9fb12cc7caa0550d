# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Verbs for scripts and interactive use: `. e2e/lab/verbs.sh`, then `gw nft list tables` or `h10
# ping -c 1 10.10.20.10`. The machine's shell runs the arguments, joined by spaces. LAB_RUN selects
# the running lab.
# shellcheck source=e2e/lab/paths.sh
[ -n "${RUN-}" ] || . "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

lab_port() {
    [ -f "$RUN/ports" ] || { echo "no lab is running in $RUN" >&2; return 1; }
    sed -n "s/^$1=//p" "$RUN/ports"
}

on() {
    local port
    port=$(lab_port "$1") || return 1
    shift
    ssh -q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
        -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 \
        -o ControlMaster=auto -o ControlPath="$(control_path "$port")" -o ControlPersist=600 \
        -i "$IMAGES/id" -p "$port" root@127.0.0.1 "$@"
}

# Not in the build folder, because socket paths are limited to 108 bytes.
control_path() { echo "${TMPDIR:-/tmp}/fastpath-lab.$UID.$1"; }

h30_port() { peers ip netns exec h30 /lab/guest-port "$1"; }

quoted() { printf '%q' "$*"; }

gw() { on GW_SSH "$@"; }

# pids NAME: prints the gateway's PIDs with that name; fails without any. BusyBox's `pgrep -x`
# compares the whole path.
pids() { gw "grep -lxs '$1' /proc/[0-9]*/comm" | cut -d / -f 3 | grep .; }
no_pids() { ! pids "$1" >/dev/null; }

peers() { on PEERS_SSH "$@"; }
h10() { peers ip netns exec h10 sh -c "$(quoted "$@")"; }
h20() { peers ip netns exec h20 sh -c "$(quoted "$@")"; }
h11() { peers ip netns exec h11 sh -c "$(quoted "$@")"; }
h30() { peers ip netns exec h30 sh -c "$(quoted "$@")"; }
isp() { peers ip netns exec isp sh -c "$(quoted "$@")"; }

# our_table: prints the handle of the daemon's table, which changes with each load.
our_table() { gw nft -a list table inet fastpath | sed -n '1s/.* # handle //p' | grep .; }

# rules_are_read [HANDLE]: succeeds if the table has another handle and the daemon has read all
# rules, without which it offloads nothing.
rules_are_read() {
    [ "$(our_table)" != "${1-}" ] &&
        gw '! nft list table inet fastpath | grep -q "are being read"'
}

lab_url() { echo "http://127.0.0.1:$(lab_port GW_HTTP)/fastpath/"; }

wait_for() {
    poll "$@" >/dev/null 2>&1 || { shift; echo "timed out: $*" >&2; return 1; }
}

monitor() {
    (cd "$RUN" && printf '%s\n' "$2" | socat -t 0.5 - "UNIX-CONNECT:$1.monitor") | tr -d '\r'
}


cable() { set_links "$2" "$1"; }
cables_on() { set_links on lan1 lan2 lan3 wan; }

set_links() {
    local state=$1 lines
    shift
    case $(lab_port MACHINE) in
        uml)
            printf "cable %s $state\n" "$@" >"$RUN/control"
            return
            ;;
        router)
            # A router's cables are plugged in.
            [ "$state" = off ] || return 0
            echo "skipped: a router's cables have to be pulled manually"
            return 77
            ;;
    esac
    lines=$(printf "set_link nic-%s $state\n" "$@")
    monitor gateway "$lines" >/dev/null
    monitor peers "$lines" >/dev/null
}

# instance ACTION NAME: controls a process of the gateway; see its /usr/libexec/lab/instance.
# Unsupported actions print `skipped: REASON` and exit with 77, which skips the test.
instance() { gw /usr/libexec/lab/instance "$@"; }

# pppoe_end [KILL|TERM]: kills or terminates pppd, which reconnects.
pppoe_end() { local signal=${1:-KILL}; instance "${signal,,}" pppoe-wan; }

# The supervisor restarts the daemon or the bus.
kill_daemon() { instance kill fastpathd; }
restart_broker() { instance term broker; }

# need_gateway_disk: succeeds if the gateway has a disk; otherwise skips the test.
need_gateway_disk() {
    # shellcheck disable=SC2153 # set by lab
    [ ! -f "$RUN/gateway.disk" ] || return 0
    echo "skipped: this gateway has no disk of the lab's, so it forgets all when its power is cut"
    return 77
}

# cut_power [gw]: cuts the power; only flushed data survives. power_on [gw]: boots with the same
# ports.
cut_power() {
    need_gateway_disk || return
    local pid
    pid=$(cat "$RUN/gateway.pid")
    : >"$RUN/gateway.off"
    kill -KILL "$pid"
    rm -f "$RUN/gateway.console" "$(control_path "$(lab_port GW_SSH)")"
    # User-mode labs are one machine, so the peers stop, too.
    [ "$(lab_port MACHINE)" != uml ] ||
        rm -f "$RUN/peers.console" "$(control_path "$(lab_port PEERS_SSH)")"
    # Without this the lab would treat the power cut as the machine's regular end.
    poll 60 test -e "$RUN/gateway.waits" ||
        { echo "the lab does not see that the gateway is off" >&2; return 1; }
}

power_on() {
    rm -f "$RUN/gateway.off"
    { poll "${BOOT_LIMIT:-$(lab_port BOOT_LIMIT)}" grep -qs "^READY" "$RUN/gateway.console" &&
        poll 30 grep -qs "^READY" "$RUN/peers.console"; } ||
        { echo "the gateway does not boot again; see $RUN/gateway.console" >&2; return 1; }
}
