# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One-line verbs for scripts and for hands: `. e2e/lab/verbs.sh`, then `gw nft list tables`,
# `h10 ping -c 1 10.10.20.10`. Arguments are joined by spaces and run by the machine's shell.
# LAB_RUN names the running lab, as in lab itself.
# shellcheck source=e2e/lab/paths.sh
[ -n "${RUN-}" ] || . "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

lab_port() {
    [ -f "$RUN/ports" ] || { echo "no lab is running in $RUN" >&2; return 1; }
    sed -n "s/^$1=//p" "$RUN/ports"
}

# on PORT-NAME COMMAND…: over one persistent connection for each machine.
on() {
    local port
    port=$(lab_port "$1") || return 1
    shift
    ssh -q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
        -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 \
        -o ControlMaster=auto -o ControlPath="$(control_path "$port")" -o ControlPersist=600 \
        -i "$IMAGES/id" -p "$port" root@127.0.0.1 "$@"
}

# A unix socket's path has 108 bytes at the most, a build folder may lie deeper.
control_path() { echo "${TMPDIR:-/tmp}/fastpath-lab.$UID.$1"; }

# h30_port tagged|untagged|lease|off: how h30 meets VLAN 30 on lan3.
h30_port() { peers ip netns exec h30 /lab/guest-port "$1"; }

quoted() { printf '%q' "$*"; }

gw() { on GW_SSH "$@"; }

# pids NAME: the gateway's processes of that name, false without one. Not `pgrep -x`: BusyBox
# compares the path a process was started by.
pids() { gw "grep -lxs '$1' /proc/[0-9]*/comm" | cut -d / -f 3 | grep .; }
no_pids() { ! pids "$1" >/dev/null; }

peers() { on PEERS_SSH "$@"; }
h10() { peers ip netns exec h10 sh -c "$(quoted "$@")"; }
h20() { peers ip netns exec h20 sh -c "$(quoted "$@")"; }
h11() { peers ip netns exec h11 sh -c "$(quoted "$@")"; }
h30() { peers ip netns exec h30 sh -c "$(quoted "$@")"; }
isp() { peers ip netns exec isp sh -c "$(quoted "$@")"; }

# our_table: the handle of the daemon's table, a new one each time that the daemon loads it.
our_table() { gw nft -a list table inet fastpath | sed -n '1s/.* # handle //p' | grep .; }

# rules_are_read [HANDLE]: the daemon has read all rules, and its table has another handle. Nothing
# is offloaded between a change of rules and their reading.
rules_are_read() {
    [ "$(our_table)" != "${1-}" ] &&
        gw '! nft list table inet fastpath | grep -q "are being read"'
}

# The page's address.
lab_url() { echo "http://127.0.0.1:$(lab_port GW_HTTP)/fastpath/"; }

# wait_for SECONDS COMMAND…: until COMMAND succeeds; fails at the deadline.
wait_for() {
    poll "$@" >/dev/null 2>&1 || { shift; echo "timed out: $*" >&2; return 1; }
}

# monitor gateway|peers COMMAND: one command of QEMU's monitor.
monitor() {
    (cd "$RUN" && printf '%s\n' "$2" | socat -t 0.5 - "UNIX-CONNECT:$1.monitor") | tr -d '\r'
}

# Faults, each a line of its own.

# cable lan1|lan2|lan3|wan on|off: both ends see their link go or come.
cable() { set_links "$2" "$1"; }
cables_on() { set_links on lan1 lan2 lan3 wan; }

# set_links on|off CABLE…
set_links() {
    local state=$1 lines
    shift
    case $(lab_port MACHINE) in
        uml)
            printf "cable %s $state\n" "$@" >"$RUN/control"
            return
            ;;
        router)
            # Nobody has pulled them.
            [ "$state" = off ] || return 0
            echo "skipped: a router's cables have to be pulled manually"
            return 77
            ;;
    esac
    lines=$(printf "set_link nic-%s $state\n" "$@")
    monitor gateway "$lines" >/dev/null
    monitor peers "$lines" >/dev/null
}

# instance ACTION NAME: a process of the gateway's, see /usr/libexec/lab/instance there. An
# action that the gateway lacks says `skipped: …` and ends with 77, which ends the test as skipped.
instance() { gw /usr/libexec/lab/instance "$@"; }

# The session ends as if the line were cut (KILL) or hung up (TERM); it is dialled again.
pppoe_end() { local signal=${1:-KILL}; instance "${signal,,}" pppoe-wan; }

# The daemon or the ubus broker ends at once; each is started again by its supervisor.
kill_daemon() { instance kill fastpathd; }
restart_broker() { instance term broker; }

# keeps_what_is_written: whether the gateway has a disk; else a test that needs one is left out.
keeps_what_is_written() {
    # shellcheck disable=SC2153 # lab's own variable
    [ ! -f "$RUN/gateway.disk" ] || return 0
    echo "skipped: this gateway has no disk of the lab's, so it forgets all when its power is cut"
    return 77
}

# cut_power [gw]: the gateway loses power; its disk keeps the data
# flushed to it. power_on [gw]: it boots from it, with the same ports of this machine.
cut_power() {
    keeps_what_is_written || return
    local pid
    pid=$(cat "$RUN/gateway.pid")
    : >"$RUN/gateway.off"
    kill -KILL "$pid"
    rm -f "$RUN/gateway.console" "$(control_path "$(lab_port GW_SSH)")"
    # One machine: the peers are without power, too.
    [ "$(lab_port MACHINE)" != uml ] ||
        rm -f "$RUN/peers.console" "$(control_path "$(lab_port PEERS_SSH)")"
    # Until the lab has seen it, it would take it for the machine's own end.
    poll 60 test -e "$RUN/gateway.waits" ||
        { echo "the lab does not see that the gateway is off" >&2; return 1; }
}

power_on() {
    rm -f "$RUN/gateway.off"
    { poll "${BOOT_LIMIT:-$(lab_port BOOT_LIMIT)}" grep -qs "^READY" "$RUN/gateway.console" &&
        poll 30 grep -qs "^READY" "$RUN/peers.console"; } ||
        { echo "the gateway does not boot again; see $RUN/gateway.console" >&2; return 1; }
}
