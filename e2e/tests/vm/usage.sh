# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# History of traffic and events on flash: restarts, power cuts.

# shellcheck source=e2e/tests/vm/lib/history.sh
. "$VM/lib/history.sh"

new_process() { [ "$(daemon_pid)" != "$1" ] && ask status; }

# @core
# shellcheck disable=SC2016 # expanded by soon
test_bytes_survive_a_killed_daemon() {
    local before pid
    recording 1
    before=$(total h10)
    h10 "curl -gsS -o /dev/null http://$ISP_4/32.bin"
    soon 20 eval '[ $(($(total h10) - before)) -gt 32000000 ]'
    saved
    before=$(total h10)
    pid=$(daemon_pid)
    kill_daemon
    soon 20 new_process "$pid"
    soon 20 eval '[ "$(total h10)" -ge "$before" ]'
    recorded "$before" $((before + 1000000))
    same "events that survived" \
        "$(said '[.events[0].kind, any(.events[1:][]; .kind == "start")] | @json' journal)" \
        '["start",true]'
}

# Seconds between two writes, at most between two refreshes on a busy machine, and the most bytes
# per second of h10's download.
INTERVAL=3
REFRESH=3
MOST=350000

# seconds: prints the recorded seconds. stored_seconds: without those of the running daemon.
seconds() { said '[.rows[][1]] | add // 0' usage --days 3650; }
stored_seconds() {
    local running
    running=$(said '(.now_ms - .started_ms) / 1000 | floor' status)
    echo $(($(seconds) - running))
}

# cuts NUMBER: cuts the power at random moments under load.
cuts() {
    local number before rows now lost elapsed
    recording $INTERVAL
    soon 20 storage_is on
    for ((number = 1; number <= $1; number++)); do
        load
        keep_over_power
        saved
        before=$(total h10)
        saved
        rows=$(gw fastpathctl usage --days 3650 --json | jq -c '[.rows[][0]]')
        # @sleep: the moment of the cut
        sleep "$((RANDOM % INTERVAL)).$((RANDOM % 1000))"
        # The download continues until the cut, so more may be saved than was read, since the
        # last refresh of the counters.
        elapsed=$EPOCHSECONDS
        now=("$(total h10)" "$(seconds)")
        elapsed=$((EPOCHSECONDS - elapsed + REFRESH))
        cycle_power || exit
        soon 30 storage_is on
        lost=($((now[0] - $(total h10))) $((now[1] - $(stored_seconds))))
        # A second for the write, and one because seconds are counted at their end.
        between "bytes that cut $number lost" "${lost[0]}" $((MOST * -elapsed)) \
            $((MOST * (INTERVAL + 2)))
        between "seconds that cut $number lost" "${lost[1]}" $((-elapsed)) \
            $((INTERVAL + 2))
        recorded "$before" 1000000000000
        same "missing days after cut $number" \
            "$(said "$rows - [.rows[][0]] | @json" usage --days 3650)" "[]"
        note "cut $number: ${now[0]} bytes before, ${lost[0]} and ${lost[1]} s lost; $(gw cat \
            '/var/log/fastpathd.*' | grep -c 'invalid bytes') pages had a torn end"
    done
    good_state
}

# @each 2 @core
# @each 20 @long @fault:power-cut-history
test_history_after_power_cuts() { cuts "$1"; }

# shellcheck disable=SC2016 # expanded by never
test_history_is_off_by_the_configuration() {
    local before
    at_the_end cp_config_back
    recording 1
    soon 20 storage_is on
    gw "sed \"s/option history '1'/option history '0'/\" /run/e2e/config" | configure
    soon 20 storage_is off
    before=$(gw 'cat /etc/fastpath/history/* | sha256sum')
    never 3 eval '[ "$(gw "cat /etc/fastpath/history/* | sha256sum")" != "$before" ]'
}

# line FILTER: succeeds if the jq FILTER holds for the last quarter hour of the WAN with probes.
line() {
    says "[.wans[] | select(.name == \"wan\") | .cols as \$cols | .rows[] |
        [\$cols, .] | transpose | map({(.[0]): .[1]}) | add | select(.probes > 0)] |
        last // empty | $1" usage
}
probes() {
    said '[.wans[] | select(.name == "wan") | .rows[] | .[3:5]] | transpose | map(add) | @json' \
        usage
}

# The DNS server of the lab's provider answers, then its answers are dropped.
test_latency_and_loss_of_the_line_are_recorded() {
    local before
    at_the_end 'configuration_back; cp_config_back'
    recording 1
    never 12 line true
    edit_config network "/username/a\\	option dns '203.0.113.1'"
    soon 30 line '.min_us > 0 and .lost == 0'
    line '.min_us <= .mean_us and .mean_us <= .max_us and .max_us < 2000000' ||
        fail "no round trips"
    gw nft -f - <<'END'
table inet e2e {
    chain input {
        type filter hook input priority -300
        ip saddr 203.0.113.1 udp sport 53 drop
    }
}
END
    soon 40 line '.lost > 0 and .lost < .probes'
    saved
    before=$(probes)
    edit_config network "/username/a\\	option demand '300'"
    # A probe may be under way.
    until_still 3 probes
    before=$(probes)
    never 12 eval "[ \"\$(probes)\" != '$before' ]"
}
