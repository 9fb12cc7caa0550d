# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Connections protected by IPsec, over a WAN without VLAN and PPPoE, so that the route's device is
# the port. They stay on the slow path; no engine forwards their tuple in plain text.
# @each flowtable ebpf

HOME_6=2001:db8:10::10
SITE_6=2001:db8:98::2
GW_END=192.0.2.9
SITE_END=192.0.2.1

has_addresses() {
    local host=$1 device=$2 address
    shift 2
    for address; do
        case $host in
            gw) gw ip addr replace "$address" dev "$device" nodad ;;
            *) peers ip -n "$host" addr replace "$address" dev "$device" nodad ;;
        esac
    done
}

site_up() {
    has_addresses gw wan $GW_END/24 2001:db8:fe::1/64
    has_addresses isp access 2001:db8:fe::2/64
    has_addresses isp lo $SITE_6/128
    gw ip -6 route replace 2001:db8:98::/64 via 2001:db8:fe::2 dev wan
    peers ip -n isp -6 route replace $HOME_6/128 via 2001:db8:fe::1 dev access mtu 1280
    gw 'nft insert rule inet fw4 forward oifname wan accept comment \"e2e\"
        nft insert rule inet fw4 forward iifname wan ip6 saddr 2001:db8:98::/64 accept \
            comment \"e2e\"
        nft insert rule inet fw4 input iifname wan accept comment \"e2e\"'
    soon 10 peers ip netns exec h10 ping -c 1 -W 1 $SITE_6
}
# shellcheck disable=SC2016 # expanded on the gateway
site_down() {
    both_ends 'xfrm policy flush' 'xfrm state flush'
    gw 'for chain in forward input; do
            nft -a list chain inet fw4 $chain | sed -n "s/.*comment \"e2e\" # handle //p" |
                while read -r handle; do nft delete rule inet fw4 $chain handle "$handle"; done
        done
        ip -6 route del 2001:db8:98::/64
        ip addr del '$GW_END'/24 dev wan; ip addr del 2001:db8:fe::1/64 dev wan'
    peers "ip -n isp -6 route del $HOME_6/128; ip -n isp addr del $SITE_6/128 dev lo
        ip -n isp addr del 2001:db8:fe::2/64 dev access
        for host in h10 isp; do ip netns exec \$host nft delete table inet e2e; done"
} 2>/dev/null

both_ends() {
    printf '%s\n' "$@" | gw ip -force -b -
    printf '%s\n' "$@" | peers ip -n isp -force -b -
}

OUT="tmpl src $GW_END dst $SITE_END proto esp reqid 1 mode tunnel"
BACK_IN="tmpl src $SITE_END dst $GW_END proto esp reqid 2 mode tunnel"
NETS_OUT="src 2001:db8:10::/64 dst 2001:db8:98::/64"
NETS_IN="src 2001:db8:98::/64 dst 2001:db8:10::/64"

protect_sites() {
    local keys
    # No cipher, because the user-mode kernel lacks them; only the policy matters.
    printf -v keys 'mode tunnel flag af-unspec auth hmac(sha256) 0x%064d enc %s ""' 7 \
        'ecb(cipher_null)'
    gw 'modprobe -a xfrm_user esp4 authenc hmac crypto_null'
    both_ends \
        "xfrm state add src $GW_END dst $SITE_END proto esp spi 0x1001 reqid 1 $keys" \
        "xfrm state add src $SITE_END dst $GW_END proto esp spi 0x1002 reqid 2 $keys"
    printf '%s\n' "xfrm policy add $NETS_OUT dir in $OUT" "xfrm policy add $NETS_OUT dir fwd $OUT" |
        peers ip -n isp -b -
    printf '%s\n' "xfrm policy add $NETS_OUT dir out $OUT" | gw ip -b -
    [ "$1" = both ] || return 0
    printf '%s\n' "xfrm policy add $NETS_IN dir out $BACK_IN" | peers ip -n isp -b -
    printf '%s\n' "xfrm policy add $NETS_IN dir in $BACK_IN" \
        "xfrm policy add $NETS_IN dir fwd $BACK_IN" | gw ip -b -
}

# watch_plain PORT: counts the connection's packets that reach the site in plain text or encrypted,
# and plain-text frames that reach h10.
watch_plain() {
    printf '%s\n' 'table inet e2e' 'delete table inet e2e' 'table inet e2e {' \
        'counter plain { }' 'counter hidden { }' 'chain input {' \
        'type filter hook input priority -500' \
        "ip6 saddr $HOME_6 tcp sport $1 meta ipsec missing counter name plain" \
        "ip6 saddr $HOME_6 tcp sport $1 meta ipsec exists counter name hidden" '}' '}' |
        peers ip netns exec isp nft -f -
    printf '%s\n' 'table inet e2e' 'delete table inet e2e' 'table inet e2e {' 'counter raw { }' \
        'chain input {' 'type filter hook input priority -500' \
        "ip6 saddr $SITE_6 tcp dport $1 meta length 222 counter name raw" '}' '}' |
        peers ip netns exec h10 nft -f -
}
seen() {
    peers ip netns exec "$1" nft list counter inet e2e "$2" |
        sed -n 's/.*packets \([0-9]*\).*/\1/p'
}
more_seen() { [ "$(seen "$1" "$2")" -gt "$3" ]; }

# injected PORT: sends ten plain-text frames with the connection's tuple from the ISP and sets RAW
# to the number that reached h10.
injected() {
    local one before
    before=$(seen h10 raw)
    one=${MAC[wan]}${MAC[isp]}86dd$(packet tcp $SITE_6 80 $HOME_6 "$1" 222)
    for ((n = 0; n < 10; n++)); do printf '%s\n' "$one"; done | bytes |
        peers "cat >/tmp/e2e/odd; ip netns exec isp socat -u -b $((${#one} / 2)) \
            FILE:/tmp/e2e/odd INTERFACE:access"
    until_still 3 seen h10 raw
    RAW=$(($(seen h10 raw) - before))
}

# nothing_in_plain PORT: fails if, during a transfer, plain text leaves or injected frames arrive.
nothing_in_plain() {
    local plain
    plain=$(seen isp plain)
    goes_on "$1"
    injected "$1"
    same "packets in plain text that arrived at the host" "$RAW" 0
    never 2 more_seen isp plain "$plain"
    goes_on "$1"
    [ "$(seen isp hidden)" -gt 0 ] || fail "nothing was encrypted"
}

from_the_start() {
    PORT=$(fresh_port)
    trap site_down EXIT
    knows_macs
    engine_at "${1/ebpf/tcx}"
    site_up
    protect_sites "$2"
    watch_plain "$PORT"
    download h10 "$PORT" $SITE_6
    soon 15 on_path slow/ipsec --proto tcp --text "$PORT"
}

test_a_protected_flow_is_not_offloaded() {
    from_the_start "$1" both
    nothing_in_plain "$PORT"
    on_path slow/ipsec --proto tcp --text "$PORT" || fail "it is not slow any more"
    ! offloaded "$PORT" || fail "the kernel has offloaded it"
    same "packets in plain text that reached the site" "$(seen isp plain)" 0
}

# Only outgoing packets are protected; plain-text answers must not offload the flow.
test_a_flow_protected_in_one_direction_is_not_offloaded() {
    from_the_start "$1" out
    goes_on "$PORT"
    same "packets in plain text that reached the site" "$(seen isp plain)" 0
}

test_a_new_policy_ends_the_offload_of_a_flow() {
    local port
    port=$(fresh_port)
    trap site_down EXIT
    knows_macs
    engine_at "${1/ebpf/tcx}"
    site_up
    watch_plain "$port"
    download h10 "$port" $SITE_6
    soon 15 on_path "$1" --proto tcp --text "$port"
    injected "$port"
    same "frames that an engine forwards without a policy" "$RAW" 10
    protect_sites both
    soon 10 on_path slow/ipsec --proto tcp --text "$port"
    nothing_in_plain "$port"
    both_ends 'xfrm policy flush'
    soon 60 on_path "$1" --proto tcp --text "$port"
}
