# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An attacker with the rights of Suricata's user plants files in its folders and answers on its
# command socket.
# @inspected

FOLDER=/var/run/suricata

as_suricata() {
    gw "cd $FOLDER && setpriv --reuid=suricata --regid=fastpath --init-groups --bounding-set=-all \
        --inh-caps=-all --no-new-privs sh -c $(quoted "$*")"
}

# taken_over: kills Suricata and holds its supervisor, so that the attacker can take its place.
taken_over() {
    protect_inline
    at_the_end released
    hold_suricata
    kill_suricata >/dev/null
    soon 10 ips_is failing-open
    DAEMON=$(daemon_pid)
}
# released: ends the attack. Keeps the socket of a running Suricata.
released() {
    gw "pkill -f '[s]ocat UNIX-LISTEN:command.sock'
        cd $FOLDER && rm -rf refused answer
        grep -qxs Suricata-Main /proc/[0-9]*/comm || rm -rf command.sock" || true
    release_suricata
}

# harmed: succeeds if the daemon is silent, was restarted, uses too much memory, or accepts the
# attacker as Suricata.
harmed() { ! sound; }
sound() {
    ask status >"$RUN/status" && ips_is failing-open && [ "$(daemon_pid)" = "$DAEMON" ] &&
        [ "$(daemon_kib)" -lt 100000 ]
}

# unharmed SUBJECT: fails if the daemon is harmed within two of its polling intervals.
unharmed() {
    note "$1: $(daemon_kib) KiB"
    never 2 harmed
}

# keeps_secrets: fails if any file or answer contains root's password hash.
keeps_secrets() {
    local hash
    hash=$(gw "sed -n 's/^root:\([^:]*\).*/\1/p' /etc/shadow")
    [ "${#hash}" -gt 10 ] || fail "root has no password here"
    same "files with root's password" "$(gw "grep -rlF $(quoted "$hash") /var/log \
        /var/run/fastpath /var/etc /tmp 2>/dev/null || true")" ""
    lacks "the answers" "$(ask ips; ask alerts; ask status)" "$hash"
    same "the passwords' file" "$(gw ls -n /etc/shadow)" "$SHADOW"
}

SERVICE=/etc/config/suricata
service_back() {
    gw "[ ! -e /run/e2e/suricata-service ] || mv /run/e2e/suricata-service $SERVICE"
}
# begins_reload: reloads in the background, because a pipe without a reader may block it.
begins_reload() { gw '/etc/init.d/suricata reload >/dev/null 2>&1 </dev/null &'; }
reload_over() { ! gw 'pgrep -f "init.d/[s]uricata reload|rc.common.*[s]uricata reload"'; }

# @fault:suricata-files
test_links_and_pipes_of_an_attacker_are_harmless() {
    local kind
    SHADOW=$(gw ls -n /etc/shadow)
    taken_over
    for kind in 'ln -s /etc/shadow' 'mkfifo -m 666' mkdir 'ln -s /dev/zero' \
        'ln -s /var/run/ubus/ubus.sock' 'truncate -s 2G'; do
        as_suricata "for name in command.sock refused /var/log/suricata/eve.json; do
            rm -rf \$name; $kind \$name || exit; done"
        unharmed "$kind"
    done
    has "the reason of the state" "$(ips_value .why)" "not running"
    # shellcheck disable=SC2016 # expanded on the gateway
    as_suricata 'rm -rf refused command.sock
        mkfifo -m 666 refused; mkdir -p command.sock/full; cd /var/log/suricata; rm -rf eve.json
        for name in eve.json fast.log stats.log suricata.log; do mkfifo -m 666 $name; done'
    at_the_end 'service_back; released'
    gw "cp $SERVICE /run/e2e/suricata-service
        sed -i 's/option oom_score .*/option oom_score 2000/' $SERVICE"
    begins_reload
    soon 10 says '.suricata.refused | contains("wrong kind")' ips
    soon 10 reload_over
    service_back
    begins_reload
    soon 20 says '.suricata.refused == ""' ips
    release_suricata
    soon 25 steady
    keeps_secrets
    dropped "$ISP_4"
    as_suricata 'cd /var/log/suricata; rm -f eve.json fast.log stats.log suricata.log'
}

# answers COMMAND: runs COMMAND for each connection to the command socket.
answers() {
    gw "pkill -f '[s]ocat UNIX-LISTEN:command.sock'; rm -rf $FOLDER/command.sock" || true
    gw "cat >$FOLDER/answer" <<<"$1"
    as_suricata 'exec socat UNIX-LISTEN:command.sock,fork,mode=660 "EXEC:sh answer" \
        >/dev/null 2>&1 </dev/null &'
    soon 5 gw "test -S $FOLDER/command.sock"
}

# @fault:suricata-answers
test_malformed_answers_of_an_attacker_are_harmless() {
    taken_over
    answers 'cat /dev/zero'
    unharmed "an endless answer"
    answers 'head -c 3000000 /dev/zero | tr "\0" "["; echo; cat >/dev/null'
    unharmed "an answer of 3 MB"
    answers 'yes "{\"return\":\"OK\",\"message\":1}"'
    unharmed "more answers than questions"
    # shellcheck disable=SC2016 # expanded on the gateway
    answers 'while read -r line; do
        printf "{\"return\":\"OK\",\"message\":\"$(head -c 60000 /dev/zero | tr "\0" x)\"}\n"
    done'
    unharmed "long answers of another kind"
    # @sleep: an answer that comes in parts
    # shellcheck disable=SC2016 # expanded on the gateway
    answers 'for part in "{" "\"ret" "urn\":" "\"OK\"," "\"message\"" ":" "-1" "}"; do
        printf %s "$part"; sleep 0.2; done; echo; cat >/dev/null'
    unharmed "an answer in parts"
    # @sleep: an answer that never comes
    answers 'exec sleep 1000'
    unharmed "silence"
    released
    soon 25 steady
    dropped "$ISP_4"
}
