# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Moves a host to another port of the bridge and checks whether data reaches it.

# received PORT: prints the bytes received by a download of h10 or h11, if any.
received() {
    peers "for host in h10 h11; do ip netns exec \$host ss -tin 'sport = :$1'; done" |
        grep -o 'bytes_received:[0-9]*' | cut -d : -f 2
}

arrives() {
    local now
    now=$(received "$1")
    [ "${now:-0}" -gt "${2:-0}" ] || {
        echo "${now:-the connection has ended}: $(peers cat "/tmp/e2e/tcp$1.log")"
        return 1
    }
}
goes_on() { soon 20 arrives "$1" "$(received "$1")"; }

# mute DEVICE: silences h10's unused port, which has the same addresses as the used one.
mute() {
    printf '%s\n' 'table netdev e2e' 'delete table netdev e2e' 'table netdev e2e {' \
        "chain in { type filter hook ingress device $1 priority 0; policy drop; }" \
        "chain out { type filter hook egress device $1 priority 0; policy drop; }" '}' |
        peers ip netns exec h10 nft -f -
}

# roam TO FROM: moves h10 between lan3 (eth1) and lan1 (eth0).
roam() {
    mute "$2"
    printf '%s\n' "route replace 10.10.10.1/32 dev $1 src 10.10.10.10" \
        "route replace default via 10.10.10.1 dev $1" \
        "route replace 2001:db8:10::1/128 dev $1 src 2001:db8:10::10" \
        "route replace default via 2001:db8:10::1 dev $1" | peers ip -n h10 -b -
}

second_port() {
    peers 'ip -n h11 link set eth0 name p3; ip -n h11 link set p3 netns 1
        ip link set p3 address 52:54:00:02:00:01; ip link set p3 netns h10
        ip -n h10 link set p3 name eth1'
    mute eth1
    peers 'ip -n h10 link set eth1 up
        ip -n h10 addr add 2001:db8:10::10/64 dev eth1 nodad metric 512'
}

home() {
    stop_watching
    printf '%s\n' 'route del 10.10.10.1/32' 'route replace default via 10.10.10.1 dev eth0' \
        'route del 2001:db8:10::1/128' 'route replace default via 2001:db8:10::1 dev eth0' \
        'link set eth1 name p3' 'link set p3 netns 1' | peers ip -n h10 -force -b -
    peers 'ip netns exec h10 nft delete table netdev e2e
        ip -n h20 link set eth0.20 address 52:54:00:02:00:02
        ip link set p3 address 52:54:00:02:00:03; ip link set p3 netns h11'
    printf '%s\n' 'link set p3 name eth0' 'link set eth0 up' 'addr add 10.10.10.11/24 dev eth0' \
        'addr add 2001:db8:10::11/64 dev eth0 nodad' 'route add default via 10.10.10.1' \
        'route add default via 2001:db8:10::1' | peers ip -n h11 -b -
}
