# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The PPPoE session is lost and established again.

# reported_until_up: prints the reported WAN interfaces and flowtable devices until WAN is up.
# Neither may vanish while the session is down.
reported_until_up() {
    local end=$((SECONDS + 30)) answer
    while [ "$SECONDS" -lt "$end" ]; do
        answer=$(ask status)
        jq -r '(.wan | map(.name)) + .engine.devices | join(" ")' <<<"$answer"
        jq -e '.wan[] | select(.name == "wan") | .up' <<<"$answer" >/dev/null && return
    done
    return 0
}

# @fault:session-lost
# @each KILL @core
# @each TERM
test_session_reconnects_after() {
    local old new session since devices names
    old=$(fresh_port)
    download h10 "$old" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$old"
    session=$(said '.pppoe[0].session' topology)
    since=$(said '.wan[0].up_since_ms' status)
    devices=$(said '.engine.devices | join(" ")' status)
    names=$(said '.wan | map(.name) | join(" ")' status)
    pppoe_end "$1"
    soon 10 wan_is_down
    says '[.health[] | select(.code == "wan-down" and (.text | startswith("wan is down")))] |
        length == 1' status || fail "health is silent"
    same "status until the WAN was up" "$(reported_until_up | sort -u)" "$names $devices"
    soon 5 wan_is_up
    soon 15 internet
    [ "$(said '.wan[0].up_since_ms' status)" -gt "$since" ] || fail "up since before the reconnect"
    # The server assigns the next session number unless it was restarted.
    note "session $session, then $(said '.pppoe[0].session' topology)"
    same "session in status" "$(said '.wan[0].session' status)" \
        "$(said '.pppoe[0].session' topology)"
    same "device of the session" "$(said '.pppoe | map(.device) | join(" ")' topology)" pppoe-wan
    same "flowtable's devices" "$(said '.engine.devices | join(" ")' status)" "$devices"
    new=$(fresh_port)
    download h10 "$new" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$new"
    soon 3 offloaded "$new"
    new=$(fresh_port)
    download h10 "$new" "$ISP_6"
    soon 10 on_path flowtable --proto tcp --text "$new"
}

test_flows_between_vlans_stay_offloaded_without_a_session() {
    local port bytes
    port=$(fresh_port)
    download h10 "$port" "$H20_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    soon 3 offloaded "$port"
    pppoe_end KILL
    soon 10 wan_is_down
    read -r _ bytes <<<"$(conntrack_bytes "$port")"
    soon 10 bytes_grow "$port" "$bytes"
    offloaded "$port" || fail "not offloaded any more: $(conntrack_of "$port")"
}

# @fault:cable-pulled
test_a_pulled_wan_cable_is_reported() {
    cable wan off
    soon 15 wan_says '.carrier | not'
    soon 15 wan_is_down
    cable wan on
    soon 15 wan_says .carrier
    soon 45 wan_is_up
    soon 15 internet
}
