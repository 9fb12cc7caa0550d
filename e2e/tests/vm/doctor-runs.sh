# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Automatic runs of the doctor after changes, their result in `status`, and accepted findings.

# shellcheck source=e2e/tests/vm/lib/changes.sh
. "$VM/lib/changes.sh"

# found ID, absent ID: check for the finding in `status`, which omits accepted findings.
found() { says ".doctor.last.worst | any(.id == \"$1\")" status; }
absent() { says ".doctor.last.worst | all(.id != \"$1\")" status; }

last() { rpc "$1" fastpath.doctor last '{}' | jq -r ".result[1] | $2"; }

wan_zone() {
    change "$1" get '{"configs": ["firewall"]}' |
        jq -r '.configs.firewall[] | select(.type == "zone" and .values.name == "wan") | .section'
}

set_mtu_fix() {
    jq -nc --arg s "$(wan_zone "$1")" --argjson v "$2" \
        '[{op: "set", config: "firewall", section: $s, values: {mtu_fix: $v}}]'
}

# @long
test_a_finding_appears_after_a_change_without_a_call() {
    local root id counted
    keep
    root=$(session root fastpath)
    gw 'fastpathctl doctor >/dev/null || true'
    soon 10 absent pppoe-mss
    id=$(applied "$root" "$(set_mtu_fix "$root" null)" '{"seconds": 600}')
    soon 90 found pppoe-mss
    # The page shows this report, so it must have all fields.
    same "the report" "$(last "$root" '.findings[] | select(.id == "pppoe-mss") | .severity')" \
        warning
    change "$root" revert "{\"id\": $id}" >/dev/null
    soon 90 absent pppoe-mss
    # Accepted findings are counted instead of named.
    id=$(applied "$root" "$(set_mtu_fix "$root" null)" '{"seconds": 60}')
    change "$root" confirm "{\"id\": $id}" >/dev/null
    soon 90 found pppoe-mss
    counted=$(said '.doctor.last.counts.accepted' status)
    id=$(applied "$root" "$(last "$root" '.findings[] | select(.id == "pppoe-mss") |
        [{op: "add", config: "fastpath", type: "accepted", id: "new",
          values: {check: .code, severity: .severity, about: .about}}] | tojson')")
    change "$root" confirm "{\"id\": $id}" >/dev/null
    soon 20 absent pppoe-mss
    same "accepted findings" "$(said '.doctor.last.counts.accepted' status)" $((counted + 1))
    has "the command line" "$(gw 'fastpathctl doctor --check pppoe-mss || true')" 'accepted'
    id=$(applied "$root" "$(last "$root" '.findings[] | select(.id == "pppoe-mss") |
        [.accepted[] | {op: "delete", config: "fastpath", section: .}] | tojson')")
    change "$root" confirm "{\"id\": $id}" >/dev/null
    soon 20 found pppoe-mss
    id=$(applied "$root" "$(set_mtu_fix "$root" '"1"')")
    change "$root" confirm "{\"id\": $id}" >/dev/null
    soon 90 absent pppoe-mss
}
