# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Ansible role configures VLANs, PPPoE and policies of a factory-default gateway over HTTP; a
# second run changes nothing. A change that disconnects the controller is rolled back. `./build.sh
# test fleet` installs Ansible.
# @long

VENV=$TOP/build/fleet/venv
TEXTS='cat /etc/config/network /etc/config/firewall /etc/config/dhcp /etc/config/fastpath'

VARIABLES='{
    "fastpath_password": "fastpath",
    "fastpath_vlans": [
        {"vlan": 10, "ports": ["lan1:u*", "lan3:u*"], "interface": "lan",
            "ipaddr": ["10.10.10.1/24"], "ip6addr": ["2001:db8:10::1/64"]},
        {"vlan": 20, "ports": ["lan2:t"], "interface": "iot",
            "ipaddr": ["10.10.20.1/24"], "ip6addr": ["2001:db8:20::1/64"]}],
    "fastpath_wan": {"port": "wan", "vlan": 35, "proto": "pppoe", "username": "subscriber",
        "password": "line", "ipv6": "1", "mtu": 1492},
    "fastpath_zones": [
        {"name": "lan", "network": ["lan"], "input": "ACCEPT", "output": "ACCEPT",
            "forward": "ACCEPT", "forward_to": ["wan", "iot"]},
        {"name": "iot", "network": ["iot"], "input": "REJECT", "output": "ACCEPT",
            "forward": "REJECT", "forward_to": ["wan"]}],
    "fastpath_engine": "flowtable",
    "fastpath_policies": [
        {"name": "iot", "src": "iot", "dest": "wan", "action": "always"},
        {"name": "rest", "action": "inspect"}]}'

# Configuration after a first boot, plus the lab's management interface.
FACTORY_NETWORK="config interface 'loopback'
	option device 'lo'
	option proto 'static'
	list ipaddr '127.0.0.1/8'

config globals 'globals'
	option packet_steering '0'

config device
	option name 'br-lan'
	option type 'bridge'
	list ports 'lan1'
	list ports 'lan2'
	list ports 'lan3'

config bridge-vlan 'lan_vlan'
	option device 'br-lan'
	option vlan '1'
	list ports 'lan1:u*'
	list ports 'lan2:u*'
	list ports 'lan3:u*'

config interface 'lan'
	option device 'br-lan.1'
	option proto 'static'
	list ipaddr '192.168.1.1/24'

config interface 'wan'
	option device 'wan'
	option proto 'dhcp'

config interface 'mgmt'
	option device 'mgmt'
	option proto 'static'
	list ipaddr '10.0.2.15/24'"
FACTORY_FIREWALL="config defaults
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'REJECT'

config zone
	option name 'lan'
	list network 'lan'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'ACCEPT'

config zone
	option name 'wan'
	list network 'wan'
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'REJECT'
	option masq '1'
	option mtu_fix '1'

config zone
	option name 'mgmt'
	list network 'mgmt'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'REJECT'

config forwarding
	option src 'lan'
	option dest 'wan'"

factory() {
    [ -x "$VENV/bin/ansible-playbook" ] || skip "this machine has no Ansible"
    configure <<<"config fastpath 'main'
	option engine 'off'"
    gw "$RELOAD cat >/etc/config/network" <<<"$FACTORY_NETWORK"
    gw "$RELOAD cat >/etc/config/firewall && reload network firewall" <<<"$FACTORY_FIREWALL"
    soon 30 gw '! ip link show br-lan.10'
    soon 30 answers
}

answers() { [ -n "$(session root fastpath)" ]; }

# play ARGUMENT…: runs the role with the extra variables MORE (JSON); writes $RUN/play.
MORE='{}'
play() {
    local folder=$RUN/ansible
    mkdir -p "$folder/collections/ansible_collections/fastpath"
    ln -sfn "$TOP/docs/fleet/ansible" "$folder/collections/ansible_collections/fastpath/gateway"
    jq -n --argjson given "$VARIABLES" --argjson more "$MORE" --arg url "$(ubus_url)" \
        --argjson seconds "$(patient 12)" \
        '$given + {fastpath_url: $url, fastpath_seconds: $seconds} + $more' >"$folder/variables"
    echo '[{"hosts": "all", "gather_facts": false, "roles": ["fastpath.gateway.gateway"]}]' \
        >"$folder/play.yml"
    ANSIBLE_COLLECTIONS_PATH=$folder/collections ANSIBLE_HOME=$folder/home ANSIBLE_NOCOLOR=1 \
        LC_ALL=C.UTF-8 "$VENV/bin/ansible-playbook" -i gw1, -e "@$folder/variables" "$@" \
        "$folder/play.yml" >"$RUN/play" 2>&1
}

# changes NUMBER ARGUMENT…: fails unless the run succeeds with NUMBER changed tasks.
changes() {
    local number=$1
    shift
    play "$@" || fail "the run: $(cat "$RUN/play")"
    grep -qE "gw1 +: ok=1 +changed=$number " "$RUN/play" || fail "another count: $(cat "$RUN/play")"
}

test_the_role_configures_a_factory_gateway_once() {
    local texts
    factory
    changes 1 --diff
    has "the differences" "$(cat "$RUN/play")" '+network.iot=interface'
    lacks "the output" "$(cat "$RUN/play")" "'line'"
    soon 60 wan_is_up
    soon 30 internet
    soon 30 engine_is flowtable
    h10 ping -c 1 -W 5 10.10.20.10 >/dev/null || fail "VLAN 10 does not reach VLAN 20"
    same "policies" "$(gw 'uci -q show fastpath || cat /etc/config/fastpath' |
        grep -oE "name[= ]'[a-z]+'" | grep -oE "'[a-z]+'" | xargs)" "iot rest"
    texts=$(gw "$TEXTS")
    changes 0 --diff
    same "the files" "$(gw "$TEXTS")" "$texts"
}

test_check_mode_changes_nothing() {
    local texts
    factory
    texts=$(gw "$TEXTS")
    changes 1 --check --diff
    has "the differences" "$(cat "$RUN/play")" '+network.iot=interface'
    same "the files" "$(gw "$TEXTS")" "$texts"
}

test_a_change_that_disconnects_the_controller_is_rolled_back() {
    local texts closed='{"config": "firewall", "type": "zone", "match": {"name": "mgmt"},
        "values": {"input": "REJECT"}}'
    [ -x "$VENV/bin/ansible-playbook" ] || skip "this machine has no Ansible"
    texts=$(gw "$TEXTS")
    VARIABLES='{"fastpath_password": "fastpath"}'
    MORE=$(jq -nc --argjson closed "$closed" --argjson seconds "$(patient 2)" \
        '{fastpath_sections: [$closed], fastpath_cut_ok: true, fastpath_seconds: $seconds}')
    if play; then fail "the run succeeds: $(cat "$RUN/play")"; fi
    has "the reason" "$(cat "$RUN/play")" 'could not be reached after the change'
    has "the reason" "$(cat "$RUN/play")" 'it was rolled back (expired)'
    soon 30 answers
    same "the files" "$(gw "$TEXTS")" "$texts"
}

test_rejected_values_change_nothing() {
    local texts
    [ -x "$VENV/bin/ansible-playbook" ] || skip "this machine has no Ansible"
    texts=$(gw "$TEXTS")
    VARIABLES='{"fastpath_password": "fastpath"}'
    MORE='{"fastpath_main": {"mark_mask": "0x3"}, "fastpath_engine": "quick"}'
    if play; then fail "the run succeeds: $(cat "$RUN/play")"; fi
    # Ansible masks the password, `fastpath`, in its output.
    has "the reason" "$(cat "$RUN/play")" '.main.engine: '
    has "the reason" "$(cat "$RUN/play")" "value 'quick': is not one of off, flowtable"
    same "the files" "$(gw "$TEXTS")" "$texts"
}
