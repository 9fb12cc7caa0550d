# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A host moves repeatedly between two bridge ports: duration of its packet loss, and cost for other
# flows. The unit is a datagram of a conversation with 50 per second, fewer on slower machines.

RATE=50
# Maximum of consecutive losses per move: half a second.
GAP=$((RATE / 2))
# Maximum on the slow path until the next offload: both directions for 2 s.
SLOW=$((RATE * 2 * 2))

# count_slow PORT: counts the conversation's packets in the forward hook.
count_slow() {
    gw "nft -f - <<END
table inet e2e {
    chain forward$1 {
        type filter hook forward priority filter + 30
        udp sport $1 counter
        udp dport $1 counter
    }
}
END"
}
slow_packets() {
    gw nft list chain inet e2e "forward$1" | sed -n 's/.* packets \([0-9]*\).*/\1/p' | xargs |
        { read -r there back && echo $((there + back)); }
}

prepare_moves() {
    local to from
    for to in eth0 eth1; do
        [ "$to" = eth0 ] && from=eth1 || from=eth0
        peers "cat >/tmp/e2e/to.$to" <<END
ip netns exec h10 nft -f - <<RULES
table netdev e2e
delete table netdev e2e
table netdev e2e {
    chain in { type filter hook ingress device $from priority 0; policy drop; }
    chain out { type filter hook egress device $from priority 0; policy drop; }
}
RULES
ip -n h10 -b - <<ROUTES
route replace 10.10.10.1/32 dev $to src 10.10.10.10
route replace default via 10.10.10.1 dev $to
route replace 2001:db8:10::1/128 dev $to src 2001:db8:10::10
route replace default via 2001:db8:10::1 dev $to
ROUTES
END
    done
}
move_to() { peers sh "/tmp/e2e/to.$1"; }

# renewals: prints how often the table was loaded after mark_log.
renewals() { daemon_log | grep -c 'table inet fastpath: '; }

# A host moves $2 times, every $3 seconds, during a download, an upload and a conversation. A host
# with four moves per minute would stay off the flowtable.
# @long
# @each flowtable | 8 | 21
# @each ebpf | 20 | 5
# @each ebpf-xdp | 20 | 5 @qemu: no port of a user-mode machine has a driver with XDP
test_a_moving_host_loses_at_most_half_a_second() {
    local engine=${1%-xdp} times=$2 calm=$((RATE * $3)) port down up ids before slow most=0 all=0
    local number to ports limit longest=0 length
    local least=1
    # The engine may renew entries between two datagrams (20 ms).
    [ "$engine" != ebpf ] || least=0
    use "$engine"
    [ "$1" = "$engine" ] || soon 15 says '.devices | length > 0 and all(.hook == "xdp")' ebpf
    port=$(fresh_port) down=$(fresh_port) up=$(fresh_port)
    limit=$((SLOW * $(pace) / 100))
    trap home EXIT
    second_port
    prepare_moves
    move_to eth0
    begin isp upload "exec socat -u TCP4-LISTEN:$POUR_PORT,reuseaddr OPEN:/tmp/e2e/up,creat,trunc"
    peers truncate -s 256M /tmp/e2e/zeros
    begin h10 "tcp$up" "exec curl -gsS -H Expect: --limit-rate 40k --local-port $up" \
        "-T /tmp/e2e/zeros http://$ISP_4:$POUR_PORT/"
    download h10 "$down" "$ISP_4"
    numbered h10 "$port" "$ISP_4"
    count_slow "$port"
    ids=$(for number in "$port" "$down" "$up"; do
        soon 20 on_path "$engine" --text "$number"
        newest --text "$number" | jq -r .id
    done)
    for number in $(seq "$times"); do
        if ((number % 2)); then to=eth1 ports="lan1 lan3"; else to=eth0 ports="lan3 lan1"; fi
        before=$(slow_packets "$port")
        move_to "$to"
        soon 5 steady_reaches "$port" 2 $(($(count_of "$port" 2) + 3))
        until_still 5 slow_packets "$port"
        slow=$(($(slow_packets "$port") - before))
        between "packets on the slow path at move $number" "$slow" $least "$limit"
        soon 5 moved "$port" ".kind == \"port\" and \"\(.from) \(.to)\" == \"$ports\""
        [ "$slow" -le "$most" ] || most=$slow
        all=$((all + slow))
        later "$port" "$calm"
        ((number % 4)) && continue
        goes_on "$down"
        soon 20 uploaded_more "$(uploaded)"
    done
    for number in "$port" "$down" "$up"; do
        soon 10 on_path "$engine" --text "$number"
    done
    same "the connections" "$(for number in "$port" "$down" "$up"; do
        newest --text "$number" | jq -r .id
    done)" "$ids"
    steady_ends "$port"
    while read -r _ length; do
        [ "${length:-0}" -le "$longest" ] || longest=$length
    done <<<"$GAPS"
    [ "$all" -gt 0 ] || fail "no packet was slow at any move"
    # shellcheck disable=SC2153 # steady_ends sets it
    note "$engine: $BACK of $SENT came back, at most $longest in a row lost, $most packets slow"
    between "datagrams lost in a row" "$longest" 0 $((GAP * $(pace) / 100))
}
uploaded() { peers stat -c %s /tmp/e2e/up; }
uploaded_more() { [ "$(uploaded)" -gt "$1" ]; }

# moved PORT FILTER: succeeds if jq's FILTER is true for the last move in the flow's history.
moved() {
    ask flow "$(newest --text "$1" | jq -r .id)" | jq -e ".moves | last | $2"
}

# The history has both ports, even if the first cable is unplugged.
test_a_cable_moved_to_another_port_is_in_the_history() {
    local port
    port=$(fresh_port)
    trap 'cables_on; home' EXIT
    second_port
    prepare_moves
    move_to eth0
    download h10 "$port" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    cable lan1 off
    move_to eth1
    goes_on "$port"
    soon 10 on_path flowtable --proto tcp --text "$port"
    soon 5 offloaded "$port"
    soon 5 moved "$port" '.kind == "port" and .from == "lan1" and .to == "lan3" and
        .address == "10.10.10.10"'
    says '.roaming | any(.moves >= 1 and (.addresses | index("10.10.10.10")))' topology ||
        fail "the host is not among those that roam"
}

# After a failover, the next hop's address has another MAC.
test_a_neighbour_with_another_mac_is_in_the_history() {
    local port
    port=$(fresh_port)
    trap 'peers ip -n h20 link set eth0.20 address 52:54:00:02:00:02' EXIT
    download h10 "$port" "$H20_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    peers ip netns exec h20 sysctl -qw net.ipv4.conf.eth0/20.arp_notify=1
    peers ip -n h20 link set eth0.20 address 52:54:00:02:00:22
    goes_on "$port"
    soon 5 moved "$port" '.kind == "mac" and .from == "52:54:00:02:00:02" and
        .to == "52:54:00:02:00:22"'
}

flap() {
    peers "for number in \$(seq $1); do
        sh /tmp/e2e/to.eth1; ip netns exec h10 ping -c 1 -W 1 10.10.10.1
        sh /tmp/e2e/to.eth0; ip netns exec h10 ping -c 1 -W 1 10.10.10.1
    done" >/dev/null
}

uptime_of_gw() { gw cut -d . -f 1 /proc/uptime; }

# Renewals are limited to fifteen per minute.
# @long
test_a_flapping_host_costs_other_flows_no_packet() {
    local port began seconds often before slow
    port=$(fresh_port)
    trap home EXIT
    second_port
    prepare_moves
    move_to eth0
    talk h10 flap "$ISP_4"
    numbered h20 "$port" "$ISP_4"
    count_slow "$port"
    soon 20 on_path flowtable --proto udp --text "$port"
    soon 10 on_path flowtable --proto udp --host 10.10.10.10
    before=$(slow_packets "$port")
    mark_log
    began=$(uptime_of_gw)
    flap 15
    seconds=$(($(uptime_of_gw) - began))
    often=$(renewals)
    until_still 5 slow_packets "$port"
    slow=$(($(slow_packets "$port") - before))
    steady_ends "$port"
    note "$often renewals in $seconds s, $slow of $((SENT * 2)) packets of another flow slow"
    between "renewals in $seconds s" "$often" 2 $((seconds / 4 + 2))
    same "datagrams of another host that were lost" "$((SENT - BACK))" 0
    between "packets of another flow on the slow path" "$slow" 1 $((SENT * 2 / 4))
}
