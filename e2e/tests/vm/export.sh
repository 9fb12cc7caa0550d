# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Flow records: nfdump, pmacct and tshark report the same bytes as hosts and conntrack; losses are
# counted; an invalid section changes nothing.

# shellcheck source=e2e/tests/vm/lib/export.sh
. "$VM/lib/export.sh"

by_nfdump() {
    local port=19739 pid
    rm -rf "$HERE/nfdump"
    mkdir "$HERE/nfdump"
    nfcapd -w "$HERE/nfdump" -p $port -b 127.0.0.1 -t 3600 >"$HERE/nfcapd.log" 2>&1 &
    pid=$!
    soon 10 grep -q Startup "$HERE/nfcapd.log"
    node "$VM/records.mjs" replay "$HERE/export.pcap" $port
    # nfcapd writes its file on exit.
    kill "$pid"
    wait "$pid"
    nfdump -R "$HERE/nfdump" -o json |
        jq -r '.[] | "\(.src_port) \(.in_bytes) \(.out_bytes // 0)"' | sums_of "$@"
}

by_pmacct() {
    rm -f "$HERE/pmacct.json"
    printf 'name=%s field_type=%s len=%s semantics=%s\n' \
        rev_bytes 29305:1 8 u_int flow_path 32473:102 vlen str >"$HERE/primitives"
    printf '%s: %s\n' daemonize false pcap_savefile "$HERE/export.pcap" plugins print \
        aggregate src_port,rev_bytes,flow_path,flows aggregate_primitives "$HERE/primitives" \
        print_refresh_time 3600 print_output json print_output_file "$HERE/pmacct.json" \
        >"$HERE/nfacctd.conf"
    timeout 60 nfacctd -f "$HERE/nfacctd.conf" >"$HERE/nfacctd.log" 2>&1 </dev/null
    jq -r '"\(.port_src) \(.bytes) \((.rev_bytes | tonumber) * .flows)"' "$HERE/pmacct.json" |
        sums_of "$@"
}

# @long
test_bytes_of_offloaded_flows_are_exact() {
    local address port ports=() sums line wan lan
    need_readers
    listen sink
    capture_export
    exports
    soon 20 collector_is up
    for address in "$ISP_4" "$ISP_6" "$H20_4" "$H20_6"; do
        port=$(fresh_port)
        fetch "$address" "$port"
        ports+=("$port")
    done
    soon 30 records_are_whole "${ports[@]}"
    sums=$(by_tshark "${ports[@]}")
    same "nfdump" "$(by_nfdump "${ports[@]}")" "$sums"
    same "pmacct" "$(by_pmacct "${ports[@]}")" "$sums"
    read_tshark "$HERE/export.pcap" >"$HERE/records"
    wan=$(gw cat /sys/class/net/pppoe-wan/ifindex)
    lan=$(gw cat /sys/class/net/br-lan.10/ifindex)
    payload_is_whole "${ports[@]}"
    line=$(grep "^${ports[0]} " "$HERE/records" | sort -k 4 -n | tail -n 1)
    same "port, path, reason, zones, NAT, devices, VLANs" \
        "$(awk '{ print $2, $8, $9, $10, $11, $12, $13, $14, $15, $16 }' <<<"$line")" \
        "80 flowtable - lan wan $(wan_address) $ISP_4 $lan $wan 10"
    line=$(grep "^${ports[3]} " "$HERE/records" | sort -k 4 -n | tail -n 1)
    same "path, reason, zones, VLANs" "$(awk '{ print $8, $9, $10, $11, $16, $17 }' <<<"$line")" \
        "flowtable - lan iot 10 20"
}

# Conntrack does not count packets offloaded by eBPF, so the daemon adds the programs' counters,
# even for the last packets of a connection.
# @long
test_bytes_offloaded_by_ebpf_are_exact() {
    local port ports
    need_readers
    listen sink
    capture_export
    exports
    engine_ebpf
    soon 20 collector_is up
    ports=("$(fresh_port)" "$(fresh_port)")
    fetch "$ISP_4" "${ports[0]}"
    fetch "$H20_6" "${ports[1]}"
    soon 30 records_are_read "${ports[@]}"
    payload_is_whole "${ports[@]}"
    for port in "${ports[@]}"; do
        same "path" "$(awk -v port="$port" '$1 == port { print $8 }' "$HERE/records" | sort -u)" \
            ebpf
    done
}

begins_with_templates() {
    local bytes
    read -ra bytes < <(peers "od -A n -t x1 -N 18 /tmp/e2e/$1" | xargs)
    # Byte 0: version 10. Byte 16: id of the first set, 2 for templates (RFC 7011).
    [ "${bytes[*]:0:2} ${bytes[*]:16:2}" = "00 0a 00 02" ]
}

# @fault:collector-restarts @long
test_losses_are_counted_when_a_collector_restarts() {
    need_readers
    at_the_end remove_connections
    listen first
    capture_export
    exports template_refresh 3600
    soon 20 collector_is up
    questions 1000
    soon 20 counted first.ipfix
    end_of first
    questions 40
    soon 20 collector_is down
    says '.exports[0].cause.code == "refused"' exports
    between "records lost" "$(said '.exports[0].lost' exports)" 1 100
    questions 500
    listen second
    soon 20 collector_is up
    soon 5 begins_with_templates second.ipfix
    soon 20 counted first.ipfix second.ipfix
    note "$(said '.exports[0] | "sent \(.sent), lost \(.lost)"' exports)"
}

# @long
test_no_record_of_ten_thousand_is_lost() {
    local round
    need_readers
    at_the_end remove_connections
    listen sink
    capture_export
    exports
    soon 20 collector_is up
    for round in 1 2 3 4 5; do
        questions 2000
        note "round $round: $(said '.exports[0] | "sent \(.sent), queued \(.queued)"' exports)"
    done
    soon 30 says '.exports[0] | .sent > 10000 and .lost == 0' exports
    soon 30 counted sink.ipfix
}

# @fault:collector-section
test_an_invalid_section_is_reported_and_changes_nothing() {
    local base line
    exports
    soon 10 says '.exports | length == 1' exports
    base=$(gw cat "/run/e2e/$CONFIG")
    for line in "host store.example" "port 0" "port 70000" "hots 10.10.10.10"; do
        refused "$base
config export 'store'
    option host '10.10.10.11'
    option $line" store "${line% *}"
        says ".exports[0] | .host == \"$COLLECTOR\" and .port == 4739" exports
    done
    line="
config export
    option name 'twin'
    option host '10.10.10.11'"
    refused "$base$line$line" "@export[1]" name twin
    cp_config_back
    soon 10 healthy
    soon 10 says '.exports | length == 0' exports
}
