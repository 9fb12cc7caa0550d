# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs a router on the bench as the gateway, connected to the peers' machine by two Ethernet ports
# of this machine. Needs the other parts; see `lab`.
#
# shellcheck disable=SC2034 # machines.sh uses CABLE and WHY
#
# LAB_ROUTER is the initial ssh destination. LAB_LAN and LAB_WAN are ports: HERE, or HERE:THERE if
# the router's names are not lan1 and wan. All LAN hosts share a cable: h10 and h11 untagged, h20
# tagged in VLAN 20. After the setup the router is reached through h10, because this machine is in
# none of its VLANs.

router_ready() {
    local port
    [ "$(id -u)" = 0 ] || die "--router needs root: frames are passed on to Ethernet ports"
    for port in "$LAB_LAN" "$LAB_WAN"; do
        ip link show dev "${port%%:*}" >/dev/null 2>&1 || die "this machine has no port ${port%%:*}"
    done
    need_packages "the router's wires" python3 ethtool iproute2
    router true || die "ssh $LAB_ROUTER does not work without a password; see docs/CONTRIBUTING.md"
}

router() {
    ssh -q -o BatchMode=yes -o ConnectTimeout=10 -o StrictHostKeyChecking=no \
        -o UserKnownHostsFile=/dev/null "$LAB_ROUTER" "$@"
}

# wired NAME PORT: relays frames between the peers' machine and PORT in the background.
wired() {
    ip link set dev "$2" up promisc on mtu 1508
    # Relay frames unmerged.
    ethtool -K "$2" gro off lro off >/dev/null 2>&1 || true
    setpriv --pdeathsig KILL "$LAB/wire" "$2" "$1.wire" "$1.peers" 2>"$1.frames" &
}

# router_cable CABLE: sets CABLE to QEMU's arguments; a hub joins the LAN cables.
router_cable() {
    local name=lan
    [ "$1" != wan ] || name=wan
    local wire="dgram,local.type=unix,local.path=$name.peers"
    wire+=",remote.type=unix,remote.path=$name.wire"
    case $1 in
        wan) CABLE=(-netdev "$wire,id=wan") ;;
        lan1)
            CABLE=(-netdev "$wire,id=wire" -netdev "hubport,id=hub,hubid=1,netdev=wire"
                -netdev "hubport,id=lan1,hubid=1")
            ;;
        *) CABLE=(-netdev "hubport,id=$1,hubid=1") ;;
    esac
}

# keep_router: parent process of the peers' machine and the relays.
keep_router() {
    echo $$ >"$RUN/keeper.pid"
    cd "$RUN" || return
    trap 'end_children; exit 1' TERM INT
    wired lan "${LAB_LAN%%:*}"
    wired wan "${LAB_WAN%%:*}"
    machine peers 2 384 1 on
    # `alive gateway` needs a process.
    cp peers.pid gateway.pid
    wait "$(cat peers.pid)" || true
    end_children
    wait
}

there() { if [[ $1 == *:* ]]; then echo "${1#*:}"; else echo "$2"; fi; }

router_devices() {
    printf '%s\n' "$(there "$LAB_LAN" lan1)" "$(there "$LAB_WAN" wan)" | sort | xargs
}

router_set_up() {
    poll "${BOOT_LIMIT:-90}" console_says peers READY ||
        { not_up "did not come up within ${BOOT_LIMIT:-90} s (BOOT_LIMIT)" && return 1; }
    WHY="$LAB_ROUTER cannot be set up"
    router 'tar -xf - -C /' <"$IMAGES/medium.tar" || return
    # Detached, because the setup changes the router's addresses.
    router "LAB_CONSOLE=/tmp/lab.console LAB_LAN=$(there "$LAB_LAN" lan1) \
        LAB_WAN=$(there "$LAB_WAN" wan) setsid sh /lab/setup </dev/null >/tmp/lab.errors 2>&1 &" ||
        return
    through_h10 GW_SSH 22 && through_h10 GW_HTTP 80
}

# router_words: saves the setup's messages as the gateway's console.
router_words() { gw cat /tmp/lab.console >"$RUN/gateway.console" 2>/dev/null || true; }

# through_h10 NAME PORT: opens a host port that leads to the gateway's PORT through h10.
through_h10() {
    local socket=/run/$1.sock port
    peers "ip netns exec h10 setsid socat UNIX-LISTEN:$socket,fork,unlink-early \
        TCP:10.10.10.1:$2 >/dev/null 2>&1 </dev/null &"
    wait_for 10 peers "[ -S $socket ]" || return
    while port=$((20000 + RANDOM % 20000)); do
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    ssh -q -O forward -o ControlPath="$(control_path "$(lab_port PEERS_SSH)")" \
        -L "127.0.0.1:$port:$socket" root@127.0.0.1 || return
    echo "$1=$port" >>"$RUN/ports"
}
