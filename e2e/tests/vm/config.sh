# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Valid and invalid contents of /etc/config/fastpath, and reloads.

test_an_unknown_engine_is_rejected() {
    refused "config fastpath 'main'
	option engine 'warp'" main engine warp
    gw 'cp /run/e2e/config /etc/config/fastpath; /etc/init.d/fastpathd reload'
    soon 5 healthy
}

# @core
test_all_errors_are_reported_at_once() {
    refused "config fastpath 'main'
	option engine 'flowtable'
	option mark_mask 'many'

config exclude 'backup'
	option src '10.10.10.0/99'" mark_mask many backup src 10.10.10.0/99
}

# @core
test_an_exclusion_keeps_a_flow_on_the_slow_path() {
    local port other
    configure <<'END'
config fastpath 'main'
	option engine 'flowtable'

config exclude
	option name 'web of the isp'
	option dest '203.0.113.0/24'
	option proto 'tcp'
	option dest_port '80'
END
    soon 5 engine_is flowtable
    port=$(fresh_port)
    other=$((port + 1))
    download h10 "$port" "$ISP_4"
    download h10 "$other" "$H20_4"
    soon 10 on_path slow/excluded --proto tcp --text "$port"
    soon 10 on_path flowtable --proto tcp --text "$other"
    lacks conntrack "$(conntrack_of "$port")" OFFLOAD
    has "our rules" "$(gw nft list table inet fastpath)" "web of the isp"
}

# carried VLAN PPPOE: configures whether flows over VLAN and PPPoE devices may be offloaded.
carried() {
    configure <<END
config fastpath 'main'
	option engine 'flowtable'
	option vlan '$1'
	option pppoe '$2'
END
}

# The path to h20 has only VLAN devices; the path to the ISP also has a PPPoE device.
test_vlan_and_pppoe_options_restrict_offloading() {
    local internet inside
    internet=$(fresh_port)
    inside=$((internet + 1))
    carried 1 0
    soon 5 engine_is flowtable
    download h10 "$internet" "$ISP_4"
    download h10 "$inside" "$H20_4"
    soon 10 on_path slow/excluded --proto tcp --text "$internet"
    soon 10 on_path flowtable --proto tcp --text "$inside"
    lacks conntrack "$(conntrack_of "$internet")" OFFLOAD
    carried 0 1
    soon 10 on_path slow/excluded --proto tcp --text "$inside"
    has "our rules" "$(gw nft list table inet fastpath)" 'iifkind "vlan"'
    carried 1 1
    soon 10 on_path flowtable --proto tcp --text "$inside"
    soon 10 on_path flowtable --proto tcp --text "$internet"
}

# measured TYPE CONDITION: succeeds if the traffic of TYPE fulfils CONDITION.
measured() { ask top traffic | jq -e ".rows[] | select(.key == \"$1\") | $2"; }

# @each flowtable | ipv6 @core
# @each flowtable | ipv4
# @each ebpf | ipv4 ipv6
test_a_switch_keeps_an_ip_version_slow() {
    local slow fast address=$ISP_6 other=$ISP_4
    [ "$2" = ipv6 ] || { address=$ISP_4 other=$ISP_6; }
    configure <<<"config fastpath 'main'
	option engine '$1'
	option $2 '0'"
    soon 10 engine_is "$1"
    slow=$(fresh_port)
    fast=$((slow + 1))
    download h10 "$slow" "$address"
    download h10 "$fast" "$other"
    soon 10 on_path "$1" --proto tcp --text "$fast"
    soon 10 on_path slow/excluded --proto tcp --text "$slow"
    lacks conntrack "$(conntrack_of "$slow")" OFFLOAD
    soon 5 measured "$2" '.excluded_bps > 0 and .fast_bps == 0'
    configure <<<"config fastpath 'main'
	option engine '$1'"
    soon 10 on_path "$1" --proto tcp --text "$slow"
    soon 5 measured "$2" '.excluded_bps == 0 and .fast_bps > 0'
}

test_an_exclusion_can_cover_all_of_ipv6() {
    local port other
    configure <<'END'
config fastpath 'main'
	option engine 'flowtable'

config exclude
	option name 'IPv6'
	option src '::/0'
END
    soon 5 engine_is flowtable
    port=$(fresh_port)
    other=$((port + 1))
    download h10 "$port" "$ISP_6"
    download h10 "$other" "$ISP_4"
    soon 10 on_path slow/excluded --proto tcp --text "$port"
    soon 10 on_path flowtable --proto tcp --text "$other"
    configure <<<"config fastpath 'main'
	option engine 'flowtable'"
    port=$((port + 2))
    download h10 "$port" "$ISP_6"
    soon 10 on_path flowtable --proto tcp --text "$port"
}

test_a_valid_change_takes_effect_on_reload() {
    local pid
    pid=$(daemon_pid)
    configure <<'END'
config fastpath 'main'
	option engine 'off'
END
    soon 5 engine_is off
    same source "$(said .engine.source status)" config
    configure <<'END'
config fastpath 'main'
	option engine 'flowtable'
	list ignore_device 'mgmt'
END
    soon 5 engine_is flowtable
    same devices "$(said '.engine.devices | join(" ")' status)" "$(lab_port DEVICES)"
    same "process of the daemon" "$(daemon_pid)" "$pid"
}

# A missing device may appear later, so it is a reason and not an error.
test_a_missing_device_is_reported_without_an_error() {
    configure <<'END'
config fastpath 'main'
	option engine 'flowtable'
	list device 'lan1'
	list device 'wan'
	list device 'lan9'
END
    soon 5 says '.engine.devices == ["lan1", "wan"]' status
}

test_the_check_of_a_file_names_its_error() {
    local answer
    gw fastpathd --check /etc/config/fastpath >/dev/null
    gw "printf 'config fastpath main\n\toption engine warp\n' >/tmp/bad"
    if answer=$(gw fastpathd --check /tmp/bad 2>&1); then fail "no error: $answer"; fi
    has "the error" "$answer" main
    has "the error" "$answer" engine
    has "the error" "$answer" warp
    gw "printf 'config fastpath main\n\tlist slow_tunnel warp\n' >/tmp/bad"
    if answer=$(gw fastpathd --check /tmp/bad 2>&1); then fail "no error: $answer"; fi
    has "the error" "$answer" "slow_tunnel"
    has "the error" "$answer" "wireguard"
    gw "printf 'config fastpath main\n\toption \"engine\n' >/tmp/bad"
    if answer=$(gw fastpathd --check /tmp/bad 2>&1); then fail "no error: $answer"; fi
    has "the error" "$answer" "line 2"
}

first_packets() {
    configure <<END
config fastpath 'main'
	option engine '$1'
	option slow_packets '$2'
END
    soon 10 engine_is "$1"
    soon 10 counts_to "$2"
}

# counts_to NUMBER: succeeds once the rules for first packets are in force and no renewal of the
# table is due. Renewals happen at most once per second.
counts_to() {
    gw nft list chain inet fastpath fastpath | grep -q "packets < $1 " &&
        unchanged our_table && unchanged our_table
}

# slow_packets PORT: prints the flow's packets in the forward hook after `count_slow`. Call
# count_slow before configuring: foreign rule changes renew the flowtable, and flows must then pass
# again in both directions.
count_slow() {
    change_rules <<END
table inet e2e {
    chain forward {
        type filter hook forward priority filter + 30
        udp sport $1 counter
        udp dport $1 counter
    }
}
END
}
slow_packets() {
    gw nft list chain inet e2e forward | sed -n 's/.* packets \([0-9]*\).*/\1/p' | xargs |
        { read -r there back && echo $((there + back)); }
}

# The flow has 50 datagrams per second and their echoes.
# @core
test_first_packets_take_the_slow_path() {
    local port
    port=$(fresh_port)
    count_slow "$port"
    first_packets flowtable 40
    begin h10 steady "exec /tmp/e2e/steady $ISP_4 $port"
    soon 10 on_path flowtable --proto udp --text "$port"
    soon 3 offloaded "$port"
    same "packets on the slow path" "$(slow_packets)" 40
}

# The daemon adds the eBPF entry later, so some more packets take the slow path.
test_first_packets_take_the_slow_path_before_ebpf() {
    local port seen
    port=$(fresh_port)
    count_slow "$port"
    first_packets ebpf 200
    begin h10 steady "exec /tmp/e2e/steady $ISP_4 $port"
    soon 3 on_path slow/first-packets --proto udp --text "$port"
    soon 10 on_path ebpf --proto udp --text "$port"
    seen=$(slow_packets)
    between "packets on the slow path" "$seen" 200 400
    until_still 5 slow_packets
    note "$seen packets on the slow path"
}

test_an_exclusion_can_keep_only_first_packets_slow() {
    local port other
    port=$(fresh_port) other=$(fresh_port)
    count_slow "$port"
    configure <<END
config fastpath 'main'
	option engine 'flowtable'

config exclude
	option name 'first'
	option dest '$ISP_4'
	option proto 'udp'
	option slow_packets '300'
END
    soon 10 engine_is flowtable
    soon 10 counts_to 300
    begin h10 steady "exec /tmp/e2e/steady $ISP_4 $port"
    begin h10 other "exec /tmp/e2e/steady $H20_4 $other"
    soon 3 on_path slow/first-packets --proto udp --text "$port"
    soon 3 on_path flowtable --proto udp --text "$other"
    on_path slow/first-packets --proto udp --text "$port" || fail "it was offloaded before"
    soon 10 on_path flowtable --proto udp --text "$port"
    same "packets on the slow path" "$(slow_packets)" 300
}
