# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Per-packet rules in foreign tables, with the flowtable and with eBPF at TC: a matching flow stays
# on the slow path and names the rule; other flows are offloaded.

rules() { gw 'nft destroy table inet e2e_rules; nft destroy table netdev e2e_rules; nft -f -'; }
no_rules() { rules </dev/null; }

acted() { gw nft list table inet e2e_rules | sed -n 's/.*packets \([0-9]*\).*/\1/p' | head -n 1; }
acts() { ! unchanged acted >/dev/null; }

# slow_by RULE PORT: fails unless that flow is on the slow path and names RULE.
slow_by() {
    local id
    soon 15 on_path slow/rule-per-packet --text ":$2"
    id=$(newest --text ":$2" | jq .id)
    says ".rule | test(\"$1\")" flow "$id" || fail "the flow does not name $1"
}

# rules_act PATH: runs the tests for the engine with this path.
rules_act() {
    local limited other
    limited=$(fresh_port)
    other=$((limited + 1))
    at_end no_rules
    # Rate limit for one host's download, loaded before the connection.
    rules <<'NFT'
table inet e2e_rules {
    chain forward {
        type filter hook forward priority 0
        ip saddr 203.0.113.1 ip daddr 10.10.10.10 \
            limit rate over 5000/second counter drop comment "e2e limit"
    }
}
NFT
    download h10 "$limited" "$ISP_4"
    download h10 "$other" "$H20_4"
    slow_by 'inet e2e_rules forward handle [0-9]+ .e2e limit.' "$limited"
    soon 15 on_path "$1" --text ":$other"
    says '.engine.packet_rules | length == 1' status || fail "status does not name the rule"
    doctor 'soon 10 finds packet-rules'
    no_rules
    soon 15 on_path "$1" --text ":$limited"
    # Rule for a flow that is already offloaded.
    rules <<NFT
table inet e2e_rules {
    chain postrouting {
        type filter hook postrouting priority mangle
        tcp sport $limited counter ip dscp set ef comment "e2e dscp"
        tcp dport $limited counter ip dscp set ef
    }
}
NFT
    slow_by 'e2e dscp' "$limited"
    soon 10 acts
    soon 15 on_path "$1" --text ":$other"
    # Rules behind the accept of established connections never see the flow.
    rules <<NFT
table inet e2e_rules {
    chain forward {
        type filter hook forward priority 0
        ct state established,related accept
        ip daddr 10.10.10.10 quota over 1 mbytes drop
    }
}
NFT
    soon 15 on_path "$1" --text ":$limited"
    says '.engine.packet_rules == []' status || fail "a rule that is not reached is named"
}

# a_quota_holds: fails if more than the quota and packets in transit arrive.
a_quota_holds() {
    local at
    at=$(fresh_port)
    rules <<'NFT'
table inet e2e_rules {
    chain forward {
        type filter hook forward priority 0
        ip daddr 10.10.10.10 quota over 2 mbytes counter drop
    }
}
NFT
    soon 15 says '.engine.packet_rules | length == 1' status
    download h10 "$at" "$ISP_4" 4M
    soon 15 arrives "$at" 1000000
    until_still 15 received "$at"
    between "bytes through a quota of 2 MB" "$(received "$at")" 1000000 2300000
}

# shellcheck disable=SC2064 # expanded now
at_end() { trap "$1" EXIT; }

# @finds:packet-rules
test_flows_of_per_packet_rules_are_not_offloaded_by_the_flowtable() {
    rules_act flowtable
    a_quota_holds
}

test_flows_of_per_packet_rules_are_not_offloaded_by_ebpf() {
    ebpf_at tcx
    rules_act ebpf
    a_quota_holds
    # Policer at the host's port, which eBPF would bypass.
    at=$(fresh_port)
    rules <<'NFT'
table netdev e2e_rules {
    chain lan1 {
        type filter hook ingress device lan1 priority -200
        ip saddr 10.10.10.10 ip daddr 10.10.20.10 limit rate over 2 mbytes/second drop
    }
}
NFT
    soon 15 says '.engine.packet_rules[0] | startswith("netdev")' status
    download h10 "$at" "$H20_4"
    slow_by 'netdev e2e_rules lan1' "$at"
}

test_the_default_firewall_rules_slow_no_flow() {
    says '.engine.packet_rules == []' status || fail "$(said .engine.packet_rules status)"
}

# Rules that accept the first packets of a connection, or match a mark that is set later.
test_rules_that_act_later_on_a_connection_are_obeyed() {
    local at
    at=$(fresh_port)
    at_end no_rules
    rules <<NFT
table inet e2e_rules {
    chain forward {
        type filter hook forward priority 0
        th dport $at ct packets < 200 counter accept
        th sport $at ct packets < 200 counter accept
        th dport $at drop
        th sport $at drop
        ct mark 0x5a limit rate over 1/minute burst 1 packets counter drop comment "e2e mark"
    }
}
NFT
    soon 15 says '.engine.packet_rules | length >= 2' status
    numbered h10 "$at" "$ISP_4"
    slow_by 'inet e2e_rules forward' "$at"
    soon 20 acts
    until_still 20 acted
    at=$((at + 1))
    numbered h10 "$at" "$ISP_4"
    soon 15 on_path flowtable --proto udp --text ":$at"
    gw conntrack -U -p udp --sport "$at" --mark 0x5a
    slow_by 'e2e mark' "$at"
    until_still 10 count_of "$at" 2
}
