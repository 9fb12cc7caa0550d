# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Shows progress on the terminal. Needs BUILD.

say() { printf '%s\n' "$*"; }
die() { printf 'build.sh: %s\n' "$*" >&2; exit 1; }
now() { date +%s; }

# step TITLE COMMAND…: runs COMMAND with its output in a log, and prints the duration. On failure
# prints the end of the log and appends it to FAILURES, if set.
step() {
    local what=$1 log started pid status=0
    shift
    mkdir -p "$BUILD/log"
    log=$BUILD/log/$(printf '%s' "$what" | tr -c 'A-Za-z0-9\n' '-').log
    started=$(now)
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    # Interrupting a build must end its compiler.
    trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
    if [ -t 1 ]; then watch_step "$what" "$started" "$pid"; else printf '  … %s\n' "$what"; fi
    wait "$pid" || status=$?
    trap - INT TERM
    if [ "$status" != 0 ]; then
        printf '  ✗ %s (%s s), the end of %s:\n' "$what" $(($(now) - started)) "$log" >&2
        tail -n 40 "$log" >&2
        if [ -n "${FAILURES-}" ]; then
            { printf '  ✗ %s\n' "$what" && tail -n 20 "$log" | sed 's/^/      /'; } >>"$FAILURES"
        fi
        return "$status"
    fi
    printf '  ✓ %s (%s s)\n' "$what" $(($(now) - started))
    [ -z "${FAILURES-}" ] || printf '%s\t%s\n' $(($(now) - started)) "$what" >>"$BUILD/log/steps"
}

watch_step() {
    while kill -0 "$3" 2>/dev/null; do
        printf '\r  … %s (%s s) ' "$1" $(($(now) - $2))
        sleep 0.5
    done
    printf '\r\033[K'
}

# stale RESULT FOLDER [NAME…]: succeeds if FOLDER has a file newer than RESULT, outside subfolders
# NAME.
stale() {
    local result=$1 folder=$2 name
    shift 2
    [ -e "$result" ] || return 0
    local skip=()
    for name in "$@"; do skip+=(-name "$name" -prune -o); done
    [ -n "$(find "$folder" "${skip[@]}" -type f -newer "$result" -print -quit)" ]
}
