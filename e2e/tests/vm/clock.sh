# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Clock jumps of a year forward and back, as caused by an NTP server.

# shellcheck source=e2e/tests/vm/lib/changes.sh
. "$VM/lib/changes.sh"
# shellcheck source=e2e/tests/vm/lib/clock.sh
. "$VM/lib/clock.sh"

YEAR=31536000

left_s() { change "$ROOT" pending '{}' | jq -r '.pending.left_s // "nothing waits"'; }

# @fault:clock-countdown
test_a_clock_jump_does_not_change_a_countdown() {
    local id by
    keep
    ROOT=$(session root fastpath)
    for by in $YEAR -$((2 * YEAR)); do
        id=$(applied "$ROOT" "$(edited lan '{"metric": "7"}')" '{"seconds": 600}')
        jump "$by"
        # The change neither expires early nor stays pending forever.
        between "seconds left after a jump by $by s" "$(left_s)" 300 600
        never 3 unchanged
        same "how it ended" "$(change "$ROOT" confirm "{\"id\": $id}" | jq -r .state)" confirmed
        gw 'cp /run/e2e/kept/network /etc/config/network'
        id=$(applied "$ROOT" "$(edited lan '{"metric": "8"}')" '{"seconds": 8}')
        jump "$((-by))"
        soon 60 unchanged
        soon 10 state_is "$ROOT" "$id" expired
    done
}

guess() { log_in viewer "$2" "$1"; }

# @core
# @fault:clock-login
test_a_clock_jump_does_not_reset_the_login_throttle() {
    local token by
    at_the_end 'right_clock; gw rm -f /var/run/fastpath-access.json'
    gw rm -f /var/run/fastpath-access.json
    token=$(guess "" look | jq -r '.result[1].browser')
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'read -r up _ </proc/uptime
        echo "{\"accounts\": {\"viewer\": {\"failures\": 20, \"last_ms\": ${up%.*}000}}}" \
            >/var/run/fastpath-access.json'
    for by in $YEAR -$((2 * YEAR)); do
        jump "$by"
        at_the_end 'right_clock; gw rm -f /var/run/fastpath-access.json'
        has "the answer to others" "$(guess "" look)" '"wait"'
        between "seconds to wait" "$(guess "" look | jq '.result[1].error.wait_s')" 1 64
        has "the answer to the owner's browser" "$(guess "$token" look)" ubus_rpc_session
    done
    # Sessions do not expire by wall-clock time either.
    ROOT=$(session root fastpath)
    jump "$YEAR"
    at_the_end 'right_clock; gw rm -f /var/run/fastpath-access.json'
    same "status in an old session" "$(rpc "$ROOT" fastpath status '{}' | jq '.result[0]')" 0
}

history() {
    gw "ubus call fastpath history '{}'" >"$RUN/rates"
    jq -e "$1" "$RUN/rates" >/dev/null || { tail -c 2000 "$RUN/rates"; return 1; }
}

# plausible: succeeds if no time is in the future and no rate or age is negative.
# shellcheck disable=SC2016 # expanded by jq
plausible() {
    says '(.now_ms + 2000) as $now | .started_ms <= $now and .engine.applied_ms <= $now and
        ([.wan[].up_since_ms | values] | all(. >= 0 and . <= $now)) and
        ([.. | numbers] | all(. >= 0))' status &&
        history '.rows | all(all(. >= 0))' &&
        says '.cols as $c | .rows | all([$c, .] | transpose | map({(.[0]): .[1]}) | add |
            .age_s >= 0 and .age_s < 100000)' flows --limit 100
}

up_for() { said '(.now_ms - .wan[0].up_since_ms) / 1000 | floor' status; }

# @long
# @fault:clock-flows
test_a_clock_jump_does_not_affect_flows_and_rates() {
    local port by bytes before left
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 300k
    soon 10 on_path flowtable --proto tcp --text "$port"
    before=$(up_for)
    for by in $YEAR -$((2 * YEAR)); do
        jump "$by"
        soon 10 plausible
        never 3 eval '! plausible'
        between "seconds up after a jump by $by s" "$(up_for)" "$before" $((before + 1000))
        soon 5 on_path flowtable --proto tcp --text "$port"
        read -r _ bytes <<<"$(conntrack_bytes "$port")"
        soon 10 bytes_grow "$port" "$bytes"
        soon 10 history '.rows[-1] | .[1:] | add > 0'
        history '.rows | length <= 301 and length > 0' || fail "the history has no samples"
        history '[.rows[][0]] | . == sort' || fail "samples are out of order"
        soon 5 offloaded "$port"
    done
    before=$port
    port=$(fresh_port)
    engine_ebpf
    download h10 "$port" "$ISP_4" 300k
    soon 10 on_path ebpf --proto tcp --text "$port"
    for by in $YEAR -$((2 * YEAR)); do
        jump "$by"
        never 4 eval "! on_path ebpf --proto tcp --text $port"
        left=$(conntrack_of "$port" | awk '{ print $3 }')
        note "conntrack's time left after a jump by $by s: $left s"
        between "seconds until conntrack forgets it" "$left" 20 432000
    done
}

due() {
    says ".rules.next_ms / 1000 | . > $(gw date +%s) - 5 and . < $(gw date +%s) + 26 * 3600" ips
}

# @fault:clock-schedule
test_rule_updates_stay_due_within_a_day() {
    local by
    at_the_end 'right_clock; cp_config_back'
    configure <<END
config fastpath 'main'

config ips 'ips'
	option enabled '1'

config update 'update'
	option hour '$(gw date -u +%H | awk '{ print ($1 + 5) % 24 }')'

config rules 'lab'
	option url 'http://203.0.113.1/rules/none.tar.gz'
	option sha256 '$(printf '0%.0s' {1..64})'
END
    soon 20 due
    for by in $YEAR -$((2 * YEAR)); do
        jump "$by"
        at_the_end 'right_clock; cp_config_back'
        soon 90 due
    done
}
