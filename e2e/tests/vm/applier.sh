# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Changes of /etc/config/network and firewall change only what the configuration says. The lab's
# scripts for netifd and fw4 must behave like OpenWrt's.

# kernel_state: prints the state that the configuration determines. Omits counters, link-local
# routes, which the kernel adds up to a second after carrier, and empty chains, because fw4 keeps
# chains of removed zones (b6e5157, ruleset.uc).
kernel_state() {
    gw 'echo "== link"; ip -o -d link show; echo "== vlan"; bridge vlan show
        echo "== addr"; ip -o addr show; echo "== route4"; ip route show
        echo "== route6"; ip -6 route show' |
        awk -f "$LAB/gateway/usr/libexec/lab/state.awk" | grep -v "^route 6 fe80:" | sort
    gw 'nft -s list table inet fw4; /usr/libexec/lab/instance pid pppoe-wan' |
        sed '/^\tchain .* {$/ { N; /\n\t}$/d }; /^$/d'
}

reaches() { "$1" ping -c 1 -W 1 "$2"; }
isolated() { ! reaches "$1" "$2" >/dev/null; }

# forget_gateway: flushes the hosts' neighbour entries of the gateway, because another bridge has
# another MAC. Hosts ignore ARP updates for a second after creating an entry, and would then use the
# old MAC for half a minute.
forget_gateway() {
    local host
    for host in h10 h11 h20; do "$host" ip neigh flush all; done
}

GUEST_NETWORK="
config bridge-vlan
	option device 'br-lan'
	option vlan '30'
	list ports 'lan3:u*'

config interface 'guest'
	option device 'br-lan.30'
	option proto 'static'
	list ipaddr '10.10.30.1/24'
"
GUEST_FIREWALL="
config zone
	option name 'guest'
	list network 'guest'
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'REJECT'

config forwarding
	option src 'guest'
	option dest 'wan'

config rule
	option name 'Allow-DHCP-Guest'
	option src 'guest'
	option proto 'udp'
	option dest_port '67-68'
	option target 'ACCEPT'
"

test_a_reload_without_changes_does_nothing() {
    local before
    before=$(kernel_state)
    gw "$RELOAD reload network firewall"
    # The lab's script reports the commands that it has planned.
    same "plan" "$(gw '[ ! -d /run/lab/network ] || cat /run/lab/network/plan')" ""
    soon 10 as_before "$before"
}

# as_before STATE: compares with the current state. Retry it, because fw4 reloads after netifd.
as_before() { diff -U 1 <(echo "$1") <(kernel_state); }

test_reload_config_reloads_only_changed_configurations() {
    gw reload_config
    soon 30 nothing_reloads
    gw 'cat >>/etc/config/firewall && reload_config' <<<"
config rule
	option src 'lan'
	option proto 'tcp'
	option dest_port '4711'
	option target 'ACCEPT'"
    soon 10 gw 'nft list table inet fw4 | grep -q "dport 4711"'
    soon 30 nothing_reloads
    gw ': >/run/e2e/mark; echo "# nothing" >>/etc/config/firewall && reload_config'
    never 3 gw '[ /var/run/fw4.state -nt /run/e2e/mark ]'
}

test_a_guest_vlan_is_added_and_removed() {
    local before port
    before=$(kernel_state)
    port=$(fresh_port)
    download h10 "$port" "$ISP_4"
    edit_config network "/vlan '10'/,/^\$/s/.*lan3:u.*//"
    add_config network <<<"$GUEST_NETWORK"
    add_config firewall <<<"$GUEST_FIREWALL"
    add_config dhcp <<<"
config dhcp 'guest'
	option interface 'guest'"
    h30_port lease
    soon 10 reaches h30 203.0.113.1
    has "lease" "$(h30 ip -4 addr show dev eth0)" "inet 10.10.30."
    soon 5 isolated h30 10.10.10.10
    soon 5 nothing_at h30 10.10.10.1 80
    soon 5 isolated h10 "$(h30 "ip -4 -o addr show dev eth0 | sed 's/.*inet //; s,/.*,,'")"
    bytes_grow "$port" "$(conntrack_bytes "$port" | cut -d ' ' -f 2)" ||
        soon 10 offloaded "$port"
    configuration_back
    h30_port off
    soon 5 gw '! ip link show br-lan.30'
    soon 10 as_before "$before"
    soon 10 reaches h11 10.10.10.1
}

test_a_bridge_per_vlan_replaces_the_shared_bridge_and_back() {
    local before
    before=$(kernel_state)
    gw "$RELOAD cat >/etc/config/network && reload network" <<<"$(per_vlan_bridges)"
    same "kind of the bridges" "$(kernel_state | grep ^filtering)" \
        "filtering br-home 0
filtering br-iot 0"
    forget_gateway
    soon 10 reaches h10 10.10.20.10
    soon 30 internet
    configuration_back
    soon 10 as_before "$before"
    forget_gateway
    soon 10 reaches h10 10.10.20.10
}

per_vlan_bridges() {
    gw cat /etc/config/network | awk '
        /^config/ { keep = !/bridge-vlan/ }
        keep' | sed "/name 'br-lan'/,/^\$/d; s/br-lan\.10/br-home/; s/br-lan\.20/br-iot/"
    cat <<'END'

config device
	option name 'br-home'
	option type 'bridge'
	list ports 'lan1'
	list ports 'lan3'

config device
	option name 'br-iot'
	option type 'bridge'
	list ports 'lan2.20'
END
}

test_device_options_are_applied() {
    same "disable_ipv6 of lan2" "$(gw cat /proc/sys/net/ipv6/conf/lan2/disable_ipv6)" 1
    add_config network <<<"
config device
	option name 'lan2'
	option mtu '1600'
	option gro '0'"
    # netifd recreates the port after the reload has returned.
    soon 10 gw 'ip link show lan2 | grep -q "mtu 1600"'
    soon 10 gw 'ethtool -k lan2 | grep -q "generic-receive-offload: off"'
    configuration_back
    soon 10 gw 'ip link show lan2 | grep -q "mtu 1500"'
    # netifd reverts GRO only when it recreates the port.
    gw ethtool -K lan2 gro on
}

test_a_changed_mtu_reconnects_pppoe() {
    local link
    link=$(gw cat /sys/class/net/br-lan/ifindex)
    edit_config network "s/option mtu '1492'/option mtu '1480'/"
    soon 20 gw 'ip link show pppoe-wan | grep -q "mtu 1480"'
    same "index of the bridge" "$(gw cat /sys/class/net/br-lan/ifindex)" "$link"
    soon 20 wan_is_up
    same "MTU of the session" "$(gw cat /sys/class/net/pppoe-wan/mtu)" 1480
}

test_the_wan_works_with_dhcp_and_a_static_address() {
    local text="config interface 'wan'
	option device 'wan'
	option proto 'dhcp'"
    edit_config network "/^config interface 'wan'/,/^\$/d"
    add_config network <<<"
$text"
    soon 15 gw 'ip -4 addr show dev wan | grep -q 192.0.2.1'
    soon 10 gw ping -c 1 -W 1 203.0.113.1
    edit_config network "/^config interface 'wan'/,/^\$/d"
    add_config network <<<"
${text/dhcp/static}
	option ipaddr '192.0.2.9'
	option netmask '255.255.255.0'
	option gateway '192.0.2.1'"
    soon 5 gw 'ip -4 addr show dev wan | grep -q 192.0.2.9/24'
    soon 10 internet
    same "processes of leases" "$(pids udhcpc || true)" ""
    configuration_back
    soon 20 wan_is_up
    same "addresses of wan" "$(gw ip -4 addr show dev wan)" ""
}

test_a_port_forward_opens_and_closes() {
    add_config firewall <<<"
$WEB_FORWARD"
    soon 5 isp curl -sf -m "$(patient 1)" -o /dev/null "http://$(wan_address):8080/index.html"
    configuration_back
    soon 5 nothing_at isp "$(wan_address)" 8080
}

test_invalid_rules_leave_the_old_ones_in_force() {
    local before
    before=$(gw nft -s list table inet fw4)
    add_config firewall <<<"
config rule
	option src 'lan'
	option dest_port 'none'
	option target 'ACCEPT'" || true
    same "rules" "$(gw nft -s list table inet fw4)" "$before"
}
