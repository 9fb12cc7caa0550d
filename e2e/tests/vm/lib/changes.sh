# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later

# change SESSION METHOD ARGUMENTS: calls fastpath.change and prints the answer or refusal.
change() { rpc "$1" fastpath.change "$2" "$3" | jq -c '.result[1] // .error // .'; }

edited() {
    jq -nc --arg s "$1" --argjson v "$2" --arg c "${3:-network}" \
        '[{config: $c, op: "set", section: $s, values: $v}]'
}

guest() {
    jq -nc --arg v "$1" '[
        {config: "network", op: "add", type: "bridge-vlan", id: "vlan",
            values: {device: "br-lan", vlan: $v, ports: ["lan3:t"]}},
        {config: "network", op: "add", type: "interface", section: "guest",
            values: {device: ("br-lan." + $v), proto: "static", ipaddr: ["10.10.30.1/24"]}},
        {config: "firewall", op: "add", type: "zone", id: "zone",
            values: {name: "guest", network: ["guest"], input: "REJECT", forward: "REJECT"}}]'
}

with() { jq -nc --argjson e "$1" --argjson m "${2:-{\}}" '{edits: $e} + $m'; }

# change_log: prints errors of changes from the log.
change_log() { gw 'cat /var/log/*.log | grep fastpath-change | tail -5; true'; }

applied() {
    local answer
    answer=$(change "$1" apply "$(with "$2" "${3:-{\}}")")
    jq -er .id <<<"$answer" || fail "not applied: $answer"$'\n'"$(change_log)"
}

# refusal CODE SESSION METHOD ARGUMENTS: fails unless the call is refused with CODE; sets ANSWER.
refusal() {
    ANSWER=$(change "$2" "$3" "$4")
    same "the refusal of $3 $4" "$(jq -r '.error.code // .' <<<"$ANSWER")" "$1"
}

schema() {
    node "$VM/answer.mjs" "$TOP/feeds/fastpathd/src/schema" change "$1" <<<"$2" || fail "the schema"
}

state_of() {
    change "$1" list '{}' | jq -r --argjson i "$2" '.changes[] | select(.id == $i).state'
}
state_is() { [ "$(state_of "$1" "$2")" = "$3" ]; }
waits() { [ "$(change "$1" pending '{}' | jq -r .pending.id)" = "$2" ]; }

# said_of SESSION: prints the configuration's values without section names.
said_of() {
    change "$1" get '{"configs": ["network", "firewall"]}' |
        jq -c '.configs | map_values(map(del(.section)))'
}

keep() { gw 'mkdir -p /run/e2e/kept && cp /etc/config/* /run/e2e/kept/'; }
# shellcheck disable=SC2016 # expanded on the gateway
unchanged() {
    gw 'for file in /run/e2e/kept/*; do cmp "$file" "/etc/config/${file##*/}" || exit 1; done'
}

answers_again() { [ -n "$(session root fastpath)" ]; }
