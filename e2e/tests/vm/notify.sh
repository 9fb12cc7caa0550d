# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Events of the journal, and receivers that are told of them. The receiver is a program on the
# gateway.

# shellcheck source=e2e/tests/vm/lib/clock.sh
. "$VM/lib/clock.sh"
# shellcheck source=e2e/tests/vm/lib/examination.sh
. "$VM/lib/examination.sh"
# shellcheck source=e2e/tests/vm/lib/services.sh
. "$VM/lib/services.sh"

GOT=/run/e2e/notify.got
CERTIFICATE=/run/e2e/notify.pem

# receiver TYPE PORT: starts an HTTP server that answers with the status in notify.code, and adds a
# line per request to notify.got: the status, processes with the token in their arguments, the
# token, and the body.
# shellcheck disable=SC2016 # expanded on the gateway
receiver() {
    gw 'cat >/run/e2e/notify.receiver && chmod 755 /run/e2e/notify.receiver' <<'SCRIPT'
#!/bin/sh
length=0 token=
while read -r name value; do
    value=${value%$(printf '\r')}
    case $name in
        Content-Length:) length=$value ;;
        Authorization:) token=${value#Bearer } ;;
        "$(printf '\r')" | '') break ;;
    esac
done
body=$(head -c "$length")
seen=$(cat /proc/[0-9]*/cmdline 2>/dev/null | grep -c '[t]k_secret')
code=$(cat /run/e2e/notify.code)
printf '%s %s %s %s\n' "$code" "$seen" "$token" "$body" >>/run/e2e/notify.got
printf 'HTTP/1.1 %s x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' "$code"
SCRIPT
    gw ": >$GOT; setsid socat $1 SYSTEM:/run/e2e/notify.receiver >/dev/null 2>&1 </dev/null &
        echo \$! >/run/e2e/notify.pid"
    soon 5 gw "grep -q ':$(printf %04X "$2") .* 0A ' /proc/net/tcp"
}
# shellcheck disable=SC2016 # expanded on the gateway
no_receiver() { gw 'kill "$(cat /run/e2e/notify.pid)" 2>/dev/null; rm -f /run/e2e/notify.pid'; }

answer_with() { gw "echo $1 >/run/e2e/notify.code"; }

# notified OPTION…: configures a receiver, without an interval in which it could miss an event.
notified() {
    configure <<<"$(gw cat /run/e2e/config)
$(printf 'config notification hook\n'; printf '\toption %s\n' "$@")
config device
	option mac '$MAC'
	option name 'Anna'
	option quota_mb '1'"
    gw /etc/init.d/fastpath-notify reload
    soon 10 known
}

known() { notify_says '.error == ""'; }

# A quota is exceeded once a day, so each run needs another device.
MAC=$(printf '02:e2:e0:00:%02x:%02x' $((RANDOM % 256)) $((RANDOM % 256)))
# device_joins: adds the device beside h10. device_loads downloads 32 MB.
device_joins() {
    peers "ip netns add e2e1 && ip -n h10 link add e2e1 link eth0 address $MAC type macvlan \
            mode bridge && ip -n h10 link set e2e1 netns e2e1 name eth0 && {
        ip -n e2e1 link set eth0 up; ip -n e2e1 address add 10.10.10.77/24 dev eth0
        ip -n e2e1 route add default via 10.10.10.1; }"
}
device_leaves() { peers 'ip netns del e2e1'; }
device_loads() { peers "ip netns exec e2e1 curl -gsS -o /dev/null http://$ISP_4/32.bin"; }

notify_says() { says ".receivers[0] | .name == \"hook\" and ($1)" notifications; }

# shellcheck disable=SC2016 # expanded on the gateway
notify_ends() {
    no_receiver
    cp_config_back
    gw /etc/init.d/fastpath-notify reload
    # procd does not wait for a service to end, which then saves its cursors.
    soon 10 gw '! pgrep -f "/[n]otify.sh "'
    gw 'rm -rf /run/e2e/notify.* /etc/fastpath/notify/* /var/run/fastpath-notify/state/*'
}

# delivered KIND…: succeeds if the receiver has accepted these events in this order, each once.
delivered() {
    same "the kinds" "$(accepted .kind)" "$(printf '%s\n' "$@")"
}
accepted() { gw "sed -n 's/^200 [^ ]* [^ ]* //p' $GOT" | jq -r ".events[] | $1"; }
requests() { gw "grep -c '^$1 ' $GOT 2>/dev/null; true"; }
requested() { [ "$(requests "$1")" -ge "$2" ]; }

quota_events() { said '[.events[] | select(.kind == "quota")] | length' journal --limit 500; }

# certificates: makes a CA and a certificate of 127.0.0.1.
certificates() {
    local at=$RUN/notify
    mkdir -p "$at"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 \
        -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
        -keyout "$at/key" -out "$at/crt" 2>/dev/null
    cat "$at/key" "$at/crt" | gw "cat >$CERTIFICATE"
    gw "cat >/run/e2e/notify.ca; chmod 644 /run/e2e/notify.ca; chmod 755 /run/e2e" <"$at/crt"
}

# @core
# @fault:webhook-fails
test_an_exceeded_quota_is_told_once() {
    local before url="url 'https://127.0.0.1:8443/hook'" ca="ca '/run/e2e/notify.ca'"
    at_the_end 'notify_ends; synchronised 0; device_leaves'
    # Days need a clock.
    synchronised 1
    certificates
    answer_with 500
    receiver "OPENSSL-LISTEN:8443,reuseaddr,fork,verify=0,cert=$CERTIFICATE" 8443
    notified "$url" "token 'tk_secret'" "event 'quota'"
    before=$(quota_events)
    device_joins
    device_loads
    soon 20 notify_says '.error == "tls" and .pending == 1'
    same "requests without a trusted certificate" "$(requests 500)" 0

    notified "$url" "token 'tk_secret'" "event 'quota'" "$ca"
    soon 30 requested 500 1
    soon 10 notify_says '.error == "http 500" and .pending == 1'
    answer_with 200
    soon 30 notify_says '.error == "" and .pending == 0 and .delivered_ms > 0'
    delivered quota
    same "its text" "$(accepted '.text | sub("^[^ ]* [^ ]* "; "")')" \
        "Anna ($MAC) used more than its quota of 1 MB today"
    same "token, and processes that show it" \
        "$(gw "cut -d ' ' -f 2,3 $GOT" | sort -u)" "0 tk_secret"

    # A killed daemon would lose what it has not written.
    gw /etc/init.d/fastpathd restart
    soon 20 ask status
    device_loads
    soon 20 says '.devices[] | select(.name == "Anna") | .down_bytes > 30000000' devices
    same "events" "$(quota_events)" "$((before + 1))"
    delivered quota
    node "$VM/answer.mjs" "$TOP/feeds/fastpathd/src/schema" notify status \
        <<<"$(ask notifications)"
    has "the table" "$(gw fastpathctl notifications)" hook
}

line() { gw ubus call network.interface.wan "$1"; }
line_events() { says ".events | map(select(.id > $1 and (.kind | startswith(\"wan\")))) |
    length == $2" journal; }

# @fault:notifier-killed
# shellcheck disable=SC2016,SC2034 # expanded later
test_a_receiver_that_was_away_gets_all_events_in_order() {
    local last ids pid
    at_the_end 'notify_ends; line up'
    answer_with 200
    notified "url 'http://127.0.0.1:8077/hook'" "event 'line'"
    last=$(said .last_id journal)
    line down
    soon 10 line_events "$last" 1
    soon 20 notify_says '.error == "connect" and .pending == 1'
    pid=$(instance pid fastpath-notify)
    gw 'pkill -KILL -f "^/bin/sh /usr/libexec/fastpath/[n]otify.sh"'
    line up
    soon 20 line_events "$last" 2
    soon 10 eval '[ "$(instance pid fastpath-notify)" != "$pid" ]'
    receiver TCP-LISTEN:8077,reuseaddr,fork 8077
    soon 60 notify_says '.error == "" and .pending == 0 and .delivered_ms > 0'
    delivered wan-down wan-up
    ids=$(accepted .id)
    same "the order" "$(sort -n <<<"$ids")" "$ids"

    same "a test" "$(rpc "$(session root fastpath)" fastpath.notify test '{"name": "hook"}' |
        jq -c '.result[1]')" '{"started":true}'
    soon 20 notify_says '.test == "ok"'
    delivered wan-down wan-up test
    same "an unknown receiver" "$(gw ubus call fastpath.notify test "'{\"name\": \"../x\"}'" |
        jq -c .)" '{"started":false}'
}

# @finds:system-notify
# shellcheck disable=SC2016 # expanded on the gateway
test_events_go_to_a_mail_address() {
    at_the_end 'notify_ends; gw rm -f /usr/sbin/sendmail'
    notified "mail 'owner@example.org'"
    soon 10 eval 'rpc "$(session root fastpath)" fastpath.notify test "{\"name\": \"hook\"}" |
        grep -q true'
    soon 20 notify_says '.test == "sendmail"'
    finds system-notify warning sendmail
    gw 'cat >/usr/sbin/sendmail; chmod 755 /usr/sbin/sendmail' <<'SCRIPT'
#!/bin/sh
{ echo "$*"; cat; } >/var/run/fastpath-notify/state/mail
SCRIPT
    gw ubus call fastpath.notify test "'{\"name\": \"hook\"}'"
    soon 20 notify_says '.test == "ok"'
    has "the mail" "$(gw cat /var/run/fastpath-notify/state/mail)" "-oi owner@example.org
To: owner@example.org
Subject: $(gw uname -n): 1 event"
}
