# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# If the first WAN fails, new flows use the second WAN within a second, and the engine's entries of
# old flows are removed within 100 ms on the reference machine.
# @long

# shellcheck source=e2e/tests/vm/lib/policy.sh
. "$VM/lib/policy.sh"
# shellcheck source=e2e/tests/vm/lib/captures.sh
. "$VM/lib/captures.sh"

# Time limits on the reference machine: removal of old entries, and a new flow's first packet by the
# second WAN.
GONE_MS=100
NEW_MS=1000

WORSE=2000

# Ids of the offloaded flow and of new flows.
CARRIED=1 NEW=9

line_back() {
    gw "ip route del default via $H20_4 metric $WORSE
        ip -6 route del default via $H20_6 metric $WORSE
        ip link set wan up
        kill \$(cat /run/e2e/stale.pid); rm -f /run/e2e/stale.*" 2>/dev/null || true
    peers 'rm -f /tmp/e2e/*.pcap'
    servers_back
    gw ubus call network.interface.wan up
    soon 60 wan_is_up
    soon 20 first_wan_has_ipv6
}
first_wan_has_ipv6() { gw "ip -6 route show default dev pppoe-wan | grep -q ."; }

stale() {
    gw 'cat >/run/e2e/stale.pl' <"$VM/lib/stale.pl"
    gw "perl /run/e2e/stale.pl $1 $2 $PORT >/run/e2e/stale.log 2>&1 </dev/null &
        echo \$! >/run/e2e/stale.pid"
    soon 5 gw grep -q ready /run/e2e/stale.log
}
news_at() { gw sed -n 2p /run/e2e/stale.log; }
gone_ms() { gw sed -n 3p /run/e2e/stale.log; }
is_gone() { [ -n "$(gone_ms)" ]; }

# set_up ENGINE FAMILY: offloads a flow over the first WAN, and continuously starts new flows.
set_up() {
    local engine=$1 family=$2 address
    gw '[ -r /proc/net/nf_conntrack ]' || skip "the kernel does not list its connections in /proc"
    [ "$(lab_port MACHINE)" = uml ] || skip "the gateway and the captures have two clocks"
    trap line_back EXIT
    PORT=$(fresh_port)
    servers
    if [ "$family" = 4 ]; then address=$BOTH_4; else address=$BOTH_6; fi
    begin isp echo-isp "exec /lab/echo 7300 $address"
    gw "ip route add default via $H20_4 metric $WORSE
        ip -6 route add default via $H20_6 metric $WORSE"
    engine_at "${engine/ebpf/tcx}"
    soon 30 nothing_reloads
    capture isp.access h20.eth0
    peers rm -f /tmp/e2e/enough
    begin h10 carried "exec /tmp/e2e/openers $CARRIED $address 7300 $PORT"
    soon 20 on_path "$engine" --proto udp --text ":$PORT"
    begin h10 openers "exec /tmp/e2e/openers $NEW $address 7300"
    stale "$engine" "$family"
    same "packets by the second WAN before" "$(counted "$SECOND")" 0
}

entries_end() {
    soon 5 is_gone
    note "entries gone after $(gone_ms) ms"
    between "milliseconds until the entries were gone" "$(gone_ms)" 0 "$(scaled_ms $GONE_MS)"
}

# The kernel ends masqueraded connections, and their entries, when their device goes down. IPv6
# connections survive.
# @each flowtable ebpf | 4 6 | interface_down port_down
test_flows_move_to_the_second_wan_in_time() {
    local engine=$1 family=$2 at new_ms late_ms
    set_up "$engine" "$family"
    "$3"
    # The surviving connection is offloaded again with its next packet, so its entries never vanish.
    [ "$engine$family" = flowtable6 ] || entries_end
    # Wait for more packets than the second WAN gets within NEW_MS.
    soon 5 more_counted "$SECOND" 20
    peers touch /tmp/e2e/enough
    captured
    at=$(news_at)
    [ "$(first $NEW h20.eth0)" != 0.000000 ] || fail "no new flow left by the second WAN"
    new_ms=$(after "$at" "$(first $NEW h20.eth0)")
    late_ms=$(after "$at" "$(last $CARRIED isp.access)")
    note "$engine, IPv$family, $3: the last packet by the first WAN after $late_ms ms," \
        "the first new flow by the second after $new_ms ms"
    between "milliseconds until the last packet by the first WAN" "$late_ms" 0 \
        "$(scaled_ms $GONE_MS)"
    between "milliseconds until a new flow left by the second WAN" "$new_ms" 0 \
        "$(scaled_ms $NEW_MS)"
    [ "$family" = 4 ] || goes_on "$at"
}

# goes_on TIME: without NAT, the offloaded flow itself moves to the second WAN.
goes_on() {
    local moved_ms
    [ "$(first $CARRIED h20.eth0)" != 0.000000 ] || fail "the carried flow has not moved"
    moved_ms=$(after "$1" "$(first $CARRIED h20.eth0)")
    note "the carried flow by the second WAN after $moved_ms ms"
    between "milliseconds until the carried flow left by the second WAN" "$moved_ms" 0 \
        "$(scaled_ms $NEW_MS)"
}

interface_down() { gw ubus call network.interface.wan down; }
port_down() { gw ip link set wan down; }
