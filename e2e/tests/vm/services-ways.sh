# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tunnels and a second WAN with the flowtable: flows are offloaded or have a reason.

# shellcheck source=e2e/tests/vm/lib/wireguard.sh
. "$VM/lib/wireguard.sh"

through_wireguard() { gw 'wg show wg0 transfer' | cut -f 2; }

seen_in_forward() { gw nft list counter inet e2e seen | sed -n 's/.*packets \([0-9]*\).*/\1/p'; }

# Connects the gateway to the site and waits until the tunnel is in the flowtable.
wireguard_up_to_site() {
    local home site
    home=$(wireguard_key home)
    site=$(wireguard_key site)
    wireguard_site 51820
    peers "ip netns exec isp wg set wg0 peer $home allowed-ips 10.99.0.1/32,10.10.10.0/24"
    wireguard_on "$site"
    soon 20 h10 ping -c 1 -W 1 10.99.0.2
    soon 10 says '.engine.devices | index("wg0")' status
}

test_flows_through_wireguard_are_offloaded() {
    local site before at
    is_openwrt && package wireguard-tools /lib/netifd/proto/wireguard.sh
    at_the_end "wireguard_off; gw nft destroy table inet e2e"
    wireguard_up_to_site
    # With the tunnel in the flowtable, both directions skip the forward chain.
    gw nft -f - <<NFT
table inet e2e {
    counter seen { }
    chain forward {
        type filter hook forward priority raw
        iifname "wg0" counter name "seen"
        oifname "wg0" counter name "seen"
    }
}
NFT
    at=$(fresh_port)
    download h10 "$at" 10.99.0.2
    soon 10 on_path flowtable --proto tcp --text "$at"
    until_still 10 seen_in_forward
    before=$(through_wireguard)
    soon 10 arrives "$at" "$(($(received "$at") + 200000))"
    between "bytes through the tunnel meanwhile" "$(($(through_wireguard) - before))" \
        200000 100000000
    if ! is_openwrt; then
        gw 'ip link set wg0 down; ip link delete wg0'
        site=$(peers 'wg pubkey </tmp/e2e/site.key')
        soon 10 says '.engine.devices | index("wg0") | not' status
        wireguard_device "$site"
        soon 10 gw 'nft list flowtables | grep -q wg0'
    fi
    soon 20 h10 ping -c 1 -W 1 10.99.0.2
    offloads h10 "$ISP_4"
    stays_offloaded
    at=$(fresh_port)
    begin h10 web "exec lighttpd -D -f /lab/lighttpd.conf"
    soon 5 listens h10 80
    begin isp "tcp$at" "exec curl -sS -o /dev/null --limit-rate 100k --local-port $at" \
        "http://10.10.10.10/256.bin"
    soon 10 on_path flowtable --proto tcp --text "$at"
    until_still 10 seen_in_forward
}

test_wireguard_can_be_switched_off() {
    local at other
    is_openwrt && package wireguard-tools /lib/netifd/proto/wireguard.sh
    at_the_end wireguard_off
    wireguard_up_to_site
    configure <<<"config fastpath 'main'
	option engine 'flowtable'
	list slow_tunnel 'wireguard'"
    soon 10 gw 'nft list table inet fastpath | grep -q wireguard'
    at=$(fresh_port)
    other=$((at + 1))
    download h10 "$at" 10.99.0.2
    download h10 "$other" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$other"
    soon 10 on_path slow/excluded --proto tcp --text "$at"
    lacks conntrack "$(conntrack_of "$at")" OFFLOAD
    configure <<<"config fastpath 'main'
	option engine 'flowtable'
	list slow_tunnel 'sit'"
    soon 10 on_path flowtable --proto tcp --text "$at"
}

test_wireguard_of_a_host_is_offloaded() {
    local client site at
    at_the_end "peers 'ip -n h10 link delete wg1; ip -n isp link delete wg0; rm -f /tmp/e2e/*.key'"
    client=$(wireguard_key client)
    site=$(wireguard_key site)
    wireguard_site 51821
    at=$(fresh_port)
    peers "ip netns exec isp wg set wg0 peer $client allowed-ips 10.99.0.3/32
        ip -n h10 link add wg1 type wireguard
        ip netns exec h10 wg set wg1 listen-port $at private-key /tmp/e2e/client.key \
            peer $site endpoint 203.0.113.1:51821 allowed-ips 10.99.0.2/32
        ip -n h10 addr add 10.99.0.3/24 dev wg1
        ip -n h10 link set wg1 up"
    soon 20 h10 ping -c 1 -W 1 10.99.0.2
    begin h10 inside "exec curl -sS -o /dev/null --limit-rate 100k http://10.99.0.2/256.bin"
    soon 10 on_path flowtable --proto udp --text "$at"
    soon 3 offloaded "$at"
}

# Two servers of the ISP. mwan3 excludes connected networks, such as the peer of the session.
ONE=203.0.113.81
OTHER=203.0.113.82

# two_lines: mwan3 prefers the PPPoE session, and sends OTHER over a line without PPPoE on the same
# port.
two_lines() {
    peers "for address in $ONE $OTHER; do ip -n isp addr replace \$address/32 dev lo; done"
    add_config network <<<"
config interface 'wanb'
	option device 'wan'
	option proto 'static'
	option ipaddr '192.0.2.9'
	option netmask '255.255.255.0'
	option gateway '192.0.2.1'
	option metric '20'"
    edit_config network "/^config interface 'wan'\$/a\\	option metric '10'"
    edit_config firewall "/list network 'wan6'/a\\	list network 'wanb'"
    soon 30 wan_is_up
    settings mwan3 <<<"
config globals 'globals'
	option mmx_mask '0x3F00'
$(tracked wan 203.0.113.1)
$(tracked wanb 192.0.2.1)
$(member first wan 1)
$(member spare wanb 2)
$(member second wanb 1)

config policy 'main'
	list use_member 'first'
	list use_member 'spare'

config policy 'other'
	list use_member 'second'

config rule 'there'
	option dest_ip '$OTHER'
	option family 'ipv4'
	option use_policy 'other'

config rule 'all'
	option dest_ip '0.0.0.0/0'
	option family 'ipv4'
	option use_policy 'main'"
    gw '/etc/init.d/mwan3 enable; /etc/init.d/mwan3 restart'
    soon 60 line_is_tracked wan online
    soon 60 line_is_tracked wanb online
}

tracked() {
    printf "\nconfig interface '%s'\n" "$1"
    printf "\toption %s\n" "enabled '1'" "family 'ipv4'" "reliability '1'" "interval '2'" \
        "up '1'" "down '2'" "initial_state 'online'"
    printf "\tlist track_ip '%s'\n" "$2"
}

member() {
    printf "\nconfig member '%s'\n\toption interface '%s'\n\toption metric '%s'\n" "$@"
}

line_is_tracked() { gw mwan3 interfaces | grep -q "interface $1 is $2"; }

mwan3_off() {
    gw '/etc/init.d/mwan3 stop; /etc/init.d/mwan3 disable; mwan3 stop >/dev/null 2>&1'
    settings_back mwan3
    peers "for address in $ONE $OTHER; do ip -n isp addr del \$address/32 dev lo; done"
}

over_the_session() { isp cat "/sys/class/net/$1/statistics/tx_bytes"; }

# offloads_by SOURCE ADDRESS: downloads from ADDRESS until a download uses SOURCE, and waits for its
# offload. mwan3 may refuse or misroute connections while it handles an event.
offloads_by() {
    soon 60 begins_by "$1" "$2"
    in_flowtable
}
begins_by() {
    PORT=$(fresh_port)
    download h10 "$PORT" "$2" 400k
    ! poll 5 begun_or_refused || [[ $KNOWN != *" dst=$1 "* ]] || return 0
    end "tcp$PORT"
    echo "${KNOWN:-refused}"
    return 1
}
begun_or_refused() {
    KNOWN=$(conntrack_of "$PORT") || true
    [[ $KNOWN == *ASSURED* || $KNOWN == *OFFLOAD* ]] || ended "tcp$PORT"
}

# @qemu: ipset of mwan3's start does not return on the user-mode kernel
test_flows_of_mwan3_are_offloaded_on_both_wans() {
    local link sent
    package mwan3 /etc/init.d/mwan3
    at_the_end "mwan3_off"
    two_lines
    offloads_by "$(wan_address)" "$ONE"
    # mwan3's rule selects the line with the worse metric.
    offloads_by 192.0.2.9 "$OTHER"
    end_others
    link=$(isp_link)
    sent=$(over_the_session "$link")
    soon 20 arrives "$PORT" "$(($(received "$PORT") + 1000000))"
    between "bytes over the session, of a million that came" \
        "$(($(over_the_session "$link") - sent))" 0 300000
    stays_offloaded
    # If the first WAN fails, new connections use the second.
    gw 'ifdown wan'
    soon 30 wan_is_down
    soon 60 line_is_tracked wan offline
    offloads_by 192.0.2.9 "$ONE"
    # mwan3's tracker switches back to the first WAN later.
    gw 'ifup wan'
    soon 40 wan_is_up
}

end_others() {
    # shellcheck disable=SC2016 # expanded on the peers
    peers 'for file in /tmp/e2e/tcp*.pid; do
        [ "$file" = /tmp/e2e/tcp'"$PORT"'.pid ] || kill -- -"$(cat "$file")"
    done' || true
}
