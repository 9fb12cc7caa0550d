# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Flow records over TCP: exact bytes; collectors that stall or send garbage delay nothing.
# @long

# shellcheck source=e2e/tests/vm/lib/export.sh
. "$VM/lib/export.sh"
# shellcheck source=e2e/tests/vm/lib/floods.sh
. "$VM/lib/floods.sh"

RECORDS=sink.ipfix

test_bytes_over_tcp_are_exact() {
    local address port ports=()
    need_readers
    listen_tcp sink
    exports protocol tcp
    soon 20 collector_is up
    for address in "$ISP_4" "$ISP_6" "$H20_4" "$H20_6"; do
        port=$(fresh_port)
        fetch "$address" "$port"
        ports+=("$port")
    done
    soon 30 records_are_whole "${ports[@]}"
    records_are_read "${ports[@]}"
    soon 10 arrived sink.ipfix
    note "$(said '.exports[0] | "sent \(.sent), lost \(.lost)"' exports)"
}

# shellcheck disable=SC2016 # expanded on the gateway
ticks_begin() {
    gw 'ubus subscribe fastpath >/tmp/export.ticks 2>/dev/null & echo $! >/tmp/export.pid'
    soon 10 gw grep -q '"tick"' /tmp/export.ticks
}
# shellcheck disable=SC2016 # expanded on the gateway
ticks_end() { gw 'kill "$(cat /tmp/export.pid)" 2>/dev/null; cat /tmp/export.ticks'; }

# ticks_continue: checks the interval between the ticks, like api.sh.
ticks_continue() {
    local ticks
    ticks=$(ticks_end | jq -sc '[.[].tick | values | .now_ms]')
    note "$(jq -r '"\(length) ticks in \((last - first) / 1000) s"' <<<"$ticks")"
    between "ticks" "$(jq length <<<"$ticks")" 5 100000
    between "milliseconds from the first tick to the last, for each step" \
        "$(jq '(last - first) / (length - 1)' <<<"$ticks")" 900 1250
}

# stop_reading NAME: suspends the collector; the kernel's buffers fill up, then the queue.
stop_reading() { peers "kill -STOP -- -\$(cat /tmp/e2e/$1.pid)"; }
run_again() { peers "kill -CONT -- -\$(cat /tmp/e2e/$1.pid)" 2>/dev/null || true; }

stalled() { says '.exports[0] | .state == "up" and .cause.code == "stalled"' exports; }

more_until() {
    questions 4000
    says "$1" exports
}

# @fault:collector-does-not-read
test_a_collector_that_does_not_read_delays_nothing() {
    at_the_end 'remove_connections; run_again sink'
    listen_tcp sink
    exports protocol tcp
    soon 20 collector_is up
    stop_reading sink
    begin_flood
    ticks_begin
    page_answers_until more_until '.exports[0].lost > 0'
    soon 20 stalled
    # The queue holds 14,000 records.
    between "records that wait" "$(said '.exports[0].queued' exports)" 10000 20000
    note "$(said '.exports[0] | "sent \(.sent), lost \(.lost), queued \(.queued)"' exports)"
    ticks_continue
    end_flood
}

# garbage_is_read: succeeds once the exporter has read all garbage.
garbage_is_read() {
    local said
    said=$(h10 "ss -Hti state established sport = :4739")
    [ "$(sed -n 's/.* bytes_acked:\([0-9]*\).*/\1/p' <<<"$said")" -ge $GARBAGE ] || {
        echo "$said"
        return 1
    }
}
GARBAGE=1048576

# @fault:collector-sends-garbage
test_garbage_of_a_collector_is_discarded() {
    local pid port
    need_readers
    pid=$(daemon_pid)
    begin h10 sink "exec socat TCP-LISTEN:4739 \
        SYSTEM:'head -c $GARBAGE /dev/urandom & exec cat >/tmp/e2e/sink.ipfix'"
    exports protocol tcp
    soon 20 collector_is up
    soon 20 garbage_is_read
    port=$(fresh_port)
    fetch "$ISP_4" "$port"
    soon 30 records_are_whole "$port"
    soon 10 arrived sink.ipfix
    same "the daemon's process" "$(daemon_pid)" "$pid"
    collector_is up || fail "the collector is not up"
}
