# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What others take of this machine's time: where its CPUs are another machine's threads, the kernel
# counts what they had work for and did not run (proc(5), /proc/stat, "steal").
#
# A limit in seconds is the gateway's, not that of a machine that stands still every other moment.
# So a test that failed while this much was taken, in percent, is measured again when it is over.
# The limit stays, and whatever fails on a machine that is its own has failed.
STOLEN_MUCH=25
# shellcheck disable=SC2034 # for who runs tests
ATTEMPTS=3
# Longer than that nobody waits for it to be over, s.
CALM_WAIT=60

# cpu_time: 1/100 s that the CPUs ran, and that others took, until now.
cpu_time() { awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8, $9; exit }' /proc/stat; }

# stolen SINCE: percent of the time the CPUs had work for, since cpu_time printed SINCE.
stolen() {
    awk -v since="$1" -v now="$(cpu_time)" 'BEGIN {
        split(since, a); split(now, b)
        ran = b[1] - a[1]; taken = b[2] - a[2]
        all = ran + taken
        printf "%d\n", (all > 0) ? 100 * taken / all : 0 }'
}

# much_stolen SINCE
much_stolen() { [ "$(stolen "$1")" -ge "$STOLEN_MUCH" ]; }

# busy: a second's work for each CPU. Nothing is taken from who wants nothing.
busy() {
    local cpu
    for ((cpu = $(nproc); cpu > 0; cpu--)); do timeout 1 sh -c 'while :; do :; done' & done
    wait
}

# calm: waits until the machine is its own again, or for the longest.
calm() {
    local since until=$((SECONDS + CALM_WAIT))
    while [ "$SECONDS" -lt "$until" ]; do
        since=$(cpu_time)
        busy
        much_stolen "$since" || return 0
    done
}
