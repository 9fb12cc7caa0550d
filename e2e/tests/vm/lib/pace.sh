# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures this machine's speed by a typical work of tests on the gateway: starting small programs.

# Duration on an idle emulated gateway, on two cores of 2024, in milliseconds.
REFERENCE_MS=1000
# shellcheck disable=SC2016 # expanded on the gateway
WORK='i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done'

# measure_pace: runs once before all tests. Percent of the reference time, at least 100.
measure_pace() {
    local started=${EPOCHREALTIME/./} percent
    gw "$WORK" || fail "the gateway does not answer"
    percent=$(((${EPOCHREALTIME/./} - started) / 10 / REFERENCE_MS))
    [ "$percent" -ge 100 ] || percent=100
    echo "$percent" >"$RUN/pace"
    note "the machine takes $percent % of the reference's time"
}

pace() { cat "$RUN/pace"; }
