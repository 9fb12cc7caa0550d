# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Routing rules, marks, a VRF and a WireGuard tunnel. Captures at every outer port check that
# 100,000 packets per kind of flow leave only by the right port, and that the page shows their path.

# shellcheck source=e2e/tests/vm/lib/policy.sh
. "$VM/lib/policy.sh"
# shellcheck source=e2e/tests/vm/lib/wireguard.sh
. "$VM/lib/wireguard.sh"
# shellcheck source=e2e/tests/vm/lib/captures.sh
. "$VM/lib/captures.sh"

# Datagrams per flow, each echoed by the server.
ROUNDS=50000
# Fewer for emulated machines: four flows with echoes are 100,000 packets.
EMULATED_ROUNDS=12500

# Flows by the rule that routes them: main table, source rule, mark, tunnel, VRF.
PLAIN=1 SOURCE=2 MARK=3 TUNNEL=4 VRF=5
NAMES=("" plain source mark tunnel vrf)
# Source addresses on h10, and server ports. The server port selects the mark.
HOSTS=("" 10.10.10.10 10.10.10.12 10.10.10.10 10.10.10.13 10.10.30.10)
SERVER_PORTS=("" 7300 7300 7301 7300 7300)
# By flow id: the only capture that may contain the flow.
PORTS=("" isp.access h20.eth0 h20.eth0 isp.wg0 h20.vrf0)
# Path and reason of flows that are not offloaded.
SLOW=("" "" "" "" slow/tunnel "")

captures_back() {
    gw "for pref in 97 98 99; do ip rule del pref \$pref; done
        ip route flush table 100; ip -6 route flush table 100; ip route flush table 101
        kill \$(cat /run/e2e/mgmt.pid); rm -f /run/e2e/mgmt.*" 2>/dev/null || true
    peers 'ip -n h10 -force -b - <<END
addr del 10.10.10.12/24 dev eth0
addr del 10.10.10.13/24 dev eth0
END
        rm -f /tmp/e2e/*.pcap' 2>/dev/null || true
    vrf_down
    wireguard_off
    servers_back
}

# tunnel_up: starts the tunnel, which accepts all addresses.
tunnel_up() {
    local home site
    home=$(wireguard_key home)
    site=$(wireguard_key site)
    wireguard_site 51820
    peers "ip netns exec isp wg set wg0 peer $home allowed-ips 10.99.0.1/32,10.10.10.0/24"
    wireguard_on "$site" 0.0.0.0/0 0
    soon 20 gw ping -c 1 -W 1 10.99.0.2
}

echoing() {
    local host port
    peers "printf '%s\n' 'addr add 10.10.10.12/24 dev eth0' 'addr add 10.10.10.13/24 dev eth0' |
        ip -n h10 -b -"
    for host in isp h20; do
        for port in 7300 7301; do
            begin $host "echo-$host-$port" "exec /lab/echo $port $BOTH_4"
        done
    done
}

# rules: adds routing rules for the second WAN and the tunnel, and counters of forwarded packets.
# Marked packets are masqueraded, like with mwan3.
rules() {
    local id
    second_wan
    gw "ip route add default dev wg0 table 101
        ip route add 10.10.10.0/24 dev br-lan.10 table 100
        ip rule add pref 98 from ${HOSTS[SOURCE]} lookup 100
        ip rule add pref 99 fwmark 0x200/0x3f00 lookup 100"
    {
        echo "table inet e2e {"
        for id in $PLAIN $SOURCE $MARK $TUNNEL $VRF; do echo "counter stack$id { }"; done
        cat <<END
    chain prerouting {
        type filter hook prerouting priority mangle
        udp dport 7301 ct state new ct mark set ct mark or 0x200
        ct mark and 0x3f00 != 0 meta mark set ct mark and 0x3f00
    }
    chain srcnat {
        type nat hook postrouting priority srcnat
        oifname "br-lan.20" udp dport 7301 masquerade
    }
    chain forward {
        type filter hook forward priority raw
END
        for id in $PLAIN $SOURCE $MARK $TUNNEL $VRF; do
            echo "udp sport $((FIRST_PORT + id)) counter name stack$id"
            echo "udp dport $((FIRST_PORT + id)) counter name stack$id"
        done
        printf '}\n}\n'
    } | gw nft -f -
}
tunnel_rule() { gw ip rule add pref 97 from "${HOSTS[TUNNEL]}" lookup 101; }

# by_mgmt: captures UDP packets that leave by the management port.
by_mgmt() {
    gw "tcpdump -i mgmt -Q out -s 96 -w /run/e2e/mgmt.pcap udp >/run/e2e/mgmt.log 2>&1 \
        </dev/null & echo \$! >/run/e2e/mgmt.pid"
    soon 5 gw grep -q listening /run/e2e/mgmt.log
}
by_mgmt_end() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'kill -INT $(cat /run/e2e/mgmt.pid)'
    # shellcheck disable=SC2016 # expanded on the gateway
    soon 5 gw '! kill -0 $(cat /run/e2e/mgmt.pid)' >&2
    gw 'tcpdump -r /run/e2e/mgmt.pcap -n 2>/dev/null' | wc -l
}

# stack ID: prints the flow's packets forwarded by the stack.
stack() { gw nft list counter inet e2e "stack$1" | sed -n 's/.*packets \([0-9]*\).*/\1/p'; }

on_its_path() {
    on_path "${SLOW[$1]:-$CARRIED}" --proto udp --text ":$((FIRST_PORT + $1))"
}

# page ID: prints the reported path, device and zone of the flow.
page() {
    newest --proto udp --text ":$((FIRST_PORT + $1))" |
        jq -r '[.path, .out_dev, .out_zone] | join(" ")'
}

# engine flowtable|tcx|auto|xdp-generic: starts the engine; `auto` attaches to drivers.
engine() {
    if [ "$1" = flowtable ]; then
        CARRIED=flowtable
        SLOW[TUNNEL]=
        use flowtable
    else
        CARRIED=ebpf
        ebpf_at "$1"
        [ "$1" != auto ] || soon 5 says '.devices | all(.hook == "xdp")' ebpf
    fi
}

# check_flow_exit ID: fails unless the flow appears without loss in the right capture only, and the
# reported path is correct.
check_flow_exit() {
    local sent back path=${SLOW[$1]:-$CARRIED} slow=$((STACK_AFTER[$1] - STACK_BEFORE[$1]))
    read -r sent back < <(sed -n "s/^$1 //p" <<<"$SENT")
    same "where flow ${NAMES[$1]} left" "$(in_captures "$1")" "${PORTS[$1]} $sent"
    same "datagrams of flow ${NAMES[$1]} that came back" "$back" "$sent"
    same "answers of flow ${NAMES[$1]} that reached its host" \
        "$(sed -n "s/^$1 \([0-9]*\) .*/\1/p" <<<"${IN[h10.eth0]}")" "$sent"
    # The stack's packet counter must agree with the reported path.
    path=${path%/*}
    if [ "$path" = slow ]; then
        between "packets of flow ${NAMES[$1]} that the stack forwarded" $slow $((2 * ROUNDS)) \
            $((2 * sent))
    else
        between "packets of flow ${NAMES[$1]} that the stack forwarded" $slow 0 $((ROUNDS / 20))
    fi
    same "the page about flow ${NAMES[$1]}" "${PAGE[$1]}" "$path ${LEFT_BY[${PORTS[$1]}]}"
    note "$ENGINE, ${NAMES[$1]}: $sent sent, $(in_captures "$1") captured, $back back;" \
        "$slow packets by the stack; the page: ${PAGE[$1]}"
}

# flows_begin ENGINE: sets up everything except the tunnel's rule, and starts captures.
flows_begin() {
    ENGINE=$1
    trap captures_back EXIT
    FIRST_PORT=$(fresh_port)
    servers
    echoing
    tunnel_up
    rules
}
captures_begin() {
    engine "$ENGINE"
    soon 30 nothing_reloads
    capture "${!LEFT_BY[@]}" h10.eth0
    by_mgmt
}

# send ID…: runs these flows and captures them until all rounds are complete.
send() {
    local id
    captures_begin
    rounds $ROUNDS "$@"
    for id; do
        soon 30 on_its_path "$id"
        STACK_BEFORE[id]=$(stack "$id")
    done
    peers touch /tmp/e2e/go
    soon 120 rounds_done
    for id; do
        STACK_AFTER[id]=$(stack "$id")
        PAGE[id]=$(page "$id")
    done
    peers touch /tmp/e2e/enough
    soon 15 ended rounds
    captured
    SENT=$(peers cat /tmp/e2e/rounds.log)
    for id; do check_flow_exit "$id"; done
    same "packets by the port for management" "$(by_mgmt_end)" 0
}

# @long
# @each flowtable tcx
# @each auto @qemu: no port of a user-mode machine has a driver with XDP
test_every_packet_leaves_by_the_port_of_its_route() {
    local STACK_BEFORE=(0) STACK_AFTER=(0) PAGE=("")
    [ "$1" != auto ] || ROUNDS=$EMULATED_ROUNDS
    flows_begin "$1"
    tunnel_rule
    send $PLAIN $SOURCE $MARK $TUNNEL
    # Outside the tunnel, its encrypted packets use only the first WAN.
    between "packets of the tunnel" "$(sed -n 's/^tunnel //p' <<<"${IN[isp.access]}")" \
        "$(sed -n "s/^$TUNNEL \([0-9]*\) .*/\1/p" <<<"${IN[isp.wg0]}")" $((3 * ROUNDS))
    lacks "the second WAN" "${IN[h20.eth0]}" tunnel
}

# Total datagrams of the moved flow, datagrams before the rule, and the time limit in ms for
# plaintext after the rule on the reference machine.
LATE_ROUNDS=20000
LATE_BEFORE=2000
LATE_MS=1000

# @long
# @each flowtable tcx
test_a_new_rule_moves_an_offloaded_flow_into_the_tunnel() {
    local id at late_ms tunnel_ms sent back
    [ "$(lab_port MACHINE)" = uml ] || skip "the gateway and the captures have two clocks"
    flows_begin "$1"
    captures_begin
    rounds $LATE_ROUNDS $PLAIN $TUNNEL
    for id in $PLAIN $TUNNEL; do
        soon 30 on_path "$CARRIED" --proto udp --text ":$((FIRST_PORT + id))"
    done
    same "the page before the rule" "$(page $TUNNEL)" "$CARRIED ${LEFT_BY[isp.access]}"
    peers touch /tmp/e2e/go
    soon 20 more_counted "$FIRST" $((2 * LATE_BEFORE))
    at=$(peers date +%s.%N)
    tunnel_rule
    soon 10 on_its_path $TUNNEL
    same "the page after the rule" "$(page $TUNNEL)" \
        "$([ "$CARRIED" = ebpf ] && echo slow || echo flowtable) ${LEFT_BY[isp.wg0]}"
    soon 120 rounds_done
    peers touch /tmp/e2e/enough
    soon 15 ended rounds
    captured
    SENT=$(peers cat /tmp/e2e/rounds.log)
    late_ms=$(after "$at" "$(last $TUNNEL isp.access)")
    tunnel_ms=$(after "$at" "$(first $TUNNEL isp.wg0)")
    read -r sent back < <(sed -n "s/^$TUNNEL //p" <<<"$SENT")
    note "$ENGINE: the last of the flow in plaintext $late_ms ms after the rule, the first in the" \
        "tunnel after $tunnel_ms ms; $back of $sent came back; $(in_captures $TUNNEL | xargs)"
    between "datagrams in plaintext" "$(sed -n "s/^$TUNNEL \([0-9]*\) .*/\1/p" \
        <<<"${IN[isp.access]}")" 1 "$sent"
    between "milliseconds until the last in plaintext" "$late_ms" 0 "$(scaled_ms $LATE_MS)"
    between "milliseconds until the first in the tunnel" "$tunnel_ms" 0.1 "$(scaled_ms $LATE_MS)"
    same "captures that have the flow" "$(in_captures $TUNNEL | sed 's/ .*//' | sort | xargs)" \
        "isp.access isp.wg0"
    same "packets by the port for management" "$(by_mgmt_end)" 0
    read -r sent back < <(sed -n "s/^$PLAIN //p" <<<"$SENT")
    same "where the plain flow left" "$(in_captures $PLAIN)" "${PORTS[PLAIN]} $sent"
    same "datagrams of the plain flow that came back" "$back" "$sent"
}

# vrf_up: creates a VRF with VLAN 30 of lan1, where h10 has an address, and VLAN 40 of lan2 towards
# h20. fw4 has no zone for it.
vrf_up() {
    gw 'ip link add e2e-vrf type vrf table 102' || skip "the kernel has no VRFs"
    gw "bridge vlan add dev lan1 vid 30; bridge vlan add dev lan2 vid 40
        for vid in 30 40; do
            bridge vlan add dev br-lan vid \$vid self
            ip link add link br-lan name br-lan.\$vid type vlan id \$vid
            ip link set br-lan.\$vid master e2e-vrf up
            ip addr add 10.10.\$vid.1/24 dev br-lan.\$vid
        done
        ip link set e2e-vrf up
        ip route add default via 10.10.40.10 table 102
        nft insert rule inet fw4 forward iifname e2e-vrf accept"
    peers "printf '%s\n' 'link add link eth0 name vrf0 type vlan id 30' 'link set vrf0 up' \
            'addr add ${HOSTS[VRF]}/24 dev vrf0' 'rule add from ${HOSTS[VRF]} lookup 30' \
            'route add default via 10.10.30.1 table 30' | ip -n h10 -b -
        printf '%s\n' 'link add link eth0 name vrf0 type vlan id 40' 'link set vrf0 up' \
            'addr add 10.10.40.10/24 dev vrf0' 'route add 10.10.30.0/24 via 10.10.40.1' |
            ip -n h20 -b -
        ip netns exec h20 sysctl -qw net.ipv4.conf.vrf0.rp_filter=0"
}
vrf_down() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'ip link show e2e-vrf || exit 0
        for vid in 30 40; do
            ip link del br-lan.$vid; bridge vlan del dev br-lan vid $vid self
        done
        bridge vlan del dev lan1 vid 30; bridge vlan del dev lan2 vid 40
        ip link del e2e-vrf; /etc/init.d/firewall reload' >/dev/null 2>&1 || true
    peers "ip -n h10 rule del from ${HOSTS[VRF]}; ip -n h10 link del vrf0
        ip -n h20 link del vrf0" 2>/dev/null || true
}

# With a VRF, eBPF offloads no flow.
# @long
# @each flowtable tcx
test_a_flow_in_a_vrf_leaves_by_the_vrf() {
    local STACK_BEFORE=(0) STACK_AFTER=(0) PAGE=("")
    flows_begin "$1"
    # Remove the mark's rule: without NAT, eBPF cannot verify the mark of a flow.
    gw ip rule del pref 99
    vrf_up
    # The VLAN at h20's port shows the egress device.
    unset "LEFT_BY[h20.eth0]"
    LEFT_BY[h20.eth0.20]="br-lan.20 iot"
    LEFT_BY[h20.vrf0]="br-lan.40 "
    [ "$1" = flowtable ] || SLOW[PLAIN]=slow/policy-routed SLOW[VRF]=slow/policy-routed
    send $PLAIN $VRF
}
