# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Suricata crashes, hangs or is missing, or sends too many or invalid events.
# @inspected

# Time limit for reporting a fault, in ms.
SHOWN_MS=2000

# flows_live: starts a connection that stays inspected (port SLOW) and an offloaded one (FAST).
flows_live() {
    SLOW=$(fresh_port)
    FAST=$((SLOW + 1))
    # 5 kB/s take 200 s to spend the budget of 1 MiB.
    download h10 "$SLOW" "$ISP_4" 5k
    download h10 "$FAST" "$ISP_4" 1M
    soon 10 on_path inspect/inspecting --proto tcp --text "$SLOW"
    soon 15 on_path flowtable --proto tcp --text "$FAST"
}

# arrived PORT: prints the bytes received by h10. conntrack would also count packets dropped later.
arrived() {
    h10 "ss -tin 'sport = :$1'" | grep -o 'bytes_received:[0-9]*' | cut -d : -f 2
}
more_arrived() { [ "$(arrived "$1")" -gt "$2" ]; }

grows() {
    local bytes
    bytes=$(arrived "$2")
    soon "$1" more_arrived "$2" "$bytes"
}

stalls() {
    local bytes
    # Packets in transit may still arrive.
    until_still 10 arrived "$1"
    bytes=$(arrived "$1")
    never 4 more_arrived "$1" "$bytes"
}

uninspected() { ips_value .counters.uninspected_packets; }

inline_restored() {
    soon 25 ips_is inline
    dropped "$ISP_4"
    # Exponential backoff: the sender may pause as long as the outage lasted.
    grows 30 "$SLOW"
    grows 10 "$FAST"
}

# failed_open COUNTED: fails unless traffic passes uninspected and the number of uninspected packets
# exceeds COUNTED.
failed_open() {
    soon 3 good_page "$ISP_4"
    same "bytes of the bad page" "$(bad_page h10 "$ISP_4" | cut -d ' ' -f 2)" 39
    grows 10 "$SLOW"
    grows 10 "$FAST"
    soon 5 says ".counters.uninspected_packets > $1" ips
    soon 5 on_path slow/uninspected --proto tcp --text "$SLOW"
    has "the reason of the state" "$(ips_value .why)" uninspected
}

failed_closed() {
    stopped_page "$ISP_4" || fail "a new connection passed"
    stalls "$SLOW"
    soon 5 on_path slow/stopped --proto tcp --text "$SLOW"
    grows 10 "$FAST"
    has "the reason of the state" "$(ips_value .why)" dropped
}

# @core @fault:suricata-killed
# @each open closed
test_a_killed_suricata_fails() {
    local at before
    protect_inline "	option fail '$1'"
    flows_live
    before=$(uninspected)
    hold_suricata
    at=$(kill_suricata)
    shows "failing-$1" "$at"
    "failed_$1" "$before"
    release_suricata
    inline_restored
}

# @fault:suricata-hung
# @each open @long
# @each closed
test_a_hung_suricata_fails() {
    local at before
    protect_inline "	option fail '$1'"
    flows_live
    before=$(uninspected)
    at=$(pause_suricata)
    # Queued packets or unanswered commands reveal a hang.
    download h10 $((SLOW + 2)) "$H20_4" 100k
    shows "failing-$1" "$at"
    "failed_$1" "$before"
    resume_suricata
    inline_restored
}

# loses_none COMMAND…: fails unless 20,000 packets are inspected and arrive while COMMAND runs.
loses_none() {
    local report
    begin h10 packets "iperf3 -J -u -c $H20_4 -l 200 -k 20000 -b 3200k -w 4M"
    soon 10 inspected_since "$(ips_value .counters.inspected_packets)" 1000
    "$@"
    soon 60 ended packets
    report=$(peers cat /tmp/e2e/packets.log)
    between "packets sent" "$(jq .end.sum.packets <<<"$report")" 20000 26000
    same "packets lost" "$(jq .end.sum.lost_packets <<<"$report")" 0
}

passed_full_queues() { says ".counters.uninspected_packets > $1 and .state != \"inline\"" ips; }

# A flooding host fills only its own queue. Packets that skip a full queue are counted, and other
# hosts stay inspected.
test_a_flood_of_one_host_does_not_affect_others() {
    local before device mac
    protect_inline "	option queue_length '64'"
    before=$(uninspected)
    mac=$(gw cat /sys/class/net/br-lan/address)
    device=$(h10 "ip -o route get $ISP_4" | sed 's/.* dev \([^ ]*\) .*/\1/')
    begin h10 flood "exec /tmp/e2e/flood udp $device $mac 1000000 0"
    soon 10 passed_full_queues "$before"
    note "$(ips_value '"\(.state): \(.why), \(.counters.uninspected_packets)"')"
    for _ in 1 2 3; do
        soon 5 h20 "curl -gsf -m 10 -o /dev/null http://$ISP_4/index.html"
        same "bytes of the bad page at another host" "$(bad_page h20 "$ISP_4" | cut -d ' ' -f 2)" 0
    done
    ! ended flood || fail "the flood ended before the other host had asked"
    end flood
    soon 20 ips_is inline
    dropped "$ISP_4"
}

reload_twice() {
    suricatas ruleset-reload-nonblocking
    # @sleep: the second reload is to come while Suricata works on the first
    sleep 1.5
    suricatas ruleset-reload-nonblocking
}

inspected_since() {
    local now
    now=$(ips_value .counters.inspected_packets)
    [ $((now - $1)) -ge "$2" ] || { echo "$now now"; return 1; }
}

test_a_reload_of_rules_loses_no_packet() {
    local before
    protect_inline "	option default 'always'"
    before=$(ips_value .counters.inspected_packets)
    loses_none reload_twice
    # The daemon polls the counters every 5 s.
    soon 12 inspected_since "$before" 20000
    has "Suricata's last reload" "$(suricatas ruleset-reload-time)" last_reload
    dropped "$ISP_4"
}

# @timed
test_faults_are_reported_in_time() {
    local at
    protect_inline
    hold_suricata
    at=$(kill_suricata)
    shows failing-open "$at"
    between "ms until it was shown that Suricata is killed" "$TOOK" -200 "$SHOWN_MS"
    release_suricata
    soon 25 ips_is inline
    at=$(pause_suricata)
    download h10 "$(fresh_port)" "$H20_4" 100k
    shows failing-open "$at"
    between "ms until it was shown that Suricata hangs" "$TOOK" -200 "$SHOWN_MS"
    resume_suricata
    soon 25 ips_is inline
}

# @long
# @fault:suricata-crash-loop
test_a_crash_loop_fails_open() {
    protect_inline
    # `suricata -T` accepts the configuration, but Suricata exits immediately.
    gw 'mv /usr/bin/suricata /usr/bin/suricata.e2e
        cat >/usr/bin/suricata <<"END"
#!/bin/sh
case " $* " in *" -T "*) exec /usr/bin/suricata.e2e "$@" ;; esac
exit 1
END
        chmod +x /usr/bin/suricata'
    kill_suricata
    soon 3 ips_is failing-open
    # procd restarts Suricata repeatedly; it must not be reported as inline.
    never 8 says '.state == "inline" or .state == "inline-degraded"' ips
    good_page "$ISP_4"
    gw 'mv -f /usr/bin/suricata.e2e /usr/bin/suricata'
    soon 25 ips_is inline
    dropped "$ISP_4"
    soon 5 says '.suricata.restarts > 0' ips
}

# @fault:suricata-missing
test_a_missing_suricata_fails_open() {
    gw 'mv /usr/bin/suricata /usr/bin/suricata.e2e'
    kill_suricata
    soon 15 says '.state == "failing-open" or .state == "rules-rejected"' ips
    note "$(ips_value '"\(.state): \(.why)"')"
    good_page "$ISP_4"
    gw 'mv /usr/bin/suricata.e2e /usr/bin/suricata'
    soon 60 ips_is inline
}

# @long
# @fault:suricata-log-full
test_a_full_disk_for_logs_does_not_stop_inspection() {
    protect_inline
    gw 'busybox mount -t tmpfs -o size=16k logs /var/log/suricata
        dd if=/dev/zero of=/var/log/suricata/full bs=1k count=64 2>/dev/null || true'
    dropped "$ISP_4"
    kill_suricata
    soon 3 ips_is failing-open
    soon 25 ips_is inline
    dropped "$ISP_4"
}

event() {
    jq -nc --argjson sid "$1" '{timestamp: "2026-11-21T08:00:00.000000+0000", flow_id: 1,
        event_type: "alert", src_ip: "192.0.2.1", src_port: 1, dest_ip: "10.10.10.10",
        dest_port: 2, proto: "TCP", alert: {action: "allowed", gid: 1, signature_id: $sid, rev: 1,
        signature: "flood", category: "", severity: 3}}'
}

lines_are() { says ".events.lines >= $1" ips; }

send_flood() {
    gw "rm -f /run/e2e/flooded; date +%s%3N >/run/e2e/flooding
        (socat -u OPEN:/tmp/flood UNIX-CONNECT:$EVENTS; date +%s%3N >/run/e2e/flooded) \
            >/dev/null 2>&1 &"
}

# flooded LINES: succeeds once LINES are counted. Repeats the flood if Suricata's reconnect, every
# eight seconds for statistics, has closed its connection.
flooded() {
    lines_are "$1" && return
    ! gw '[ -e /run/e2e/flooded ]' || send_flood
    return 1
}

# Memory stays bounded, the page answers, a real alert arrives, and losses are counted.
test_a_flood_of_alerts_is_counted() {
    local before memory lines
    protect_inline
    # shellcheck disable=SC2016 # expanded on the gateway
    event 42 | gw 'read -r line; yes "$line" | head -n 50000 >/tmp/flood'
    memory=$(daemon_kib)
    lines=$(ips_value .events.lines)
    send_flood
    soon 2 says true status
    soon 2 says '.alerts[0].sid == 42' alerts --limit 1
    between "memory during the flood, KiB more" $(($(daemon_kib) - memory)) -4000 16000
    soon 90 flooded $((lines + 50000))
    soon 90 gw '[ -e /run/e2e/flooded ]'
    before=$(gw 'cat /run/e2e/flooding /run/e2e/flooded' | xargs)
    note "50000 lines in $((${before#* } - ${before% *})) ms"
    between "memory after the flood, KiB more" $(($(daemon_kib) - memory)) -4000 16000
    between "alerts in the ring" "$(said .total alerts)" 1 1000
    soon 5 ips_is inline
    dropped "$ISP_4"
}

# @long
# @fault:event-huge
test_an_oversized_event_is_skipped() {
    local memory
    protect_inline
    memory=$(daemon_kib)
    gw "{ head -c 10000000 /dev/zero | tr '\\0' a; echo; } | socat -u - UNIX-CONNECT:$EVENTS"
    event 43 | feed
    soon 10 says '.events.oversized == 1' ips
    soon 5 says '.alerts[0].sid == 43' alerts --limit 1
    between "memory, KiB more" $(($(daemon_kib) - memory)) -4000 8000
    dropped "$ISP_4"
}

# @long
# @fault:events-invalid
test_invalid_events_are_skipped_and_counted() {
    local before
    protect_inline
    before=$(ips_value .events.unparsable)
    printf '%s\n' 'no event' '{' '{"event_type": "alert", "alert": 7}' '[]' \
        '{"event_type": "alert"}' $'\xff\xfe' \
        "$(printf '[%.0s' $(seq 5000))" | feed
    event 44 | feed
    soon 5 says '.alerts[0].sid == 44' alerts --limit 1
    between "lines counted as unparsable" "$(($(ips_value .events.unparsable) - before))" 5 7
    dropped "$ISP_4"
}

restarted() {
    local pid
    pid=$(daemon_pid)
    instance term fastpathd
    soon 15 is_successor "$pid"
}
is_successor() { [ "$(daemon_pid)" != "$1" ] && says '.alerts | length >= 0' alerts; }
has_alert() { says ".alerts[0].sid == $1" alerts --limit 1; }

# @fault:disk-full-alerts
test_saved_alerts_stay_intact_on_a_full_disk() {
    local digest
    at_the_end 'gw busybox umount -l /var/run/fastpath; kill_daemon'
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'owner=uid=$(id -u fastpath),gid=$(id -g fastpath)
        busybox mount -t tmpfs -o size=64k,mode=755,$owner run /var/run/fastpath
        mkdir /var/run/fastpath/ips; chown fastpath:fastpath /var/run/fastpath/ips'
    restarted
    event 46 | feed
    soon 5 has_alert 46
    restarted
    has_alert 46 || fail "the alert is lost with a restart"
    digest=$(gw md5sum /var/run/fastpath/alerts)
    event 47 | feed
    soon 5 has_alert 47
    gw 'cat /dev/zero >/var/run/fastpath/full 2>/dev/null || true'
    mark_log
    restarted
    has "the log" "$(daemon_log)" "writing /var/run/fastpath/alerts: No space left"
    same "the alerts' file" "$(gw md5sum /var/run/fastpath/alerts)" "$digest"
    same "parts of files" "$(gw 'ls /var/run/fastpath | grep "[.]new$" || true')" ""
    has_alert 46 || fail "the earlier alerts are lost"
}

# Only Suricata's user and root may send events.
# @long
# @fault:events-forged
test_events_of_other_users_are_rejected() {
    local before
    protect_inline
    before=$(ips_value .events.strangers)
    event 45 | gw "cat >/tmp/event; setpriv --reuid=1000 --regid=1000 --clear-groups \
        socat -u OPEN:/tmp/event UNIX-CONNECT:$EVENTS" || true
    soon 5 says ".events.strangers > $before" ips
    never 3 says '.total > 0' alerts --sid 45
}
