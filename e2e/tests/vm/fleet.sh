# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prometheus and VictoriaMetrics scrape the gateway as configured in docs/fleet: every dashboard
# panel has data, and no alert fires. `./build.sh test fleet` installs both.
# @inspected @long

# shellcheck source=e2e/tests/vm/lib/archives.sh
. "$VM/lib/archives.sh"

FLEET=$TOP/e2e/tests/fleet
PYTHON=$TOP/build/fleet/venv/bin/python
# Prints the collector's output, like metrics.sh. Each scrape runs it in a new shell.
# shellcheck disable=SC2016 # expanded by that shell
SCRAPE='set -eo pipefail
    unset RUN
    . "$0/e2e/lab/verbs.sh"
    doubles=$0/e2e/tests/packages/doubles
    gw ubus call fastpath metrics | jq -r -f "$doubles/lua.jq" >"$RUN/scrape.lua"
    lua5.1 "$doubles/exporter.lua" "$0/feeds/fastpath-metrics/files/fastpath.lua" "$RUN/scrape.lua"'

need_stores() {
    command -v lua5.1 >/dev/null || skip "this machine has no lua5.1 for the collector"
    [ -x "$PYTHON" ] || skip "this machine has no Python environment for the stores"
}

busy_gateway() {
    serve_archives
    protect_inline "$(source_of good)"
    update good
    engine_ebpf
    gw 'fastpathctl doctor >/dev/null 2>&1 || true'
    begin h10 downloads "while curl -sS -o /dev/null http://$ISP_4/32.bin; do :; done"
    soon 30 says '.paths.ebpf.bytes > 0' status
}

has_data() {
    local said
    said=$(cd "$FLEET" && PYTHONDONTWRITEBYTECODE=1 LAB_RUN=$RUN \
        "$PYTHON" lab.py "$1" bash -c "$SCRAPE" "$TOP" 2>&1) || fail "$1: $said"
}

test_dashboards_have_data_in_prometheus_and_no_alert_fires() {
    need_stores
    busy_gateway
    has_data prometheus
}

test_dashboards_have_data_in_victoria_metrics() {
    need_stores
    [ -x "$TOP/build/fleet/programs/usr/bin/victoria-metrics" ] ||
        command -v victoria-metrics >/dev/null || skip "this machine has no victoria-metrics"
    busy_gateway
    has_data victoria-metrics
}
