# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Common parts of the benchmarks: scenarios, engines, rows.
# A scenario is a kind of traffic: IP (4, 6), NAT (0, 1), SIZE (bytes of a frame), FLOWS, PROTO
# (udp, tcp), LINK (plain, vlan-in, vlan-out, …) and SUM (transport checksum at ingress: full, none,
# partial). A row is the cost per packet of a scenario with an engine.
PINS=/bpf
# Interface indexes of the gateway's devices, set by each benchmark.
export LAN WAN
OUT=dum
IN=lan

# say_failed TEXT…: reports a failure, which stops the host's program.
say_failed() { echo "BENCH FAILED $*"; }

# host WORD…: sends a request to the host; sets ANSWER.
host() {
    echo "HOST $*"
    # shellcheck disable=SC2034 # read by contention
    read -r ANSWER </dev/console
}

scenario() {
    IP=4 NAT=1 SIZE=60 FLOWS=1 LINK=plain SUM=full PROTO=udp
    local word
    for word; do
        case $word in
            IP=* | NAT=* | SIZE=* | FLOWS=* | LINK=* | SUM=* | PROTO=*) eval "$word" ;;
            *) say_failed "no word of a scenario: $word" ;;
        esac
    done
}

rules() {
    local name
    gw nft flush ruleset
    for name; do gw nft -f "rules/$name.nft" || say_failed "rules $name"; done
}

no_rules() {
    gw nft flush ruleset
    gw conntrack -F >/dev/null 2>&1
}

load_programs() {
    sysctl -qw net.core.bpf_jit_enable=1
    bpftool prog loadall programs/fastpath.o $PINS/p pinmaps $PINS/m || say_failed load
    bpftool prog loadall programs/baseline.o $PINS/b pinmaps $PINS/n || say_failed load
    # Heartbeat almost half the range of jiffies ahead, so that no entry becomes stale. The last
    # eight bytes are the secret.
    bpftool map update pinned $PINS/m/fastpath_bss key hex 00 00 00 00 value hex \
        ff ff ff ff ff ff ff 3f 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 \
        15 7c 4a 7f b9 79 37 9e ||
        say_failed control
}

# entry WORD=VALUE…: writes map entries (entries.c); sets PUT to the duration in ns.
entry() {
    # shellcheck disable=SC2034 # read by pktgen.sh
    PUT=$(programs/entries "$@") || say_failed "entry $*"
}

# may_send IFINDEX…: permits XDP redirects to these devices.
may_send() {
    local index
    for index; do
        gw bpftool map update pinned $PINS/m/devices key "$index" 0 0 0 value "$index" 0 0 0 ||
            say_failed "device $index"
    done
}

# attach tcx|clsact|native|generic|egress PROGRAM DEVICE
attach() {
    case $1 in
        tcx) gw bpftool net attach tcx_ingress pinned "$PINS/$2" dev "$3" ;;
        egress) gw bpftool net attach tcx_egress pinned "$PINS/$2" dev "$3" ;;
        clsact)
            gw tc qdisc add dev "$3" clsact
            gw tc filter add dev "$3" ingress prio 1 handle 1 bpf da object-pinned "$PINS/$2"
            ;;
        native) gw bpftool net attach xdpdrv pinned "$PINS/$2" dev "$3" ;;
        generic) gw bpftool net attach xdpgeneric pinned "$PINS/$2" dev "$3" ;;
    esac || say_failed "attach $*"
}

detach() {
    case $1 in
        tcx) gw bpftool net detach tcx_ingress dev "$2" ;;
        egress) gw bpftool net detach tcx_egress dev "$2" ;;
        clsact) gw tc qdisc del dev "$2" clsact ;;
        native) gw bpftool net detach xdpdrv dev "$2" ;;
        generic) gw bpftool net detach xdpgeneric dev "$2" ;;
    esac || say_failed "detach $*"
}

# engine NAME: starts an engine. `drop` and `drop-native` drop packets at $IN.
engine() {
    local nat=()
    [ "$NAT" = 0 ] || nat=(masquerade)
    case $1 in
        drop) attach tcx b/drop_tc $IN ;;
        drop-native) attach native b/drop_xdp $IN ;;
        routing) [ "$NAT" = 0 ] || rules "${nat[@]}" ;;
        conntrack | five-chain | flowtable | guarded | product*) rules "$1" "${nat[@]}" ;;
        tcx | clsact)
            flow_entries tc
            attach "$1" p/fastpath_tc $IN
            ;;
        generic)
            flow_entries xdp
            attach generic p/fastpath_xdp $IN
            ;;
        native)
            flow_entries xdp
            # Most drivers accept redirected XDP frames only if they have a program.
            attach native p/fastpath_pass $OUT
            attach native p/fastpath_xdp $IN
            ;;
        xdp-forward-*)
            [ "$1" = xdp-forward-fib ] || rules flowtable "${nat[@]}"
            gw xdp-forward load -f "${1#xdp-forward-}" $IN $OUT || say_failed "$1"
            ;;
        bridge*) bridge_up "$1" ;;
        *) say_failed "no engine $1" ;;
    esac
}

no_engine() {
    case $1 in
        drop) detach tcx $IN ;;
        drop-native) detach native $IN ;;
        tcx | clsact | generic) detach "$1" $IN ;;
        native)
            detach native $IN
            detach native $OUT
            ;;
        bridge*) bridge_down "$1" ;;
        xdp-forward-*) gw xdp-forward unload $IN $OUT >/dev/null || say_failed "$1" ;;
    esac
    no_rules
}

# unknown NAME: like engine, but without entries; a conntrack rule accepts all packets.
unknown() {
    case $1 in
        tcx | clsact) attach "$1" p/fastpath_tc $IN ;;
        generic) attach generic p/fastpath_xdp $IN ;;
        native)
            attach native p/fastpath_pass $OUT
            attach native p/fastpath_xdp $IN
            ;;
        *)
            engine "$1"
            return
            ;;
    esac
    engine conntrack
}

# warming NAME: prints the number of packets before a measurement. The first packet creates the
# connection, the second enters the flowtable, the third is offloaded.
warming() {
    case $1 in
        routing | drop*) echo 2000 ;;
        tcx | clsact | generic | native | xdp-*) echo $((FLOWS < 2000 ? 2000 : FLOWS)) ;;
        *) echo $((FLOWS * 3 + 2000)) ;;
    esac
}

row() {
    local words='' word
    [ -z "${ROUND-}" ] || words=",\"round\":$ROUND"
    for word in "${@:4}"; do words+=",\"${word%%=*}\":${word#*=}"; done
    printf 'ROW {"bench":"%s","engine":"%s","cost":%s,"ip":%s,"nat":%s,"size":%s,"flows":%s,' \
        "$1" "$2" "$3" "$IP" "$NAT" "$SIZE" "$FLOWS"
    printf '"link":"%s","sum":"%s","proto":"%s","out":"%s"%s}\n' "$LINK" "$SUM" "$PROTO" "$OUT" \
        "$words"
}

# forwarded [MAP]: prints the packets forwarded by our programs. The map has an element per port
# with a value per CPU.
# shellcheck disable=SC2016,SC2120 # expanded by awk; the lab's tests name a map
forwarded() {
    bpftool map dump -j pinned "${1:-$PINS/m/exits}" |
        grep -o '"out":\[[0-9]*' | awk -F'[' '{ sum += $2 } END { printf "%.0f\n", sum }'
}

# check ENGINE COUNT: fails unless exactly COUNT packets had its path after the last check.
CHECKED=0
check() {
    local now
    case $1 in
        tcx | clsact | generic | native)
            now=$(forwarded)
            [ $((now - CHECKED)) = "$2" ] ||
                say_failed "$1: $((now - CHECKED)) of $2 packets," \
                    "IP=$IP NAT=$NAT LINK=$LINK SUM=$SUM"
            CHECKED=$now
            ;;
        flowtable | guarded | product*)
            gw conntrack -L 2>/dev/null | grep -q OFFLOAD || say_failed "nothing is offloaded"
            ;;
        bridge*) bridged "$2" || say_failed "$1: not all of $2 packets" ;;
    esac
}

# in_stack: prints the packets that the gateway has forwarded without a flowtable.
# shellcheck disable=SC2016 # expanded by awk
in_stack() {
    gw awk '/^Ip: [0-9]/ { sum += $7 } /^Ip6OutForwDatagrams/ { sum += $2 } END { print sum }' \
        /proc/net/snmp /proc/net/snmp6
}

# clock: prints nanoseconds since boot and idle nanoseconds.
clock() {
    awk '/^now at/ { now = $3 } $1 == ".idle_sleeptime" { idle = $3 } END { print now, idle }' \
        /proc/timer_list
}
