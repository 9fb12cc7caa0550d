# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Content that a rule drops never arrives, as long as it is inspected.
# @inspected

over() { [[ $(field inspection "$1") = @(spent|bypassed) ]]; }

# @core
test_bad_answer_is_dropped() {
    local address
    in_line
    for address in "$ISP_4" "$ISP_6" "$H20_4" "$H20_6"; do dropped "$address"; done
}

test_alert_tells_what_it_was() {
    local alert
    in_line
    dropped "$ISP_4"
    alert=$(said '.alerts[0]' alerts --sid "$BAD_SID" --limit 1)
    same action "$(field action "$alert")" blocked
    same receiver "$(field dst "$alert")" 10.10.10.10
    same "receiver's name" "$(field dst_name "$alert")" h10
    same "sender's port" "$(field sport "$alert")" 80
    same application "$(field app "$alert")" http
    has "the requested page" "$(field target "$alert")" id.txt
    has "alerts as text" "$(gw fastpathctl alerts)" "$(field signature "$alert")"
    # Suricata is asked for its counters now and then.
    soon 15 says '.counters.blocked > 0 and .counters.alerts > 0' ips
}

# resolver: the router resolves names for its hosts, as OpenWrt does by default.
resolver() {
    is_openwrt || add_config dhcp <<<"
config dhcp 'lan'
	option interface 'lan'"
    soon 10 h10 "busybox nslookup -type=a localhost 10.10.10.1"
}

# Hosts ask the router for names by default, in hook input; it asks a server, in hook output.
# @fault:name-through-router
test_names_asked_of_the_router_are_seen() {
    local last
    resolver
    in_line
    last=$(said .last alerts)
    h10 "busybox nslookup -type=a e2e-$RANDOM.onion 10.10.10.1" >/dev/null 2>&1 || true
    soon 5 says ".alerts | any(.id > $last and .src == \"10.10.10.10\" and .dport == 53)" \
        alerts --sid 8100063
    # An answer comes as before, also without Suricata.
    h10 "busybox nslookup -type=a localhost 10.10.10.1" >/dev/null
    hold_suricata
    kill_suricata
    soon 3 ips_is failing-open
    h10 "busybox nslookup -type=a localhost 10.10.10.1" >/dev/null
    let_suricata
    soon 25 ips_is inline
}

# Subscribers on the router receive each alert without polling.
# @long
test_alert_is_notified() {
    in_line
    gw_during "$(patient 3)" "ubus subscribe fastpath" >"$RUN/notified" &
    soon 5 notified '.tick'
    bad_page h10 "$ISP_4" >/dev/null
    soon 3 notified '.alert'
    notified ".alert.alerts[] | .sid == $BAD_SID" || fail "the notification does not name the rule"
}

# notified FILTER: one of the notifications fits; the last line may not be whole.
notified() {
    jq -nR "[inputs | fromjson? | $1 | select(.)] | length > 0" "$RUN/notified" | grep -qx true
}

test_good_answers_pass() {
    in_line
    good_page "$ISP_4"
    good_page "$ISP_6"
    good_page "$H20_4"
    good_page "$H20_6"
}

# passes_later ADDRESS: the connection is bypassed; the rest of it is not inspected.
passes_later() {
    local port flow
    port=$(fresh_port)
    same "bytes of file and page, connections" "$(after_file h10 "$port" "$1")" "2097152 1 39 0 "
    flow=$(newest --proto tcp --text "$port")
    over "$flow" || fail "inspection of the flow is $(field inspection "$flow")"
    note "$1: inspection $(field inspection "$flow")"
}

# @core
test_after_enough_was_seen_it_passes() {
    in_line
    passes_later "$ISP_4"
    passes_later "$H20_6"
}

test_inspect_always_drops_it_there_too() {
    local port
    in_line "	option default 'always'"
    port=$(fresh_port)
    same "bytes of file and page, connections" "$(after_file h10 "$port" "$ISP_4" 3)" \
        "2097152 1 0 0 "
    download h10 $((port + 1)) "$ISP_4" 400k
    soon 5 on_path inspect/always-inspected --proto tcp --text $((port + 1))
    never 5 offloaded $((port + 1))
    on_path inspect/always-inspected --proto tcp --text $((port + 1))
}

test_policy_spares_a_zone() {
    in_line "
config policy
	option name 'to our own'
	option src 'lan'
	option dest 'iot'
	option action 'none'"
    same "bytes from the other VLAN" "$(bad_page h10 "$H20_4" | cut -d ' ' -f 2)" 39
    dropped "$ISP_4"
}

# @long
test_exempt_host_is_not_inspected() {
    in_line "	list exempt '10.10.10.11'"
    same "bytes to the exempt host" "$(bad_page h11 "$ISP_4" | cut -d ' ' -f 2)" 39
    dropped "$ISP_4"
}

# went PORT PATHS: in this order.
went() {
    local paths
    paths=$(said '[.events[].path | select(. != null)] | join(" ")' flow \
        "$(newest --proto tcp --text "$1" | jq .id)")
    [[ $paths == *"$2"* ]] || { echo "$paths"; return 1; }
}

# Marks of an earlier verdict are cleared: the connection is inspected again.
test_reinspect_brings_flows_back() {
    local port bytes
    in_line
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 300k
    soon 20 on_path flowtable --proto tcp --text "$port"
    between "flows brought back" "$(said .flows reinspect)" 1 1000
    soon 20 went "$port" "flowtable inspect"
    soon 15 on_path flowtable --proto tcp --text "$port"
    read -r _ bytes <<<"$(conntrack_bytes "$port")"
    soon 5 bytes_grow "$port" "$bytes"
}

test_switched_off_nothing_is_left() {
    in_line
    cp_config_back
    soon 10 ips_is off
    soon 15 no_pids Suricata-Main
    soon 10 gw '! nft list table inet fastpath | grep queue'
    same "bytes of the bad page" "$(bad_page h10 "$ISP_4" | cut -d ' ' -f 2)" 39
}
