# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel's packet generator. Needs lib.sh, hosts.sh.
#
# Without "!SHARED" its packets are shared with it, and who wants to write to them pays a copy.

# generate COUNT NAMESPACE DEVICE WORD…: sends, and prints how many microseconds it took.
generate() {
    local count=$1 namespace=$2 device=$3
    shift 3
    # shellcheck disable=SC2016 # the inner shell expands it
    TRACE=${TRACE-} ip netns exec "$namespace" bash -c '
        count=$1 device=$2
        shift 2
        echo rem_device_all >/proc/net/pktgen/kpktgend_0
        echo "add_device $device" >/proc/net/pktgen/kpktgend_0
        for word in "count $count" "clone_skb 0" "delay 0" "flag !SHARED" "$@"; do
            echo "$word" >"/proc/net/pktgen/$device" || echo "BENCH FAILED pktgen: $word" >&2
        done
        if [ -n "${TRACE-}" ]; then
            echo "HOST trace $TRACE" >/dev/console
            read -r _ </dev/console
        fi
        echo start >/proc/net/pktgen/pgctrl
        if [ -n "${TRACE-}" ]; then
            echo "HOST traced" >/dev/console
            read -r _ </dev/console
        fi
        sed -n "s/^Result: OK: \([0-9]*\).*/\1/p" "/proc/net/pktgen/$device"
    ' generate "$count" "$device" "$@"
}

# traffic: from the client, in TRAFFIC.
traffic() {
    local last=$FIRST_PORT
    networks
    # The end of the range is not part of it, but where there is one port only.
    [ "$FLOWS" = 1 ] || last=$((FIRST_PORT + FLOWS))
    TRAFFIC=("pkt_size $SIZE" "udp_src_min $FIRST_PORT" "udp_src_max $last"
        "udp_dst_min 9" "udp_dst_max 9" "dst_mac 02:00:00:00:01:01")
    if [ "$IP" = 4 ]; then
        TRAFFIC+=("dst $(address "$TO" 10)" "src_min $(address "$FROM" 10)"
            "src_max $(address "$FROM" 10)")
    else
        TRAFFIC+=("flag IPV6" "dst6 $(address "$TO" 10)" "src6 $(address "$FROM" 10)")
    fi
    [ "$FROM" != 11 ] || TRAFFIC+=("vlan_id $FROM")
    [ "$SUM" = none ] || TRAFFIC+=("flag UDPCSUM")
    ip netns exec c ethtool -K c0 tx "$([ "$SUM" = partial ] && echo on || echo off)" >/dev/null
}

# answers: of the server over PPPoE, to the address that the client got, in ANSWERS.
answers() {
    ANSWERS=("pkt_size $SIZE" "udp_src_min 9" "udp_src_max 9" "udp_dst_min $FIRST_PORT"
        "udp_dst_max $FIRST_PORT" "dst_mac 02:00:00:00:04:01" "flag UDPCSUM"
        "dst $(outside)" "src_min $(address 60 10)" "src_max $(address 60 10)")
}

# A clock that counts instructions: 2 ns are one. For wall-clock time BENCH_unit is ns.
cost_of() {
    if [ "${BENCH_unit-}" = ns ]; then echo $(($1 * 1000 / $2)); else echo $(($1 * 500 / $2)); fi
}

# flow_of COUNT: of the scenario's packets; prints microseconds.
flow_of() {
    if [ "$LINK" = pppoe-in ]; then
        generate "$1" i i0 "${ANSWERS[@]}"
    else
        generate "$1" c c0 "${TRAFFIC[@]}"
    fi
}

# measure ENGINE…: a row each. Connections are there before.
measure() {
    local name count=${BENCH_count:-6000} warm us
    [ "$count" -ge "$FLOWS" ] || count=$FLOWS
    traffic
    answers
    for name; do
        engine "$name"
        warm=$(warming "$name")
        # The client begins.
        [ "$LINK" != pppoe-in ] || generate 3 c c0 "${TRAFFIC[@]}" >/dev/null
        flow_of "$warm" >/dev/null
        us=$(flow_of "$count")
        row "${BENCH_name:-veth}" "$name" "$(cost_of "$us" "$count")"
        check "$name" $((warm + count))
        no_engine "$name"
    done
}

# set_up ENGINE…: the cost of the first three packets of a connection, a row for each.
set_up() {
    local name packet us
    traffic
    for name; do
        unknown "$name"
        for packet in 1 2 3; do
            us=$(flow_of "$FLOWS")
            row setup "$name" "$(cost_of "$us" "$FLOWS")" packet=$packet
        done
        no_engine "$name"
    done
}

# put_entries: the cost of writing a connection's two entries into the map.
put_entries() {
    flow_entries tc
    row setup two-entries $((PUT / FLOWS))
}
