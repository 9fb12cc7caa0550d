# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A provider's television in VLAN 40 of the line. h11 is the set-top box.

# Multicast group, and addresses of the provider's server and of the box in VLAN 40.
GROUP=239.1.2.3
SERVER=198.18.40.1
BOX=198.18.40.11

# television: sends to the group in VLAN 40; h11 and h10 join the group.
television() {
    peers "printf '%s\n' 'link add link access name access.40 type vlan id 40' \
            'link set access.40 up' 'addr add $SERVER/24 dev access.40' \
            'route add 239.0.0.0/8 dev access.40' | ip -n isp -b -
        ip -n h11 addr add $BOX/24 dev eth0
        ip netns exec isp nft -f -
        : >/tmp/e2e/h11.group; : >/tmp/e2e/h10.group" <<'END'
table inet e2e {
    counter reports { }
    chain prerouting {
        type filter hook prerouting priority raw
        iifname "access.40" ip protocol igmp counter name reports
    }
}
END
    # @sleep: the rhythm of the traffic
    peers 'cat >/tmp/e2e/station' <<END
while :; do head -c 1000 /dev/zero; busybox usleep 50000; done |
    exec socat -u -b 1000 - UDP4-DATAGRAM:$GROUP:5004,ip-multicast-ttl=8
END
    begin isp station "exec sh /tmp/e2e/station"
    member h11 $BOX
    member h10 10.10.10.10
}

# member HOST ADDRESS: joins the group at this address.
member() {
    begin "$1" "member-$1" "exec socat -u" \
        "UDP4-RECV:5004,reuseaddr,ip-add-membership=$GROUP:$2 OPEN:/tmp/e2e/$1.group,append"
}

television_off() {
    for name in station member-h11 member-h10; do end "$name"; done
    peers "ip -n isp link del access.40; ip netns exec isp nft delete table inet e2e
        ip -n h11 addr del $BOX/24 dev eth0
        rm -f /tmp/e2e/*.group /tmp/e2e/station" 2>/dev/null || true
}

received_by() { peers "wc -c </tmp/e2e/$1.group"; }
# receives HOST BYTES: succeeds if the host has received more than BYTES of the group.
receives() { [ "$(received_by "$1")" -gt "$2" ]; }
# The provider received the box's IGMP reports.
reported() { peers ip netns exec isp nft list counter inet e2e reports | grep -q 'packets [1-9]'; }
