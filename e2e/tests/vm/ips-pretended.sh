# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Encryption ends inspection; plaintext that imitates encryption does not.
# @inspected

clear_text_rule() {
    local file
    file=$(gw "sed -n '/^rule-files:/,/^[a-z]/s/^ *- \"\(.*\)\"/\1/p' \
        /var/run/fastpath/ips/suricata.yaml | head -n 1")
    at_the_end "gw mv /run/e2e/rules '$file'; suricatas ruleset-reload-rules"
    gw "mkdir -p /run/e2e && cp -p $file /run/e2e/rules && cat >>$file" <<'END'
drop tcp any any -> any any (flow:established; content:"uid=0(root)"; sid:8199001;)
END
    suricatas ruleset-reload-rules
}

# pretend KIND PORT ADDRESS: starts a conversation of h10; see peers/pretend for KIND.
pretend() {
    begin isp "serve$2" \
        "exec socat TCP6-LISTEN:$2,ipv6only=0,reuseaddr EXEC:'/tmp/e2e/pretend server $1'"
    begin h10 "pretend$2" "exec socat TCP:$(bracketed "$3"):$2,retry=20,interval=0.2 \
        EXEC:'/tmp/e2e/pretend client $1'"
}

# answers PORT: prints how many bytes of clear text the client has received.
answers() {
    soon 10 peers grep -q arrived "/tmp/e2e/pretend$1.log"
    peers sed -n "'s/.* arrived //p'" "/tmp/e2e/pretend$1.log"
}

# rule_acts: waits until the rule drops clear text; Suricata may report a reload too early.
rule_acts() {
    local port
    for port in {8430..8439}; do
        pretend none "$port" "$ISP_4"
        [ "$(answers "$port")" != 0 ] || return 0
    done
    fail "the rule never drops plain text"
}

inspection_of() { field inspection "$(newest --proto tcp --text "$1")"; }

# @core
test_clear_text_that_imitates_encryption_is_dropped() {
    local port
    protect_inline
    clear_text_rule
    rule_acts
    pretend tls12 8441 "$ISP_4"
    pretend tls13 8442 "$ISP_4"
    pretend hello 8443 "$ISP_4"
    pretend ssh 2222 "$ISP_4"
    pretend text 8444 "$ISP_4"
    pretend tls12 25 "$ISP_4"
    pretend tls12 8446 "$ISP_6"
    for port in 8441 8442 8443 2222 8444 25 8446; do
        same "bytes of clear text by port $port" "$(answers $port)" 0
        same "inspection by port $port" "$(inspection_of $port)" inspecting
    done
    note "$(peers tail -qn 1 "/tmp/e2e/pretend*.log" | xargs)"
}

# A known limitation; see SECURITY.md.
test_random_data_of_both_ends_counts_as_encrypted() {
    protect_inline
    clear_text_rule
    rule_acts
    pretend noise 8447 "$ISP_4"
    between "bytes of clear text" "$(answers 8447)" 1 315
    same inspection "$(inspection_of 8447)" bypassed
    has "the conversation" "$(peers cat /tmp/e2e/pretend8447.log)" "form 655"
}
