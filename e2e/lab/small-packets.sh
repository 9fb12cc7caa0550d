# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Cost of small packets of many flows on a running lab. Needs verbs.sh and bench, which sets SLOW.
# The daemon is suspended during a slice, because its work for other flows would be counted. It is
# shorter than the 5 s that the eBPF programs forward without it.

FLOWS=256
PACKETS=4000
SLICES=${BENCH_SLICES:-5}
# A buffer before lan1 releases packets in bursts of 250, which fit into the rings of the cards. So
# the gateway finds several packets at once like at its limit, whatever the host does.
RATE=16000
INTERVAL_US=15625

set_up_small() {
    local info
    peers /lab/small-packets receivers
    PEER=$(gw cat /sys/class/net/br-lan.10/address)
    if [ -S "$RUN/gateway.monitor" ]; then
        info=$(monitor gateway "info cpus" | sed -n 's/.*thread_id=\([0-9]*\).*/\1/p')
        mapfile -t THREADS <<<"$info"
    else
        THREADS=("$(cat "$RUN/gateway.pid")")
        # Without emulation the programs that count cost as much as thousands of packets.
        RATE=0 PACKETS=40000
    fi
    UNIT=ns
    [ ! -f "$RUN/counts" ] || UNIT=instructions
    PAUSE=: CONTINUE=:
    if has_daemon; then
        # The bus polls the daemon, so it is suspended with it.
        PAUSE="for name in fastpathd broker; do /usr/libexec/lab/instance stop \$name; done"
        CONTINUE=${PAUSE/ stop / cont }
    fi
}

bursts() {
    [ -S "$RUN/gateway.monitor" ] || return 0
    case $1 in
        on) monitor gateway "object_add filter-buffer,id=bursts,netdev=lan1,queue=tx,\
interval=$INTERVAL_US" ;;
        off) monitor gateway "object_del bursts" ;;
    esac >/dev/null
}

# cpu_time: prints the nanoseconds that the gateway's virtual CPUs have run.
cpu_time() {
    local thread ns sum=0
    for thread in "${THREADS[@]}"; do
        read -r ns _ <"/proc/$(cat "$RUN/gateway.pid")/task/$thread/schedstat"
        sum=$((sum + ns))
    done
    echo "$sum"
}

# work: prints the gateway's instructions, or without emulation the nanoseconds of its CPU.
work() {
    if [ "$UNIT" = ns ]; then
        cpu_time
    else
        od -An -v -t u8 -w8 "$RUN/counts" | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
    fi
}

# send ADDRESS COUNT SIZE RATE
send() { echo "ip netns exec h10 /lab/small-packets send $1 $PEER $2 $FLOWS $3 $4"; }

# open_flows ADDRESS MODE: exchanges packets until every flow has the mode's path.
open_flows() {
    local try before after pause=0.3
    for try in {1..30}; do
        before=$(slow packets)
        # Answers have to arrive before the next round, and the daemon needs time for the flows.
        [ "$try" -lt 5 ] || pause=1.5
        peers "$(send "$1" $FLOWS 200 4000); sleep $pause"
        after=$(slow packets)
        case $2 in
            flowtable | ebpf) [ $((after - before)) -gt $((FLOWS / 10)) ] || return 0 ;;
            *) [ "$try" -lt 2 ] || return 0 ;;
        esac
    done
    die "$2: the flows to $1 are not offloaded"
}

# slice ADDRESS SIZE: prints arrived packets, packets on the slow path, and work.
slice() {
    local slow work arrived
    # shellcheck disable=SC2153 # set by bench
    slow=$(gw "$SLOW; $PAUSE")
    slow=$(counter packets <<<"$slow")
    work=$(work)
    arrived=$(peers "$(send "$1" $PACKETS "$2" $RATE) && /lab/small-packets count $1 $PACKETS") ||
        arrived=0
    work=$(($(work) - work))
    slow=$(($(gw "$CONTINUE; $SLOW" | counter packets) - slow))
    echo "$arrived $slow $work"
}

# small ROUTE FAMILY MODE: prints the results as a JSON object; the cost is the least of the slices,
# because other work only adds to it.
small() {
    local to size=60 try arrived slow work slices=()
    to=$(destination "$1-$2")
    [ "$2" = 4 ] || size=78
    open_flows "$to" "$3"
    for ((try = 0; try < SLICES + 5 && ${#slices[@]} < SLICES; try++)); do
        read -r arrived slow work <<<"$(slice "$to" $size)"
        # XDP drops packets if a busy host leaves the cable full, and others may arrive late.
        if [ "$arrived" -lt $((PACKETS * 99 / 100)) ] || [ "$arrived" -gt $PACKETS ]; then
            peers "/lab/small-packets count $to $PACKETS" >/dev/null
            continue
        fi
        slices+=("[$arrived, $slow, $work]")
    done
    [ ${#slices[@]} = "$SLICES" ] || die "$3: packets to $to are lost"
    printf '%s\n' "${slices[@]}" | jq -sc --arg route "$1" --argjson family "$2" --arg mode "$3" \
        --arg unit "$UNIT" '{ traffic: "small", $route, $family, $mode, $unit,
            cost: (map(.[2] / .[0]) | min | round),
            costs: map(.[2] / .[0] | round),
            offload_ratio: (1 - (map(.[1]) | add) / (map(.[0]) | add) |
                . * 10000 | round / 10000) }'
}
