# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bonds of two links as bridge port and as WAN port. A host in VLAN 10 is behind `lag`, the ISP's
# line behind `uplink`; the other ends are in network namespaces of the gateway.

# shellcheck disable=SC2016 # expanded on the gateway
BONDS='
set -e
# bond NAME NAMESPACE NUMBER: connects NAME by two links to `far`, a bond of the same mode, or a
# bridge behind an active-backup bond.
bond() {
    options="type bond mode $mode miimon 100" far="type bridge"
    [ "$mode" != 802.3ad ] || { options="$options lacp_rate fast" && far=$options; }
    ip netns add "$2"
    ip link add "$1" $options
    # Fixed addresses, because a new one would count as a move of the host.
    ip -n "$2" link add far address "52:54:00:0f:$3:00" $far
    for link in 1 2; do
        ip link add "$1$link" address "52:54:00:0e:$3:0$link" type veth \
            peer name "far$link" netns "$2"
        ip link set "$1$link" master "$1"
        ip -n "$2" link set "far$link" master far
        ip -n "$2" link set "far$link" up
    done
    ip -n "$2" link set far up
    ip link set "$1" up
}
bond lag e2e-host 1
ip -n e2e-host addr add 10.10.10.50/24 dev far
ip -n e2e-host route add default via 10.10.10.1
bond uplink e2e-line 2
line=far
[ "$mode" != 802.3ad ] || {
    line=line
    ip -n e2e-line link add line address 52:54:00:0f:03:00 type bridge
    ip -n e2e-line link set far master line
    ip -n e2e-line link set line up
}
ip link set wan netns e2e-line
ip -n e2e-line link set wan master $line up
'

# bonded MODE: puts `lag` into the bridge, and `uplink` between the PPPoE session and the cable.
bonded() {
    gw 'modprobe -q bonding max_bonds=0 && command -v curl >/dev/null' ||
        skip "this gateway has no module bonding or no curl"
    at_the_end bonds_off
    gw "mode=$1; $BONDS"
    edit_config network "s/option ifname 'wan'/option ifname 'uplink'/" \
        "/list ports 'lan3'\$/a\\	list ports 'lag'" "/list ports 'lan3:u/a\\	list ports 'lag:u*'"
    soon 30 wan_is_up
    soon 20 links_are_used "$1"
    soon 10 host ping -c 1 -W 1 "$ISP_4"
}
# Kills processes first: they would keep their namespace and its links.
bonds_off() {
    gw 'ip netns pids e2e-host | xargs -r kill
        ip -n e2e-line link set wan nomaster netns 1
        for link in uplink uplink1 uplink2 lag lag1 lag2; do ip link delete $link; done
        ip netns delete e2e-line; ip netns delete e2e-host' || true
}

host() { gw ip netns exec e2e-host "$@"; }

# links_are_used MODE: succeeds if both links of both bonds can carry packets.
links_are_used() {
    local file=mii_status wanted="up up up up up up" states
    [ "$1" = active-backup ] || file=ad_num_ports wanted="2 2"
    states=$(gw "cd /sys/class/net && cat lag*/*/$file uplink*/*/$file")
    [ "$(xargs <<<"$states")" = "$wanted" ] || { echo "$states"; return 1; }
}

# host_has PORT: prints the bytes that the host has received.
host_has() {
    host ss -tin "sport = :$1" | grep -o 'bytes_received:[0-9]*' | cut -d : -f 2
}
host_receives() {
    local now
    now=$(host_has "$1")
    [ "${now:-0}" -gt "$2" ] || { echo "${now:-the connection has ended}"; return 1; }
}

seen_in_forward() { gw nft list counter inet e2e seen | sed -n 's/.*packets \([0-9]*\).*/\1/p'; }

# stays_fast ENGINE PORT: waits for the flow on that path, and fails if its next packets pass the
# stack. Each change of a carrier flushes the kernel's cached routes, and with them flows.
stays_fast() {
    local before
    soon 10 on_path "$1" --proto tcp --text "$2"
    until_still 10 seen_in_forward
    before=$(seen_in_forward)
    soon 10 host_receives "$2" "$(($(host_has "$2") + 200000))"
    between "packets on the slow path meanwhile" "$(($(seen_in_forward) - before))" 0 2
}

link_says() { says ".links[] | select(.name == \"$1\") | $2" topology; }

# @each 802.3ad | flowtable
# @each active-backup | flowtable
# @each 802.3ad | ebpf
test_a_flow_over_bonds_survives_failover_on_the_fast_path() {
    local port link
    bonded "$1"
    use "$2"
    port=$(fresh_port)
    gw "nft -f - <<END
table inet e2e {
    counter seen { }
    chain forward {
        type filter hook forward priority filter + 30
        tcp sport $port counter name seen
        tcp dport $port counter name seen
    }
}
END"
    gw "ip netns exec e2e-host setsid curl -sS -o /dev/null --limit-rate 400k --local-port $port \
        http://$ISP_4/256.bin >/run/e2e/host.log 2>&1 </dev/null &"
    soon 10 on_path "$2" --proto tcp --text "$port"
    same "port of the host" \
        "$(said '.hosts[] | select(.address == "10.10.10.50") | .port' topology)" lag
    link_says lag1 '.cause.code == "member" and .cause.params.master == "lag"' ||
        fail "the reason of a member is not shown"
    same "port of the WAN" "$(said '.wan[0].port' status)" uplink
    stays_fast "$2" "$port"
    for link in 1 2; do
        gw "ip -n e2e-host link set far$link down; ip -n e2e-line link set far$link down"
        soon 5 link_says "lag$link" '.carrier | not'
        soon 5 link_says "uplink$link" '.carrier | not'
        wan_says '.carrier and .up' || fail "the WAN is reported without link"
        stays_fast "$2" "$port"
        gw "ip -n e2e-host link set far$link up; ip -n e2e-line link set far$link up"
        soon 20 links_are_used "$1"
        stays_fast "$2" "$port"
    done
    same "devices on the fast path" \
        "$(said '.engine.devices - ["mgmt"] | sort | join(" ")' status)" "lag lan1 lan2 lan3 uplink"
}
