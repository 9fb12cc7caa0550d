# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# "Keep latency low" under load, over VLAN and PPPoE: rates, round trips, offloaded share, fairness
# between hosts.
# @timed

# count_stack: counts the WAN's slow-path bytes until the test ends. Call it before the load,
# because rule changes suspend offloading.
count_stack() {
    change_rules <<'END'
table inet e2e {
    chain stack {
        type filter hook forward priority 0
        oifname pppoe-wan counter comment "upload"
        iifname pppoe-wan counter comment "download"
    }
}
END
}
in_stack() {
    gw nft list table inet e2e | sed -n "s/.*bytes \([0-9]*\) comment \"$1\"/\1/p"
}

serve() {
    local port
    for port; do begin isp "serve$port" "exec iperf3 -s -p $port"; done
    for port; do soon 5 isp "ss -Htln sport = :$port | grep -q ."; done
}

# load HOST PORT OPTION…: starts a client that runs until `unload PORT`.
load() {
    local host=$1 port=$2
    shift 2
    begin "$host" "load$port" "exec iperf3 -c $ISP_4 -p $port -t 600 $*"
}
unload() {
    local port
    for port; do end "load$port"; done
    for port; do soon 10 isp "! ss -Htn state established sport = :$port | grep -q ."; done
}

# reading DEVICE: prints the gateway's uptime and idle time, and the device's transmitted bytes and
# packets. A single process, because starting another may take a second on a busy machine.
reading() {
    gw "cat /proc/uptime /sys/class/net/$1/statistics/tx_bytes \
            /sys/class/net/$1/statistics/tx_packets" | xargs
}
has_sent() {
    local now
    now=$(reading "$1")
    awk -v bytes="$2" '{ exit !($7 - $3 > bytes) }' <<<"$3 $now"
}

# round_trips: prints median and 95th percentile of 100 pings, in ms.
round_trips() {
    h10 ping -i 0.05 -c 100 "$ISP_4" |
        sed -n 's/.*time=\([0-9.]*\).*/\1/p' | sort -n |
        awk '{ time[NR] = $1 } END { print time[int(NR / 2)], time[int(NR * 0.95)] }'
}

# fill DIRECTION DEVICE KBIT OVERHEAD [-R]: fills one direction with TCP flows. OVERHEAD is the
# bytes per packet on the line that the kernel does not count. Sets CARRIED (rate on the line in
# kbit/s), P95 (of concurrent pings), OFFLOADED (share of bytes) and SPARE (idle share of CPU time).
fill() {
    local before from to stack median
    before=$(reading "$2")
    load h10 5301 -P 8 "${5-}"
    soon 20 has_sent "$2" $(($3 * 60)) "$before"
    stack=$(in_stack "$1") from=$(reading "$2")
    read -r median P95 < <(round_trips)
    stack=$(($(in_stack "$1") - stack)) to=$(reading "$2")
    unload 5301
    read -r CARRIED OFFLOADED SPARE < <(awk -v stack="$stack" -v overhead="$4" '{
        time = $5 - $1; idle = $6 - $2; bytes = $7 - $3; packets = $8 - $4
        printf "%d %.4f %.3f\n", (bytes + packets * overhead) * 8 / time / 1000,
            1 - stack / bytes, idle / time
    }' <<<"$from $to")
    note "$1: $CARRIED of $3 kbit/s, offloaded $OFFLOADED, ping: median $median ms, p95 $P95 ms"
}

alone() {
    h10 iperf3 -c "$ISP_4" -p 5301 -t 4 -P 8 -J "$@" |
        jq '.end.sum_received.bits_per_second / 1000 | floor'
}

# limited DIRECTION DEVICE KBIT OVERHEAD LIMIT [-R]: fails unless CAKE keeps the rate and pings stay
# short compared to IDLE, the 95th percentile without load. On a saturated machine half of LIMIT,
# the rate without CAKE, suffices; `-` requires the rate.
limited() {
    fill "$1" "$2" "$3" "$4" "${6-}"
    if [ "$5" = - ] || awk -v spare="$SPARE" 'BEGIN { exit !(spare > 0.05) }'; then
        between "the share of the rate, in percent" \
            "$(awk -v got="$CARRIED" -v rate="$3" 'BEGIN { print got * 100 / rate }')" 93 100.5
    else
        note "this machine is the limit: idle for $SPARE of the time, without CAKE $5 kbit/s"
        between "the rate in kbit/s" "$CARRIED" \
            "$((($5 < $3 ? $5 : $3) / 2))" \
            "$(($3 * 1005 / 1000))"
    fi
    between "the 95th percentile of pings, in ms" "$P95" 0 \
        "$(awk -v idle="$IDLE" -v pace="$(pace)" 'BEGIN { print idle + 20 * pace / 100 }')"
}

# both_ways DOWNLOAD UPLOAD [LIMIT-DOWN LIMIT-UP]: also tests the download without the fast path.
both_ways() {
    local median fast
    count_stack
    latency_on "$1" "$2"
    read -r median IDLE < <(round_trips)
    note "idle: ping: median $median ms, p95 $IDLE ms"
    limited download ifb-fastpath "$1" 36 "${3:--}" -R
    between "the offloaded share of the download" "$OFFLOADED" 0.95 1
    fast=$P95
    limited upload wan "$2" 28 "${4:--}"
    between "the offloaded share of the upload" "$OFFLOADED" 0.95 1
    gw fastpathctl engine off >/dev/null
    soon 10 engine_is_off
    fill download ifb-fastpath "$1" 36 -R
    # Negative values are possible: the stack also counts packets that CAKE drops.
    between "the offloaded share without the fast path" "$OFFLOADED" -1 0.1
    note "p95 of pings: $fast ms with the fast path, $P95 ms without"
}
engine_is_off() { says '.engine.active == "off"' status; }

test_both_directions_keep_the_rate_with_low_latency() {
    serve 5301
    both_ways 50000 10000
}

test_both_directions_of_a_faster_line_keep_the_rate() {
    local down up
    serve 5301
    down=$(alone -R) up=$(alone)
    note "without CAKE: download $down kbit/s, upload $up kbit/s"
    both_ways 200000 40000 "$down" "$up"
}

ebpf_and_latency() {
    ebpf_at "$1"
    configure <<END
config fastpath 'main'
	option engine 'ebpf'
	option hook '$1'

config latency 'latency'
	option enabled '1'
	option download '50000'
	option upload '10000'
END
    soon 10 limits 50000 10000
    soon 10 says '.engine.active == "ebpf"' status
}

# Offloaded packets leave through the port's egress filters, which redirect them to CAKE.
test_flows_offloaded_at_tc_pass_cake() {
    local median
    serve 5301
    count_stack
    ebpf_and_latency tcx
    read -r median IDLE < <(round_trips)
    limited download ifb-fastpath 50000 36 - -R
    between "the offloaded share of the download" "$OFFLOADED" 0.95 1
    limited upload wan 10000 28 -
    between "the offloaded share of the upload" "$OFFLOADED" 0.95 1
}

# XDP bypasses all queues.
test_flows_of_the_wan_are_not_offloaded_at_xdp() {
    local port before
    ebpf_and_latency xdp-generic
    port=$(fresh_port)
    before=$(reading ifb-fastpath)
    download h10 "$port" "$ISP_4" 400k
    soon 20 on_path slow/shaped --proto tcp --text "$port"
    soon 20 has_sent ifb-fastpath 1000000 "$before"
}

# at_hosts: prints the bytes sent to h10 (lan1) and h11 (lan3).
at_hosts() {
    gw cat /sys/class/net/lan1/statistics/tx_bytes /sys/class/net/lan3/statistics/tx_bytes | xargs
}
# shared: sets OF_FIRST to the first host's share of the bytes in the next seconds.
shared() {
    local from to
    from=$(at_hosts)
    round_trips >/dev/null
    to=$(at_hosts)
    OF_FIRST=$(awk '{ one = $3 - $1; many = $4 - $2; print one / (one + many) }' <<<"$from $to")
}

# fair DIRECTION DEVICE: compares a host with one TCP flow and a host with eight.
fair() {
    local before option=
    [ "$1" = upload ] || option=-R
    before=$(reading "$2")
    load h10 5301 "$option"
    load h11 5302 "$option" -P 8
    soon 20 has_sent "$2" 2500000 "$before"
    shared
    unload 5301 5302
    note "$1, TCP: the host with one flow has $OF_FIRST of the bytes"
    between "the part of the host with one flow" "$OF_FIRST" 0.45 0.55
}

# At this rate the machine is not the bottleneck.
test_hosts_share_the_download_equally() {
    local before
    latency_on 10000 10000
    serve 5301 5302
    fair download ifb-fastpath
    # The UDP of each host exceeds half of the rate and ignores losses, so CAKE must decide.
    latency_on 2000 2000
    before=$(reading ifb-fastpath)
    load h10 5301 -R -u -l 1400 -b 3M
    load h11 5302 -R -u -l 1400 -b 500k -P 8
    soon 20 has_sent ifb-fastpath 500000 "$before"
    shared
    unload 5301 5302
    note "download, UDP: the host with one flow has $OF_FIRST of the bytes"
    between "the part of the host with one flow" "$OF_FIRST" 0.45 0.55
}
