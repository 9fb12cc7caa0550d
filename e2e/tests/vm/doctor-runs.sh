# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs of the doctor without a caller: after changes, in status; findings that are accepted.

# shellcheck source=e2e/tests/vm/lib/changes.sh
. "$VM/lib/changes.sh"

# found ID, absent ID: by status, which names findings that are not accepted.
found() { says ".doctor.last.worst | any(.id == \"$1\")" status; }
absent() { says ".doctor.last.worst | all(.id != \"$1\")" status; }

# last SESSION FILTER: of the last report.
last() { rpc "$1" fastpath.doctor last '{}' | jq -r ".result[1] | $2"; }

# wan_zone SESSION: its section of the firewall.
wan_zone() {
    change "$1" get '{"configs": ["firewall"]}' |
        jq -r '.configs.firewall[] | select(.type == "zone" and .values.name == "wan") | .section'
}

# set_mtu_fix SESSION VALUE: the edit.
set_mtu_fix() {
    jq -nc --arg s "$(wan_zone "$1")" --argjson v "$2" \
        '[{op: "set", config: "firewall", section: $s, values: {mtu_fix: $v}}]'
}

# @long
test_a_finding_appears_by_itself_after_a_change() {
    local root id counted
    keep
    root=$(session root fastpath)
    gw 'fastpathctl doctor >/dev/null || true'
    soon 10 absent pppoe-mss
    id=$(applied "$root" "$(set_mtu_fix "$root" null)" '{"seconds": 600}')
    soon 90 found pppoe-mss
    # It has not been asked for: each field of it is in the report that the page reads.
    same "the report" "$(last "$root" '.findings[] | select(.id == "pppoe-mss") | .severity')" \
        warning
    change "$root" revert "{\"id\": $id}" >/dev/null
    soon 90 absent pppoe-mss
    # Accepted, it is not named, and counted as such only.
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
