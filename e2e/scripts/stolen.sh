# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What others take of this machine. Where its CPUs are another machine's threads, the kernel counts
# the time that they had work for and did not run (proc(5), /proc/stat, "steal"). Nobody counts what
# who shares their cores takes of their speed; that a piece of work shows.
#
# A limit in seconds is the gateway's, not that of a machine that stands still every other moment.
# So a test that failed while this much was taken, in percent, is measured again when it is over.
# The limit stays, and whatever fails on a machine that is its own has failed.
STOLEN_MUCH=25
# Two programs on the same core of ours slow each other down as well: only more than that counts.
SLOWED_MUCH=50
# shellcheck disable=SC2034 # for who runs tests
ATTEMPTS=3
# Longer than that nobody waits for it to be over, s.
CALM_WAIT=60
# The least time that the piece of work has taken here, ms.
PACE=$(dirname "${BASH_SOURCE[0]}")/../../build/pace

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

# piece_of_work: the CPU time of one, ms, the least of three.
piece_of_work() {
    local LC_ALL=C TIMEFORMAT=%3U least=100000 took
    for _ in 1 2 3; do
        took=$({ time awk 'BEGIN { for (i = 0; i < 400000; i++) sum += i % 7 }'; } 2>&1)
        took=$((10#${took/./}))
        [ "$took" -ge "$least" ] || least=$took
    done
    echo "$least"
}

# slowed: percent of the speed that the CPUs have had here, and do not have now.
slowed() {
    local now least
    now=$(piece_of_work)
    least=$(cat "$PACE" 2>/dev/null) || least=$now
    if [ "$now" -le "$least" ]; then
        mkdir -p "${PACE%/*}"
        echo "$now" >"$PACE"
        least=$now
    fi
    echo $((now > 0 ? 100 * (now - least) / now : 0))
}

# lost SINCE: percent that others took, of the time since then or else of the speed.
lost() {
    local time speed
    time=$(stolen "$1")
    speed=$(slowed)
    if [ "$speed" -lt "$SLOWED_MUCH" ] || [ "$speed" -lt "$time" ]; then speed=$time; fi
    echo "$speed"
}

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
        [ "$(lost "$since")" -ge "$STOLEN_MUCH" ] || return 0
    done
}
