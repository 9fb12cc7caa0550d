# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Paths of flows, and the reasons for them.

# Time limit in ms from the first packet to the offload, which starts with the first packet after
# establishment.
TAKEN_MS=3000

# taken FLOW: sets TOOK to the milliseconds until the offload, by the daemon's clock.
taken() {
    TOOK=$(ask flow "$(field id "$1")" |
        jq '[.events[] | select(.path == "flowtable")][0].at_ms - .events[0].at_ms')
    note "$(field proto "$1") $(field dst "$1"): in the flowtable after $TOOK ms"
}

# @core
# @each H20_4 H20_6 | br-lan.20 | 20
# @each ISP_4 ISP_6 | pppoe-wan | 35
test_flows_are_offloaded_to() {
    local port flow address=${!1}
    port=$(fresh_port)
    download h10 "$port" "$address"
    talk h10 udp "$address"
    soon 10 on_path flowtable --proto tcp --text "$port"
    flow=$(newest --proto tcp --text "$port")
    taken "$flow"
    same "incoming device" "$(field in_dev "$flow")" br-lan.10
    same "incoming VLAN" "$(field in_vlan "$flow")" 10
    same "incoming zone" "$(field in_zone "$flow")" lan
    same "outgoing device" "$(field out_dev "$flow")" "$2"
    same "outgoing VLAN" "$(field out_vlan "$flow")" "$3"
    # Only IPv4 leases have names.
    [[ $1 == *_6 ]] || same "host's name" "$(field src_name "$flow")" h10
    soon 3 offloaded "$port"
    soon 10 on_path flowtable --proto udp --host "$address"
    flow=$(newest --proto udp --host "$address")
    taken "$flow"
    soon 3 offloaded "$(field sport "$flow")"
}

# @timed
test_flows_are_offloaded_in_time() {
    local address port
    for address in "$H20_4" "$H20_6" "$ISP_4" "$ISP_6"; do
        port=$(fresh_port)
        download h10 "$port" "$address"
        soon 10 on_path flowtable --proto tcp --text "$port"
        taken "$(newest --proto tcp --text "$port")"
        between "ms to the flowtable" "$TOOK" 0 "$TAKEN_MS"
    done
}

test_ping_stays_slow_with_a_reason() {
    begin h10 ping4 "exec ping -i 0.3 $H20_4"
    begin h10 ping6 "exec ping -i 0.3 $ISP_6"
    soon 5 on_path slow/unsupported-protocol --proto icmp
    soon 5 on_path slow/unsupported-protocol --proto icmpv6 --host "$ISP_6"
}

test_flows_to_the_router_are_local() {
    begin h10 ping "exec ping -i 0.3 10.10.10.1"
    soon 5 on_path slow/local --proto icmp --host 10.10.10.1
    # The lab's ssh connection to the management port is local, too.
    soon 5 on_path slow/local --proto tcp --text :22
}

test_a_masqueraded_flow_has_both_addresses() {
    local port flow address
    address=$(wan_address)
    port=$(fresh_port)
    download h10 "$port" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    flow=$(newest --proto tcp --text "$port")
    same source "$(field src "$flow")" 10.10.10.10
    same "translated source" "$(field nat_src "$flow")" "$address"
    same "translated source port" "$(field nat_sport "$flow")" "$port"
    same "translated destination" "$(field nat_dst "$flow")" "$ISP_4"
    same "flows by translated address" \
        "$(newest --host "$address" --text "$port" | jq -r .id)" "$(field id "$flow")"
}

test_a_port_forward_has_both_addresses() {
    local port flow address
    address=$(wan_address)
    port=$(fresh_port)
    gw 'nft -f - <<END
table inet e2e {
    chain dstnat {
        type nat hook prerouting priority dstnat
        iifname "pppoe-wan" tcp dport 8080 dnat ip to 10.10.20.10:80
    }
}
insert rule inet fw4 forward_wan ct status dnat accept comment "e2e"
END'
    begin isp inward "exec curl -sS -o /dev/null --limit-rate 100k --local-port $port" \
        "http://$address:8080/256.bin"
    soon 10 on_path flowtable --proto tcp --text "$port"
    flow=$(newest --proto tcp --text "$port")
    same destination "$(field dst "$flow")" "$address"
    same "destination port" "$(field dport "$flow")" 8080
    same "translated destination" "$(field nat_dst "$flow")" "$H20_4"
    same "translated destination port" "$(field nat_dport "$flow")" 80
    same "incoming zone" "$(field in_zone "$flow")" wan
    same "outgoing zone" "$(field out_zone "$flow")" iot
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'nft delete rule inet fw4 forward_wan handle \
        $(nft -a list chain inet fw4 forward_wan | sed -n "/e2e/s/.*handle //p")'
}

test_an_ended_flow_is_reported() {
    local port
    port=$(fresh_port)
    h10 "curl -gsS -o /dev/null --local-port $port http://[$ISP_6]/index.html"
    soon 5 on_path ended --proto tcp --text "$port"
}
