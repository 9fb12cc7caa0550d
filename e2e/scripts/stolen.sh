# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures the CPU time that the host or other processes take from the tests. Printed with failures,
# as a hint that a missed limit in seconds may be due to a stalled machine; no test passes because
# of it.

# cpu_time: prints the CPU time used and stolen so far (/proc/stat, see proc(5)), in 1/100 s.
cpu_time() { awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8, $9; exit }' /proc/stat; }

# stolen SINCE: prints the stolen percentage since cpu_time printed SINCE.
stolen() {
    awk -v since="$1" -v now="$(cpu_time)" 'BEGIN {
        split(since, a); split(now, b)
        ran = b[1] - a[1]; taken = b[2] - a[2]
        all = ran + taken
        printf "%d\n", (all > 0) ? 100 * taken / all : 0 }'
}
