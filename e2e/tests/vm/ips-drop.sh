# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# While a connection is inspected, content that matches a drop rule never arrives.
# @inspected

over() { [[ $(field inspection "$1") = @(spent|bypassed) ]]; }

# @core
test_an_answer_with_matching_content_is_dropped() {
    local address
    protect_inline
    for address in "$ISP_4" "$ISP_6" "$H20_4" "$H20_6"; do dropped "$address"; done
}

test_an_alert_has_rule_hosts_and_action() {
    local alert
    protect_inline
    dropped "$ISP_4"
    alert=$(said '.alerts[0]' alerts --sid "$BAD_SID" --limit 1)
    same action "$(field action "$alert")" blocked
    same receiver "$(field dst "$alert")" 10.10.10.10
    same "receiver's name" "$(field dst_name "$alert")" h10
    same "sender's port" "$(field sport "$alert")" 80
    same application "$(field app "$alert")" http
    has "the requested page" "$(field target "$alert")" id.txt
    has "alerts as text" "$(gw fastpathctl alerts)" "$(field signature "$alert")"
    # The daemon polls Suricata's counters every few seconds.
    soon 15 says '.counters.blocked > 0 and .counters.alerts > 0' ips
}

# resolver: enables the router's DNS server, as in OpenWrt's defaults.
resolver() {
    is_openwrt || add_config dhcp <<<"
config dhcp 'lan'
	option interface 'lan'"
    soon 10 h10 "busybox nslookup -type=a localhost 10.10.10.1"
}

# Hosts query the router (hook input), and the router queries a server (hook output).
# @fault:name-through-router
test_dns_queries_to_the_router_are_inspected() {
    local last
    resolver
    protect_inline
    last=$(said .last alerts)
    h10 "busybox nslookup -type=a e2e-$RANDOM.onion 10.10.10.1" >/dev/null 2>&1 || true
    soon 5 says ".alerts | any(.id > $last and .src == \"10.10.10.10\" and .dport == 53)" \
        alerts --sid 8100063
    # Normal names resolve, with and without Suricata.
    h10 "busybox nslookup -type=a localhost 10.10.10.1" >/dev/null
    hold_suricata
    kill_suricata
    soon 3 ips_is failing-open
    h10 "busybox nslookup -type=a localhost 10.10.10.1" >/dev/null
    release_suricata
    soon 25 ips_is inline
}

# @long
test_alerts_are_sent_to_subscribers() {
    protect_inline
    gw_during "$(patient 3)" "ubus subscribe fastpath" >"$RUN/notified" &
    soon 5 notified '.tick'
    bad_page h10 "$ISP_4" >/dev/null
    soon 3 notified '.alert'
    notified ".alert.alerts[] | .sid == $BAD_SID" || fail "the notification does not name the rule"
}

# notified FILTER: succeeds if a notification matches. Ignores an incomplete last line.
notified() {
    jq -nR "[inputs | fromjson? | $1 | select(.)] | length > 0" "$RUN/notified" | grep -qx true
}

test_answers_without_matching_content_pass() {
    protect_inline
    good_page "$ISP_4"
    good_page "$ISP_6"
    good_page "$H20_4"
    good_page "$H20_6"
}

# passes_later ADDRESS: fails unless the connection is bypassed and its later content passes.
passes_later() {
    local port flow
    port=$(fresh_port)
    same "bytes of file and page, connections" "$(after_file h10 "$port" "$1")" "2097152 1 39 0 "
    flow=$(newest --proto tcp --text "$port")
    over "$flow" || fail "inspection of the flow is $(field inspection "$flow")"
    note "$1: inspection $(field inspection "$flow")"
}

# @core
test_content_passes_after_the_budget_is_spent() {
    protect_inline
    passes_later "$ISP_4"
    passes_later "$H20_6"
}

test_action_always_drops_content_after_the_budget() {
    local port
    protect_inline "	option default 'always'"
    port=$(fresh_port)
    same "bytes of file and page, connections" "$(after_file h10 "$port" "$ISP_4" 3)" \
        "2097152 1 0 0 "
    download h10 $((port + 1)) "$ISP_4" 400k
    soon 5 on_path inspect/always-inspected --proto tcp --text $((port + 1))
    never 5 offloaded $((port + 1))
    on_path inspect/always-inspected --proto tcp --text $((port + 1))
}

test_a_policy_can_exempt_a_zone() {
    protect_inline "
config policy
	option name 'to our own'
	option src 'lan'
	option dest 'iot'
	option action 'none'"
    same "bytes from the other VLAN" "$(bad_page h10 "$H20_4" | cut -d ' ' -f 2)" 39
    dropped "$ISP_4"
}

# @long
test_an_exempt_host_is_not_inspected() {
    protect_inline "	list exempt '10.10.10.11'"
    same "bytes to the exempt host" "$(bad_page h11 "$ISP_4" | cut -d ' ' -f 2)" 39
    dropped "$ISP_4"
}

went() {
    local paths
    paths=$(said '[.events[].path | select(. != null)] | join(" ")' flow \
        "$(newest --proto tcp --text "$1" | jq .id)")
    [[ $paths == *"$2"* ]] || { echo "$paths"; return 1; }
}

# Clears the connection marks of the earlier verdict.
test_reinspect_returns_flows_to_inspection() {
    local port bytes
    protect_inline
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 300k
    soon 20 on_path flowtable --proto tcp --text "$port"
    between "flows brought back" "$(said .flows reinspect)" 1 1000
    soon 20 went "$port" "flowtable inspect"
    soon 15 on_path flowtable --proto tcp --text "$port"
    read -r _ bytes <<<"$(conntrack_bytes "$port")"
    soon 5 bytes_grow "$port" "$bytes"
}

test_disabling_inspection_leaves_no_rules_or_processes() {
    protect_inline
    cp_config_back
    soon 10 ips_is off
    soon 15 no_pids Suricata-Main
    soon 10 gw '! nft list table inet fastpath | grep queue'
    same "bytes of the bad page" "$(bad_page h10 "$ISP_4" | cut -d ' ' -f 2)" 39
}
