# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Suricata's events at log collectors: Debian's rsyslog and stunnel with the files of
# docs/fleet/logs. Collectors restart, stop or stall; invalid sections are refused.

COLLECTOR=10.10.10.10
EXAMPLES=$TOP/docs/fleet/logs
HERE=/tmp/e2e/logs
AUTHORITIES=/etc/ssl/certs/ca-certificates.crt

section() {
    local kind=$1
    shift
    printf "\nconfig export '%s'\n" "$kind"
    printf "\toption %s '%s'\n" kind "$kind" "$@"
}

logs() {
    { gw cat "/run/e2e/$CONFIG" && printf '%s\n' "$@"; } | configure
}

# exporter KIND FILTER: succeeds if the jq FILTER is true for that exporter.
exporter() { says "any(.exports[]; .name == \"$1\" and ($2))" exports; }
exporter_is() { exporter "$1" ".state == \"$2\""; }
# counted KIND SENT LOST: succeeds if the counters are equal and the queue is empty.
counted() { exporter "$1" ".queued == 0 and .sent == $2 and .lost == $3"; }

# prepare_collectors: installs the examples with the lab's folders and certificate.
prepare_collectors() {
    peers "rm -rf $HERE; mkdir -p $HERE/log
        cp /lab/tls.pem $HERE/logs.pem && cp /lab/tls.pem $HERE/ca.pem"
    sed "s|/etc/fastpath|$HERE|; s|/var/log/fastpath|$HERE/log|" "$EXAMPLES/rsyslog.conf" |
        peers "cat >$HERE/rsyslog.conf"
}

listens() { h10 "ss -Hlnt 'sport = :$1' | grep -q ."; }

# begin_rsyslog: rsyslog's own log goes elsewhere than the events.
begin_rsyslog() {
    begin h10 rsyslog "exec rsyslogd -n -i NONE -f $HERE/rsyslog.conf"
    soon 10 listens 514
    soon 10 listens 6514
}

received() { peers "cat $HERE/log/*.json"; }

log_file() { echo "$HERE/log/$(gw cat /proc/sys/kernel/hostname)-$(peers date +%F).json"; }

# whole_alert: succeeds if each line is an alert about the bad page with the router's host name.
whole_alert() {
    local name
    name=$(gw cat /proc/sys/kernel/hostname </dev/null)
    jq -es "length > 0 and all(.event_type == \"alert\" and .host == \"$name\" and
        .alert.signature_id == $BAD_SID and .verdict.action == \"drop\")" >/dev/null
}

# watch NAME COMMAND…: records when the output of COMMAND first contains the rule, in ms.
watch() {
    local name=$1
    shift
    begin h10 "$name" "$* | { grep -m 1 -o $BAD_SID && date +%s%3N; }"
}

seen() { [ "$(peers "wc -l </tmp/e2e/$1.log")" = 2 ]; }

# arrives_within SECONDS NAME BEGUN: scales SECONDS by this machine's pace.
arrives_within() {
    local ms
    soon 10 seen "$2"
    ms=$(($(peers "tail -n 1 /tmp/e2e/$2.log") - $3))
    note "$2 after $ms ms"
    between "ms until $2" "$ms" 0 $(($1 * 10 * $(pace)))
}

# @timed @long
test_an_alert_reaches_the_collector_within_two_seconds() {
    local begun
    prepare_collectors
    begin_rsyslog
    protect_inline "$(section syslog host $COLLECTOR)"
    soon 20 exporter_is syslog up
    peers "touch $(log_file)"
    watch in-rsyslog "tail -n 0 -F $(log_file)"
    begun=$(peers date +%s%3N)
    dropped "$ISP_4"
    arrives_within 2 in-rsyslog "$begun"
    received | whole_alert || fail "rsyslog has $(received)"
    dropped "$ISP_6"
    soon 5 exporter syslog '.sent == 2 and .queued == 0'
}

# alerts FIRST NUMBER [SIZE]: prints alerts in Suricata's format. Sources and rules differ, so that
# the daemon drops none as a duplicate.
alerts() {
    # In the environment, because mawk formats at most 8192 bytes.
    text=$(printf '%*s' "${3-10}" '') awk -v first="$1" -v number="$2" 'BEGIN {
        for (n = first; n < first + number; n++) {
            printf "{\"timestamp\":\"2026-11-27T12:00:00.000000+0000\",\"event_type\":\"alert\"," \
                "\"src_ip\":\"198.51.%d.%d\",\"proto\":\"TCP\",\"alert\":{\"action\":\"allowed\"," \
                "\"gid\":1,\"signature_id\":%d,\"signature\":\"%d\"},\"n\":%d,\"x\":\"", \
                n / 250, 1 + n % 250, 9000000 + n, n, n
            print ENVIRON["text"] "\"}"
        }
    }' | feed
}

# numbers: prints the distinct alert numbers that rsyslog has received.
numbers() { received | jq .n | sort -nu; }
has_numbers() { [ "$(numbers)" = "$(seq "$1" "$2")" ] || { numbers | wc -l && return 1; }; }

# @fault:log-collector-restarts @long
test_no_event_is_lost_when_a_collector_restarts() {
    prepare_collectors
    begin_rsyslog
    logs "$(section syslog host $COLLECTOR)"
    soon 20 exporter_is syslog up
    alerts 0 200
    soon 10 counted syslog 200 0
    soon 10 has_numbers 0 199
    peers "pkill -KILL -x rsyslogd"
    soon 20 exporter_is syslog down
    exporter syslog '.cause.code == "closed" or .cause.code == "refused"'
    alerts 200 500
    soon 10 exporter syslog '.queued == 500'
    begin_rsyslog
    soon 20 counted syslog 700 0
    soon 10 has_numbers 0 699
}

# 2 MiB are queued and arrive later; the rest is counted as lost.
# @fault:log-collector-away @long
test_events_beyond_the_queue_are_counted() {
    local lost
    prepare_collectors
    logs "$(section syslog host $COLLECTOR)"
    soon 20 exporter_is syslog down
    alerts 0 100 40000
    soon 10 exporter syslog '.queued + .lost == 100'
    lost=$(said '.exports[0].lost' exports)
    note "$lost of 100 events are lost"
    between "events lost" "$lost" 40 60
    begin_rsyslog
    soon 20 counted syslog $((100 - lost)) "$lost"
    soon 10 has_numbers 0 $((99 - lost))
}

# @fault:log-collector-stops @long
test_inspection_does_not_wait_for_a_collector() {
    local process
    prepare_collectors
    begin_rsyslog
    protect_inline "$(section syslog host $COLLECTOR)"
    soon 20 exporter_is syslog up
    process=$(pids Suricata-Main)
    peers "pkill -STOP -x rsyslogd"
    dropped "$ISP_4"
    good_page "$ISP_4" 2
    dropped "$H20_4"
    peers "pkill -KILL -x rsyslogd"
    soon 20 exporter_is syslog down
    good_page "$ISP_6" 2
    dropped "$ISP_6"
    soon 5 exporter syslog '.queued > 0'
    begin_rsyslog
    soon 20 exporter syslog '.state == "up" and .queued == 0 and .sent >= 3 and .lost == 0'
    received | whole_alert || fail "rsyslog has $(received)"
    same "process of Suricata" "$(pids Suricata-Main)" "$process"
}

# stunnel NAME: runs the relay of the example on the gateway, for a collector with this name. The
# gateway trusts the lab's authority.
stunnel() {
    sed "s|192.0.2.10|$COLLECTOR|; s|logs.example|$1|; s|/etc/stunnel/ca.pem|$AUTHORITIES|" \
        "$EXAMPLES/stunnel.conf" |
        gw 'cat >/run/e2e/stunnel.conf; pkill -x stunnel4
            setsid stunnel4 /run/e2e/stunnel.conf >/run/e2e/stunnel.log 2>&1 </dev/null &'
    soon 10 gw "ss -Hlnt 'sport = :6514' | grep -q ."
}

# @long
test_a_relay_adds_tls() {
    prepare_collectors
    at_the_end "gw 'pkill -x stunnel4; rm -f /run/e2e/stunnel.*'"
    stunnel other.example
    begin_rsyslog
    logs "$(section syslog host 127.0.0.1 port 6514)"
    soon 10 says '.exports | length == 1' exports
    alerts 0 20
    soon 20 exporter syslog '.cause.code == "closed" or .cause.code == "unreachable"'
    soon 5 exporter syslog '.sent == 0 and .queued == 20'
    stunnel lab.example
    soon 40 counted syslog 20 0
    soon 10 has_numbers 0 19
}

# @fault:log-section
test_an_invalid_section_is_reported_and_changes_nothing() {
    local base line
    logs "$(section syslog host $COLLECTOR)"
    soon 10 exporter syslog '.kind == "syslog" and .port == 514'
    base=$(gw cat "/run/e2e/$CONFIG")
    for line in "kind kafka" "port 0" "host store.example" "template_refresh 10" "event http" \
        "redis_key eve" "password secret"; do
        refused "$base$(section syslog host 10.10.10.11 "${line% *}" "${line#* }")" \
            syslog "${line% *}"
        exporter syslog ".host == \"$COLLECTOR\""
    done
    line=$(section syslog host 10.10.10.11 name twin)
    refused "$base$line${line/\'syslog\'/\'second\'}" second name twin
    cp_config_back
    soon 10 healthy
    soon 10 says '.exports | length == 0' exports
}

# The tunnel is down, while a host behind the WAN has the collector's address.
test_events_for_a_private_collector_never_leave_by_the_wan() {
    trap 'gw ip link del vpn9 2>/dev/null || true' EXIT
    peers 'ip netns exec isp ip addr add 10.99.0.10/32 dev lo'
    begin isp thief "exec socat -u TCP-LISTEN:514,reuseaddr,fork OPEN:/tmp/e2e/stolen,creat,append"
    mark_log
    logs "$(section syslog host 10.99.0.10)"
    soon 10 exporter syslog '.state == "no-route" and .cause.code == "no-route"'
    alerts 0 1
    soon 10 exporter syslog '.queued == 1 and .state == "no-route"'
    # The tunnel is up without a known zone; then the section names its interface.
    gw 'ip link add vpn9 type dummy && ip link set vpn9 up && ip route add 10.99.0.10/32 dev vpn9'
    soon 10 exporter_is syslog no-route
    logs "$(section syslog host 10.99.0.10 interface vpn9)"
    soon 10 exporter syslog '.state == "no-route" and .cause.code == "interface-down"'
    lacks "what the ISP got" "$(peers 'cat /tmp/e2e/stolen 2>/dev/null; true')" suricata
    logs "$(section syslog host 10.99.0.10 interface wan)"
    soon 10 exporter_is syslog up
    alerts 1 1
    soon 10 peers 'grep -q suricata /tmp/e2e/stolen'
    peers 'ip netns exec isp ip addr del 10.99.0.10/32 dev lo; rm -f /tmp/e2e/stolen'
}
