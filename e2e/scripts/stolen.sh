# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CPU time that other processes take of this machine, printed with failures: limits in seconds are
# the gateway's, and a missed one may be due to a machine that stood still. It excuses nothing.
#
# Where its CPUs are another machine's threads, the kernel counts the time that they had work for
# and did not run (proc(5), /proc/stat, "steal").

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
