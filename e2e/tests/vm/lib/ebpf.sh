# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # names are for the tests
# The eBPF engine, and a trace of the gateway's kernel: its events, and each call that changes
# the maps of the programs, are recorded where they happen, by its own clock.

# engine_ebpf: in force on all ports.
engine_ebpf() {
    gw fastpathctl engine ebpf >/dev/null
    soon 5 says '.engine.active == "ebpf"' status
}

# ebpf_at auto|tcx|clsact|xdp-generic: in force, with its programs there.
ebpf_at() {
    configure <<END
config fastpath 'main'
	option engine 'ebpf'
	option hook '$1'
END
    soon 10 says '.engine.active == "ebpf"' status
    [ "$1" = auto ] || soon 5 says ".devices | all(.hook == \"$1\")" ebpf
}

# engine_at flowtable|auto|tcx: the flowtable, or the programs there.
engine_at() { if [ "$1" = flowtable ]; then use flowtable; else ebpf_at "$1"; fi; }

# exits NAME: how many packets have left the programs with it; it is read once a second.
exits() { said ".exits[] | select(.exit == \"$1\") | .packets" ebpf; }

# exits_reach WORD NUMBER: so many at the least.
exits_reach() {
    local now
    now=$(exits "$1")
    [ "$now" -ge "$2" ] || { echo "$now"; return 1; }
}

# paths: where every flow is, a line each.
paths() {
    flows | jq -r '[.proto, .src, .sport, .dst, .dport, .path, .reason, .state] | join(" ")'
}

# kernel_saw PORT: packets of that connection that conntrack counted, both ways.
kernel_saw() {
    conntrack_of "$1" | grep -oE 'packets=[0-9]+' | cut -d = -f 2 | xargs | tr ' ' + |
        { read -r sum; echo $((sum)); }
}

# kernel_took PORT: bytes of them.
kernel_took() { conntrack_bytes "$1" | { read -r up down && echo $((up + down)); }; }

# The number of bytes that pass the stack before a connection is carried depends on the speed of
# machine and sender; the size of its packets, on merged ones. So bytes are compared, from then on.
#
# carried_from PORT: of that download of h10's, which is carried now.
carried_from() {
    TOOK=$(kernel_took "$1")
    HAD=$(received "$1")
}

# carried_to PORT BYTES: so many have arrived now; of those since then the stack saw hardly any.
carried_to() {
    local later=$(($2 - HAD))
    between "bytes that arrived once it was carried" "$later" $(($2 / 10)) "$2"
    between "bytes of these $later that the stack saw" $(($(kernel_took "$1") - TOOK)) \
        0 $((later / 20))
}

TRACING=/sys/kernel/tracing
# Groups of rtnetlink.
LINK=1
NEIGHBOUR=3
ROUTE=7
ROUTE6=11

# watch: from now on. Keys of IPv4 have their ports 8 bytes in, those of IPv6 32.
watch() {
    local ports='a=+8(%si):x16 b=+10(%si):x16 c=+32(%si):x16 d=+34(%si):x16'
    gw test -d $TRACING || skip "this kernel has no tracefs"
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

# watched: lines of seconds, s for a packet's event or . for a process's, its name, the rest.
watched() {
    gw "cat $TRACING/trace" | sed -nE \
        's/^.* \[[0-9]+\] ..(.)[^ ]* +([0-9.]+): (news|flow|put|out): \(.*\) /\2 \1 \3 /p'
}

# watch_no_more
watch_no_more() {
    gw "[ ! -d $TRACING/events/e2e ] || {
        echo 0 >$TRACING/events/e2e/enable; echo >$TRACING/kprobe_events; }"
}

# settled EVENTS, of the recording: of each connection, milliseconds from the EVENTSth event of
# a packet, which shows that it is established, to its second entry; the least first.
settled() {
    awk -v events="$1" '
        $3 == "flow" && $2 != "." {
            if ($4 == "group=1") seen = puts = 0
            if (++seen == events) at = $1
        }
        $3 == "put" && ++puts == 2 && seen >= events { printf "%.1f\n", ($1 - at) * 1000 }
    ' | sort -n
}

# taken_out PORT GROUP, of the recording: how many entries of the connection from that port
# went, and milliseconds from the news of GROUP before the first to the end of both directions.
taken_out() {
    awk -v port="=$(printf '0x%x' $((($1 & 255) << 8 | $1 >> 8)))" -v news="group=$2" '
        $3 == "news" && $4 == news && !outs { at = $1 }
        $3 == "out" && index($0 " ", port " ") && ++outs == 2 { last = $1 }
        END { printf "%d %.1f\n", outs, at && last ? (last - at) * 1000 : -1 }'
}
