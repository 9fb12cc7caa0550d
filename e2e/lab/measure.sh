# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Common functions of benchmarks on a running lab. Needs paths.sh.

# progress_line TEXT: overwrites the previous progress line on a terminal.
progress_line() {
    if [ -t 2 ]; then printf '\r\033[K  … %s' "$1" >&2; else printf '  … %s\n' "$1" >&2; fi
}
end_progress() { [ ! -t 2 ] || printf '\r\033[K' >&2; }

gateway_ticks() {
    local fields
    read -ra fields <<<"$(sed 's/.*) //' "/proc/$(cat "$RUN/gateway.pid")/stat")"
    echo $((fields[11] + fields[12]))
}
