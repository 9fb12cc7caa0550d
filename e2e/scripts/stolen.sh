# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures CPU time that the host or other processes take from the tests. Printed with failures, as
# a hint that a stalled machine may have missed a time limit; it never makes a test pass.

# cpu_time: prints used and stolen CPU time (/proc/stat, proc(5)) in 1/100 s.
cpu_time() { awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8, $9; exit }' /proc/stat; }

# stolen SINCE: prints the stolen percentage after cpu_time printed SINCE.
stolen() {
    awk -v since="$1" -v now="$(cpu_time)" 'BEGIN {
        split(since, a); split(now, b)
        ran = b[1] - a[1]; taken = b[2] - a[2]
        all = ran + taken
        printf "%d\n", (all > 0) ? 100 * taken / all : 0 }'
}
