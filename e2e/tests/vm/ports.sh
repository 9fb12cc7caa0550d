# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ports that are unplugged, added, removed or switched off.

link_says() { says ".links[] | select(.name == \"$1\") | $2" topology; }
planned() { says ".engine.devices | index(\"$1\") != null" status; }
not_planned() { says ".engine.devices | index(\"$1\") == null" status; }
in_kernel() { [[ $(gw nft list flowtable inet fastpath ft) == *"$1"* ]]; }
not_in_kernel() { ! in_kernel "$1"; }

test_an_unplugged_cable_of_lan2_keeps_its_port_in_the_flowtable() {
    local port new
    port=$(fresh_port)
    download h10 "$port" "$H20_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    cable lan2 off
    soon 5 link_says lan2 '.carrier | not'
    link_says lan2 '.up and .in_flowtable' || fail "a port without a link left the flowtable"
    cable lan2 on
    soon 10 link_says lan2 .carrier
    soon 10 h10 ping -c 1 -W 1 "$H20_4"
    new=$(fresh_port)
    download h10 "$new" "$H20_4"
    soon 10 on_path flowtable --proto tcp --text "$new"
    read -r _ bytes <<<"$(conntrack_bytes "$port")"
    soon 20 bytes_grow "$port" "$bytes"
}

test_an_added_port_is_in_the_flowtable_until_it_is_removed() {
    local port bytes pid
    pid=$(daemon_pid)
    port=$(fresh_port)
    download h10 "$port" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    soon 3 offloaded "$port"
    gw 'ip link add e2e0 type veth peer name e2e1
        ip link set e2e0 master br-lan up && ip link set e2e1 up
        bridge vlan add dev e2e0 vid 10 pvid untagged
        # The bridge adds new ports to its default VLAN.
        bridge vlan del dev e2e0 vid 1 2>/dev/null || true'
    soon 5 planned e2e0
    soon 3 in_kernel e2e0
    soon 3 offloaded "$port"
    read -r _ bytes <<<"$(conntrack_bytes "$port")"
    soon 10 bytes_grow "$port" "$bytes"
    says '.bridges[] | select(.name == "br-lan") | .ports[] | select(.name == "e2e0") |
        .vlans == [{"vid": 10, "tagged": false, "pvid": true}]' topology ||
        fail "the port's VLANs are not shown"
    gw 'ip link delete e2e0'
    soon 5 not_planned e2e0
    soon 3 not_in_kernel e2e0
    soon 3 offloaded "$port"
    read -r _ bytes <<<"$(conntrack_bytes "$port")"
    soon 10 bytes_grow "$port" "$bytes"
    same "process of the daemon" "$(daemon_pid)" "$pid"
}

test_a_port_works_again_after_being_switched_off() {
    gw 'ip link set lan3 down'
    soon 5 link_says lan3 '.up | not'
    gw 'ip link set lan3 up'
    soon 5 link_says lan3 '.up and .carrier'
    soon 5 planned lan3
    soon 10 h11 ping -c 1 -W 1 10.10.10.1
}

# A kernel without flowtables rejects both families, so check inet first.
test_the_kernels_answer_about_flowtables_of_bridges_is_shown() {
    local wanted=yes
    accepts_flowtable inet || fail "this kernel has no flowtables"
    accepts_flowtable bridge || wanted=no
    soon 5 says ".bridge_flowtable == \"$wanted\"" topology
    note "flowtables of bridges: $wanted"
}
accepts_flowtable() {
    gw nft -c -f - <<<"table $1 e2e {
        flowtable ft { hook ingress priority 0; devices = { lo }; }
    }"
}
