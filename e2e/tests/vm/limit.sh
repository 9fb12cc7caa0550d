# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rate limit and inspection of one device, h10: its offloaded flow returns to the slow path without
# loss, and that of another device stays offloaded. Engines as in revoke.sh.

# shellcheck source=e2e/tests/vm/lib/revocation.sh
. "$VM/lib/revocation.sh"
# shellcheck source=e2e/tests/vm/lib/latency.sh
. "$VM/lib/latency.sh"

# shellcheck disable=SC2034 # carried uses them
OTHER_HOST=h20 OTHER_TO=$ISP_4

mac() { h10 cat /sys/class/net/eth0/address; }
limit() { gw fastpathctl limit "$(mac)" "$@"; }
# limited DOWN UP: succeeds if the rules in force have these limits for h10.
limited() {
    says ".devices[] | select(.mac == \"$(mac)\") |
        .limit_down == $1 and .limit_up == $2" devices
}

limit_in_force() { limit "$@" && soon 10 limited "$@"; }

# @each flowtable @core
# @each ebpf-tcx
# @each ebpf-auto @qemu: no port of a user-mode machine has a driver with XDP
test_a_limit_returns_offloaded_flows_to_the_slow_path() {
    carried "$1"
    diverted slow/limited limit_in_force 100000 100000
    never 3 on_the_fast_path "$REVOKED"
    limit_in_force 0 0
    soon 30 on_the_fast_path "$REVOKED"
    others_continue
}

# A limit survives the daemon, holds for addresses that are new, and moves with them.
# @each off @long
test_a_limit_covers_new_addresses_with_engine() {
    local pid
    trap 'no_new_address' EXIT
    { echo "config fastpath 'main'"; echo "	option engine '$1'"; } | configure
    limit 5000 1000
    soon 10 limited 5000 1000
    new_address h10
    h10 ping -c 1 -W 5 -I 10.10.10.99 "$ISP_4" >/dev/null || fail "the new address is cut off"
    soon 5 has_limit 10.10.10.99
    pid=$(daemon_pid)
    kill_daemon
    soon 15 new_process "$pid"
    soon 10 limited 5000 1000
    has_limit 10.10.10.99
    no_new_address
    new_address h11
    h11 ping -c 1 -W 5 -I 10.10.10.99 "$ISP_4" >/dev/null || fail "the address is cut off"
    soon 10 has_no_limit 10.10.10.99
    gw nft delete table inet fastpath
    soon 15 has_limit "$H10_4"
    # A paused device is not forwarded, however large its limit.
    gw fastpathctl pause "$(mac)"
    # shellcheck disable=SC2016 # expanded by soon
    soon 10 eval '! h10 ping -c 1 -W 1 "$ISP_4"'
    gw fastpathctl resume "$(mac)"
    soon 10 h10 ping -c 1 -W 1 "$ISP_4"
    limited 5000 1000
}
new_address() {
    peers "ip -n $1 address add 10.10.10.99/24 dev eth0"
    # The gateway learns the owner of the address again.
    gw ip neigh flush to 10.10.10.99
}
# shellcheck disable=SC2016 # expanded on the peers
no_new_address() {
    peers 'for host in h10 h11; do ip -n $host address del 10.10.10.99/24 dev eth0; done' \
        2>/dev/null || true
}
has_limit() { gw nft list map inet fastpath limit_down4 | grep -F "$1 : "; }
has_no_limit() { ! has_limit "$1"; }
new_process() { [ "$(daemon_pid)" != "$1" ] && ask status; }

SERVERS="5201 5202"
# arriving HOST sport|dport: counts the bytes that the host receives, from the IP header on.
arriving() {
    peers ip netns exec "$1" nft -f - <<END
table inet e2e
delete table inet e2e
table inet e2e {
    chain input {
        type filter hook input priority -500
        th $2 { 5201, 5202 } counter
    }
}
END
}
# reading HOST: prints the host's uptime and those bytes.
reading() {
    peers "cat /proc/uptime; ip netns exec $1 nft list table inet e2e" |
        awk 'NR == 1 { up = $1 } / counter packets / { print up, $NF }'
}
# rate_of HOST SECONDS: prints the rate in kbit/s in this time.
rate_of() {
    local from to
    from=$(reading "$1")
    # @sleep: the time whose bytes are counted
    sleep "$2"
    to=$(reading "$1")
    awk '{ printf "%.0f\n", ($4 - $2) / ($3 - $1) / 125 }' <<<"$from $to"
}
# transfers DIRECTION NAME CLIENT…: fails unless the clients together get 5 Mbit/s. Each client is
# a list of iperf3's arguments.
transfers() {
    local host=isp rate number=0 reverse='' direction=$1 name=$2
    shift 2
    [ "$direction" = up ] || { host=h10; reverse=-R; }
    arriving "$host" "$([ "$direction" = up ] && echo dport || echo sport)"
    for client; do
        number=$((number + 1))
        begin h10 "client$number" "exec iperf3 -t 600 -p 520$number $reverse $client"
    done
    # @sleep: the bucket of one second is emptied first
    sleep 5
    rate=$(rate_of "$host" 12)
    note "$direction, $name: $rate kbit/s"
    for ((; number > 0; number--)); do end "client$number"; done
    between "rate $direction, $name, in kbit/s" "$rate" 4750 5250
}
all_transfers() {
    local port direction
    for port in $SERVERS; do begin isp "serve$port" "exec iperf3 -s -p $port"; done
    for port in $SERVERS; do soon 5 isp "ss -Htln sport = :$port | grep -q ."; done
    limit 5000 5000
    soon 10 limited 5000 5000
    for direction in down up; do
        transfers $direction "one TCP connection" "-c $ISP_4"
        transfers $direction "four TCP connections" "-c $ISP_4 -P 4"
        transfers $direction "UDP" "-u -b 10M -l 1200 -c $ISP_4"
        transfers $direction "IPv4 and IPv6" "-c $ISP_4" "-c $ISP_6"
    done
}
# shellcheck disable=SC2016 # expanded on the peers
no_counters() {
    peers 'for host in h10 isp; do ip netns exec $host nft delete table inet e2e; done' \
        2>/dev/null || true
}

# @each off @timed
# @each flowtable @timed
test_a_limit_is_kept_within_5_percent_with_engine() {
    trap 'no_counters' EXIT
    { echo "config fastpath 'main'"; echo "	option engine '$1'"; } | configure
    all_transfers
}

# @timed
test_a_limit_is_kept_within_5_percent_with_cake() {
    trap 'no_counters' EXIT
    latency_on 40000 20000
    all_transfers
}
