# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A WAN with two VLAN tags (QinQ), with and without PPPoE: path and reason, and frames on the wire.

# Bytes of 10,000 full packets.
LONG=14480000
SECTIONS="
config device
	option name 'isp.35'
	option type '8021q'
	option ifname 'isp'
	option vid '35'

config device
	option name 'isp'
	option type 'TYPE'
	option ifname 'wan'
	option vid '100'
"
ADDRESSED="
config interface 'wan'
	option device 'isp.35'
	option proto 'static'
	option ipaddr '198.18.0.2'
	option netmask '255.255.255.252'
	option gateway '198.18.0.1'
	list ip6addr '2001:db8:18::2/64'
	option ip6gw '2001:db8:18::1'
"

# two_tags TYPE pppoe|static: moves the WAN behind tag 100 of TYPE (8021ad, 8021q) and tag 35, at
# both ends. netifd accepts the sections of devices in any order.
two_tags() {
    local protocol=802.1Q edits=(-e "/^config interface 'wan'/,/^\$/s/'wan.35'/'isp.35'/")
    local added=$SECTIONS
    [ "$1" != 8021ad ] || protocol=802.1ad
    at_the_end one_tag
    peers "ip -n isp -b -" <<END
link add link access name outer type vlan protocol $protocol id 100
link set outer up
link add link outer name outer.35 type vlan id 35
link set outer.35 up
addr add 198.18.0.1/30 dev outer.35
addr add 2001:db8:18::1/64 dev outer.35 nodad
END
    if [ "$2" = static ]; then
        edits=(-e "/^config interface 'wan/,/^\$/d" -e '/^config route6/,/^$/d')
        added+=$ADDRESSED
        peers ip -n isp route replace 2001:db8:10::/64 via 2001:db8:18::2
    else
        begin isp pppoe-server "exec pppoe-server -k -F -I outer.35 -L 203.0.113.1" \
            "-R 198.51.100.20 -N 5 -O /etc/ppp/pppoe-server-options -q /usr/sbin/pppd"
    fi
    gw "$RELOAD sed -i $(printf ' %q' "${edits[@]}") /etc/config/network
        cat >>/etc/config/network && reload network" <<<"${added/TYPE/$1}"
    soon 30 wan_says '.up and .port == "wan" and .vlan == 100 and .inner_vlan == 35'
    soon 10 internet
    soon 10 h10 ping -c 1 -W 1 "$ISP_6"
}
one_tag() {
    end pppoe-server
    peers ip -n isp link del outer
    configuration_back
    soon 30 wan_is_up
}

# count_forwarded PORT…: counts these connections' packets in the forward hook, by direction.
count_forwarded() {
    local port way
    {
        echo "add table inet e2e"
        echo "add chain inet e2e forward { type filter hook forward priority -400; }"
        for port; do
            for way in s d; do
                echo "add counter inet e2e $way$port"
                echo "add rule inet e2e forward tcp ${way}port $port counter name $way$port"
            done
        done
    } | change_rules
}
forwarded() { gw nft list counter inet e2e "$1" | sed -n 's/.*packets \([0-9]*\).*/\1/p'; }

arrived() { [ "$(field down_bytes "$(newest --proto tcp --text "$1")")" -ge "$2" ]; }

# long_flow PATH DEVICE PORT ADDRESS: fails unless a long download is on the path, and its packets
# are in the forward hook only before that.
long_flow() {
    local port=$3 flow before way
    download h10 "$port" "$4" 5M
    soon 10 on_path "$1" --proto tcp --text "$port"
    flow=$(newest --proto tcp --text "$port")
    same "outgoing device" "$(field out_dev "$flow")" "$2"
    same "outgoing VLAN" "$(field out_vlan "$flow")" 35
    before=("$(forwarded "s$port")" "$(forwarded "d$port")")
    soon 20 arrived "$port" $(($(field down_bytes "$flow") + LONG))
    for way in s d; do
        between "packets of $LONG bytes in the forward hook, ${way}port" \
            $(($(forwarded "$way$port") - before[0])) 0 2
        before=("${before[@]:1}")
    done
    on_path "$1" --proto tcp --text "$port"
    end "tcp$port"
}

# long_flows PATH DEVICE TYPE: runs long_flow for both families, and checks the frames at the ISP.
long_flows() {
    local port frames outer="802.1Q (0x8100)"
    [ "$3" != 8021ad ] || outer="802.1Q-QinQ (0x88a8)"
    port=$(fresh_port)
    count_forwarded "$port" "$((port + 1))"
    begin isp frames "exec tcpdump -i access -Q in -enn -c 1000 -l"
    soon 5 peers grep -q listening /tmp/e2e/frames.log
    long_flow "$1" "$2" "$port" "$ISP_4"
    long_flow "$1" "$2" "$((port + 1))" "$ISP_6"
    peers "kill -INT -- -\$(cat /tmp/e2e/frames.pid)" 2>/dev/null || true
    soon 10 peers "! kill -0 \$(cat /tmp/e2e/frames.pid)"
    # Frames of the stack and of the fast path differ only in length and payload.
    frames=$(peers cat /tmp/e2e/frames.log | grep -F -e " > $ISP_4.80:" -e " > $ISP_6.80:" |
        sed 's/^[^ ]* \(.*\), length [0-9]*: \(vlan .*, vlan [^,]*, p [0-7]\), .*/\1 \2/')
    between "frames to the web server" "$(wc -l <<<"$frames")" 100 1000
    frames=$(sort -u <<<"$frames")
    same "headers of the frames" "${frames#*, }" \
        "ethertype $outer vlan 100, p 0, ethertype 802.1Q (0x8100), vlan 35, p 0"
}

# The other core test covers two tags in eBPF.
# @each 8021ad | flowtable @core
# @each 8021ad | tcx
# @each 8021q | flowtable tcx
test_flows_over_two_tags_are_offloaded() {
    two_tags "$1" static
    says '.links[] | select(.name == "isp.35") | .lower == "isp" and .vlan == 35' topology
    engine_at "$2"
    long_flows "$FAST_PATH" isp.35 "$1"
}

# The entries of a flowtable have room for two headers.
# @finds:flowtable-headers
# @each 8021ad @core
# @each 8021q
test_pppoe_in_two_tags_is_offloaded_by_ebpf_and_slow_with_a_reason_in_the_flowtable() {
    local port
    two_tags "$1" pppoe
    port=$(fresh_port)
    download h10 "$port" "$ISP_4"
    soon 10 on_path slow/encapsulated --proto tcp --text "$port"
    lacks conntrack "$(conntrack_of "$port")" OFFLOAD
    says '.links[] | select(.name == "pppoe-wan") | .cause.code == "encapsulated"' topology
    doctor 'finds flowtable-headers'
    ebpf_at tcx
    soon 10 on_path ebpf --proto tcp --text "$port"
    doctor 'silent flowtable-headers'
    end "tcp$port"
    long_flows ebpf pppoe-wan "$1"
}
