# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The collector of fastpath-metrics prints the daemon's answer in Prometheus' format.
DOUBLES=$HERE/doubles
COLLECTOR=$TOP/feeds/fastpath-metrics/files/fastpath.lua
GOLDEN=$TOP/feeds/fastpathd/src/crates/gateway/src/metrics/golden.prom

PROMTOOL=$(command -v promtool || echo "$TOP/build/promtool")

need_lua() { command -v lua5.1 >/dev/null || skip "there is no lua5.1"; }

# collect JSON [GLOBAL]: prints the collector's output for this answer; GLOBAL is the exporter's
# global variable for output.
collect() {
    jq -r -f "$DOUBLES/lua.jq" "$1" >"$WORK/answer.lua"
    lua5.1 "$DOUBLES/exporter.lua" "$COLLECTOR" "$WORK/answer.lua" "${2-out}"
}

checked() {
    local said
    said=$("$PROMTOOL" check metrics <"$1" 2>&1) || fail "promtool: $said"
    same <(printf '%s' "$said") /dev/null "promtool's answer"
}

families() {
    jq -R -s '{families: (split("# HELP ")[1:] | map(split("\n") | map(select(. != "")) | {
        name: (.[0] | split(" ")[0]),
        help: (.[0] | sub("^[^ ]* "; "")),
        type: (.[1] | split(" ")[3]),
        samples: (.[2:] | map(capture("^[a-z_]*(\\{(?<labels>.*)\\})? (?<value>.*)$") | {
            labels: ((.labels // "") | [scan("([a-z_]+)=\"([^\"]*)\"")]
                | map({(.[0]): .[1]}) | add // {}),
            value: .value
        }))
    }))}' "$1"
}

in_order() {
    lua5.1 -e 'for line in io.lines() do
        local name, labels, rest = line:match("^([a-z_]+){(.*)}( .*)$")
        if name then
            local list = {}
            for label in labels:gmatch("[^,]+") do list[#list + 1] = label end
            table.sort(list)
            line = name .. "{" .. table.concat(list, ",") .. "}" .. rest
        end
        print(line)
    end' <"$1"
}

test_every_metric_is_printed_as_the_daemon_reports_it() {
    need_lua
    local global
    families "$GOLDEN" >"$WORK/answer"
    in_order "$GOLDEN" >"$WORK/wanted"
    for global in out output; do
        collect "$WORK/answer" "$global" >"$WORK/text" || fail "an exporter with $global"
        same "$WORK/text" "$WORK/wanted" "the metrics of an exporter with $global"
    done
}

test_promtool_accepts_the_metrics() {
    need_lua
    [ -x "$PROMTOOL" ] || skip "promtool is not installed"
    families "$GOLDEN" >"$WORK/answer"
    collect "$WORK/answer" >"$WORK/text"
    checked "$WORK/text"
    sed 's/_bytes_total/_bytes/' "$WORK/text" >"$WORK/wrong"
    ! "$PROMTOOL" check metrics <"$WORK/wrong" >/dev/null 2>&1 || fail "promtool finds nothing"
}

hostile() {
    jq -n --arg name "$1" '{families: [{name: "fastpath_host_info", type: "gauge",
        help: "A \\ and a\nline.", samples: [{labels: {name: $name}, value: "1"}]}]}'
}

test_names_of_hosts_are_escaped() {
    need_lua
    hostile $'a"} 1\nevil_total{x="\\' >"$WORK/answer"
    collect "$WORK/answer" >"$WORK/text"
    cat >"$WORK/wanted" <<'END'
# HELP fastpath_host_info A \\ and a\nline.
# TYPE fastpath_host_info gauge
fastpath_host_info{name="a\"} 1\nevil_total{x=\"\\"} 1
END
    same "$WORK/text" "$WORK/wanted" "the metrics"
    [ ! -x "$PROMTOOL" ] || checked "$WORK/text"
}

test_large_values_keep_every_digit() {
    need_lua
    jq -n '{families: [{name: "fastpath_x_total", type: "counter", help: "X.",
        samples: [{labels: {}, value: "18446744073709551615"}]}]}' >"$WORK/answer"
    [[ $(collect "$WORK/answer") == *$'\nfastpath_x_total 18446744073709551615' ]] ||
        fail "$(collect "$WORK/answer")"
}

test_without_the_daemon_the_collector_fails() {
    need_lua
    ! lua5.1 "$DOUBLES/exporter.lua" "$COLLECTOR" "$WORK/none" >"$WORK/text" 2>"$WORK/said" ||
        fail "it succeeds"
    same "$WORK/text" /dev/null "its text"
    same "$WORK/said" <(echo "fastpath: ubus call fastpath metrics: status 4") "its message"
}
