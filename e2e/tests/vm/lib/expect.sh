# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Assertions and messages. The first failed assertion ends the test.

# Writes to stderr, because callers may capture stdout.
fail() {
    printf 'failed: %s\n' "$*" >&2
    exit 1
}

skip() {
    printf 'skipped: %s\n' "$*"
    exit "$SKIP"
}

note() { printf 'note: %s\n' "$*"; }

same() {
    local lines=$'\n'
    [ "$2" != "$3" ] || return 0
    [[ $2$3 == *"$lines"* ]] || fail "$1 is '$2' instead of '$3'"
    diff --label got --label wanted -U 1 <(echo "$2") <(echo "$3") || fail "another $1, see above"
}

has() { [[ $2 == *"$3"* ]] || fail "$1 has no '$3': $2"; }

lacks() { [[ $2 != *"$3"* ]] || fail "$1 has '$3': $2"; }

# between SUBJECT NUMBER LOW HIGH: accepts integers and fractions, limits included.
between() {
    awk -v n="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(n != "" && n >= low && n <= high) }' ||
        fail "$1 is $2, not between $3 and $4"
}

# SECONDS is the maximum on an idle reference machine. Waits may last ten times as long, scaled by
# this machine's pace (pace.sh).
PATIENCE=10

# patient SECONDS: prints the scaled time, for programs with their own timeout.
patient() { echo $(($1 * PATIENCE * $(pace) / 100)); }

# soon SECONDS COMMAND…: repeats COMMAND until it succeeds. Gives up at the latest at WAIT_UNTIL
# (Unix time), when the test would be killed without a message.
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
        # Poll long waits less often, which leaves CPU time to an emulated machine.
        # @sleep: between two questions of soon
        if [ "$tries" -lt 15 ]; then sleep 0.1; else sleep 0.4; fi
    done
}

# until_still SECONDS COMMAND…: waits until the output of COMMAND stops changing.
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

# never SECONDS COMMAND…: fails if COMMAND succeeds within SECONDS.
never() {
    local seconds=$1
    shift
    ! poll "$seconds" "$@" >/dev/null 2>&1 || fail "within $seconds s: $*"
}
