# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How fast this machine is now: the gateway's work of a test, which is to start small programs.

# Duration on an idle emulated gateway on two cores of 2024, in milliseconds.
REFERENCE_MS=1000
# shellcheck disable=SC2016 # the gateway expands it
WORK='i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done'

# measure_pace: once before all tests; in percent of the reference, never less than 100.
measure_pace() {
    local started=${EPOCHREALTIME/./} percent
    gw "$WORK" || fail "the gateway does not answer"
    percent=$(((${EPOCHREALTIME/./} - started) / 10 / REFERENCE_MS))
    [ "$percent" -ge 100 ] || percent=100
    echo "$percent" >"$RUN/pace"
    note "the machine takes $percent % of the reference's time"
}

pace() { cat "$RUN/pace"; }
