# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# WAN services with the flowtable: each service works, its flows are offloaded or have a reason, and
# other flows are offloaded.

# sqm_on DEVICE DOWN UP: shapes the device to these kbit/s by SQM or, in the lab, the same qdiscs.
sqm_on() {
    is_openwrt && package sqm-scripts /etc/init.d/sqm
    at_the_end "sqm_off $1"
    if is_openwrt; then
        settings sqm <<<"
config queue 'e2e'
	option enabled '1'
	option interface '$1'
	option download '$2'
	option upload '$3'
	option qdisc 'cake'
	option script 'piece_of_cake.qos'
	option linklayer 'none'"
        gw '/etc/init.d/sqm restart'
        return
    fi
    gw "tc qdisc replace dev $1 root cake bandwidth ${3}kbit
        ip link add ifb4$1 type ifb && ip link set ifb4$1 up
        tc qdisc add dev ifb4$1 root cake bandwidth ${2}kbit
        tc qdisc add dev $1 handle ffff: ingress
        tc filter add dev $1 parent ffff: protocol all matchall \
            action mirred egress redirect dev ifb4$1"
}

sqm_off() {
    if is_openwrt; then
        gw '/etc/init.d/sqm stop'
        settings_back sqm
    else
        gw "tc qdisc del dev $1 ingress; tc qdisc del dev $1 root; ip link delete ifb4$1" \
            2>/dev/null || true
    fi
}

queued() {
    gw "tc -s qdisc show dev $1 root" | sed -n 's/^ *Sent \([0-9]*\) bytes.*/\1/p' | head -n 1
}

# shaper_sees DEVICE: fails unless all bytes of the download at PORT pass the shaper.
shaper_sees() {
    local queued had
    queued=$(queued "ifb4$1")
    had=$(received "$PORT")
    soon 20 arrives "$PORT" "$((had + 1000000))"
    between "bytes that the shaper of incoming traffic has seen" \
        "$(($(queued "ifb4$1") - queued))" 900000 100000000
}

test_sqm_on_the_session_keeps_wan_flows_slow() {
    local sent
    PORT=$(fresh_port)
    download h10 "$PORT" "$ISP_4" 400k
    in_flowtable
    # Starting a shaper ends the offload of existing flows.
    sqm_on pppoe-wan 16000 8000
    soon 20 on_path slow/shaped --proto tcp --text "$PORT"
    shaper_sees pppoe-wan
    sent=$(queued pppoe-wan)
    h10 ping -c 3 -i 0.3 -s 1200 203.0.113.1
    between "bytes that the shaper of outgoing traffic has seen" \
        "$(($(queued pppoe-wan) - sent))" 3600 100000000
    doctor 'finds flowtable-shaped'
    offloads h10 "$H20_4"
    sqm_off pppoe-wan
    doctor 'soon 10 silent flowtable-shaped'
    offloads h10 "$ISP_4"
}

test_sqm_on_the_port_shapes_offloaded_flows() {
    local sent
    sqm_on wan 16000 8000
    doctor 'soon 10 silent flowtable-shaped'
    PORT=$(fresh_port)
    download h10 "$PORT" "$ISP_4" 400k
    in_flowtable
    sent=$(queued wan)
    shaper_sees wan
    [ "$(queued wan)" -gt "$sent" ] || fail "the shaper sees no acknowledgements go out"
    stays_offloaded
    # The download re-enters from the ifb without the flowtable, so its bytes count as slow.
    soon 10 counted_as_slow
}
counted_as_slow() {
    says '.paths | .slow.bps > 1000000 and .slow.bps > .flowtable.bps' status
}

igmp_on() {
    is_openwrt && package igmpproxy /etc/init.d/igmpproxy
    at_the_end "igmp_off"
    if is_openwrt; then
        settings igmpproxy <<<"
config igmpproxy
	option quickleave '1'

config phyint
	option network 'wan'
	option zone 'wan'
	option direction 'upstream'
	list altnet '203.0.113.0/24'

config phyint
	option network 'lan'
	option zone 'lan'
	option direction 'downstream'"
        gw '/etc/init.d/igmpproxy enable; /etc/init.d/igmpproxy restart'
        return
    fi
    add_config firewall <<<"
config rule
	option name 'igmp'
	option src 'wan'
	option proto 'igmp'
	option target 'ACCEPT'

config rule
	option name 'television'
	option src 'wan'
	option dest 'lan'
	option proto 'udp'
	option dest_ip '224.0.0.0/4'
	option target 'ACCEPT'"
    gw 'cat >/run/e2e/igmpproxy.conf' <<END
quickleave
phyint pppoe-wan upstream ratelimit 0 threshold 1
	altnet 203.0.113.0/24
phyint br-lan.10 downstream ratelimit 0 threshold 1
END
    run_service igmpproxy igmpproxy -n /run/e2e/igmpproxy.conf
}

igmp_off() {
    if is_openwrt; then
        gw '/etc/init.d/igmpproxy stop; /etc/init.d/igmpproxy disable
            rm -f /etc/igmpproxy.conf'
        settings_back igmpproxy
    else
        stop_service igmpproxy
    fi
    peers rm -f /tmp/e2e/group /tmp/e2e/station
}

seen_by_group() { peers 'wc -c </tmp/e2e/group'; }
group_grows() { [ "$(seen_by_group)" -gt "$1" ]; }

# @qemu: ip_mr_forward does not change the checksum of a virtual port's packet (Linux 6.12)
test_multicast_of_the_igmp_proxy_has_a_reason() {
    local link member
    link=$(isp_link)
    # @sleep: the rhythm of the traffic
    peers "ip -n isp route replace 239.0.0.0/8 dev $link; : >/tmp/e2e/group
        cat >/tmp/e2e/station" <<<'while :; do head -c 1000 /dev/zero; busybox usleep 50000; done |
            exec socat -u -b 1000 - UDP4-DATAGRAM:239.1.2.3:5004,ip-multicast-ttl=8'
    igmp_on
    begin isp station "exec sh /tmp/e2e/station"
    never 2 group_grows 0
    member=reuseaddr,ip-add-membership=239.1.2.3:10.10.10.10
    begin h10 member "exec socat -u UDP4-RECV:5004,$member OPEN:/tmp/e2e/group,append"
    soon 30 group_grows 20000
    soon 10 on_path slow/multicast --proto udp --host 239.1.2.3
    offloads h10 "$ISP_4"
    soon 10 group_grows "$(($(seen_by_group) + 20000))"
    stays_offloaded
}

# provider_of_prefixes: the ISP delegates 2001:db8:a000::/56 to the gateway's DUID and routes it.
DUID=00:03:00:01:52:54:00:01:00:04
provider_of_prefixes() {
    local link=$1
    peers "cat >/tmp/e2e/dhcp6s.conf; mkdir -p /var/lib/dhcpv6
        ip -n isp route replace 2001:db8:a000::/56 dev $link" <<<"
host gateway {
    duid $DUID;
    prefix 2001:db8:a000::/56 infinity;
};"
    begin isp prefixes "exec dhcp6s -f -D -c /tmp/e2e/dhcp6s.conf $link"
}

delegated() { address_of h30 eth0 6 | grep '^2001:db8:a0'; }

test_flows_of_a_delegated_prefix_are_offloaded() {
    local address flow
    package odhcp6c /usr/sbin/odhcp6c
    package odhcpd /usr/sbin/odhcpd
    at_the_end "h30_port off"
    provider_of_prefixes "$(isp_link)"
    edit_config network "/^config interface 'wan6'/,/^\$/d" \
        "/^config interface 'lan'/a\\	option ip6assign '64'"
    add_config network <<<"
config interface 'wan6'
	option device '@wan'
	option proto 'dhcpv6'
	option reqaddress 'none'
	option reqprefix '56'
	option clientid '${DUID//:/}'"
    add_config firewall <<<"
config rule
	option name 'dhcpv6'
	option src 'wan'
	option proto 'udp'
	option dest_port '546'
	option family 'ipv6'
	option target 'ACCEPT'"
    add_config dhcp <<<"
config dhcp 'lan'
	option interface 'lan'
	option ra 'server'
	option dhcpv6 'server'"
    gw '/etc/init.d/odhcpd restart'
    h30 ip link set eth0 up
    soon 30 delegated
    address=$(delegated | head -n 1)
    soon 10 h30 ping -c 1 -W 1 -I "$address" "$ISP_6"
    PORT=$(fresh_port)
    begin h30 "tcp$PORT" "exec curl -gsS -o /dev/null --interface $address --limit-rate 100k" \
        "--local-port $PORT http://[$ISP_6]/256.bin"
    in_flowtable
    flow=$(newest --proto tcp --text "$PORT")
    same source "$(field src "$flow")" "$address"
    same "outgoing device" "$(field out_dev "$flow")" pppoe-wan
    stays_offloaded
}
