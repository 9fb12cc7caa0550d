# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Expectations and messages of a test. A failed expectation ends the test.

# Not on the standard output, which may be assigned to a variable.
fail() {
    printf 'failed: %s\n' "$*" >&2
    exit 1
}

skip() {
    printf 'skipped: %s\n' "$*"
    exit "$SKIP"
}

# note TEXT: shown with the test's name, passed or not.
note() { printf 'note: %s\n' "$*"; }

# same WHAT GOT WANTED
same() {
    local lines=$'\n'
    [ "$2" != "$3" ] || return 0
    [[ $2$3 == *"$lines"* ]] || fail "$1 is '$2' instead of '$3'"
    diff --label got --label wanted -U 1 <(echo "$2") <(echo "$3") || fail "another $1, see above"
}

# has WHAT TEXT PART
has() { [[ $2 == *"$3"* ]] || fail "$1 has no '$3': $2"; }

lacks() { [[ $2 != *"$3"* ]] || fail "$1 has '$3': $2"; }

# between WHAT NUMBER LOW HIGH: whole numbers or fractions, both ends included.
between() {
    awk -v n="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(n != "" && n >= low && n <= high) }' ||
        fail "$1 is $2, not between $3 and $4"
}

# How long to wait: SECONDS in a test are the longest time on an idle machine of the reference. A
# wait is ten times as long, times this machine's pace for the same work (pace.sh), and ends as
# soon as its condition holds.
PATIENCE=10

# patient SECONDS: that time for this machine, for programs that have a limit of their own.
patient() { echo $(($1 * PATIENCE * $(pace) / 100)); }

# soon SECONDS COMMAND…: COMMAND succeeds within that time, and before WAIT_UNTIL, in seconds since
# 1970, when the test would be ended from outside without its reason.
soon() {
    local end left seconds seen=() tries=0
    seconds=$(patient "$1")
    left=$((${WAIT_UNTIL:-EPOCHSECONDS + seconds} - EPOCHSECONDS))
    [ "$seconds" -le "$left" ] || seconds=$left
    shift
    end=$((${EPOCHREALTIME/./} + seconds * 1000000))
    until "$@" >"$RUN/answer" 2>&1; do
        seen=("$(head -c 2000 "$RUN/answer")" "${seen[@]:0:2}")
        if [ "${EPOCHREALTIME/./}" -ge "$end" ]; then
            printf 'its answers, the last one first:\n'
            printf '    %s\n' "${seen[@]}"
            fail "not within $seconds s: $*" \
                "(this machine's load: $(cut -d ' ' -f -3 /proc/loadavg))"
        fi
        tries=$((tries + 1))
        # A longer wait asks less often: an emulated machine has enough to do.
        # @sleep: between two questions of soon
        if [ "$tries" -lt 15 ]; then sleep 0.1; else sleep 0.4; fi
    done
}

# until_still SECONDS COMMAND…: the output of COMMAND has stopped changing.
until_still() {
    local seconds=$1
    shift
    soon "$seconds" unchanged "$@"
}
unchanged() {
    local before now
    before=$("$@")
    # @sleep: between the two observations of until_still
    sleep 0.7
    now=$("$@")
    [ "$before" = "$now" ] || { echo "$before, then $now"; return 1; }
}

# never SECONDS COMMAND…: COMMAND fails all the time. For "stays as it is": the one wait that
# cannot end early.
never() {
    local seconds=$1
    shift
    ! poll "$seconds" "$@" >/dev/null 2>&1 || fail "within $seconds s: $*"
}
