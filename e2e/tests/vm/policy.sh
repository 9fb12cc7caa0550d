# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Routing rules, marks, blackholes and VRFs: with every engine, flows follow the kernel's routes,
# and the page shows them.

# shellcheck source=e2e/tests/vm/lib/policy.sh
. "$VM/lib/policy.sh"

policy_back() {
    servers_back
    gw "ip rule del pref 100; ip -6 rule del pref 100
        ip route flush table 100; ip -6 route flush table 100
        ip link del e2e-vrf; ip link del e2e0" 2>/dev/null || true
}

# leaves PORT DEVICE ZONE LOWEST: succeeds if the daemon reports this egress.
leaves() {
    local flow
    flow=$(newest --proto tcp --text "$1") || return 1
    [ "$(jq -r '.out_dev + " " + .out_zone' <<<"$flow")" = "$2 $3" ] || { echo "$flow"; return 1; }
    says ".ports[1] == \"$4\"" flow "$(field id "$flow")"
}

# stays_off first|second BEFORE: fails if the count of packets at that WAN's server exceeds BEFORE.
stays_off() { same "packets that arrived by the $1 WAN" "$(counted "$1")" "$2"; }

# carried_by_second ENGINE PORT: fails unless the connection is offloaded over the second WAN only.
carried_by_second() {
    local before other
    other=$(counted "$FIRST")
    soon 20 on_path "$1" --proto tcp --text "$2"
    soon 5 leaves "$2" br-lan.20 iot lan2
    before=$(counted "$SECOND")
    soon 20 more_counted "$SECOND" "$before"
    stays_off "$FIRST" "$other"
}

# carried_by_first ENGINE PORT: fails unless the connection is offloaded over the first WAN only.
carried_by_first() {
    local before other
    soon 20 on_path "$1" --proto tcp --text "$2"
    soon 5 leaves "$2" pppoe-wan wan wan
    other=$(counted "$SECOND")
    before=$(counted "$FIRST")
    soon 20 more_counted "$FIRST" "$before"
    stays_off "$SECOND" "$other"
}

# @long
test_a_source_rule_routes_flows_to_the_second_wan() {
    local engine first second
    trap policy_back EXIT
    second_wan
    gw "ip rule add pref 100 from 10.10.10.10 lookup 100
        ip -6 rule add pref 100 from 2001:db8:10::/64 lookup 100"
    for engine in flowtable ebpf; do
        servers
        use "$engine"
        first=$(fresh_port)
        second=$(fresh_port)
        download h10 "$first" "$BOTH_4" 300k
        carried_by_second "$engine" "$first"
        download h10 "$second" "$BOTH_6" 300k
        carried_by_second "$engine" "$second"
        stays_off "$FIRST" 0
        end_traffic
    done
}

# @long
test_flows_follow_a_change_of_rules_and_routes() {
    local port other before
    trap policy_back EXIT
    second_wan
    servers
    use ebpf
    port=$(fresh_port)
    other=$(fresh_port)
    # IPv6, because the kernel ends masqueraded connections when their egress changes.
    download h10 "$port" "$BOTH_6" 300k
    download h11 "$other" "$ISP_4" 300k
    soon 20 on_path ebpf --proto tcp --text "$other"
    carried_by_first ebpf "$port"
    # h20 does not know the connection; it counts and drops the packets.
    before=$(counted "$SECOND")
    gw ip -6 rule add pref 100 from 2001:db8:10::/64 lookup 100
    soon 10 more_counted "$SECOND" "$before"
    on_path ebpf --proto tcp --text "$other" || fail "the other flow has left"
    end "tcp$port"

    servers
    port=$(fresh_port)
    download h10 "$port" "$BOTH_6" 300k
    carried_by_second ebpf "$port"
    before=$(counted "$FIRST")
    gw ip -6 route del default table 100
    soon 10 more_counted "$FIRST" "$before"
    on_path ebpf --proto tcp --text "$other" || fail "the other flow has left"
}

# Marks connections and restores their marks on packets, like mwan3.
marks() {
    gw nft -f - <<END
table inet e2e {
    chain prerouting {
        type filter hook prerouting priority mangle
        iifname "br-lan.10" ip daddr $BOTH_4 ct state new ct mark set ct mark or 0x200
        ct mark and 0x3f00 != 0 meta mark set ct mark and 0x3f00
    }
    chain srcnat {
        type nat hook postrouting priority srcnat
        oifname "br-lan.20" ip saddr 10.10.10.0/24 ip daddr $BOTH_4 masquerade
    }
}
END
}

# @long
test_a_restored_mark_routes_flows_to_the_second_wan() {
    local engine port
    trap policy_back EXIT
    second_wan
    gw "ip route add 10.10.10.0/24 dev br-lan.10 table 100
        ip rule add pref 100 fwmark 0x200/0x3f00 lookup 100"
    for engine in flowtable ebpf; do
        servers
        marks
        use "$engine"
        port=$(fresh_port)
        download h10 "$port" "$BOTH_4" 300k
        carried_by_second "$engine" "$port"
        # An unmarked connection uses the first WAN.
        port=$(fresh_port)
        download h11 "$port" "$ISP_4" 300k
        soon 20 on_path "$engine" --proto tcp --text "$port"
        soon 5 leaves "$port" pppoe-wan wan wan
        stays_off "$FIRST" 0
        gw nft delete table inet e2e
        end_traffic
    done
}

# Without NAT, eBPF cannot verify the mark of a flow.
# @long
test_a_flow_with_an_unproven_mark_is_not_offloaded_by_ebpf() {
    local port before
    trap policy_back EXIT
    servers
    second_wan
    gw "ip -6 rule add pref 100 fwmark 0x200/0x3f00 lookup 100
        nft -f - <<END
table inet e2e {
    chain prerouting {
        type filter hook prerouting priority mangle
        iifname \"br-lan.10\" ip6 daddr $BOTH_6 meta mark set 0x200
    }
}
END"
    use ebpf
    port=$(fresh_port)
    download h10 "$port" "$BOTH_6" 300k
    soon 20 on_path slow/policy-routed --proto tcp --text "$port"
    before=$(counted "$SECOND")
    soon 20 more_counted "$SECOND" "$before"
    stays_off "$FIRST" 0
}

# @long
test_a_blackhole_stops_an_offloaded_flow() {
    local port
    trap policy_back EXIT
    gw "ip route add blackhole default table 100"
    servers
    use ebpf
    port=$(fresh_port)
    download h10 "$port" "$BOTH_4" 300k
    carried_by_first ebpf "$port"
    gw "ip rule add pref 100 to $BOTH_4 lookup 100"
    until_still 20 counted "$FIRST"
    soon 5 on_path slow/policy-routed --proto tcp --text "$port"
    stays_off "$SECOND" 0
}

# @long
test_a_vrf_keeps_all_flows_from_ebpf() {
    local port before
    trap policy_back EXIT
    gw 'ip link add e2e-vrf type vrf table 100' || skip "the kernel has no VRFs"
    gw ip link del e2e-vrf
    servers
    use ebpf
    port=$(fresh_port)
    download h10 "$port" "$BOTH_4" 300k
    carried_by_first ebpf "$port"
    gw "ip link add e2e-vrf type vrf table 100
        ip link add e2e0 type dummy; ip link set e2e0 master e2e-vrf"
    soon 5 on_path slow/policy-routed --proto tcp --text "$port"
    before=$(counted "$FIRST")
    soon 20 more_counted "$FIRST" "$before"
    gw 'ip link del e2e0; ip link del e2e-vrf'
    carried_by_first ebpf "$port"
    use flowtable
    carried_by_first flowtable "$port"
    stays_off "$SECOND" 0
}
