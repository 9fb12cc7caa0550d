# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Firewall and routing rules apply to flows offloaded by eBPF.

# arrived PORT: prints the bytes received at h10's port.
arrived() {
    h10 ss -tinH "sport = :$1" | grep -o 'bytes_received:[0-9]*' | cut -d : -f 2
}
more_arrived() { [ "$(arrived "$1")" -gt "$2" ]; }

# forbid END…: has fw4 drop packets from (saddr) or to (daddr) the ISP's server, even of established
# connections. Waits for pending reloads, which would remove the rules.
forbid() {
    local end
    soon 30 nothing_reloads
    for end; do
        echo "insert rule inet fw4 forward ip $end $ISP_4 counter drop comment \"e2e\""
    done | gw nft -f -
}

# shellcheck disable=SC2016 # expanded on the gateway
allow() {
    gw 'nft -a list chain inet fw4 forward | sed -n "s/.*comment \"e2e\" # handle //p" |
        while read -r handle; do nft delete rule inet fw4 forward handle "$handle"; done'
}

# dropped: prints the packets dropped by these rules.
dropped() {
    gw nft list chain inet fw4 forward |
        awk '/comment "e2e"/ { for (i = 1; i < NF; i++) if ($i == "packets") n += $(i + 1) }
            END { print n + 0 }'
}
more_dropped() { [ "$(dropped)" -gt "$1" ]; }

# not_revived PORT: fails if the connection is offloaded again or receives data.
not_revived() {
    local before
    before=$(arrived "$1")
    never 8 on_path ebpf --proto tcp --text "$1"
    same "bytes received when the rules changed" "$(arrived "$1")" "$before"
    # The server keeps sending, and the rules drop its packets.
    soon 40 more_dropped "$(dropped)"
}

continues_over_ebpf() {
    soon 60 more_arrived "$1" "$(arrived "$1")"
    soon 20 on_path ebpf --proto tcp --text "$1"
}

# The rules apply to both directions, or only to requests, so that answers would pass.
# @each saddr | daddr @fault:rule-on-offloaded
# @each daddr
test_dropped_connections_are_not_offloaded() {
    local port
    port=$(fresh_port)
    trap allow EXIT
    use off
    download h10 "$port" "$ISP_4" 300k
    soon 15 more_arrived "$port" 300000
    forbid "$@"
    soon 20 more_dropped 0
    # Queued packets may still arrive.
    until_still 10 arrived "$port"
    engine_ebpf
    not_revived "$port"
    allow
    continues_over_ebpf "$port"
}

# @core
# @fault:rule-on-offloaded
test_a_new_drop_rule_stops_offloaded_connections() {
    local port
    port=$(fresh_port)
    trap allow EXIT
    engine_ebpf
    download h10 "$port" "$ISP_4" 300k
    soon 15 on_path ebpf --proto tcp --text "$port"
    forbid saddr daddr
    soon 20 more_dropped 0
    until_still 10 arrived "$port"
    not_revived "$port"
    allow
    continues_over_ebpf "$port"
}

at_h20() {
    peers ip netns exec h20 nft -j list counter netdev e2e sent | jq '.nftables[1].counter.packets'
}
more_at_h20() { [ "$(at_h20)" -gt "$1" ]; }

leaves_by() { [ "$(newest --proto tcp --text "$1" | jq -r .out_dev)" = "$2" ]; }

test_offloaded_flows_obey_a_new_routing_rule() {
    local port
    port=$(fresh_port)
    trap 'gw "ip -6 rule del from 2001:db8:10::/64 lookup 100
        ip -6 route flush table 100" 2>/dev/null
        peers ip netns exec h20 nft delete table netdev e2e' EXIT
    engine_ebpf
    # The rule covers the prefix, because the host may use any address in it. IPv4 is unsuitable:
    # the kernel ends masqueraded connections when their egress changes.
    download h10 "$port" "$ISP_6" 300k
    soon 15 on_path ebpf --proto tcp --text "$port"
    peers ip netns exec h20 nft -f - <<END
table netdev e2e {
    counter sent { }
    chain in {
        type filter hook ingress device eth0.20 priority 0
        ip6 daddr $ISP_6 counter name sent
    }
}
END
    gw "ip -6 route add default via $H20_6 table 100
        ip -6 rule add from 2001:db8:10::/64 lookup 100"
    soon 20 more_at_h20 0
    soon 5 leaves_by "$port" br-lan.20
    gw 'fastpathctl --json doctor --check policy-routing || true' |
        jq -e '.findings[0].severity == "warning"' >/dev/null || fail "the doctor finds nothing"
    gw ip -6 rule del from 2001:db8:10::/64 lookup 100
    continues_over_ebpf "$port"
}
