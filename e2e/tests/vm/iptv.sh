# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# IPTV: VLAN 40 of the line bridged to lan3, as the page configures it. The fast path leaves its
# frames alone, and flows of the PPPoE session on VLAN 35 stay offloaded.

# shellcheck source=e2e/tests/vm/lib/iptv.sh
. "$VM/lib/iptv.sh"

bridge_television() {
    edit_config network "/list ports 'lan3/d"
    add_config network <<<"
config device
	option name 'br-iptv'
	option type 'bridge'
	list ports 'wan.40'
	list ports 'lan3'
	option igmp_snooping '1'
	option multicast_querier '0'

config bridge-vlan
	option device 'br-iptv'
	option vlan '40'
	list ports 'wan.40:u*'
	list ports 'lan3:u*'

config interface 'iptv'
	option device 'br-iptv.40'
	option proto 'none'"
}

# no_flow ADDRESS: fails if the daemon or conntrack has a flow of this address.
no_flow() {
    same "flows of $1" "$(flows --text "$1" | wc -l)" 0
    ! gw "conntrack -L 2>/dev/null | grep -F $1" || fail "conntrack has a connection of $1"
}

# @each flowtable @core
# @each ebpf @long
test_television_stays_in_its_bridge() {
    local engine=$1 port before taken=0
    trap 'television_off; configuration_back' EXIT
    engine_at "${engine/ebpf/tcx}"
    bridge_television
    television
    soon 20 receives h11 20000
    soon 5 reported
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 300k
    soon 20 on_path "$engine" --proto tcp --text "$port"
    # Unicast in VLAN 40, as for video on demand.
    peers ip netns exec h11 ping -q -c 3 -i 0.2 -W 2 $SERVER
    [ "$engine" != ebpf ] || taken=$(exits forwarded)
    before=$(received_by h11)
    soon 20 receives h11 $((before + 20000))
    on_path "$engine" --proto tcp --text "$port" || fail "the download has left the fast path"
    [ "$engine" != ebpf ] || soon 5 exits_reach forwarded $((taken + 20))
    same "bytes of the group at another port" "$(received_by h10)" 0
    no_flow $GROUP
    no_flow $SERVER
    # The bridge has no address: the router neither answers nor routes there.
    ! peers ip netns exec h11 ping -q -c 1 -W 1 10.10.10.1 || fail "the box reaches the router"
    configuration_back
    soon 20 h11 ping -c 1 -W 1 10.10.10.1
    until_still 5 received_by h11
}
