# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A megabyte of garbage at each socket of our processes, and floods of alerts; see floods.sh.
# @inspected
# shellcheck source=e2e/tests/vm/lib/floods.sh
. "$VM/lib/floods.sh"

GARBAGE=1000000

# our_sockets: prints the listening sockets of our processes, one per line. The name of a send-only
# datagram socket is *.
our_sockets() {
    gw 'ss -Hxlp; ss -Hltnup' | grep -E '"(fastpath|uhttpd|rpcd|ubusd)' |
        awk '$5 != "*" { print $1 ~ /^u_/ ? $5 : "port " gensub(/.*:/, "", 1, $5) }' | sort -u
}

garbage_to() {
    gw "head -c $GARBAGE /dev/urandom | socat -u - $1" >/dev/null 2>&1 || true
}

# @long
# @fault:flood-garbage
test_garbage_at_every_socket_is_harmless() {
    local socket bodies=$RUN/garbage
    begin_flood
    for socket in $(our_sockets | tr ' ' :); do
        case $socket in
            */ubus.sock | */update.sock | */eve.sock) garbage_to "UNIX-CONNECT:$socket" ;;
            /dev/log) garbage_to "UNIX-SENDTO:$socket" ;;
            port:80) garbage_to TCP4:127.0.0.1:80 ;;
            port:443) garbage_to TCP4:127.0.0.1:443 ;;
            *) fail "no garbage for the socket $socket" ;;
        esac
        page_answers
    done
    # Garbage as request bodies to the page and the API.
    head -c "$GARBAGE" /dev/urandom >"$bodies"
    for socket in "$(ubus_url)" "$(lab_url)"; do
        curl -sS -o /dev/null -m "$(patient 5)" --data-binary "@$bodies" "$socket" || true
        page_answers
    done
    base64 -w 0 <"$bodies" | jq -Rc --arg s "$SESSION" '{jsonrpc: "2.0", id: 1, method: "call",
        params: [$s, "fastpath", "flows", {filter: {text: .[:60000]}}]}' >"$bodies.json"
    curl -sS -o /dev/null -m "$(patient 5)" --data-binary "@$bodies.json" "$(ubus_url)" || true
    rm "$bodies" "$bodies.json"
    end_flood
    protect_inline
    dropped "$ISP_4"
}

alert_flood() {
    gw "awk -v sources=$1"' '"'"'BEGIN {
        for (i = 0; i < 20000; i++) {
            blocked = i % 500 == 250
            printf "{\"timestamp\":\"2026-11-21T08:00:00.000000+0000\",\"flow_id\":1," \
                "\"event_type\":\"alert\",\"src_ip\":\"198.18.%d.%d\",\"src_port\":1," \
                "\"dest_ip\":\"10.10.10.10\",\"dest_port\":2,\"proto\":\"TCP\",\"alert\":{" \
                "\"action\":\"%s\",\"gid\":1,\"signature_id\":%d,\"rev\":1,\"signature\":" \
                "\"flood\",\"category\":\"\",\"severity\":3}}\n", i % sources / 250,
                i % sources % 250, blocked ? "blocked" : "allowed", blocked ? 9000000 + i : 42
        }
    }'"'"' >/tmp/flood; socat -u OPEN:/tmp/flood '"UNIX-CONNECT:$EVENTS"
}

all_blocked() {
    local number
    number=$(ask alerts --action blocked --limit 400 |
        jq '[.alerts[] | select(.sid >= 9000000) | .sid] | unique | length')
    [ "$number" = 40 ] || { echo "$number of 40"; return 1; }
}

# @fault:flood-alerts
# @fault:flood-events
test_alert_floods_hide_no_drop() {
    local sources
    begin_flood
    for sources in 1 5000; do
        alert_flood "$sources"
        page_answers
        soon 10 all_blocked
        note "$sources sources: $(ips_value .events)"
        soon 5 says '.events.not_read_alerts > 0' ips
    done
    end_flood
    dropped "$ISP_4"
}
