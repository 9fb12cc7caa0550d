# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 20,000 live connections.
# @timed

NUMBER=20000
# CPU limit in percent of the emulated core, and time limit of a page.
CPU_LIMIT=25
PAGE_LIMIT_MS=2000
# Limits in KiB for the daemon's growth and total. crates/gateway/examples/scale allows 60 MB for
# 100,000 connections, so a fifth for these; measured: 8,200. The total includes a full ring of
# alerts.
GROWTH_LIMIT=12000
MEMORY_LIMIT=32000

knows() { says ".conntrack.count >= $1" status; }

# Prints the daemon's CPU time in ticks of 10 ms.
cpu_ticks() { gw cat "/proc/$(daemon_pid)/stat" | awk '{ print $14 + $15 }'; }

page_ms() {
    local started=${EPOCHREALTIME/./}
    ask flows --limit 200 --path slow --sort bytes "$@" >/dev/null
    echo $(((${EPOCHREALTIME/./} - started) / 1000))
}

test_twenty_thousand_connections_stay_within_the_limits() {
    local port used before count memory
    trap remove_connections EXIT
    port=$(fresh_port)
    download h10 "$port" "$H20_4"
    memory=$(daemon_kib)
    same "conntrack's errors" "$(add_connections "$NUMBER" | grep -iE 'error|fail' || true)" ""
    count=$(conntrack_count)
    between "connections" "$count" "$NUMBER" $((NUMBER + 1000))
    soon 30 knows "$NUMBER"
    before=$(cpu_ticks)
    # @sleep: timed: the span of the measurement
    sleep 20
    used=$((($(cpu_ticks) - before) / 20))
    note "$(said '.conntrack |
        "\(.count) flows, read in \(.dump_ms) ms every \(.refresh_ms) ms"' status)"
    note "daemon: $used % of the emulated core, $memory KiB before, $(daemon_kib) KiB with them"
    between "percent of the core" "$used" 0 "$CPU_LIMIT"
    between "ms for a filtered and sorted page" "$(page_ms)" 0 "$PAGE_LIMIT_MS"
    between "ms for the last page" "$(page_ms --offset $((NUMBER - 300)))" 0 "$PAGE_LIMIT_MS"
    # After the pages, to include their memory. Memory may also have been freed.
    between "KiB of the daemon" "$(daemon_kib)" 1000 "$MEMORY_LIMIT"
    between "KiB more" $(($(daemon_kib) - memory)) -4000 "$GROWTH_LIMIT"
    on_path flowtable --proto tcp --text "$port" || fail "the one real flow is not offloaded"
    remove_connections
    soon 60 says ".conntrack.count < 1000" status
}
