# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A Suricata in somebody else's hands: with the rights of its user, files in its folder and answers
# on its command socket.
# @inspected

# as_suricata COMMAND: with the rights of Suricata's user, in its folder.
as_suricata() {
    gw "cd /var/run/suricata && setpriv --reuid=suricata --regid=fastpath --init-groups \
        --bounding-set=-all --inh-caps=-all --no-new-privs sh -c $(quoted "$*")"
}

# taken_over: Suricata is dead, and stays so.
taken_over() {
    in_line
    at_the_end released
    hold_suricata
    kill_suricata >/dev/null
    soon 10 ips_is failing-open
    DAEMON=$(daemon_pid)
    MEMORY=$(daemon_kib)
}
released() {
    gw 'pkill -f "[s]ocat.*command.sock"
        cd /var/run/suricata && rm -rf command.sock refused answer'
    let_suricata
}

# unharmed WHAT: the daemon, which has asked twice meanwhile, is the same, and its answers too.
unharmed() {
    local answer
    # Two rounds of the probe.
    sleep 1.5
    answer=$(ask ips) || fail "the daemon does not answer: $1"
    same "its process" "$(daemon_pid)" "$DAEMON"
    lacks "its answer" "$answer" root:
    same "the state with $1" "$(jq -r .state <<<"$answer")" failing-open
    between "memory with $1, KiB more" $(($(daemon_kib) - MEMORY)) -8000 8000
}

# @core
# @fault:suricata-files
test_links_and_pipes_instead_of_its_files() {
    local name
    taken_over
    for name in command.sock refused; do
        as_suricata "rm -rf $name; ln -s /etc/shadow $name"
        unharmed "a link as $name"
        as_suricata "rm -rf $name; mkfifo -m 666 $name"
        unharmed "a pipe as $name"
        as_suricata "rm -rf $name; mkdir $name"
        unharmed "a folder as $name"
        as_suricata "rm -rf $name; ln -s /dev/zero $name"
        unharmed "a link to an endless device as $name"
        as_suricata "rm -rf $name; ln -s /var/run/ubus/ubus.sock $name"
        unharmed "a link to ubusd's socket as $name"
        as_suricata "rm -rf $name"
    done
    # A start removes them.
    as_suricata 'ln -s /etc/shadow refused; mkdir -p command.sock/full'
    let_suricata
    at_the_end released
    soon 25 ips_is inline
    same "the passwords" "$(gw 'stat -c "%U %a" /etc/shadow')" "$SHADOW"
    dropped "$ISP_4"
}
SHADOW=$(gw 'stat -c "%U %a" /etc/shadow')

# answers COMMAND: the shell command answers on the command socket.
answers() {
    gw 'pkill -f "[s]ocat.*command.sock"; rm -rf /var/run/suricata/command.sock' || true
    gw "cat >/var/run/suricata/answer" <<<"$1"
    as_suricata 'exec socat UNIX-LISTEN:command.sock,fork,mode=660 "EXEC:sh answer" \
        >/dev/null 2>&1 </dev/null &'
    soon 5 gw 'test -S /var/run/suricata/command.sock'
}

# @core
# @fault:suricata-answers
test_answers_that_are_huge_endless_or_in_parts() {
    taken_over
    answers 'cat /dev/zero'
    unharmed "an endless answer"
    answers 'head -c 3000000 /dev/zero | tr "\0" "["; echo; cat >/dev/null'
    unharmed "an answer of 3 MB"
    answers 'yes "{\"return\":\"OK\",\"message\":1}"'
    unharmed "more answers than questions"
    # shellcheck disable=SC2016 # the gateway expands it
    answers 'while read -r line; do
        printf "{\"return\":\"OK\",\"message\":\"$(head -c 60000 /dev/zero | tr "\0" x)\"}\n"
    done'
    unharmed "long answers of another kind"
    # shellcheck disable=SC2016 # the gateway expands it
    answers 'for part in "{" "\"ret" "urn\":" "\"OK\"," "\"message\"" ":" "-1" "}"; do
        printf %s "$part"; sleep 0.2; done; echo; cat >/dev/null'
    unharmed "an answer in parts"
    answers 'exec sleep 1000'
    unharmed "silence"
    released
    soon 25 ips_is inline
    dropped "$ISP_4"
}
