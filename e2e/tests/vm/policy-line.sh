# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The first WAN goes down: new flows leave by the second within a second, and what an engine has
# for the old ones is gone within 100 ms, on a machine of the reference.
# @long

# shellcheck source=e2e/tests/vm/lib/policy.sh
. "$VM/lib/policy.sh"
# shellcheck source=e2e/tests/vm/lib/captures.sh
. "$VM/lib/captures.sh"

# Milliseconds until what an engine has of the old flows is gone, and until a new flow leaves by the
# other line, on a machine of the reference.
GONE_MS=100
NEW_MS=1000

# One flow that is carried, and new ones all the time.
CARRIED=1 NEW=9

line_back() {
    gw "ip route del default via $H20_4 metric 1000; ip link set wan up
        kill \$(cat /run/e2e/stale.pid); rm -f /run/e2e/stale.*" 2>/dev/null || true
    peers 'rm -f /tmp/e2e/*.pcap'
    servers_back
    gw ubus call network.interface.wan up
    soon 60 wan_is_up
}

# stale ENGINE: watches the carried flow, see stale.pl.
stale() {
    gw 'cat >/run/e2e/stale.pl' <"$VM/lib/stale.pl"
    gw "perl /run/e2e/stale.pl $1 $PORT >/run/e2e/stale.log 2>&1 </dev/null &
        echo \$! >/run/e2e/stale.pid"
    soon 5 gw grep -q ready /run/e2e/stale.log
}
stale_said() { gw sed -n 2p /run/e2e/stale.log; }
stale_is_over() { [ -n "$(stale_said)" ]; }

# goes_down ENGINE COMMAND…: the command takes the first WAN down.
goes_down() {
    local engine=$1 at gone_ms new_ms late_ms
    shift
    gw '[ -r /proc/net/nf_conntrack ]' || skip "the kernel does not list its connections in /proc"
    [ "$(lab_port MACHINE)" = uml ] || skip "the gateway and the captures have two clocks"
    trap line_back EXIT
    PORT=$(fresh_port)
    servers
    begin isp echo-isp "exec /lab/echo 7300 $BOTH_4"
    gw ip route add default via "$H20_4" metric 1000
    if [ "$engine" = flowtable ]; then use flowtable; else ebpf_at tcx; fi
    soon 30 nothing_reloads
    capture isp.access h20.eth0
    peers rm -f /tmp/e2e/enough
    begin h10 carried "exec /tmp/e2e/openers $CARRIED $BOTH_4 7300 $PORT"
    soon 20 on_path "$engine" --proto udp --text ":$PORT"
    begin h10 openers "exec /tmp/e2e/openers $NEW $BOTH_4 7300"
    stale "$engine"
    same "packets by the second WAN before" "$(counted "$SECOND")" 0
    "$@"
    soon 5 stale_is_over
    soon 5 more_counted "$SECOND" 20
    peers touch /tmp/e2e/enough
    captured
    read -r at gone_ms < <(stale_said)
    [ "$(first $NEW h20.eth0)" != 0.000000 ] || fail "no new flow left by the second WAN"
    new_ms=$(after "$at" "$(first $NEW h20.eth0)")
    late_ms=$(after "$at" "$(last $CARRIED isp.access)")
    note "$engine, $*: entries gone after $gone_ms ms, the last packet by the first WAN after" \
        "$late_ms ms, the first new flow by the second after $new_ms ms"
    between "milliseconds until the entries were gone" "$gone_ms" 0 "$(in_ms $GONE_MS)"
    between "milliseconds until the last packet by the first WAN" "$late_ms" 0 "$(in_ms $GONE_MS)"
    between "milliseconds until a new flow left by the second WAN" "$new_ms" 0 "$(in_ms $NEW_MS)"
}

interface_down() { gw ubus call network.interface.wan down; }
port_down() { gw ip link set wan down; }

test_the_interface_goes_down_flowtable() { goes_down flowtable interface_down; }
test_the_interface_goes_down_tcx() { goes_down ebpf interface_down; }
test_the_port_goes_down_flowtable() { goes_down flowtable port_down; }
test_the_port_goes_down_tcx() { goes_down ebpf port_down; }
