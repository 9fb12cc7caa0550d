# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sends packets with the kernel's generator. Needs lib.sh and hosts.sh.
# "!SHARED" prevents shared packets, which the gateway would have to copy.

# Packets at a time. The generator pauses for 125 ms before each burst.
BURST=1000000
generate() {
    local count=$1 namespace=$2 device=$3
    shift 3
    # shellcheck disable=SC2016 # expanded by the inner shell
    TRACE=${TRACE-} BURST=$BURST ip netns exec "$namespace" bash -c '
        count=$1 device=$2 burst=$((count < BURST ? count : BURST))
        shift 2
        echo rem_device_all >/proc/net/pktgen/kpktgend_0
        echo "add_device $device" >/proc/net/pktgen/kpktgend_0
        for word in "count $burst" "clone_skb 0" "delay 0" "flag !SHARED" "$@"; do
            echo "$word" >"/proc/net/pktgen/$device" || echo "BENCH FAILED pktgen: $word" >&2
        done
        if [ -n "${TRACE-}" ]; then
            echo "HOST trace $TRACE" >/dev/console
            read -r _ </dev/console
        fi
        for ((; count > 0; count -= BURST)); do echo start >/proc/net/pktgen/pgctrl; done
        if [ -n "${TRACE-}" ]; then
            echo "HOST traced" >/dev/console
            read -r _ </dev/console
        fi
        sed -n "s/^Result: OK: \([0-9]*\).*/\1/p" "/proc/net/pktgen/$device"
    ' generate "$count" "$device" "$@"
}

traffic() {
    local last=$FIRST_PORT
    networks
    # pktgen excludes the end of a range unless it equals the begin.
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

# answers: sets ANSWERS to the server's packets over PPPoE to the client's translated address.
answers() {
    ANSWERS=("pkt_size $SIZE" "udp_src_min 9" "udp_src_max 9" "udp_dst_min $FIRST_PORT"
        "udp_dst_max $FIRST_PORT" "dst_mac 02:00:00:00:04:01" "flag UDPCSUM"
        "dst $(outside)" "src_min $(address 60 10)" "src_max $(address 60 10)")
}

# cost_of MICROSECONDS COUNT: prints instructions (2 ns) per packet, or ns with BENCH_unit=ns.
cost_of() {
    if [ "${BENCH_unit-}" = ns ]; then echo $(($1 * 1000 / $2)); else echo $(($1 * 500 / $2)); fi
}

flow_of() {
    case $LINK in
        pppoe-in) generate "$1" i i0 "${ANSWERS[@]}" ;;
        from-*) generate "$1" s d0 "${TRAFFIC[@]}" "${INJECTED[@]}" ;;
        *) generate "$1" c c0 "${TRAFFIC[@]}" ;;
    esac
}

# passed NAME: prints the packets that the dummy device has sent, for `drop` those that came in.
passed() {
    case $1 in
        drop) gw cat "/sys/class/net/$IN/statistics/rx_packets" ;;
        *) gw cat /sys/class/net/dum/statistics/tx_packets ;;
    esac
}

# work NAME COUNT: sets WORK to the busy nanoseconds until COUNT packets have left. The generator's
# own duration lacks the cost of packets that wait for another thread of the only CPU.
LISTENER=''
mkfifo /tmp/never
exec 9<>/tmp/never
work() {
    local before after want tries=0
    want=$(($(passed "$1") + $2))
    read -r -a before <<<"$(clock)"
    # Fills the queue before the listener runs, so that its number of wake-ups is constant.
    [ -z "$LISTENER" ] || kill -STOP "$LISTENER"
    flow_of "$2" >/dev/null
    [ -z "$LISTENER" ] || kill -CONT "$LISTENER"
    # Idle time does not count, but each look at the counter does: one suffices.
    until read -r -t 0.3 <&9; [ "$(passed "$1")" -ge $want ]; do
        tries=$((tries + 1))
        [ $tries -lt 20 ] || { say_failed "$1: packets are lost, LINK=$LINK"; break; }
    done
    read -r -a after <<<"$(clock)"
    WORK=$((after[0] - before[0] - after[1] + before[1]))
}

# busy_cost NAME COUNT: sets COST to the instructions per packet. The difference of two runs cancels
# fixed costs.
busy_cost() {
    local few
    work "$1" "$2"
    few=$WORK
    work "$1" $(($2 * 3))
    # shellcheck disable=SC2034 # read by inspect and tunnels
    COST=$(((WORK - few) / 2 / ($2 * 2)))
}

measure() {
    local name count=${BENCH_count:-6000} warm us
    [ "$count" -ge "$FLOWS" ] || count=$FLOWS
    traffic
    answers
    for name; do
        engine "$name"
        warm=$(warming "$name")
        # The client must open the connection.
        [ "$LINK" != pppoe-in ] || generate 3 c c0 "${TRAFFIC[@]}" >/dev/null
        flow_of "$warm" >/dev/null
        us=$(flow_of "$count")
        row "${BENCH_name:-veth}" "$name" "$(cost_of "$us" "$count")"
        check "$name" $((warm + count))
        no_engine "$name"
    done
}

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

put_entries() {
    flow_entries tc
    row setup two-entries $((PUT / FLOWS))
}
