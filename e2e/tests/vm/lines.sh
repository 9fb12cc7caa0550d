# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two WANs with mwan3's routing rules and connection marks: the flows of each WAN are offloaded, and
# those of a WAN that fails leave the fast path.
# @long

# shellcheck source=e2e/tests/vm/lib/policy.sh
. "$VM/lib/policy.sh"

# mwan3 numbers its interfaces: mark and mask, table, and preference of the rules.
MASK=0x3f00
declare -A MARK=([$FIRST]=0x100 [$SECOND]=0x200) NUMBER=([$FIRST]=1 [$SECOND]=2)
declare -A DEVICE=([$FIRST]=pppoe-wan [$SECOND]=br-lan.20)

# line_up first|second: adds table and rules of mwan3_create_iface_rules.
line_up() {
    local id=${NUMBER[$1]} mark=${MARK[$1]} route="dev pppoe-wan"
    [ "$1" = "$FIRST" ] || route="via $H20_4"
    gw "ip route replace default $route table $id
        ip route replace 10.10.10.0/24 dev br-lan.10 table $id
        ip rule add pref 100$id iif ${DEVICE[$1]} lookup $id
        ip rule add pref 200$id fwmark $mark/$MASK lookup $id
        ip rule add pref 300$id fwmark $mark/$MASK unreachable"
}

# line_down first|second: as mwan3_delete_iface_rules and mwan3_delete_iface_route.
line_down() {
    local id=${NUMBER[$1]}
    gw "for pref in 100$id 200$id 300$id; do ip rule del pref \$pref; done
        ip route flush table $id" 2>/dev/null
}

# policy first|second: marks new connections with this line's mark, and restores marks on packets.
policy() {
    gw nft -f - <<END
table inet e2e
delete table inet e2e
table inet e2e {
    chain prerouting {
        type filter hook prerouting priority mangle
        iifname "br-lan.10" ip daddr $BOTH_4 ct state new ct mark set ${MARK[$1]}
        ct mark & $MASK != 0 meta mark set ct mark & $MASK
    }
    chain srcnat {
        type nat hook postrouting priority srcnat
        oifname "br-lan.20" ip saddr 10.10.10.0/24 ip daddr $BOTH_4 masquerade
    }
}
END
}

lines_back() {
    gw nft destroy table inet e2e
    line_down "$FIRST" || true
    line_down "$SECOND" || true
    servers_back
    gw ubus call network.interface.wan up
    soon 60 wan_is_up
}

# carried first|second ENGINE PORT: fails unless the connection is offloaded over this line.
carried() {
    local before
    soon 20 on_path "$2" --proto tcp --text "$3"
    same "outgoing device" "$(field out_dev "$(newest --proto tcp --text "$3")")" "${DEVICE[$1]}"
    before=$(counted "$1")
    soon 20 more_counted "$1" "$before"
}

# @each flowtable ebpf
test_flows_follow_mwan3_in_both_directions() {
    local engine=$1 old moved back
    trap lines_back EXIT
    servers
    line_up "$FIRST"
    line_up "$SECOND"
    policy "$FIRST"
    engine_at "${engine/ebpf/tcx}"
    old=$(fresh_port)
    download h10 "$old" "$BOTH_4" 300k
    carried "$FIRST" "$engine" "$old"

    # The tracker finds that the first line does not work: only new connections use the second.
    policy "$SECOND"
    moved=$(fresh_port)
    download h10 "$moved" "$BOTH_4" 300k
    carried "$SECOND" "$engine" "$moved"
    carried "$FIRST" "$engine" "$old"

    gw ubus call network.interface.wan down
    line_down "$FIRST"
    until_still 20 counted "$FIRST"
    carried "$SECOND" "$engine" "$moved"

    gw ubus call network.interface.wan up
    soon 60 wan_is_up
    line_up "$FIRST"
    policy "$FIRST"
    back=$(fresh_port)
    download h10 "$back" "$BOTH_4" 300k
    carried "$FIRST" "$engine" "$back"
    carried "$SECOND" "$engine" "$moved"

    line_down "$SECOND"
    until_still 20 counted "$SECOND"
    carried "$FIRST" "$engine" "$back"
}
