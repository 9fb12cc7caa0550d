# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # the tests use the names
# A second WAN through h20, and servers with equal addresses behind both WANs.

# Servers that count packets: behind h20 (second) and the ISP (first).
SECOND=second
FIRST=first

# servers: adds a server behind the ISP and one behind h20, the router of the second WAN. The
# addresses are new, because hosts keep sending on interrupted connections.
servers() {
    local host
    servers_back
    BOTH_4=198.18.$((RANDOM % 250)).$((1 + RANDOM % 250))
    BOTH_6=2001:db8:fff0::$((1 + RANDOM % 9999))
    for host in isp h20; do
        peers "printf '%s\n' 'addr add $BOTH_4/32 dev lo' 'addr add $BOTH_6/128 dev lo nodad' |
            ip -n $host -b -
            ip netns exec $host nft -f -" <<END
table inet e2e {
    counter arrived { }
    chain input {
        type filter hook input priority -300
        ip daddr $BOTH_4 counter name arrived
        ip6 daddr $BOTH_6 counter name arrived
    }
}
END
    done
}

servers_back() {
    [ -n "${BOTH_4-}" ] || return 0
    peers "for host in isp h20; do
            printf '%s\n' 'addr del $BOTH_4/32 dev lo' 'addr del $BOTH_6/128 dev lo' |
                ip -n \$host -force -b -
            ip netns exec \$host nft delete table inet e2e
        done" 2>/dev/null || true
}

# counted first|second: prints the packets received by that server.
counted() {
    local host=isp
    [ "$1" = "$FIRST" ] || host=h20
    peers ip netns exec "$host" nft -j list counter inet e2e arrived |
        jq '.nftables[] | select(.counter) | .counter.packets'
}
more_counted() {
    local now
    now=$(counted "$1")
    [ "$now" -gt "$2" ] || { echo "$now"; return 1; }
}

second_wan() {
    gw "ip route add default via $H20_4 table 100
        ip -6 route add default via $H20_6 table 100"
}
