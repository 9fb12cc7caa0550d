# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands that boot machines and measure, with a minimum of rounds.
# @long

quick() { BENCH_SLICES=1 build "$@"; }

# table SAID: fails unless the lab compared the engines on four routes and, if instructions were
# counted, a fast path needed fewer for a small packet. eBPF is missing in an image without daemon.
# shellcheck disable=SC2016 # expanded by jq
table() {
    local report
    report=$(sed -n 's/^report: //p' <<<"$1")
    has "$1" " five-chain      flowtable           eBPF" "inter-VLAN IPv4" \
        "inter-VLAN IPv6" "PPPoE      IPv4, NAT" "PPPoE      IPv6"
    jq -e '(if .hook then ["ebpf"] else [] end + ["flowtable"]) as $engines |
        ([.runs[] | select(.mode | IN($engines[])) | .offload_ratio] |
            length == 8 * ($engines | length) and all(. >= 0.95)) and
        ([.runs[] | select(.unit == "instructions")] | group_by([.route, .family]) |
            all(INDEX(.mode) | .off.cost > .[$engines[]].cost))' "$report" >/dev/null ||
        fail "the figures of $report: $(jq -c .runs "$report")"
}

# @runs ./build.sh lab --once --machine uml
test_a_uml_lab_compares_the_engines() { table "$(quick lab --once --machine uml)"; }

# @runs ./build.sh lab
test_an_emulated_lab_compares_the_engines() {
    local said
    said=$(quick lab)
    table "$said"
    has "$said" "instructions per packet" "eBPF: at native XDP"
}

# @timed
# @runs ./build.sh lab --once --ips
# Ignores exceeded time limits, which a busy host may cause.
test_inspection_is_measured() {
    local said
    said=$(BENCH_ROUNDS=1 build lab --once --ips) || has "$said" "lab: missed: "
    has "$said" "inspect against always" "quic-like" "stopped, fail closed" "bad pages asked for: 5"
}

# @runs ./build.sh lab --once --image FILE
test_a_lab_runs_an_image() {
    "$LAB/lab" sample "$WORK/sample.img"
    table "$(quick lab --once --image "$WORK/sample.img")"
}

# @runs ./build.sh lab --once --root FOLDER
test_a_lab_runs_openwrt_s_userland() {
    [ -n "${OPENWRT_ROOT-}" ] || skip "OPENWRT_ROOT names no folder with OpenWrt's userland"
    table "$(quick lab --once --machine uml --root "$OPENWRT_ROOT")"
}

# @timed
# @runs ./build.sh bench --time
test_instructions_are_counted() {
    has "$(build bench --time virtual)" "report:" "bench.svg"
}

# @timed
# @runs ./build.sh bench tunnels
test_tunnels_are_measured() {
    has "$(TUNNELS=wireguard,policy-aesni build bench tunnels)" "| wireguard " "| policy aesni " \
        "report:"
}

# @timed
# @runs ./build.sh bench matrix --publish
test_rows_of_the_matrix_are_measured_and_published() {
    mkdir "$WORK/docs"
    sed '/^<!-- matrix -->$/,/^<!-- .matrix -->$/{ /^<!--/!d }' "$TOP/docs/BENCHMARKS.md" \
        >"$WORK/docs/BENCHMARKS.md"
    DOCS=$WORK/docs WORDS="bench.sizes=64 bench.blocks=8" \
        build bench matrix --publish streams packets >/dev/null
    has "$(cat "$WORK/docs/BENCHMARKS.md")" "| 3 | 1500 | off | no rules | 4.95 | 1 |" \
        "| A | 1500 | off | flowtable | 7.05 |" "| 64 | 1 |" "## Instructions of TCX"
    has "$(cat "$WORK/docs/bench/matrix.svg")" "</svg>"
    has "$(cat "$WORK/docs/bench/matrix.jsonl")" '"machine":"streams"' '"run":2'
}

# @timed
# @runs ./build.sh bench connections
test_connections_are_measured() {
    has "$(build bench connections)" "| direct " "| daemon-ebpf " "report:"
}

# @timed
# @runs ./build.sh bench contention
test_contention_is_measured() { has "$(build bench contention)" "| shared " "| plan " "report:"; }

# @timed
# @runs ./build.sh bench modes
test_modes_of_inspection_are_measured() {
    has "$(build bench modes)" "| passive " "| inline " "report:"
}

# @timed
# @runs ./build.sh bench shape
test_shaping_is_measured() { has "$(build bench shape)" "report:"; }

# @timed
# @runs ./build.sh bench scale
test_the_daemon_is_measured_with_many_connections() {
    [ "$(id -u)" = 0 ] || skip "only root records connections"
    has "$(build bench scale 1)" "flowtable " "ebpf " "report:"
}

# @timed
# @runs ./build.sh bench fleet
test_the_fleet_bench_compares_the_stores_with_the_gateways() {
    apt-cache show victoria-metrics >/dev/null 2>&1 || skip "apt has no package victoria-metrics"
    has "$(FLEET_NUMBERS="2 4" build bench fleet)" "all sums are those of the gateways"
}
