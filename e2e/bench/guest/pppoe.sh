# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sets up a PPPoE session over VLAN 35 with a pppd at both ends. Needs hosts.sh.
#
#   gw ppp0 ── wan.35 ── s0.35 ── ppp0 s s1 ── i0 i, a host of the Internet
session_up() {
    local tries=0
    modprobe -a pppoe ppp_generic
    busybox mknod /dev/ppp c 108 0 2>/dev/null
    # rp-pppoe searches for its plugin in another folder than Debian's.
    mkdir -p /etc/ppp/plugins
    ln -sf /usr/lib/pppd/*/rp-pppoe.so /etc/ppp/plugins/
    : >/etc/ppp/options
    options >/etc/ppp/pppoe-server-options
    ip -n gw link add link wan name wan.35 type vlan id 35
    ip -n gw link set wan.35 up
    ip -n s link add link s0 name s0.35 type vlan id 35
    ip -n s link set s0.35 up
    ip netns exec s pppoe-server -k -I s0.35 -L 10.10.50.1 -R 10.10.50.2 -N 1 \
        -O /etc/ppp/pppoe-server-options -q /usr/sbin/pppd >/tmp/pppoe-server 2>&1
    options >/tmp/pppoe-client
    gw pppd file /tmp/pppoe-client plugin pppoe.so nic-wan.35 noipdefault unit 0 \
        >/tmp/pppd 2>&1
    until gw ip -4 addr show ppp0 2>/dev/null | grep -q 10.10.50.2; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { say_failed "no PPPoE session"; cat /tmp/pppd; return; }
        sleep 0.1
    done
    gw ip addr add fd00:50::2/64 dev ppp0 nodad
    gw ip route add default dev ppp0
    gw ip -6 route add default dev ppp0
    # shellcheck disable=SC2016 # expanded by awk
    SESSION=$(gw awk '/wan.35/ { print substr($1, 7, 2) substr($1, 5, 2) }' /proc/net/pppoe)
    SESSION=$((16#$SESSION))
    internet
}

options() {
    printf '%s\n' noauth noaccomp nopcomp "lcp-restart 1" "ipcp-restart 1" "lcp-echo-interval 0" \
        "mtu 1492" "mru 1492"
}

internet() {
    ip netns add i
    ip link add s1 netns s address 02:00:00:00:04:01 type veth \
        peer name i0 netns i address 02:00:00:00:04:02
    ip netns exec i ethtool -K i0 gro on tx off >/dev/null
    ip netns exec s ethtool -K s1 gro on >/dev/null
    ip -n i link set i0 up
    ip -n s link set s1 up
    { addresses 60 1 s1; } | ip -n s -b -
    { addresses 60 10 i0; } | ip -n i -b -
    ip -n s addr add fd00:50::1/64 dev ppp0 nodad
}
