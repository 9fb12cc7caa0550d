# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Engine switches and their effect on the firewall.

rules() { gw "nft -s list table inet $1"; }
table_is_there() { gw 'nft list table inet fastpath'; }
table_is_gone() { ! table_is_there; }

# @core
test_off_and_on_again() {
    local old new before
    before=$(rules fw4)
    old=$(fresh_port)
    download h10 "$old" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$old"
    has "answer of engine off" "$(gw fastpathctl engine off)" "engine             off"
    new=$(fresh_port)
    download h10 "$new" "$H20_4"
    soon 5 on_path slow/engine-off --proto tcp --text "$old"
    soon 5 on_path slow/engine-off --proto tcp --text "$new"
    same "source of the choice" "$(said .engine.source status)" command
    # Offloaded flows continue on the slow path.
    lacks "conntrack" "$(conntrack_of "$old")" OFFLOAD
    lacks "conntrack" "$(conntrack_of "$new")" OFFLOAD
    read -r _ bytes <<<"$(conntrack_bytes "$old")"
    soon 10 bytes_grow "$old" "$bytes"
    gw fastpathctl engine flowtable >/dev/null
    soon 5 on_path flowtable --proto tcp --text "$old"
    soon 5 on_path flowtable --proto tcp --text "$new"
    soon 3 offloaded "$old"
    same "fw4's table" "$(rules fw4)" "$before"
}

test_unknown_engine_is_refused() {
    local before after answer
    before=$(said '.engine' status)
    mark_log
    if answer=$(gw fastpathctl engine warp 2>&1); then fail "no error: $answer"; fi
    has "the error" "$answer" "rejected the arguments"
    has "the log" "$(daemon_log)" warp
    after=$(said '.engine' status)
    same "the engine's state" "$after" "$before"
}

# kernel_of openwrt|debian: makes the kernel behave like that distribution's.
kernel_of() {
    local parameter=/sys/module/nf_tables/parameters/openwrt
    if ! gw "[ -e $parameter ]"; then
        [ "$1" = debian ] || skip "only the user-mode machine's kernel behaves as OpenWrt's"
        return
    fi
    at_the_end "gw 'echo $(gw cat $parameter) >$parameter'"
    gw "[ $1 = debian ] || yes=Y; echo \${yes-N} >$parameter"
}

# @each openwrt debian
test_hardware_that_is_not_there_is_not_claimed() {
    local port
    kernel_of "$1"
    gw fastpathctl engine flowtable-hw >/dev/null || true
    case $1 in
        openwrt)
            soon 5 says '.engine | .active == "flowtable-hw" and .hardware_ports.able == []' status
            ;;
        debian) soon 5 says '.engine | .active == "flowtable" and .why != ""' status ;;
    esac
    port=$(fresh_port)
    download h10 "$port" "$H20_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    same "flows in hardware" "$(said .paths.hardware.flows status)" 0
}

test_all_our_nft_objects_are_marked() {
    local text
    text=$(rules fastpath)
    has "the table" "$text" 'comment "!fastpath: established flows'
    # nft supports comments for chains and rules, but not for flowtables.
    lacks "the rules" \
        "$(grep -E '(flow add|mark set)' <<<"$text" | grep -v '!fastpath' || true)" "a"
    has "the flowtable" "$text" counter
    has "the flowtable" "$text" 'devices = { lan1, lan2, lan3, '
}

is_another_table() { table_is_there && [ "$(our_table)" != "$1" ]; }

# @fault:table-removed
test_a_deleted_table_is_restored() {
    local port before handle
    before=$(rules fw4)
    port=$(fresh_port)
    download h10 "$port" "$H20_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    handle=$(our_table)
    gw 'nft delete table inet fastpath'
    soon 25 is_another_table "$handle"
    soon 10 on_path flowtable --proto tcp --text "$port"
    same "fw4's table" "$(rules fw4)" "$before"
}

# restored TIMES: succeeds if the log has one line per removal; prints the log. A read of the table
# may also detect a removal; the periodic check does, too, but logs nothing.
restored() {
    local log
    log=$(daemon_log)
    tail -n 20 <<<"$log"
    [ "$(grep -cE 'was (changed or )?removed from outside: restor' <<<"$log")" = "$1" ]
}

# @core
# @fault:table-removed
test_every_removal_of_the_table_is_noticed_at_once() {
    local times=0 command
    trap 'gw fw4 restart' EXIT
    soon 15 engine_is flowtable
    mark_log
    for command in 'fw4 flush' 'nft flush ruleset' 'nft delete table inet fastpath'; do
        times=$((times + 1))
        # A job that is replacing the table would restore it without this line.
        until_still 15 gw 'nft -a list table inet fastpath | head -n 1'
        gw "$command"
        soon 15 restored $times
        soon 15 table_is_there
        soon 5 engine_is flowtable
    done
    # The event was logged, so detection did not wait for the periodic check (20 s).
    has "the log" "$(daemon_log)" "inet fastpath was removed from outside"
    gw nft flush chain inet fastpath fastpath
    soon 15 rules_are_back
}

rules_are_back() { gw 'nft list chain inet fastpath fastpath' | grep 'flow add'; }

# on_the_flowtable PORT…: fails unless the downloads receive data and are offloaded.
on_the_flowtable() {
    local port
    for port; do
        goes_on "$port"
        soon 10 on_path flowtable --proto tcp --text "$port"
        soon 5 offloaded "$port"
    done
}

test_a_host_that_moves_stays_offloaded() {
    local here out4 out6
    here=$(fresh_port) out4=$(fresh_port) out6=$(fresh_port)
    download h10 "$here" "$H20_4"
    download h10 "$out4" "$ISP_4"
    download h10 "$out6" "$ISP_6"
    on_the_flowtable "$here" "$out4" "$out6"
    trap home EXIT
    second_port
    mark_log
    roam eth1 eth0
    on_the_flowtable "$here" "$out4" "$out6"
    has "the log" "$(daemon_log)" "hosts have moved"
    roam eth0 eth1
    on_the_flowtable "$here" "$out4" "$out6"
    peers ip netns exec h20 sysctl -qw net.ipv4.conf.eth0/20.arp_notify=1
    peers ip -n h20 link set eth0.20 address 52:54:00:02:00:22
    on_the_flowtable "$here"
}

queue_bytes() { gw tc -s qdisc show dev "$1" root | sed -n 's/^ Sent \([0-9]*\) bytes.*/\1/p'; }
queue_grows() { [ "$(queue_bytes "$1")" -gt "$2" ]; }
queues_away() {
    gw 'tc qdisc del dev wan root
        tc qdisc del dev pppoe-wan root
        tc qdisc del dev pppoe-wan ingress' 2>/dev/null || true
}

test_flows_through_a_queue_are_not_offloaded() {
    local old new lan port
    old=$(fresh_port) lan=$(fresh_port) new=$(fresh_port)
    download h10 "$old" "$ISP_4"
    download h10 "$lan" "$H20_4"
    on_the_flowtable "$old" "$lan"
    trap queues_away EXIT
    doctor 'silent flowtable-shaped'
    gw tc qdisc add dev pppoe-wan root tbf rate 50mbit burst 100kb latency 50ms
    download h10 "$new" "$ISP_6"
    for port in "$old" "$new"; do
        soon 10 on_path slow/shaped --proto tcp --text "$port"
        lacks "conntrack" "$(conntrack_of "$port")" OFFLOAD
        goes_on "$port"
    done
    soon 10 queue_grows pppoe-wan $(($(queue_bytes pppoe-wan) + 2000))
    on_the_flowtable "$lan"
    doctor 'finds flowtable-shaped'
    # The flowtable bypasses the qdisc of pppoe-wan, but not that of the port.
    gw 'tc qdisc del dev pppoe-wan root
        tc qdisc replace dev wan root tbf rate 50mbit burst 100kb latency 50ms'
    on_the_flowtable "$old" "$new"
    soon 10 queue_grows wan $(($(queue_bytes wan) + 2000))
    doctor 'silent flowtable-shaped'
    gw tc qdisc add dev pppoe-wan ingress
    soon 10 on_path slow/shaped --proto tcp --text "$old"
    gw tc qdisc del dev pppoe-wan ingress
    on_the_flowtable "$old"
}

# @core
test_a_persistent_engine_survives_a_restart_of_the_daemon() {
    local main
    gw fastpathctl engine off --persist >/dev/null
    has "the configuration" "$(gw cat /etc/config/fastpath)" "option engine 'off'"
    same "the last change" "$(gw ubus call fastpath.change pending | jq -r .last.state)" confirmed
    gw '/etc/init.d/fastpathd restart'
    soon 15 engine_is off
    same "source of the choice" "$(said .engine.source status)" config
    # --persist also enables the engine.
    gw "sed -i \"/^config fastpath/,/engine/s/enabled '1'/enabled '0'/\" /etc/config/fastpath"
    gw fastpathctl engine flowtable --persist >/dev/null
    main=$(gw "sed -n '/^config fastpath/,/^\$/p' /etc/config/fastpath")
    has "the configuration" "$main" "option engine 'flowtable'"
    has "the configuration" "$main" "option enabled '1'"
}
