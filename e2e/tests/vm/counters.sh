# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Counted bytes compared with sent bytes.

POURED=33554432

# agrees PORT: succeeds if kernel and daemon count the same bytes. The daemon reads every second.
agrees() {
    local kernel daemon
    kernel=$(conntrack_bytes "$1")
    daemon=$(newest --proto tcp --text "$1" | jq -r '"\(.up_bytes) \(.down_bytes)"')
    [ -n "$kernel" ] || return 1
    [ "$kernel" = "$daemon" ] || { echo "conntrack: $kernel, flows: $daemon"; return 1; }
}

received() { peers grep -q received /tmp/e2e/drink.log; }

# adds_up WHAT BYTES PACKETS: checks the bytes, which include headers per packet (20 IPv4, 32 TCP).
adds_up() {
    local wanted=$((POURED + $3 * 52))
    between "$1: $2 bytes in $3 packets of $wanted expected, times" \
        "$(awk "BEGIN { print $2 / $wanted }")" 0.99 1.01
}

# carried: prints the bytes forwarded by the flowtable and by all other paths.
carried() {
    said '.paths | "\(.flowtable.bytes) \(del(.flowtable) | map(.bytes) | add)"' status
}

nothing_recent() { says '.ratio.now == null' status; }

# Sends 32 MiB to h10; counts must agree while the connection exists and after it.
# @each h20
# @each isp @core
test_bytes_agree_for_a_file_from() {
    local port before slow after others flow bytes address=${1^^}_4
    read -r before slow < <(carried)
    begin "$1" pour "exec busybox nc -ll -p $POUR_PORT -e /tmp/e2e/pour"
    begin h10 drink "exec /tmp/e2e/drink ${!address} $POUR_PORT $POURED"
    soon 60 received
    port=$(newest --proto tcp --text "$POUR_PORT" | jq -r .sport)
    soon 5 agrees "$port"
    flow=$(newest --proto tcp --text "$port")
    adds_up flows "$(field down_bytes "$flow")" "$(field down_packets "$flow")"
    read -r _ bytes <<<"$(conntrack_bytes "$port")"
    adds_up conntrack "$bytes" "$(field down_packets "$flow")"
    end drink
    end pour
    soon 10 on_path ended --proto tcp --text "$port"
    read -r after others < <(carried)
    between "bytes carried by the flowtable" $((after - before)) \
        $((POURED * 97 / 100)) $((POURED * 110 / 100))
    between "bytes carried by other paths" $((others - slow)) 0 $((POURED * 5 / 100))
    note "$POURED bytes sent, $bytes counted, $((after - before)) of them offloaded"
}

# @timed
test_offload_ratio_of_the_last_ten_seconds() {
    soon 12 nothing_recent
    h10 "curl -sS -o /dev/null http://$H20_4/32.bin"
    soon 3 says '.ratio.now != null' status
    between "offload ratio" "$(said .ratio.now status)" 0.95 1
    soon 12 nothing_recent
}

# The bytes of an ended connection stay in the totals.
test_bytes_of_an_ended_ipv6_connection_stay_counted() {
    local port before after bytes
    port=$(fresh_port)
    before=$(said .paths.flowtable.bytes status)
    same "size of the file" "$(h10 "curl -gsS -o /dev/null -w '%{size_download}' \
        --local-port $port http://[$ISP_6]/32.bin")" "$POURED"
    read -r _ bytes <<<"$(conntrack_bytes "$port")"
    # Segments have at most 1380 bytes, plus 40 of IPv6 and 32 of TCP.
    between "bytes in conntrack" "$bytes" "$POURED" $((POURED * 106 / 100))
    soon 5 agrees "$port"
    after=$(said .paths.flowtable.bytes status)
    between "bytes carried by the flowtable" $((after - before)) \
        $((POURED * 97 / 100)) $((POURED * 108 / 100))
}

test_a_flow_of_the_slow_path_counts_as_slow() {
    local before after port
    gw fastpathctl engine off >/dev/null
    port=$(fresh_port)
    before=$(said .paths.slow.bytes status)
    h10 "curl -sS -o /dev/null --local-port $port http://$H20_4/1.bin"
    soon 5 agrees "$port"
    after=$(said .paths.slow.bytes status)
    between "bytes carried by the slow path" $((after - before)) 1048576 $((1048576 * 115 / 100))
}
