# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Packets that the flowtable must leave to the stack although their tuple has a flow, and the
# reported path of flows whose packets miss their entry.

# MAC of another station, and multicast MACs.
STRANGER=02005e005301
GROUPS_OF="ffffffffffff 01005e010203 333300000001"
SENT_EACH=10

in_namespace() {
    local host=$1
    shift
    printf '%s\n' "table inet e2e" "delete table inet e2e" "table inet e2e {" "$@" "}" |
        peers ip netns exec "$host" nft -f -
}
counted_by() {
    peers ip netns exec "$1" nft list table inet e2e |
        awk '{ for (i = 1; i < NF; i++) if ($i == "packets") n += $(i + 1) } END { print n + 0 }'
}

sends() {
    local one
    one=$(frame "$1" "$3")
    one=$2${one:12}
    for ((n = 0; n < SENT_EACH; n++)); do printf '%s\n' "$one"; done | bytes |
        peers "cat >/tmp/e2e/odd; ip netns exec $1 socat -u -b $((${#one} / 2)) \
            FILE:/tmp/e2e/odd INTERFACE:eth0"
}

# arrived HOST KNOWN: prints the packets that arrived at HOST after the counter was KNOWN.
arrived() { echo $(($(counted_by "$1") - $2)); }
all_arrived() { [ "$(arrived "$1" "$2")" = "$SENT_EACH" ]; }

# Raw frames with the tuple of an offloaded flow reach the target only if addressed to the router.
# Frames of h20 have a VLAN tag.
# @each h10 | h20 | 4 @core
# @each h10 | h20 | 6
# @each h10 | isp | 4 6
# @each h20 | isp | 4
test_frames_to_other_stations_are_not_offloaded() {
    local host=$1 from=${1^^}_$3 target=$2 to=${2^^}_$3 port known mac packet length=100
    from=${!from} to=${!to}
    [ "$3" = 4 ] || length=120
    knows_macs
    talk "$host" udp "$to"
    soon 10 on_path flowtable --proto udp --host "$to"
    port=$(field sport "$(newest --proto udp --host "$to")")
    in_namespace "$target" "chain input { type filter hook input priority -500" \
        "udp dport 53 udp length 80 counter" "}"
    packet=$(packet udp "$from" "$port" "$to" 53 "$length")
    known=$(counted_by "$target")
    sends "$host" "${MAC[lan]}" "$packet"
    soon 5 all_arrived "$target" "$known"
    for mac in $STRANGER $GROUPS_OF; do
        known=$(counted_by "$target")
        sends "$host" "$mac" "$packet"
        never 1 more_arrived "$target" "$known"
    done
    known=$(counted_by "$target")
    sends "$host" "${MAC[lan]}" "$packet"
    soon 5 all_arrived "$target" "$known"
    on_path flowtable --proto udp --host "$to" || fail "the flow has left the flowtable"
}
more_arrived() { [ "$(arrived "$1" "$2")" -gt 0 ]; }

# The ingress chains must restore frames to other stations.
test_a_bridged_frame_is_not_changed() {
    local port known
    port=$(fresh_port)
    # A changed frame would fail its checksum.
    begin h11 heard "exec socat -u UDP4-RECV:$port OPEN:/tmp/e2e/heard,creat,trunc"
    soon 5 peers "ip netns exec h11 ss -Huln sport = :$port | grep -q ."
    peers "ip netns exec h10 sh -c 'echo bridged | socat -u - UDP4-SENDTO:10.10.10.11:$port'"
    soon 5 peers grep -qx bridged /tmp/e2e/heard
    in_namespace h11 "chain input { type filter hook input priority -500" \
        "ip saddr 10.10.10.10 meta mark != 0 counter" \
        "ip saddr 10.10.10.10 ip protocol { 253, 254 } counter" "}"
    known=$(counted_by h11)
    begin h11 served "exec busybox nc -ll -p 9001 -e echo bridged"
    soon 5 peers 'ip netns exec h10 busybox nc -w 3 10.10.10.11 9001 | grep -qx bridged'
    same "packets that were changed" "$(arrived h11 "$known")" 0
}

# through_h11: routes h10's Internet packets through h11; the router's answers go to h10 directly.
# restore_gateway restores the route.
through_h11() {
    peers 'ip netns exec h11 sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 \
        net.ipv4.conf.eth0.send_redirects=0'
    in_namespace h11 "chain forward { type filter hook forward priority 0" \
        "ip saddr 10.10.10.10 counter" "}"
    h10 ping -c 1 -W 2 10.10.10.11 >/dev/null
}
by_h11() { peers ip -n h10 route replace default via "${1:-10.10.10.11}"; }
restore_gateway() {
    peers 'touch /tmp/e2e/steady.*.end
        ip -n h10 route replace default via 10.10.10.1
        ip netns exec h11 nft delete table inet e2e
        ip netns exec h11 sysctl -qw net.ipv4.ip_forward=0' || true
}

all_pass_h11() {
    local sent=$1 known=$2
    later "$3" 100
    between "datagrams that passed the other router" $(($(counted_by h11) - known)) 98 400
    between "of those that were sent" "$(awk "BEGIN { print ($(counted_by h11) - $known) / \
        ($(count_of "$3" 1) - $sent) }")" 0.9 1.1
}

test_packets_through_another_router_of_the_lan_take_the_slow_path() {
    local port
    port=$(fresh_port)
    trap restore_gateway EXIT
    through_h11
    by_h11
    numbered h10 "$port" "$ISP_4"
    soon 10 steady_reaches "$port" 2 20
    all_pass_h11 "$(count_of "$port" 1)" "$(counted_by h11)" "$port"
    # Packets enter by another port than the one of the route to h10.
    soon 10 on_path slow/entry-missed --proto udp --text "$port"
}

test_a_flow_survives_a_change_of_the_gateway() {
    local port
    port=$(fresh_port)
    trap restore_gateway EXIT
    through_h11
    numbered h10 "$port" "$ISP_4"
    soon 10 on_path flowtable --proto udp --text "$port"
    by_h11
    later "$port" 5
    all_pass_h11 "$(count_of "$port" 1)" "$(counted_by h11)" "$port"
    peers ip -n h10 route replace default via 10.10.10.1
    soon 20 on_path flowtable --proto udp --text "$port"
}

# virtual_on HOST LINK: prints commands that add a virtual VRRP address.
virtual_on() {
    printf '%s\n' "link add vrrp link $2 address 00:00:5e:00:01:0a type macvlan mode private" \
        "addr add 10.10.10.254/24 dev vrrp noprefixroute" "link set vrrp up"
}
no_virtual() {
    restore_gateway
    gw ip link del vrrp || true
    peers ip -n h11 link del vrrp || true
}
test_a_flow_survives_a_vrrp_failover() {
    local port
    port=$(fresh_port)
    trap no_virtual EXIT
    through_h11
    virtual_on gw br-lan.10 | gw ip -b -
    by_h11 10.10.10.254
    numbered h10 "$port" "$ISP_4"
    soon 10 on_path flowtable --proto udp --text "$port"
    gw ip link set vrrp down
    virtual_on h11 eth0 | peers ip -n h11 -b -
    peers ip netns exec h11 arping -q -c 2 -U -I vrrp 10.10.10.254 ||
        peers ip netns exec h11 ping -c 1 -W 1 -I vrrp 10.10.10.10
    later "$port" 25
    all_pass_h11 "$(count_of "$port" 1)" "$(counted_by h11)" "$port"
}

priority() { peers ip -n h20 link set eth0.20 type vlan egress-qos-map "0:$1"; }

by_path() { said '.paths | "\(.slow.bytes) \(.flowtable.bytes)"' status; }

# @core
test_frames_with_a_vlan_priority_are_reported_as_slow() {
    local port slow fast slow_then fast_then
    port=$(fresh_port)
    trap 'priority 0' EXIT
    priority 5
    numbered h20 "$port" "$ISP_4"
    soon 10 on_path slow/entry-missed --proto udp --text "$port"
    soon 3 offloaded "$port"
    read -r slow fast < <(by_path)
    later "$port" 300
    read -r slow_then fast_then < <(by_path)
    # A datagram and its echo have the same size; only the echo matches its entry.
    between "bytes of the slow path for each of the flowtable" \
        "$(awk "BEGIN { print ($slow_then - $slow) / ($fast_then - $fast) }")" 0.8 1.25
    priority 0
    soon 10 on_path flowtable --proto udp --text "$port"
}

# Unfragmentable packets of 1480 bytes are dropped with an error after the MTU is reduced to 1400.
# @each 4 6
test_a_smaller_mtu_applies_to_offloaded_flows() {
    local port known from=H10_$1 to=H20_$1 error="icmpv6 type packet-too-big"
    [ "$1" = 6 ] || error="icmp type destination-unreachable icmp code frag-needed"
    from=${!from} to=${!to}
    knows_macs
    trap 'gw ip link set br-lan.20 mtu 1500' EXIT
    talk h10 udp "$to"
    soon 10 on_path flowtable --proto udp --host "$to"
    port=$(field sport "$(newest --proto udp --host "$to")")
    in_namespace h20 "chain input { type filter hook input priority -500" \
        "udp dport 53 udp length > 1400 counter" "}"
    known=$(counted_by h20)
    sends h10 "${MAC[lan]}" "$(packet udp "$from" "$port" "$to" 53 1480)"
    soon 5 all_arrived h20 "$known"
    gw ip link set br-lan.20 mtu 1400
    soon 3 says '.engine.revocation.cause.code == "mtu"' status
    soon 10 on_path flowtable --proto udp --host "$to"
    in_namespace h10 "chain input { type filter hook input priority -500" "$error counter" "}"
    known=$(counted_by h20)
    sends h10 "${MAC[lan]}" "$(packet udp "$from" "$port" "$to" 53 1480)"
    soon 5 reported
    same "packets above the MTU that arrived" "$(arrived h20 "$known")" 0
}
# One ICMP error suffices, because the kernel limits their rate.
reported() { [ "$(counted_by h10)" -gt 0 ]; }

# flapping: h11 announces its address alternately with two MACs.
flapping() {
    peers 'cat >/tmp/e2e/flap' <<'PERL'
use strict; use warnings; use Socket;
my ($dev, $ip) = @ARGV;
sub about { open my $f, '<', "/sys/class/net/$dev/$_[0]" or die; my $x = <$f>; chomp $x; $x }
socket my $raw, 17, 3, unpack('n', pack 'S', 0x0806) or die "$!\n";
bind $raw, pack('SnlSCCa8', 17, 0x0806, about('ifindex'), 0, 0, 0, '') or die "$!\n";
my @macs = (about('address') =~ tr/://dr, '02aabbccdd01');
for (my $i = 0; !-e '/tmp/e2e/flap.end'; $i++) {
    my $mac = pack 'H12', $macs[$i % 2];
    syswrite $raw, "\xff" x 6 . $mac . "\x08\x06" . pack('nnCCn', 1, 0x0800, 6, 4, 2) .
        $mac . inet_aton($ip) . "\xff" x 6 . inet_aton($ip);
    select undef, undef, undef, 0.5;
}
PERL
    peers 'rm -f /tmp/e2e/flap.end; ip netns exec h11 setsid perl /tmp/e2e/flap eth0 10.10.10.11 \
        >/tmp/e2e/flap.log 2>&1 </dev/null &'
}
# renewals: prints how often the table was loaded since mark_log.
renewals() { daemon_log | grep -c 'table inet fastpath: '; }

# The flapping host stays on the slow path; its moves must not renew the table for others.
test_a_flapping_host_does_not_affect_other_hosts() {
    local port
    port=$(fresh_port)
    trap 'peers touch /tmp/e2e/flap.end' EXIT
    talk h11 udp "$ISP_4"
    numbered h10 "$port" "$ISP_4"
    soon 10 on_path flowtable --proto udp --text "$port"
    flapping
    soon 40 on_path slow/roaming --proto udp --host 10.10.10.11
    later "$port" 100
    mark_log
    later "$port" 1000
    between "renewals while it flaps on" "$(renewals)" 0 1
    on_path flowtable --proto udp --text "$port" || fail "another host is slow"
    steady_ends "$port"
    # shellcheck disable=SC2153 # set by steady_ends
    same "datagrams of another host that were lost" "$((SENT - BACK))" 0
}
