# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Metrics for Prometheus, as printed by the collector.

DOUBLES=$TOP/e2e/tests/packages/doubles
COLLECTOR=$TOP/feeds/fastpath-metrics/files/fastpath.lua
PROMTOOL=$(command -v promtool || echo "$TOP/build/promtool")
FILE=33554432

metrics() { gw ubus call fastpath metrics; }

sum() {
    local name=$1 wanted
    shift
    wanted=$(printf '%s\n' "$@" | jq -R 'select(. != "") | split("=") | {(.[0]): .[1]}' | jq -s add)
    metrics | jq --arg name "$name" --argjson wanted "$wanted" '
        [.families[] | select(.name == $name) | .samples[]
            | select(.labels | contains($wanted // {})) | .value | tonumber] | add // 0'
}

sum_is() {
    local value=$1 found
    shift
    found=$(sum "$@")
    [ "$found" = "$value" ] || { echo "$* is $found"; return 1; }
}

# text FILE: writes the metrics in Prometheus' text format.
text() {
    command -v lua5.1 >/dev/null || skip "this machine has no lua5.1 for the collector"
    metrics | jq -r -f "$DOUBLES/lua.jq" >"$RUN/answer.lua"
    lua5.1 "$DOUBLES/exporter.lua" "$COLLECTOR" "$RUN/answer.lua" >"$1"
}

# checked: fails if promtool finds problems in $RUN/metrics.
checked() {
    local said
    [ -x "$PROMTOOL" ] || skip "this machine has no promtool"
    text "$RUN/metrics"
    said=$("$PROMTOOL" check metrics <"$RUN/metrics" 2>&1) || fail "promtool: $said"
    same "promtool's answer" "$said" ""
}

# @core
test_promtool_reads_the_metrics_of_a_gateway() {
    checked
    has "the metrics" "$(cat "$RUN/metrics")" 'fastpath_engine_active{engine="flowtable"} 1'
    has "the metrics" "$(cat "$RUN/metrics")" 'fastpath_wan_up{interface="wan"} 1'
    note "$(grep -vc '^#' "$RUN/metrics") series, $(wc -c <"$RUN/metrics") bytes"
}

# counted NAME [LABEL=VALUE]…: succeeds if the sum grew by the file and its headers since BEFORE.
counted() {
    local grown
    grown=$(($(sum "$@") - BEFORE))
    if [ "$grown" -lt "$FILE" ] || [ "$grown" -gt $((FILE * 110 / 100)) ]; then
        echo "$*: $grown more for $FILE bytes"
        return 1
    fi
}

# An ended connection stays counted.
test_offloaded_bytes_are_counted_by_zones_and_host() {
    local labels=(direction=down in_zone=lan out_zone=wan) fast host
    host=$(h10 'ip -4 -o address show scope global' | grep -oE '10\.10\.10\.[0-9]+' | head -n 1)
    fast=$(sum fastpath_forwarded_bytes_total path=flowtable "${labels[@]}")
    BEFORE=$(sum fastpath_forwarded_bytes_total "${labels[@]}")
    h10 "curl -sS -o /dev/null http://$ISP_4/32.bin"
    soon 10 counted fastpath_forwarded_bytes_total "${labels[@]}"
    between "offloaded bytes" \
        $(($(sum fastpath_forwarded_bytes_total path=flowtable "${labels[@]}") - fast)) \
        $((FILE * 97 / 100)) $((FILE * 110 / 100))
    BEFORE=$(sum fastpath_host_bytes_total "host=$host" direction=down)
    h10 "curl -sS -o /dev/null http://$ISP_4/32.bin"
    soon 10 counted fastpath_host_bytes_total "host=$host" direction=down
}

test_hosts_are_bounded_by_the_configuration() {
    refused "config fastpath 'main'
	option engine 'flowtable'
	option metrics_hosts '101'" main metrics_hosts 101
    configure <<'END'
config fastpath 'main'
	option engine 'flowtable'
	option metrics_hosts '0'
END
    soon 10 healthy
    h10 "curl -sS -o /dev/null http://$H20_4/256.bin --max-time 1" || true
    same "series of hosts" "$(metrics | jq -r '.families[]
        | select(.name == "fastpath_host_bytes_total") | .samples | map(.labels.host) | unique
        | join(" ")')" other
}

test_a_reconnect_of_the_wan_is_counted() {
    local before
    before=$(sum fastpath_wan_reconnects_total interface=wan)
    pppoe_end KILL
    soon 10 wan_is_down
    soon 30 wan_is_up
    soon 15 sum_is $((before + 1)) fastpath_wan_reconnects_total interface=wan
}

exits_of() { sum fastpath_ebpf_packets_total "device=$1"; }

reaches() {
    local found
    found=$(exits_of "$2")
    [ "$found" -ge "$1" ] || { echo "$2: $found"; return 1; }
}

# h10 is behind lan1, the ISP behind wan.
test_verdicts_of_programs_are_counted_by_port() {
    local before lan2
    ebpf_at auto
    before=$(exits_of lan1)
    lan2=$(exits_of lan2)
    h10 "ping -c 20 -i 0.05 -W 2 $ISP_4" >/dev/null
    soon 5 reaches $((before + 20)) lan1
    soon 5 reaches 20 wan
    between "packets at a port without traffic" $(($(exits_of lan2) - lan2)) 0 15
    says '.seen == ([.exits[].packets] | add)' ebpf || fail "exits do not add up"
    checked
}

# spent: prints the daemon's CPU time in µs, excluding reads of conntrack.
spent() {
    metrics | jq '[.families[] | select(.name == "fastpath_cpu_seconds_total",
        .name == "fastpath_conntrack_dump_cpu_seconds_total") | .samples[0].value | tonumber]
        | (.[0] - .[1]) * 1000000 | round'
}

# @timed
test_a_scrape_is_cheap_with_a_hundred_thousand_flows() {
    local flows=100000 scrapes=50 before memory grown series
    trap remove_connections EXIT
    same "conntrack's complaints" "$(add_connections "$flows" | grep -i -E 'error|fail' || true)" ""
    soon 60 says ".conntrack.count >= $flows" status
    memory=$(daemon_kib)
    before=$(spent)
    gw "for i in \$(seq $scrapes); do ubus call fastpath metrics >/dev/null; done"
    grown=$((($(spent) - before) / scrapes))
    series=$(metrics | jq '[.families[].samples | length] | add')
    note "$series series, $grown µs of CPU a scrape, $memory KiB before, $(daemon_kib) KiB after"
    between "series" "$series" 100 3000
    between "µs of CPU" "$grown" 0 100000
    between "KiB more" $(($(daemon_kib) - memory)) -8000 1024
}
