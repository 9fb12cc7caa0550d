# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures the gateway's speed with work that is typical of tests: starting small programs.

# Duration on an idle emulated gateway with two cores of 2024, in ms.
REFERENCE_MS=1000
# shellcheck disable=SC2016 # expanded on the gateway
WORK='i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done'

# measure_pace: stores the duration in percent of the reference, at least 100.
measure_pace() {
    local started=${EPOCHREALTIME/./} percent
    gw "$WORK" || fail "the gateway does not answer"
    percent=$(((${EPOCHREALTIME/./} - started) / 10 / REFERENCE_MS))
    [ "$percent" -ge 100 ] || percent=100
    echo "$percent" >"$RUN/pace"
    note "the machine takes $percent % of the reference's time"
}

pace() { cat "$RUN/pace"; }
