# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Latency of the eBPF engine: from an established connection to its entries, and from a change to
# the removal of entries.
# @timed

# Limits of the medians in ms, for adding and for removing entries. Medians tolerate a busy host.
LIVE_MS=20
GONE_MS=100

QUESTION='\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03lab\x07example\0\0\x01\0\x01'

median() { awk '{ line[NR] = $0 } END { print line[int((NR + 1) / 2)] }'; }

# in_time SUBJECT EVENTS OPEN: opens twenty connections one after another. OPEN opens one as
# descriptor 3; EVENTS is the number of conntrack events until it is established.
in_time() {
    local times
    watch
    # @sleep: timed: the rhythm of the traffic
    h10 "bash -c '$(printf 'for i in {1..20}; do %s; sleep 0.1; exec 3>&-; sleep 0.1; done' "$3")'"
    times=$(watched | settled "$2")
    between "$1 that were measured" "$(grep -c . <<<"$times")" 16 20
    note "$1: entries after $(median <<<"$times") ms, $(tail -n 1 <<<"$times") ms at the most"
    between "median of $1 in ms" "$(median <<<"$times")" 0 "$LIVE_MS"
}

test_entries_appear_in_time() {
    need_tracefs
    trap stop_watching EXIT
    engine_ebpf
    in_time "TCP between VLANs" 3 "exec 3<>/dev/tcp/$H20_4/80"
    in_time "TCP over PPPoE, IPv6" 3 "exec 3<>/dev/tcp/$ISP_6/80"
    in_time "UDP over PPPoE" 2 "exec 3<>/dev/udp/$ISP_4/53; echo -ne \"$QUESTION\" >&3"
}

gone() {
    local events port count
    events=$(watched)
    for port; do
        read -r count _ <<<"$(taken_out "$port" 0 <<<"$events")"
        [ "$count" -ge 2 ] || { echo "$port: $count"; return 1; }
    done
}

# Results of `flushes`, in ms.
FLUSHED=()

flushed_in_time() {
    between "median of these in ms" "$(printf '%s\n' "${FLUSHED[@]}" | sort -n | median)" \
        0 "$GONE_MS"
}

# flushes GROUP GONE STAY COMMAND…: COMMAND causes an event of GROUP. Fails unless exactly the
# entries of the connections GONE are removed, and in time.
flushes() {
    local group=$1 gone=$2 stay=$3 events port count took worst=0
    shift 3
    watch
    "$@"
    # shellcheck disable=SC2086 # one port per word
    soon 5 gone $gone
    events=$(watched)
    for port in $gone; do
        read -r count took <<<"$(taken_out "$port" "$group" <<<"$events")"
        between "milliseconds until $port had no entries ($*)" "$took" 0 $((3 * GONE_MS))
        worst=$(printf '%s\n' "$worst" "$took" | sort -n | tail -n 1)
    done
    for port in $stay; do
        read -r count _ <<<"$(taken_out "$port" "$group" <<<"$events")"
        same "entries of $port taken out ($*)" "$count" 0
    done
    FLUSHED+=("$worst")
    note "$*: gone after $worst ms"
}

carried() {
    local port
    for port; do
        goes_on "$port"
        soon 10 on_path ebpf --proto tcp --text "$port"
    done
}

# under_way: starts downloads: h10 from h20 (HERE), h10 from the ISP (OUT4, OUT6), h11 from h20
# (OTHER).
under_way() {
    # Before a test has anything to restore.
    need_tracefs
    engine_ebpf
    HERE=$(fresh_port) OUT4=$(fresh_port) OUT6=$(fresh_port) OTHER=$(fresh_port)
    download h10 "$HERE" "$H20_4"
    download h10 "$OUT4" "$ISP_4"
    download h10 "$OUT6" "$ISP_6"
    download h11 "$OTHER" "$H20_4"
    carried "$HERE" "$OUT4" "$OUT6" "$OTHER"
}

sent_on_by_h11() { [ "$(h11 cat /sys/class/net/eth0/statistics/tx_bytes)" -gt "$1" ]; }

test_route_and_link_changes_remove_entries_in_time() {
    local bytes
    under_way
    trap 'stop_watching; gw "ip route del blackhole 10.10.20.10; ip route del 10.10.10.10
        bridge vlan add dev lan2 vid 20" 2>/dev/null' EXIT
    flushes "$ROUTE" "$HERE $OTHER" "$OUT4 $OUT6" gw ip route add blackhole 10.10.20.10
    gw ip route del blackhole 10.10.20.10
    carried "$HERE" "$OTHER"
    # h11 becomes the next hop to h10.
    h11 'sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 \
        net.ipv4.conf.eth0.send_redirects=0'
    bytes=$(h11 cat /sys/class/net/eth0/statistics/tx_bytes)
    flushes "$ROUTE" "$HERE $OUT4" "$OUT6 $OTHER" gw ip route add 10.10.10.10 via 10.10.10.11
    soon 5 sent_on_by_h11 $((bytes + 200000))
    carried "$HERE" "$OUT4"
    flushes "$ROUTE" "$HERE $OUT4" "$OUT6 $OTHER" gw ip route del 10.10.10.10
    carried "$HERE" "$OUT4"
    # The bridge first flushes the stations at that port.
    flushes "$NEIGHBOUR" "$HERE $OTHER" "$OUT4 $OUT6" gw bridge vlan del dev lan2 vid 20
    gw bridge vlan add dev lan2 vid 20
    carried "$HERE" "$OTHER"
    flushes "$LINK" "$HERE $OTHER" "$OUT4 $OUT6" cable lan2 off
    cable lan2 on
    carried "$HERE" "$OTHER"
    flushed_in_time
}

test_moves_of_hosts_remove_entries_in_time() {
    under_way
    end "tcp$OTHER"
    trap home EXIT
    second_port
    peers ip netns exec h20 sysctl -qw net.ipv4.conf.eth0/20.arp_notify=1
    flushes "$NEIGHBOUR" "$HERE" "$OUT4 $OUT6" \
        peers ip -n h20 link set eth0.20 address 52:54:00:02:00:22
    carried "$HERE"
    flushes "$NEIGHBOUR" "$HERE $OUT4 $OUT6" "" roam eth1 eth0
    carried "$HERE" "$OUT4" "$OUT6"
    flushes "$NEIGHBOUR" "$HERE $OUT4 $OUT6" "" roam eth0 eth1
    carried "$HERE" "$OUT4" "$OUT6"
    flushed_in_time
}

session() { said '.pppoe[0].session' topology; }
reconnected() { [ "$(session)" -gt 0 ] && [ "$(session)" != "$1" ] && wan_is_up; }

# Only the connection without address translation survives the reconnect.
test_a_reconnect_removes_entries_in_time() {
    local before
    under_way
    trap stop_watching EXIT
    before=$(session)
    flushes "$ROUTE6" "$OUT4 $OUT6" "$HERE $OTHER" pppoe_end KILL
    soon 30 reconnected "$before"
    carried "$OUT6" "$HERE"
    note "session $before, then $(session)"
}
