# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two offloaded flows: a change stops or diverts one of h10, and the other loses no packet.

# Datagrams per second sent by `numbers`, the maximum that may pass after a change.
RATE=25

counters() {
    local host=$1
    shift
    printf '%s\n' "table inet e2e {" "chain input { type filter hook input priority -500" "$@" \
        "}" "}" | peers ip netns exec "$host" nft -f -
}
counted_by() {
    peers ip netns exec "$1" nft list table inet e2e |
        awk '{ for (i = 1; i < NF; i++) if ($i == "packets") n += $(i + 1) } END { print n + 0 }'
}
answers() { counted_by h10; }
more_answers() { [ "$(answers)" -gt "$1" ]; }

# timed COMMAND…: records the gateway's time, then runs COMMAND there. Measured times thus include
# the start of a program.
timed() { gw 'mkdir -p /run/e2e && date +%s%6N >/run/e2e/changed;' "$@"; }
# last_after: prints the milliseconds from the change to the last answer at most, or 0.
last_after() {
    local changed last
    changed=$(gw cat /run/e2e/changed)
    last=$(peers cat "/tmp/e2e/numbers.$REVOKED")
    one_clock || last=$((last - $(least_ahead peers gw)))
    echo $((last > changed ? (last - changed) / 1000 : 0))
}
one_clock() {
    local id=/proc/sys/kernel/random/boot_id
    [ "$(gw cat $id)" = "$(peers cat $id)" ]
}

# ahead MACHINE: prints the least and the most µs by which its clock is ahead of this machine's.
ahead() {
    local before there after _
    for _ in {1..8}; do
        before=${EPOCHREALTIME/./}
        there=$("$1" date +%s%6N)
        after=${EPOCHREALTIME/./}
        echo $((after - before)) $((there - after)) $((there - before))
    done | sort -n | sed -n '1s/^[0-9]* //p'
}
# least_ahead ONE OTHER: prints the least µs by which the clock of ONE is ahead of the one of OTHER.
least_ahead() {
    local least most
    read -r least _ < <(ahead "$1")
    read -r _ most < <(ahead "$2")
    echo $((least - most))
}

# slowly COUNTER: prints the packets of a flow that the stack has forwarded.
slowly() {
    gw nft list counter inet e2e "$1" | sed -n 's/.*packets \([0-9]*\).*/\1/p'
}
more_slowly() { [ "$(slowly "$1")" -gt "$2" ]; }

# shellcheck disable=SC2016 # expanded on the gateway
rules_back() {
    gw 'nft delete table inet e2e_rules; nft delete table netdev e2e_rules
        ip route del blackhole 10.10.20.10
        nft -a list chain inet fw4 forward | sed -n "s/.*comment \"e2e\" # handle //p" |
            while read -r handle; do nft delete rule inet fw4 forward handle "$handle"; done' \
        2>/dev/null || true
}
clean_up() {
    rules_back
    peers ip netns exec h10 nft delete table inet e2e
    gw 'ip link set br-lan.20 up; sysctl -qw net.ipv6.conf.br-lan/20.keep_addr_on_down=0'
}

# configured LINES: configures the engine under test and appends LINES.
configured() {
    local engine=$ENGINE hook=
    case $ENGINE in
        ebpf-*)
            engine=ebpf
            hook="	option hook '${ENGINE#ebpf-}'"
            ;;
    esac
    configure <<END
config fastpath 'main'
	option engine '$engine'
$hook
${1-}
END
    soon 15 says ".engine.active == \"$engine\" and .engine.wanted == \"$engine\"" status
    [ "$ENGINE" != ebpf-auto ] || soon 15 says '.devices | all(.hook == "xdp")' ebpf
}

# Path of the flow that the change affects, if not that of the engine.
REVOKED_PATH=

on_the_fast_path() {
    local path=${ENGINE%%-*}
    [ "$1" != "$REVOKED" ] || path=${REVOKED_PATH:-$path}
    on_path "$path" --proto udp --text ":$1"
}

# Additional command that cleans up after the test.
AFTERWARDS=:

# Destinations of the flow that the change affects and of the other flow, and the host of that one.
REVOKED_TO=$ISP_4
OTHER_TO=$H20_4
# Destination of `inspection`.
INSPECTED_ZONE=wan
OTHER_HOST=h10

# carried ENGINE [LINES]: offloads two flows: REVOKED, the port of the flow of h10 that the change
# affects, and OTHER.
carried() {
    ENGINE=$1
    REVOKED=$(fresh_port)
    OTHER=$((REVOKED + 1))
    trap 'clean_up; $AFTERWARDS' EXIT
    configured "${2-}"
    [[ ${2-} != *"config ips"* ]] || soon 60 steady
    soon 30 nothing_reloads
    gw nft -f - <<END
table inet e2e {
    counter revoked { }
    counter other { }
    chain forward {
        type filter hook forward priority raw
        udp sport $REVOKED counter name "revoked"
        udp dport $REVOKED counter name "revoked"
        udp sport $OTHER counter name "other"
        udp dport $OTHER counter name "other"
    }
}
END
    counters h10 "udp dport $REVOKED counter"
    peers rm -f /tmp/e2e/enough
    begin h10 revoked "/tmp/e2e/numbers $REVOKED_TO $REVOKED"
    begin $OTHER_HOST other "/tmp/e2e/numbers $OTHER_TO $OTHER"
    soon 15 on_the_fast_path "$REVOKED"
    soon 15 on_the_fast_path "$OTHER"
    # The stack's counters must confirm the reported path.
    [ -n "$REVOKED_PATH" ] || until_still 5 slowly revoked
    until_still 5 slowly other
    SLOW_OTHER=$(slowly other)
}

# in_a_second: prints how many datagrams this machine sends in a second.
in_a_second() { echo $((RATE * $(pace) / 100)); }

others_continue() {
    local slow
    soon 15 on_the_fast_path "$OTHER"
    slow=$(($(slowly other) - SLOW_OTHER))
    peers touch /tmp/e2e/enough
    soon 15 ended other
    read -r sent lost < <(peers cat /tmp/e2e/other.log)
    note "$ENGINE: $PASSED passed after the change${LAST_AFTER:+, the last after $LAST_AFTER ms};" \
        "the other flow: $slow of its packets took the slow path, $lost of $sent lost"
    same "lost packets of the other flow" "$lost" 0
    [ "$sent" -gt $RATE ] || fail "the other flow sent only $sent"
}

# Configuration appended while the flows are being offloaded.
WITH=
# Milliseconds from the change to the last answer.
LAST_AFTER=

# ended_in_time: fails unless answers have stopped within a second after the change and, if this lab
# has the machine for itself, two seconds after its beginning.
ended_in_time() {
    local labs
    IFS=: read -ra labs <<<"${LABS:-one}"
    PASSED=$(answers)
    until_still 1 answers
    PASSED=$(($(answers) - PASSED))
    between "answers after the change" "$PASSED" 0 "$(in_a_second)"
    LAST_AFTER=$(last_after)
    between "ms to the last answer" "$LAST_AFTER" 0 $((20 * $(pace) * ${#labs[@]}))
}

# stops ENGINE UNDO COMMAND…: fails unless COMMAND stops the flow until UNDO.
stops() {
    local before undo=$2
    carried "$1" "$WITH"
    shift 2
    "$@"
    ended_in_time
    before=$(answers)
    never 4 more_answers "$before"
    "$undo"
    soon 15 more_answers "$before"
    soon 30 on_the_fast_path "$REVOKED"
    others_continue
}

# diverts PATH COMMAND…: fails unless COMMAND moves the flow to PATH without loss.
diverts() {
    diverted "$@"
    others_continue
}
# diverted PATH COMMAND…: the same, and the flows go on.
diverted() {
    local answers slow path=$1
    shift
    "$@"
    answers=$(answers)
    slow=$(slowly revoked)
    soon 10 more_slowly revoked $((slow + 4 * RATE))
    soon 10 on_path "$path" --proto udp --text ":$REVOKED"
    # Each answer is one packet per direction.
    PASSED=$(($(answers) - answers - ($(slowly revoked) - slow) / 2))
    between "answers that did not take it" "$PASSED" "-$(in_a_second)" "$(in_a_second)"
}

# inspection ACTION [LINES]: prints a policy with this action for traffic into INSPECTED_ZONE.
inspection() {
    echo "
config ips 'ips'
	option enabled '1'
	option default 'none'
	option budget_bytes '5000'
${2-}
config policy
	option name 'e2e'
	option src 'lan'
	option dest '$INSPECTED_ZONE'
	option action '$1'"
}
always_inspected() {
    configured "$(inspection always)"
    soon 40 says '.policy.policies[0].action == "always"' ips
}
