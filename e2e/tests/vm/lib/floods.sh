# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Requirements on the gateway during a flood; see begin_flood and end_flood.
# shellcheck disable=SC2034 # the tests use the names

MEMORY_LIMIT=102400
# Limit for the page's first byte (issue 17), on a reference machine.
FIRST_BYTE_MS=2000

# begin_flood: starts offloaded connections and saves the state for comparison.
begin_flood() {
    local port
    port=$(fresh_port)
    PID=$(daemon_pid)
    SESSION=$(session root fastpath)
    SLOWEST_MS=0
    declare -gA SLOWEST=()
    UDP_PORT=$((port + 1)) TCP_PORT=$port
    peers rm -f /tmp/e2e/enough
    download h10 "$TCP_PORT" "$ISP_4" 300k
    soon 20 on_path flowtable --proto tcp --text "$TCP_PORT"
    # A slow flow (5 kB/s) would stay inspected.
    if [ "$CONFIG" != inspect ]; then
        begin h10 numbers "/tmp/e2e/numbers $ISP_4 $UDP_PORT"
        soon 20 on_path flowtable --proto udp --text "$UDP_PORT"
    fi
    REFUSED=$(said .conntrack.refused status)
}

# first_byte ARGUMENTS…: prints the milliseconds until curl's first byte; fails on errors.
first_byte() {
    local seconds
    seconds=$(curl -sS -f -o /dev/null -m "$(patient 10)" -w '%{time_starttransfer}' "$@") ||
        fail "no answer: $*"
    awk -v seconds="$seconds" 'BEGIN { print int(seconds * 1000) }'
}

# web_call OBJECT METHOD ARGUMENTS: prints the milliseconds of a call over HTTP.
web_call() {
    first_byte -H 'Content-Type: application/json' -d "$(jq -nc --arg s "$SESSION" --arg o "$1" \
        --arg m "$2" --argjson a "$3" \
        '{jsonrpc: "2.0", id: 1, method: "call", params: [$s, $o, $m, $a]}')" "$(ubus_url)"
}

# own_call: prints the milliseconds of a call on the gateway, including the start of `ubus`.
own_call() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'read -r start _ </proc/uptime && ubus call fastpath status >/dev/null &&
        read -r end _ </proc/uptime && echo "$start $end"' |
        awk '{ print int(($2 - $1) * 1000) } END { exit !NR }' || fail "no answer on the gateway"
}

# slowest NAME MS: updates the maximum of this kind and of all.
slowest() {
    [ "$2" -le "${SLOWEST[$1]-0}" ] || SLOWEST[$1]=$2
    [ "$2" -le "$SLOWEST_MS" ] || SLOWEST_MS=$2
}

# page_answers: times a file, a call to rpcd, and two calls to the daemon.
page_answers() {
    local ms
    ms=$(first_byte "$(lab_url)")
    slowest page "$ms"
    ms=$(web_call session access '{"scope": "ubus", "object": "fastpath", "function": "status"}')
    slowest rpcd "$ms"
    ms=$(web_call fastpath status '{}')
    slowest daemon "$ms"
    ms=$(own_call)
    slowest direct "$ms"
}

page_answers_until() {
    local end=$((EPOCHSECONDS + $(patient 60)))
    until "$@" >/dev/null 2>&1; do
        page_answers
        [ "$EPOCHSECONDS" -lt "$end" ] || fail "never: $*"
    done
    page_answers
}

end_flood() {
    local numbers kib
    goes_on "$TCP_PORT"
    kib=$(gw "sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$PID/status")
    note "slowest first byte: page ${SLOWEST[page]} ms, rpcd ${SLOWEST[rpcd]} ms," \
        "daemon ${SLOWEST[daemon]} ms, on the gateway ${SLOWEST[direct]} ms; daemon $kib KiB"
    between "ms until the first byte" "$SLOWEST_MS" 0 $((FIRST_BYTE_MS * $(pace) / 100))
    between "KiB of the daemon" "$kib" 1000 "$MEMORY_LIMIT"
    same "the daemon's process" "$(daemon_pid)" "$PID"
    [ "$CONFIG" != inspect ] || return 0
    peers touch /tmp/e2e/enough
    soon 10 ended numbers
    numbers=$(peers cat /tmp/e2e/numbers.log)
    note "packets sent and lost: $numbers"
    between "packets of the offloaded connection" "${numbers% *}" 25 1000000
    same "packets of it that were lost" "${numbers#* }" 0
}
