# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sets up namespaces connected by virtual Ethernet. Needs lib.sh.
#
#   c (generator) c0 ── lan ┐        ┌ dum, dum.20: a dummy device
#                    lan.11 ┴── gw ──┤
#                                    └ wan ── s0 s, where pppoe.sh adds an ISP
gw() { ip netns exec gw "$@"; }
LAN=11 WAN=12 DUM=13

modprobe -a veth dummy pktgen nf_tables nf_conntrack nf_conntrack_netlink nf_flow_table_inet \
    nft_flow_offload nft_ct nft_nat nft_chain_nat nft_masq cls_bpf sch_ingress 8021q af_packet

# addresses NETWORK HOST DEVICE: HOST is 1 at the gateway, 10 elsewhere.
addresses() {
    echo "addr add 10.10.$1.$2/24 dev $3"
    echo "addr add fd00:$1::$2/64 dev $3 nodad"
}
neighbour() {
    echo "neigh replace 10.10.$1.10 lladdr $2 dev $3 nud permanent"
    echo "neigh replace fd00:$1::10 lladdr $2 dev $3 nud permanent"
}

hosts() {
    local name
    for name in c gw s; do
        ip netns add $name
        ip -n $name link set lo up
        ip netns exec $name sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv4.ip_forward=1 \
            net.ipv6.conf.all.accept_ra=0
    done
    ip link add lan netns gw index $LAN address 02:00:00:00:01:01 type veth \
        peer name c0 netns c address 02:00:00:00:01:02
    ip link add wan netns gw index $WAN address 02:00:00:00:02:01 type veth \
        peer name s0 netns s address 02:00:00:00:02:02
    ip -n gw link add dum index $DUM address 02:00:00:00:03:01 type dummy
    # With GRO, virtual Ethernet receives in a loop like a driver. Without the peer's offload,
    # packets have complete checksums, like from a wire.
    ip netns exec c ethtool -K c0 gro on tx off >/dev/null
    ip netns exec s ethtool -K s0 gro on tx off >/dev/null
    gw ethtool -K lan gro on >/dev/null
    gw ethtool -K wan gro on >/dev/null
    ip -n c link set c0 up
    ip -n s link set s0 up
    gw_links | ip -n gw -b -
    { addresses 10 10 c0; addresses 11 10 c0; } | ip -n c -b -
    addresses 20 10 s0 | ip -n s -b -
    sysctl -qw net.netfilter.nf_conntrack_max=262144
    echo 65536 >/sys/module/nf_conntrack/parameters/hashsize
}

gw_links() {
    echo "link set lan up"
    echo "link set wan up"
    echo "link set dum up"
    echo "link add link lan name lan.11 type vlan id 11"
    echo "link add link dum name dum.31 type vlan id 31"
    echo "link set lan.11 up"
    echo "link set dum.31 up"
    addresses 10 1 lan
    addresses 11 1 lan.11
    addresses 20 1 wan
    addresses 30 1 dum
    addresses 31 1 dum.31
    neighbour 10 02:00:00:00:01:02 lan
    neighbour 11 02:00:00:00:01:02 lan.11
    neighbour 20 02:00:00:00:02:02 wan
    neighbour 30 02:00:00:00:03:02 dum
    neighbour 31 02:00:00:00:03:02 dum.31
}

# mtu BYTES: sets the MTU of c0 and of the gateway's devices.
MTU=1500
mtu() {
    local device
    MTU=$1
    ip -n c link set c0 mtu "$MTU"
    for device in lan dum; do ip -n gw link set $device mtu "$MTU"; done
}

networks() {
    FROM=10 TO=30
    [ "$OUT" != wan ] || TO=20
    case $LINK in
        vlan-in) FROM=11 ;;
        vlan-out) TO=31 ;;
        vlan-both) FROM=11 TO=31 ;;
        pppoe-*) TO=60 ;;
        into-*) TO=80 ;;
        from-*) FROM=80 ;;
    esac
}

address() {
    if [ "$IP" = 4 ]; then echo "10.10.$1.$2"; else echo "fd00:$1::$2"; fi
}

outside() {
    case $LINK in
        pppoe-*) address 50 2 ;;
        *) address "$TO" 1 ;;
    esac
}

FIRST_PORT=1024
flow_entries() {
    local words=(hook="$1" count="$FLOWS" mtu="$MTU")
    networks
    if [ "$LINK" = pppoe-in ]; then
        entry "${words[@]}" in="$WAN" in_vlan=35 in_session="$SESSION" out="$LAN" \
            from="$(address 60 10)" to="$(outside)" new_to="$(address 10 10)" \
            sport=9 dport="$FIRST_PORT" own=02:00:00:00:02:01 mac=02:00:00:00:01:01 \
            peer=02:00:00:00:01:02
        return
    fi
    words+=(from="$(address "$FROM" 10)" to="$(address "$TO" 10)" sport="$FIRST_PORT"
        dport=9 in="$LAN" own=02:00:00:00:01:01)
    [ "$NAT" = 0 ] || words+=(new_from="$(outside)")
    [ "$FROM" != 11 ] || words+=(in_vlan="$FROM")
    case $TO in
        30) words+=(out="$DUM" mac=02:00:00:00:03:01 peer=02:00:00:00:03:02) ;;
        31) words+=(out="$DUM" mac=02:00:00:00:03:01 peer=02:00:00:00:03:02 vlan="$TO") ;;
        20) words+=(out="$WAN" mac=02:00:00:00:02:01 peer=02:00:00:00:02:02) ;;
        60)
            words+=(out="$WAN" mac=02:00:00:00:02:01 peer=02:00:00:00:02:02 vlan=35
                session="$SESSION")
            ;;
    esac
    entry "${words[@]}"
}
