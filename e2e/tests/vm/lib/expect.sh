# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a test says. A failed expectation ends the test.

fail() {
    printf 'failed: %s\n' "$*"
    exit 1
}

skip() {
    printf 'skipped: %s\n' "$*"
    exit "$SKIP"
}

# note TEXT: shown beside the test's name, passed or not.
note() { printf 'note: %s\n' "$*"; }

# same WHAT GOT WANTED
same() { [ "$2" = "$3" ] || fail "$1 is '$2' instead of '$3'"; }

# has WHAT TEXT PART
has() { [[ $2 == *"$3"* ]] || fail "$1 has no '$3': $2"; }

lacks() { [[ $2 != *"$3"* ]] || fail "$1 has '$3': $2"; }

# between WHAT NUMBER LOW HIGH: whole numbers or fractions, both ends included.
between() {
    awk -v n="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(n != "" && n >= low && n <= high) }' ||
        fail "$1 is $2, not between $3 and $4"
}

# How many times as long as on an idle machine a test waits: others may have the processors, and CI
# has slower ones. A wait ends as soon as what it waits for holds.
PATIENCE=6

# soon SECONDS COMMAND…: COMMAND succeeds, on an idle machine before the time is over; its last
# words are kept.
soon() {
    local seconds=$(($1 * PATIENCE))
    shift
    wait_for "$seconds" "$@" || {
        printf 'its last answer: '
        "$@" || true
        fail "not within $seconds s: $* (load of this machine: $(cut -d ' ' -f -3 /proc/loadavg))"
    }
}

# never SECONDS COMMAND…: COMMAND fails all the time. For "stays as it is": the one wait that
# cannot end early.
never() {
    local seconds=$1
    shift
    ! poll "$seconds" "$@" >/dev/null 2>&1 || fail "within $seconds s: $*"
}
