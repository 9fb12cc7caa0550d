# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs of the doctor without a caller, after changes; their result in status; accepted findings.

# shellcheck source=e2e/tests/vm/lib/changes.sh
. "$VM/lib/changes.sh"

# found ID, absent ID: check status, which names only findings that are not accepted.
found() { says ".doctor.last.worst | any(.id == \"$1\")" status; }
absent() { says ".doctor.last.worst | all(.id != \"$1\")" status; }

# last SESSION FILTER: prints a value of the last report.
last() { rpc "$1" fastpath.doctor last '{}' | jq -r ".result[1] | $2"; }

# wan_zone SESSION: prints the firewall section of the WAN's zone.
wan_zone() {
    change "$1" get '{"configs": ["firewall"]}' |
        jq -r '.configs.firewall[] | select(.type == "zone" and .values.name == "wan") | .section'
}

# set_mtu_fix SESSION VALUE: prints the edit.
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
    # The page reads this report without running the doctor, so all fields must be there.
    same "the report" "$(last "$root" '.findings[] | select(.id == "pppoe-mss") | .severity')" \
        warning
    change "$root" revert "{\"id\": $id}" >/dev/null
    soon 90 absent pppoe-mss
    # An accepted finding is no longer named, but counted.
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
