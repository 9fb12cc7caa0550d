# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# "Keep latency low": CAKE for both directions of the WAN, over VLAN and PPPoE.

# configure_latency DOWNLOAD UPLOAD: on, with these rates in kbit/s.
configure_latency() {
    configure <<<"$(gw "sed '/^config latency/,/^\$/d' /run/e2e/config")

config latency 'latency'
	option enabled '1'
	option download '$1'
	option upload '$2'"
}

# latency_on DOWNLOAD UPLOAD: and in force.
latency_on() {
    configure_latency "$1" "$2"
    soon 10 limits "$1" "$2"
}

# limits DOWNLOAD UPLOAD: the daemon says so, and the kernel has it.
limits() {
    says ".latency | .active and .why == \"\" and .port == \"wan\" and
        .download_kbps == $1 and .upload_kbps == $2" status || return
    shown_rate wan "$2" && shown_rate ifb-fastpath "$1"
}

# shown_rate DEVICE KBIT
shown_rate() {
    local shown
    shown=$(gw tc qdisc show dev "$1" root)
    [[ $shown == *" fa57: root "*" bandwidth $(($2 / 1000))Mbit "* ]] || {
        echo "$shown"
        return 1
    }
}

limits_nothing() {
    says '.latency | .active | not' status && ours_is_gone
}
# shellcheck disable=SC2016 # the gateway expands it
ours_is_gone() {
    gw '! ip link show ifb-fastpath 2>/dev/null
        shown=$(tc qdisc show)
        case $shown in *fa57:* | *clsact*) echo "$shown"; exit 1 ;; esac'
}

# sent DEVICE: bytes that its CAKE has sent.
sent() { gw tc -s qdisc show dev "$1" root | awk '/^ Sent/ { print $2; exit }'; }

# Bytes of the WAN that take the stack, in a table that is removed after each test.
count_stack() {
    gw 'nft delete table inet e2e 2>/dev/null
        nft -f -' <<'END'
table inet e2e {
    chain stack {
        type filter hook forward priority 0
        oifname pppoe-wan counter comment "upload"
        iifname pppoe-wan counter comment "download"
    }
}
END
}
# in_stack upload|download
in_stack() {
    gw nft list table inet e2e | sed -n "s/.*bytes \([0-9]*\) comment \"$1\"/\1/p"
}

# The server's ports of iperf3, one for each client at a time.
serve() {
    local port
    for port; do begin isp "serve$port" "exec iperf3 -s -p $port"; done
    for port; do soon 5 isp "ss -Htln sport = :$port | grep -q ."; done
}

# load HOST PORT OPTION…: TCP until it is ended.
load() {
    local host=$1 port=$2
    shift 2
    begin "$host" "load$port" "exec iperf3 -c $ISP_4 -p $port -t 600 $*"
}

# reading DEVICE: the gateway's clock, bytes and packets behind its CAKE. In one process: on a busy
# machine the start of another takes a second.
reading() {
    gw "cat /proc/uptime /sys/class/net/$1/statistics/tx_bytes \
            /sys/class/net/$1/statistics/tx_packets" | awk '{ printf "%s ", $1 }'
}

# fills DIRECTION DEVICE KBIT OVERHEAD [-R]: many flows fill one direction. ROUND is the median of
# pings meanwhile, in milliseconds, OFFLOADED the part of the bytes that does not take the stack.
# OVERHEAD bytes of each packet are on the line, and not in the kernel's packet.
fills() {
    local from to stack share
    BEFORE=$(sent "$2")
    load h10 5301 -P 16 "${5-}"
    # The flows have begun.
    soon 10 more_than "$2" $(($3 * 125))
    count_stack
    from=$(reading "$2")
    ROUND=$(pinged)
    stack=$(in_stack "$1") to=$(reading "$2")
    end load5301
    read -r share OFFLOADED < <(awk -v stack="$stack" -v kbit="$3" -v overhead="$4" '{
        time = $4 - $1; bytes = $5 - $2; packets = $6 - $3
        print (bytes + packets * overhead) * 8 / time / kbit / 10, 1 - stack / bytes
    }' <<<"$from $to")
    note "$1: $share % of $3 kbit/s, offloaded $OFFLOADED, ping $ROUND ms"
    between "the share of the rate" "$share" 93 100.5
}
# more_than DEVICE BYTES: its CAKE has sent that many since BEFORE.
more_than() { [ "$(sent "$1")" -gt $((BEFORE + $2)) ]; }

# pinged: the median of twenty round trips, in milliseconds.
pinged() {
    h10 ping -i 0.25 -c 20 203.0.113.1 |
        sed -n 's/.*time=\([0-9.]*\).*/\1/p' | sort -n |
        awk '{ time[NR] = $1 } END { print time[int((NR + 1) / 2)] }'
}

# @long
test_download_is_limited_on_the_fast_path() {
    latency_on 50000 10000
    serve 5301
    fills download ifb-fastpath 50000 36 -R
    between "the offloaded share" "$OFFLOADED" 0.95 1
}

# @long
test_upload_is_limited_on_the_fast_path() {
    latency_on 50000 10000
    serve 5301
    fills upload wan 10000 28
    between "the offloaded share" "$OFFLOADED" 0.95 1
}

test_it_is_restored_and_removed() {
    limits_nothing
    latency_on 50000 10000
    # Another program removes it, in part and entirely.
    gw tc qdisc del dev wan root
    soon 10 limits 50000 10000
    gw ip link del ifb-fastpath
    soon 10 limits 50000 10000
    internet
    # A session takes its filters along.
    pppoe_end KILL
    soon 10 wan_is_down
    soon 45 wan_is_up
    soon 10 internet
    soon 10 filters_of pppoe-wan
    # Without the daemon it stays, and the next one finds it.
    mark_log
    kill_daemon
    soon 15 limits 50000 10000
    lacks "the daemon's log" "$(daemon_log)" 'queues of the WAN: changed'
    cp_config_back
    soon 10 limits_nothing
    internet
}
# filters_of DEVICE: packets from it are redirected, on every port.
filters_of() {
    local port shown
    for port in lan1 lan2 lan3; do
        shown=$(gw tc filter show dev "$port" egress)
        [[ $shown == *"input dev $1"*"ifb-fastpath"* ]] || { echo "$shown"; return 1; }
    done
}

# @finds:latency-missing
test_queues_of_others_are_left_alone() {
    trap 'gw tc qdisc del dev wan root 2>/dev/null || true' EXIT
    gw tc qdisc add dev wan root handle 9: cake bandwidth 20mbit
    configure_latency 50000 10000
    soon 10 says '.latency | .enabled and (.active | not) and .cause.code == "foreign" and
        .cause.params.device == "wan"' status
    has "the queue of wan" "$(gw tc qdisc show dev wan root)" 'cake 9: root'
    doctor 'soon 5 finds latency-missing'
    # When it is gone, ours takes its place.
    gw tc qdisc del dev wan root
    soon 10 limits 50000 10000
    doctor 'soon 5 silent latency-missing'
}
