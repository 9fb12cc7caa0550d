# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A change that stops or diverts a flow on the slow path does the same to an offloaded flow within a
# second, and other flows lose no packet. Engines: flowtable, eBPF at TC and, on emulated machines,
# XDP at drivers.
# @long
# @each flowtable ebpf-tcx
# @each ebpf-auto @qemu: no port of a user-mode machine has a driver with XDP

# shellcheck source=e2e/tests/vm/lib/revocation.sh
. "$VM/lib/revocation.sh"

# forbid END…: has fw4 drop packets from (saddr) or to (daddr) the server, even of established
# connections.
forbid() {
    local end
    for end; do
        echo "insert rule inet fw4 forward ip $end $ISP_4 counter drop comment \"e2e\""
    done | timed nft -f -
}
test_a_drop_rule_stops_an_offloaded_flow() { stops "$1" rules_back forbid saddr daddr; }

# A packet in one direction makes the flowtable offload both.
test_a_drop_rule_for_answers_stops_an_offloaded_flow() { stops "$1" rules_back forbid saddr; }
test_a_drop_rule_for_requests_stops_an_offloaded_flow() { stops "$1" rules_back forbid daddr; }

# at_ingress: drops packets at the port's ingress, after the flowtable.
at_ingress() {
    timed nft -f - <<END
table netdev e2e_rules {
    chain ingress {
        type filter hook ingress device lan1 priority 10
        ip daddr $ISP_4 drop
    }
}
END
}
test_a_drop_at_ingress_stops_an_offloaded_flow() { stops "$1" rules_back at_ingress; }

before_routing() {
    timed nft -f - <<END
table inet e2e_rules {
    chain raw {
        type filter hook prerouting priority raw
        ip saddr $ISP_4 drop
    }
}
END
}
test_a_drop_in_prerouting_stops_an_offloaded_flow() { stops "$1" rules_back before_routing; }

# Like ban programs: the rule precedes the flow; only its set changes.
ban_list() {
    gw nft -f - <<END
table inet e2e_rules {
    set banned { type ipv4_addr; }
    chain forward {
        type filter hook forward priority -10
        ip saddr @banned counter drop
    }
}
END
}
ban() { timed nft add element inet e2e_rules banned "{ $ISP_4 }"; }
release() { gw nft delete element inet e2e_rules banned "{ $ISP_4 }"; }
test_a_new_element_of_a_ban_set_stops_an_offloaded_flow() {
    ban_list
    stops "$1" release ban
}

# A resolver fills the set; its rule only counts.
test_a_new_element_of_a_counting_set_drops_no_packet() {
    local address count slow
    gw nft -f - <<END
table inet e2e_rules {
    set seen { type ipv4_addr; }
    chain forward {
        type filter hook forward priority -10
        ip saddr @seen counter
    }
}
END
    carried "$1"
    count=$(said .engine.revocation.count status)
    slow=$(slowly revoked)
    for address in 192.0.2.1 192.0.2.2 "$ISP_4"; do
        gw nft add element inet e2e_rules seen "{ $address }"
    done
    never 3 more_slowly revoked "$slow"
    same revocations "$(said .engine.revocation.count status)" "$count"
    PASSED=all
    others_continue
}

to_other_vlan() { REVOKED_TO=$H20_4 OTHER_TO=$ISP_4; }

blackhole() { timed ip route add blackhole "$H20_4"; }
test_a_blackhole_route_stops_an_offloaded_flow() {
    to_other_vlan
    stops "$1" rules_back blackhole
}

# The flowtable does not watch the VLAN device above the port.
link_down() { timed ip link set br-lan.20 down; }
link_up() { gw ip link set br-lan.20 up; }
test_a_vlan_device_that_goes_down_stops_an_offloaded_flow() {
    gw sysctl -qw net.ipv6.conf.br-lan/20.keep_addr_on_down=1
    to_other_vlan
    stops "$1" link_up link_down
}

# fw4 accepts established connections first, so new rules affect only new connections.
deny() {
    add_config firewall <<END

config rule
	option name 'e2e'
	option src 'lan'
	option dest 'wan'
	option dest_ip '$ISP_4'
	option proto 'all'
	option target 'DROP'
END
}
test_a_firewall_reload_keeps_established_flows() {
    carried "$1"
    deny
    PASSED=$(answers)
    soon 20 nothing_at h10 "$ISP_4" 80
    soon 15 more_answers "$PASSED"
    soon 30 on_the_fast_path "$REVOKED"
    PASSED=$(($(answers) - PASSED))
    others_continue
    soon 15 ended revoked
    read -r _ lost < <(peers cat /tmp/e2e/revoked.log)
    same "lost packets of the established flow" "$lost" 0
}

EXCLUSION="
config exclude
	option name 'e2e'
	option dest '$ISP_4'"
test_a_new_exclusion_ends_the_offload() {
    carried "$1"
    diverts slow/excluded configured "$EXCLUSION"
}

test_a_new_inspection_policy_ends_the_offload() {
    carried "$1" "$(inspection none)"
    diverts inspect/always-inspected always_inspected
}

bad_answer() {
    # The time limit includes the request and Suricata's verdict.
    timed true
    bad_page h10 "$ISP_4" >/dev/null
    soon 5 says "[.blocks[].address] | index(\"$ISP_4\") != null" blocks
}
unblock() { gw fastpathctl release "$ISP_4"; }
test_a_blocked_address_stops_an_offloaded_flow() {
    WITH=$(inspection inspect "	option block '1'")
    stops "$1" unblock bad_answer
}

# The kernel may reuse the entry's id, so compare ages.
flow_age() { newest --proto udp --text ":$REVOKED" | jq -r '.age_s | floor'; }
is_younger() { [ "$(flow_age)" -lt "$1" ]; }
test_a_flow_survives_its_deleted_conntrack_entry() {
    local age
    carried "$1"
    age=$(flow_age)
    gw conntrack -D -p udp --orig-port-src "$REVOKED" >/dev/null
    PASSED=$(answers)
    soon 5 is_younger "$age"
    soon 15 more_answers "$PASSED"
    soon 15 on_the_fast_path "$REVOKED"
    PASSED=$(($(answers) - PASSED))
    others_continue
}

change() { timed "/usr/libexec/rpcd/fastpath.change call $1" <<<"$2"; }
changed() { has "the answer of $1" "$(change "$1" "{\"id\": $2}")" "\"id\":$2"; }

# denied NAME [MORE]: applies the rule of `deny` with this name; sets CHANGE to the change's id.
denied() {
    local answer edits
    edits=$(jq -nc --arg name "$1" --arg to "$ISP_4" '[{config: "firewall", op: "add",
        type: "rule", id: "e2e", values: {name: $name, src: "lan", dest: "wan", dest_ip: $to,
        proto: "all", target: "DROP"}}]')
    answer=$(change apply "{\"edits\": $edits, \"seconds\": 600${2-}}")
    CHANGE=$(jq -er .id <<<"$answer") || fail "not applied: $answer"
    soon 20 nothing_at h10 "$ISP_4" 80
}
still_answered() { soon 15 more_answers "$(answers)"; }

# Only a confirmation with `end_connections` ends established connections.
test_a_confirmed_change_ends_connections_only_on_request() {
    local ending=', "end_connections": true'
    carried "$1"
    denied rolled-back "$ending"
    still_answered
    changed revert "$CHANGE"
    soon 20 h10 curl -s -m 2 -o /dev/null "http://$ISP_4/index.html"
    denied without
    changed confirm "$CHANGE"
    still_answered
    soon 30 on_the_fast_path "$REVOKED"
    denied with "$ending"
    still_answered
    changed confirm "$CHANGE"
    ended_in_time
    never 4 more_answers "$(answers)"
    others_continue
}
