# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # the tests use the names
# The eBPF engine, and a kernel trace of the gateway: events and changes of the programs' maps with
# timestamps.

engine_ebpf() {
    gw fastpathctl engine ebpf >/dev/null
    soon 5 says '.engine.active == "ebpf"' status
}

ebpf_at() {
    configure <<END
config fastpath 'main'
	option engine 'ebpf'
	option hook '$1'
END
    soon 10 says '.engine.active == "ebpf"' status
    [ "$1" = auto ] || soon 5 says ".devices | all(.hook == \"$1\")" ebpf
}

# engine_at flowtable|auto|tcx: switches to the flowtable, or to ebpf at that hook. Sets FAST_PATH.
# shellcheck disable=SC2034 # the tests use it
engine_at() {
    FAST_PATH=ebpf
    if [ "$1" = flowtable ]; then FAST_PATH=flowtable && use flowtable; else ebpf_at "$1"; fi
}

# exits NAME: prints the packets with that exit reason. The daemon reads them every second.
exits() { said ".exits[] | select(.exit == \"$1\") | .packets" ebpf; }

exits_reach() {
    local now
    now=$(exits "$1")
    [ "$now" -ge "$2" ] || { echo "$now"; return 1; }
}

paths() {
    flows | jq -r '[.proto, .src, .sport, .dst, .dport, .path, .reason, .state] | join(" ")'
}

# kernel_saw PORT: prints the packets that conntrack has counted in both directions.
kernel_saw() {
    conntrack_of "$1" | grep -oE 'packets=[0-9]+' | cut -d = -f 2 | xargs | tr ' ' + |
        { read -r sum; echo $((sum)); }
}

# kernel_took PORT: prints the bytes that conntrack has counted.
kernel_took() { conntrack_bytes "$1" | { read -r up down && echo $((up + down)); }; }

# carried_from PORT: starts measuring a download of h10 that is now offloaded. Earlier slow-path
# bytes are excluded, because they depend on the machine's speed.
carried_from() {
    TOOK=$(kernel_took "$1")
    HAD=$(received "$1")
}

# carried_to PORT BYTES: fails unless BYTES have arrived, almost none of them by the slow path.
carried_to() {
    local later=$(($2 - HAD))
    between "bytes that arrived once it was carried" "$later" $(($2 / 10)) "$2"
    between "bytes of these $later that the stack saw" $(($(kernel_took "$1") - TOOK)) \
        0 $((later / 20))
}

TRACING=/sys/kernel/tracing
# rtnetlink groups (RTNLGRP_*).
LINK=1
NEIGHBOUR=3
ROUTE=7
ROUTE6=11

need_tracefs() { gw test -d $TRACING || skip "this kernel has no tracefs"; }

# watch: starts the trace. IPv4 keys have ports at byte 8, IPv6 keys at byte 32.
watch() {
    local ports='a=+8(%si):x16 b=+10(%si):x16 c=+32(%si):x16 d=+34(%si):x16'
    gw "busybox mount -t tracefs trace $TRACING 2>/dev/null
        cd $TRACING || exit
        [ -d events/e2e ] || {
            echo mono >trace_clock
            printf '%s\n' 'p:e2e/news rtnl_notify group=%cx:u32' \
                'p:e2e/flow nfnetlink_send group=%cx:u32' \
                'p:e2e/put htab_map_update_elem $ports' \
                'p:e2e/out htab_map_lookup_and_delete_elem $ports' >kprobe_events
        }
        echo >trace; echo 1 >events/e2e/enable"
}

# watched: prints lines of time in seconds, context (`s` softirq, `.` process), event, details.
watched() {
    gw "cat $TRACING/trace" | sed -nE \
        's/^.* \[[0-9]+\] ..(.)[^ ]* +([0-9.]+): (news|flow|put|out): \(.*\) /\2 \1 \3 /p'
}

stop_watching() {
    gw "[ ! -d $TRACING/events/e2e ] || {
        echo 0 >$TRACING/events/e2e/enable; echo >$TRACING/kprobe_events; }"
}

# settled EVENTS: reads a trace. For each connection, prints the milliseconds from its EVENTSth
# conntrack event in a softirq, which establishes it, to its second entry; sorted.
settled() {
    awk -v events="$1" '
        $3 == "flow" && $2 != "." {
            if ($4 == "group=1") seen = puts = 0
            if (++seen == events) at = $1
        }
        $3 == "put" && ++puts == 2 && seen >= events { printf "%.1f\n", ($1 - at) * 1000 }
    ' | sort -n
}

# taken_out PORT GROUP: reads a trace. Prints the number of deleted entries of the connection, and
# the milliseconds from the event of GROUP to the deletion of both directions.
taken_out() {
    awk -v port="=$(printf '0x%x' $((($1 & 255) << 8 | $1 >> 8)))" -v news="group=$2" '
        $3 == "news" && $4 == news && !outs { at = $1 }
        $3 == "out" && index($0 " ", port " ") && ++outs == 2 { last = $1 }
        END { printf "%d %.1f\n", outs, at && last ? (last - at) * 1000 : -1 }'
}
