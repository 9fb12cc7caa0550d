# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A WireGuard tunnel to another site at the ISP.

wireguard_key() {
    peers "umask 077; wg genkey >/tmp/e2e/$1.key; wg pubkey </tmp/e2e/$1.key"
}

# wireguard_site PORT: adds a site with a web server, 10.99.0.2, behind the ISP.
wireguard_site() {
    peers "ip -n isp link add wg0 type wireguard
        ip netns exec isp wg set wg0 listen-port $1 private-key /tmp/e2e/site.key
        ip -n isp addr add 10.99.0.2/24 dev wg0
        ip -n isp link set wg0 up
        ip -n isp route replace 10.10.10.0/24 dev wg0"
}

# wireguard_on KEY [NETWORK [ROUTE]]: sets up the gateway's end and its zone, with a route to
# NETWORK unless ROUTE is 0.
wireguard_on() {
    local network=${2:-10.99.0.0/24}
    is_openwrt || wireguard_made "$1" "$network"
    add_config firewall <<<"
config zone
	option name 'vpn'
	list network 'wg0'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'REJECT'

config forwarding
	option src 'lan'
	option dest 'vpn'

config forwarding
	option src 'vpn'
	option dest 'lan'

config rule
	option name 'wireguard'
	option src 'wan'
	option proto 'udp'
	option dest_port '51820'
	option target 'ACCEPT'"
    add_config network <<<"
config interface 'wg0'
	option proto 'wireguard'
	option private_key '$(peers cat /tmp/e2e/home.key)'
	option listen_port '51820'
	list addresses '10.99.0.1/24'

config wireguard_wg0
	option public_key '$1'
	option endpoint_host '203.0.113.1'
	option endpoint_port '51820'
	option route_allowed_ips '${3:-1}'
	list allowed_ips '$network'"
    is_openwrt || wireguard_up
}

# wireguard_made KEY NETWORK: creates the device without netifd.
wireguard_made() {
    peers cat /tmp/e2e/home.key | gw "cat >/run/e2e/home.key
        ip link add wg0 type wireguard &&
        wg set wg0 listen-port 51820 private-key /run/e2e/home.key peer $1 \
            endpoint 203.0.113.1:51820 allowed-ips $2"
}
wireguard_up() { gw 'ip addr add 10.99.0.1/24 dev wg0; ip link set wg0 up'; }

wireguard_device() {
    wireguard_made "$1" 10.99.0.0/24
    wireguard_up
}

wireguard_off() {
    is_openwrt || gw 'ip link delete wg0' || true
    peers 'ip -n isp link delete wg0; rm -f /tmp/e2e/*.key' || true
}
