# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The machine is the gateway between two links of the host. Needs lib.sh.
gw() { "$@"; }
OUT=wan

modprobe -a virtio_net dummy nf_tables nf_conntrack nf_conntrack_netlink nf_flow_table_inet \
    nft_flow_offload nft_ct nft_nat nft_chain_nat nft_masq cls_bpf sch_ingress 8021q af_packet

links() {
    local link mac
    sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
        net.netfilter.nf_conntrack_max=262144
    echo 65536 >/sys/module/nf_conntrack/parameters/hashsize
    for link in /sys/class/net/*; do
        read -r mac <"$link/address"
        case $mac in
            02:00:00:00:01:01) ip link set "${link##*/}" name lan ;;
            02:00:00:00:02:01) ip link set "${link##*/}" name wan ;;
        esac
    done
    commands | ip -b -
    read -r LAN </sys/class/net/lan/ifindex
    read -r WAN </sys/class/net/wan/ifindex
    read -r DUM </sys/class/net/dum/ifindex
    mkfifo /tmp/never
    exec 9<>/tmp/never
}

# network NUMBER DEVICE PEER: prints `ip` commands for addresses of the gateway and its neighbour.
network() {
    echo "addr add 10.10.$1.1/24 dev $2"
    echo "addr add fd00:$1::1/64 dev $2 nodad"
    echo "neigh replace 10.10.$1.10 lladdr $3 dev $2 nud permanent"
    echo "neigh replace fd00:$1::10 lladdr $3 dev $2 nud permanent"
}

commands() {
    echo "link set lo up"
    # The rule sets contain this device.
    echo "link add dum type dummy"
    echo "link add link lan name lan.11 type vlan id 11"
    # The card receives a VLAN only with a device for it.
    echo "link add link lan name lan.35 type vlan id 35"
    echo "link add link wan name wan.31 type vlan id 31"
    for link in lan wan dum lan.11 lan.35 wan.31; do echo "link set $link up"; done
    network 10 lan 02:00:00:00:01:02
    network 11 lan.11 02:00:00:00:01:02
    network 20 wan 02:00:00:00:02:02
    network 31 wan.31 02:00:00:00:02:02
    network 30 dum 02:00:00:00:02:02
}

# mtu BYTES: sets the MTU of both links.
MTU=1500
mtu() {
    MTU=$1
    ip link set lan mtu "$MTU"
    ip link set wan mtu "$MTU"
}

FIRST_PORT=1024
SESSION=5
address() {
    if [ "$IP" = 4 ]; then echo "10.10.$1.$2"; else echo "fd00:$1::$2"; fi
}
networks() {
    FROM=10 TO=20
    [ $OUT != dum ] || TO=30
    # shellcheck disable=SC2153 # set by scenario()
    case $LINK in vlan-in | vlan-both) FROM=11 ;; esac
    case $LINK in vlan-out | vlan-both) TO=31 ;; esac
}

flow_entries() {
    local words=(hook="$1" count="$FLOWS" sport="$FIRST_PORT" dport=9 in="$LAN" mtu="$MTU"
        proto="$PROTO" own=02:00:00:00:01:01 mac=02:00:00:00:02:01 peer=02:00:00:00:02:02)
    networks
    words+=(from="$(address "$FROM" 10)" to="$(address "$TO" 10)")
    [ "$NAT" = 0 ] || words+=(new_from="$(address "$TO" 1)")
    [ "$FROM" = 10 ] || words+=(in_vlan="$FROM")
    [ "$TO" != 31 ] || words+=(vlan="$TO")
    if [ $OUT = dum ]; then words+=(out="$DUM"); else words+=(out="$WAN"); fi
    case $LINK in
        pppoe-out) words+=(vlan=35 session="$SESSION") ;;
        pppoe-in) words+=(in_vlan=35 in_session="$SESSION") ;;
    esac
    entry "${words[@]}"
}

# The frames' destination: the gateway.
DESTINATION=02:00:00:00:01:01
frames() {
    networks
    FRAMES=(from="$(address "$FROM" 10)" to="$(address "$TO" 10)" sport="$FIRST_PORT" dport=9
        flows="$FLOWS" size="$SIZE" proto="$PROTO" mac=02:00:00:00:01:02 peer="$DESTINATION")
    [ "$FROM" = 10 ] || FRAMES+=(vlan="$FROM")
    [ "$LINK" != pppoe-in ] || FRAMES+=(vlan=35 session="$SESSION")
}

received() { read -r "$1" </sys/class/net/lan/statistics/rx_packets; }

# pour COUNT: has the host send frames and waits for all of them. The check every 50 ms of guest
# time, or 25 million instructions, adds to the cost.
pour() {
    local start now=0
    received start
    host "send count=$1 ${FRAMES[*]}"
    until [ $((now - start)) -ge "$1" ]; do
        read -r -t 0.05 <&9
        received now
    done
}

# timed COUNT: pours; sets BUSY (ns of work) and IDLE (percent).
timed() {
    local before after
    read -r -a before <<<"$(clock)"
    pour "$1"
    read -r -a after <<<"$(clock)"
    local all=$((after[0] - before[0])) idle=$((after[1] - before[1]))
    BUSY=$((all - idle)) IDLE=$((idle * 100 / all))
}

# weigh: sets OVERHEAD to the cost of an empty request.
weigh() {
    timed 0
    timed 0
    OVERHEAD=$BUSY
}

established() {
    conntrack -I -p tcp -s "$(address "$FROM" 10)" -d "$(address "$TO" 10)" \
        --sport "$FIRST_PORT" --dport 9 --state ESTABLISHED -u ASSURED,SEEN_REPLY -t 300 \
        >/dev/null 2>&1 || say_failed "no connection"
}

# sample COUNT: appends the cost per packet to SAMPLES. Repeats the sample once if a slow host left
# the machine idle, because then each packet causes an interrupt.
sample() {
    for _ in 1 2; do
        timed "$1"
        POURED=$((POURED + $1))
        [ $IDLE -gt 90 ] || break
    done
    [ "$IDLE" -le "$MOST_IDLE" ] || MOST_IDLE=$IDLE
    SAMPLES+=($(((BUSY - OVERHEAD) / 2 / $1)))
}

median_row() {
    local sorted
    read -r -a sorted <<<"$(printf "%s\n" "${SAMPLES[@]}" | sort -n | paste -sd " ")"
    row "$1" "$2" "${sorted[${#sorted[@]} / 2]}" idle="$MOST_IDLE" \
        samples="[$(IFS=,; echo "${SAMPLES[*]}")]" "${@:3}"
}

# measure ENGINE…: prints a row per engine from three samples. Costs vary by a few percent with the
# number of packets that the driver finds at once.
measure() {
    local name count=${BENCH_count:-6000} warm POURED
    [ "$count" -ge "$FLOWS" ] || count=$FLOWS
    frames
    weigh
    for name; do
        engine "$name"
        [ "$PROTO" = udp ] || established
        warm=$(warming "$name")
        # virtio-net drops jumbo frames in buffers from before the program, which small ones use up.
        [ "$SIZE" -le 1514 ] || SIZE=60 frames
        pour "$warm"
        frames
        POURED=$warm SAMPLES=() MOST_IDLE=0
        for _ in 1 2 3; do sample "$count"; done
        median_row "${BENCH_name:-virtio}" "$name"
        # GRO merges TCP frames, so the number of packets is unknown.
        if [ "$PROTO" = udp ] || [ "$name" != tcx ]; then
            check "$name" "$POURED"
        else
            # shellcheck disable=SC2034 # read by check
            CHECKED=$(forwarded)
        fi
        no_engine "$name"
    done
}

set_up() {
    local name packet
    frames
    weigh
    for name; do
        unknown "$name"
        for packet in 1 2 3; do
            timed "$FLOWS"
            SAMPLES=($(((BUSY - OVERHEAD) / 2 / FLOWS))) MOST_IDLE=$IDLE
            median_row setup-virtio "$name" packet=$packet
        done
        no_engine "$name"
    done
}
