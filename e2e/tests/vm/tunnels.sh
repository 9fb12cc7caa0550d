# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Flows of h10 through a tunnel to a site behind the ISP. h10 is behind the VLAN-aware bridge; the
# outer packets use the PPPoE session on VLAN 35.
# @each wireguard gre gretap ipip sit ip6tnl ip6gre ip6gretap

# shellcheck source=e2e/tests/vm/lib/wireguard.sh
. "$VM/lib/wireguard.sh"
# shellcheck source=e2e/tests/vm/lib/captures.sh
. "$VM/lib/captures.sh"
# shellcheck source=e2e/tests/vm/lib/frames.sh
. "$VM/lib/frames.sh"
# shellcheck source=e2e/tests/vm/lib/tunnels.sh
. "$VM/lib/tunnels.sh"

# Packets per direction that may pass the forward chain while the flow is offloaded.
MOST_FORWARDED=2
tunnel_row() { said ".links[] | select(.name == \"$SITE\") | $1" topology; }

# adds_up VERSION: fails unless conntrack, the page and the hosts agree on the flow's bytes.
adds_up() {
    local sent back bytes port=$((FIRST_PORT + $1)) size=$((128 + 20 * ($1 == 6)))
    read -r sent back < <(peers cat /tmp/e2e/rounds.log | sed -n "s/^$1 //p")
    same "datagrams that came back" "$back" "$sent"
    bytes="$((sent * size)) $((sent * size))"
    same "bytes that conntrack counted" "$(conntrack_bytes "$port")" "$bytes"
    soon 5 page_says "$1" "$bytes"
}
page_says() {
    [ "$(inner_flow "$1" | jq -r '"\(.up_bytes) \(.down_bytes)"')" = "$2" ] ||
        {
            inner_flow "$1"
            return 1
        }
}

# @each wireguard | 2000 @core
# @each wireguard gre gretap ipip sit ip6tnl ip6gre ip6gretap | 10000
test_flows_through_a_tunnel_bypass_the_forward_chain() {
    local version way before after
    tunnel_on "$1"
    inner_rounds "$2"
    inner_on flowtable
    until_still 10 all_forwarded
    before=$(all_forwarded)
    peers touch /tmp/e2e/go
    soon 60 rounds_done
    after=$(all_forwarded)
    peers touch /tmp/e2e/enough
    soon 15 ended rounds
    note "$1, $2 datagrams: in the forward chain (up4 down4 up6 down6) $before, then $after"
    for way in 1 2 3 4; do
        between "packets in the forward chain" $(($(cut -d ' ' -f $way <<<"$after") - \
        $(cut -d ' ' -f $way <<<"$before"))) 0 $MOST_FORWARDED
    done
    for version in $(carries "$1"); do
        adds_up "$version"
        same "the page about IPv$version" "$(inner_flow "$version" |
            jq -r '[.path, .reason, .in_zone, .in_dev, .out_zone, .out_dev] | join(" ")')" \
            "flowtable  lan br-lan.10 vpn $SITE"
    done
    same "the row of topology" \
        "$(tunnel_row '[.kind, .lowest, .in_flowtable, .cause.code] | join(" ")')" \
        "$1 true true addressed"
}

# A flowtable would break checksums or skip the policies of IPsec (docs/design/offload.md).
# @each vxlan gre-csum xfrm
test_flows_through_other_tunnels_stay_slow() {
    tunnel_on "$1"
    inner_rounds 500
    inner_on "$(path_with flowtable)"
    peers touch /tmp/e2e/go
    soon 60 rounds_done
    peers touch /tmp/e2e/enough
    soon 15 ended rounds
    adds_up 4
    adds_up 6
    same "the row of topology" "$(tunnel_row '[.lowest, .in_flowtable, .cause.code] | join(" ")')" \
        "false false not-a-port"
}

# @each wireguard gre gretap ipip sit ip6tnl ip6gre ip6gretap xfrm
test_engine_ebpf_keeps_flows_through_a_tunnel_slow() {
    local row="true false tunnel"
    [ "$1" != xfrm ] || row="false false not-a-port"
    tunnel_on "$1"
    ebpf_at tcx
    inner_rounds 1
    inner_on "$(path_with ebpf)"
    same "the row of topology" "$(tunnel_row '[.lowest, .in_flowtable, .cause.code] | join(" ")')" \
        "$row"
    never 2 listed
}

# recreated TIMES: deletes and creates the gateway's device, and prints the milliseconds from its
# creation until it is in the flowtable. Every other time, the daemon has noticed the deletion.
# @sleep: the renewals that follow the last creation
recreated() {
    gw "for n in \$(seq $1); do
        sleep 2
        ip link delete $SITE
        [ \$((n % 2)) = 0 ] ||
            until ! fastpathctl --json status | grep -q '\"$SITE\"'; do :; done
        $(gateway_end "$KIND")
        from=\$(date +%s%3N)
        until nft list flowtables | grep -qw $SITE; do
            [ \$((\$(date +%s%3N) - from)) -lt 30000 ] || break
        done
        echo \$((\$(date +%s%3N) - from))
    done"
}

# MILLISECONDS is the limit until a device is listed; other tests may run beside core tests.
# @each gre | 3 | 5000 @core
# @each wireguard gre gretap ipip sit ip6tnl ip6gre ip6gretap | 20 | 1000
test_a_recreated_tunnel_is_in_the_flowtable_again() {
    local took slowest port=$(($(fresh_port) + 10)) host
    tunnel_on "$1"
    inner_rounds 100000000
    inner_on flowtable
    numbered h10 "$port" "$ISP_4"
    numbered h10 $((port + 1)) "$H20_4"
    soon 15 on_path flowtable --proto udp --text ":$port"
    peers touch /tmp/e2e/go
    soon 10 later "$port" 50
    took=$(recreated "$2")
    slowest=$(sort -n <<<"$took" | tail -n 1)
    note "$1: listed again after ms: $(xargs <<<"$took")"
    between "milliseconds until the device was listed" "$slowest" 0 "$(scaled_ms "$3")"
    inner_on flowtable
    later "$port" 50
    for host in "$port" $((port + 1)); do
        steady_ends "$host"
        # shellcheck disable=SC2153 # set by steady_ends
        same "datagrams of another flow that came back" "$BACK" "$SENT"
    done
}

# path_mtus ENGINE: prints the path MTU that h10 learns in each IP version.
path_mtus() {
    local version far
    use "$1"
    peers rm -f /tmp/e2e/large
    FIRST_PORT=$(fresh_port)
    for version in $(carries "$KIND"); do
        far=FAR_$version
        begin h10 "mtu$version" "/tmp/e2e/path-mtu ${!far} $ECHO_PORT" \
            $((FIRST_PORT + version))
    done
    inner_on "$(path_with "$1")" >&2
    peers touch /tmp/e2e/large
    for version in $(carries "$KIND"); do
        soon 15 ended_well "mtu$version" >&2
        peers cat "/tmp/e2e/mtu$version.log"
    done
    peers 'ip -n h10 route flush cache; ip -n h10 -6 route flush cache'
}

# @each wireguard gre gretap ipip sit ip6tnl ip6gre ip6gretap xfrm | plain
# @each wireguard gre gretap ipip | masq
test_large_packets_get_the_answer_of_the_slow_path() {
    local mtu slow options=()
    [ "$2" = plain ] || options=("masq '1'")
    tunnel_on "$1" "${options[@]}"
    # Includes an MTU that exceeds the session's.
    for mtu in $(gw cat "/sys/class/net/$SITE/mtu") 1500; do
        gw ip link set "$SITE" mtu "$mtu"
        slow=$(path_mtus off | xargs)
        same "path MTU on the fast path, of a device with $mtu" "$(path_mtus flowtable | xargs)" \
            "$slow"
        note "$1, MTU $mtu: path MTU $slow"
    done
}

# segments HOST SIZE PORT: counts SYN packets with this MSS that HOST receives.
segments() {
    printf '%s\n' 'table inet e2e' 'delete table inet e2e' 'table inet e2e {' 'counter fits { }' \
        'chain input {' 'type filter hook input priority -300' \
        "tcp flags & syn == syn th $3 tcp option maxseg size $2 counter name fits" '}' '}' |
        peers ip netns exec "$1" nft -f -
}

test_the_mss_fits_the_tunnel() {
    local version far mtu port size host
    tunnel_on "$1" "mtu_fix '1'"
    at_the_end "peers 'ip netns exec h10 nft delete table inet e2e
        ip netns exec isp nft delete table inet e2e'; tunnel_off"
    # Keep the site's end from limiting the MSS.
    peers ip -n isp link set "$SITE" mtu 1500
    mtu=$(gw cat /sys/class/net/$SITE/mtu)
    for version in $(carries "$1"); do
        far=FAR_$version
        port=$(fresh_port)
        size=$((mtu - 40 - 20 * (version == 6)))
        segments isp "$size" "sport $port"
        segments h10 "$size" "dport $port"
        download h10 "$port" "${!far}"
        soon 15 on_path flowtable --proto tcp --text "$port"
        for host in isp h10; do
            has "SYN with MSS $size at $host" \
                "$(peers ip netns exec $host nft list counter inet e2e fits)" "packets 1 "
        done
        note "$1, MTU $mtu: MSS $size over IPv$version"
    done
}

# by_device: counts the datagrams of inner_rounds that reach the ISP inside the tunnel and outside.
by_device() {
    local ports="{ $((FIRST_PORT + 4)), $((FIRST_PORT + 6)) }"
    printf '%s\n' 'table inet e2e' 'delete table inet e2e' 'table inet e2e {' \
        'counter inside { }' 'counter outside { }' 'chain prerouting {' \
        'type filter hook prerouting priority raw' \
        "iifname $SITE udp sport $ports counter name inside" \
        "iifname != $SITE udp sport $ports counter name outside" '}' '}' |
        peers ip netns exec isp nft -f -
}
arrived() {
    peers ip netns exec isp nft list counter inet e2e "$1" |
        sed -n 's/.*packets \([0-9]*\).*/\1/p'
}
more_arrived() {
    local now
    now=$(arrived "$1")
    [ "$now" -ge "$2" ] || {
        echo "$now"
        return 1
    }
}
passes() { soon 20 more_arrived "$1" $(($(arrived "$1") + 50)); }

watched_rounds() {
    at_the_end "peers ip netns exec isp nft delete table inet e2e; tunnel_off"
    use "$2"
    inner_rounds "$1"
    by_device
    inner_on "$(path_with "$2")"
}

device_back() {
    printf '%s\n' "link set $SITE up" "$(addressed "$(carries "$KIND")" $NEAR_4 $NEAR_6)" |
        gw ip -force -b - 2>/dev/null || true
}

# Without the device, the default route leads to the site, on the slow path as well.
# @each wireguard gre gretap ipip sit ip6tnl ip6gre ip6gretap xfrm | off flowtable
test_a_tunnel_that_goes_down_diverts_its_flows_at_once() {
    local outside sent
    tunnel_on "$1"
    watched_rounds 1 "$2"
    passes inside
    same "datagrams outside before" "$(arrived outside)" 0
    gw ip link set $SITE down
    passes outside
    device_back
    outside=$(arrived outside)
    passes inside
    between "datagrams outside after" $(($(arrived outside) - outside)) 0 1
    peers touch /tmp/e2e/go /tmp/e2e/enough
    soon 30 ended rounds
    sent=$(peers cat /tmp/e2e/rounds.log | awk '{ n += $2 } END { print n }')
    between "lost datagrams" $((sent - $(arrived inside) - $(arrived outside))) 0 2
    note "$1, engine $2: $sent sent, $(arrived inside) inside, $(arrived outside) outside"
}

# rekeyed: replaces the peer, which needs a new handshake.
rekeyed() {
    gw "wg set $SITE peer $SITE_KEY remove
        wg set $SITE peer $SITE_KEY endpoint 203.0.113.1:51820 allowed-ips 0.0.0.0/0,::/0"
}
moved() {
    peers "ip netns exec isp wg set $SITE listen-port 51821"
    # The gateway learns the new port from the site's packets.
    soon 20 isp ping -c 1 -W 1 $NEAR_4
}
flapped() {
    cable wan off
    passes_nothing inside
    cable wan on
    soon 60 wan_is_up
}
# lost state|policy: removes all of them for a while.
lost() {
    gw ip xfrm "$1" flush
    passes_nothing inside
    # ip ends at the first state or policy that exists.
    gw 'ip xfrm policy flush; ip xfrm state flush'
    encrypted "$(wan_address)" 203.0.113.1 | sed 1d | gw ip -b -
}
passes_nothing() { until_still 10 arrived "$1"; }

# Datagrams per test; each is echoed.
PLAIN_ROUNDS=50000

# @each wireguard gre gretap ipip sit ip6tnl ip6gre ip6gretap xfrm | off flowtable
test_nothing_leaves_in_plaintext() {
    local event events
    tunnel_on "$1"
    watched_rounds $((PLAIN_ROUNDS / $(carries "$1" | wc -w))) "$2"
    capture isp.access
    peers touch /tmp/e2e/go
    case $1 in
        wireguard) events=(rekeyed moved flapped) ;;
        xfrm) events=("lost state" "lost policy" flapped) ;;
        *) events=(flapped) ;;
    esac
    for event in "${events[@]}"; do
        passes inside
        # shellcheck disable=SC2086 # a function with its argument
        $event
    done
    soon 120 rounds_done
    peers touch /tmp/e2e/enough
    soon 30 ended rounds
    captured
    note "$1, engine $2: $(peers cat /tmp/e2e/rounds.log | xargs); $(arrived inside) inside," \
        "$(arrived outside) outside; outside captured: ${IN[isp.access]}"
    same "datagrams outside" "$(arrived outside)" 0
    same "plaintext in the capture" "$(sed '/^tunnel/d' <<<"${IN[isp.access]}")" ""
}

mismatches() { gw "sed -n 's/^XfrmInTmplMismatch[[:space:]]*//p' /proc/net/xfrm_stat"; }
ten_more_mismatches() { [ "$(mismatches)" = $(($1 + 10)) ]; }

# other_state: adds a second incoming state to the interface, which no policy allows, and a device
# site1 at the ISP that sends through it.
other_state() {
    local ends state keys
    ends="src 203.0.113.1 dst $(wan_address) proto esp"
    keys="aead 'rfc4106(gcm(aes))' 0x$(printf %040d 99) 128"
    state="xfrm state add $ends spi 0x99 reqid 99 mode tunnel flag af-unspec $keys"
    echo "$state if_id 98" | gw ip -b -
    printf '%s\n' "$state if_id 99" "link add site1 type xfrm if_id 99" "link set site1 up" \
        "xfrm policy add src 0.0.0.0/0 dst 0.0.0.0/0 dir out if_id 99 \
            tmpl $ends reqid 99 mode tunnel" | peers ip -n isp -b -
}

# A flowtable would forward these datagrams.
# @each off flowtable ebpf
test_another_state_of_an_xfrm_interface_cannot_send_into_a_flow() {
    local before one
    tunnel_on xfrm
    at_the_end "peers 'ip -n isp link delete site1; ip netns exec h10 nft delete table inet e2e'
        tunnel_off"
    [ "$1" = ebpf ] || use "$1"
    [ "$1" != ebpf ] || ebpf_at tcx
    inner_rounds 500
    inner_on "$(path_with "$1")"
    other_state
    printf '%s\n' 'table inet e2e {' 'counter large { }' 'chain input {' \
        'type filter hook input priority -500' \
        "udp dport $((FIRST_PORT + 4)) meta length 222 counter name large" '}' '}' |
        peers ip netns exec h10 nft -f -
    before=$(mismatches)
    one=$(packet udp $FAR_4 $ECHO_PORT "$H10_4" $((FIRST_PORT + 4)) 222)
    for _ in {1..10}; do printf '%s\n' "$one"; done | bytes |
        peers "cat >/tmp/e2e/odd
            ip netns exec isp socat -u -b 222 FILE:/tmp/e2e/odd INTERFACE:site1"
    soon 5 ten_more_mismatches "$before"
    has "datagrams of the other state at h10" \
        "$(peers ip netns exec h10 nft list counter inet e2e large)" "packets 0 "
    on_path "$(path_with "$1")" --proto udp --text "$((FIRST_PORT + 4))"
    peers touch /tmp/e2e/go
    soon 60 rounds_done
    peers touch /tmp/e2e/enough
    soon 15 ended rounds
}
