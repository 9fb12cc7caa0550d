# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # the tests use the names
# A tunnel of any kind to a site behind the ISP. Its outer packets use the PPPoE session.

SITE=site0
NEAR_4=10.98.0.1
FAR_4=10.98.0.2
NEAR_6=2001:db8:98::1
FAR_6=2001:db8:98::2
OUTER_6=2001:db8:ffff::2
ECHO_PORT=7300

# carries KIND: prints the IP versions inside the tunnel. `ip6tnl` is IPv4 in IPv6, as for DS-Lite
# and MAP-E.
carries() {
    case $1 in
        ipip | ip6tnl) echo 4 ;;
        sit) echo 6 ;;
        *) echo 4 6 ;;
    esac
}
outer_version() { case $1 in ip6*) echo 6 ;; *) echo 4 ;; esac }
# path_with ENGINE: prints the path of flows through the tunnel.
path_with() {
    case $1-$KIND in
        off-*) echo slow/engine-off ;;
        *-xfrm) echo slow/ipsec ;;
        *-vxlan | *-gre-csum | ebpf-*) echo slow/tunnel ;;
        *) echo "$1" ;;
    esac
}
has_frames() { [[ $1 == *tap || $1 == vxlan ]]; }

# created KIND LOCAL REMOTE: prints commands of ip that create the device.
created() {
    local options=
    case $1 in
        wireguard) echo "link add $SITE type wireguard" && return ;;
        xfrm) encrypted "$2" "$3" && return ;;
        ip6tnl) options="mode ipip6 encaplimit none" ;;
        ip6gre*) options="encaplimit none" ;;
        vxlan) options="id 98 dstport 4789" ;;
        gre-csum) options=csum ;;
    esac
    echo "link add $SITE type ${1%-csum} $options local $2 remote $3"
}

# encrypted LOCAL REMOTE: prints commands of ip that create an xfrm interface with its states and
# policies.
encrypted() {
    local end path keys
    keys="aead 'rfc4106(gcm(aes))' 0x$(printf %040d 98) 128"
    echo "link add $SITE type xfrm if_id 98"
    for path in "src $1 dst $2" "src $2 dst $1"; do
        echo "xfrm state add $path proto esp spi 0x98 reqid 98 if_id 98 mode tunnel \
            flag af-unspec $keys"
    done
    for end in 0.0.0.0/0 ::/0; do
        echo "xfrm policy add src $end dst $end dir out if_id 98 \
            tmpl src $1 dst $2 proto esp reqid 98 mode tunnel"
        for path in in fwd; do
            echo "xfrm policy add src $end dst $end dir $path if_id 98 \
                tmpl src $2 dst $1 proto esp reqid 98 mode tunnel"
        done
    done
}

# addressed VERSIONS ADDRESS_4 ADDRESS_6: prints commands that start the device.
addressed() {
    echo "link set $SITE up"
    [[ $1 != *4* ]] || echo "addr add $2/24 dev $SITE"
    [[ $1 != *6* ]] || echo "addr add $3/64 dev $SITE nodad"
}

# gateway_end KIND: prints the shell commands that create the gateway's end.
gateway_end() {
    local near far=203.0.113.1 options=
    near=$(wan_address)
    [ "$(outer_version "$1")" = 4 ] || near=$OUTER_6 far=$ISP_6
    # The values of dslite.sh and map.sh in netifd (v25.12.5).
    [ "$1" != ip6tnl ] || options=" ttl 64 dev pppoe-wan"$'\n'"link set $SITE mtu 1280"
    printf "ip -b - <<'END'\n%s%s\nEND\n" "$(created "$1" "$near" "$far")" "$options"
    [ "$1" != wireguard ] ||
        echo "wg set $SITE listen-port 51820 private-key /run/e2e/home.key peer $SITE_KEY \
            endpoint 203.0.113.1:51820 allowed-ips 0.0.0.0/0,::/0"
    printf "ip -b - <<'END'\n%s\nEND\n" "$(addressed "$(carries "$1")" $NEAR_4 $NEAR_6)"
}

# site_end KIND: creates the ISP's end, with routes to h10 and an echo server.
site_end() {
    local far near=203.0.113.1 version end back
    far=$(wan_address)
    [ "$(outer_version "$1")" = 4 ] || near=$ISP_6 far=$OUTER_6
    created "$1" "$near" "$far" | peers ip -n isp -b -
    [ "$1" != wireguard ] ||
        peers "ip netns exec isp wg set $SITE listen-port 51820 private-key /tmp/e2e/site.key \
            peer $HOME_KEY allowed-ips 0.0.0.0/0,::/0"
    addressed "$(carries "$1")" $FAR_4 $FAR_6 | peers ip -n isp -b -
    for version in $(carries "$1"); do
        end=H10_$version back=NEAR_$version
        back="via ${!back}"
        has_frames "$1" || back=
        echo "route replace ${!end} $back dev $SITE"
    done | peers ip -n isp -b -
    begin isp echo "exec /lab/echo $ECHO_PORT"
}

# tunnel_on KIND [OPTION…]: sets up both ends and the zone vpn, with these options of UCI.
tunnel_on() {
    local version far
    KIND=$1
    shift
    at_the_end tunnel_off
    if [ "$KIND" = wireguard ]; then
        HOME_KEY=$(wireguard_key home)
        SITE_KEY=$(wireguard_key site)
        peers cat /tmp/e2e/home.key | gw 'cat >/run/e2e/home.key'
    fi
    add_config firewall <<<"
config zone
	option name 'vpn'
	list device '$SITE'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'REJECT'
$([ $# = 0 ] || printf "\toption %s\n" "$@")

config forwarding
	option src 'lan'
	option dest 'vpn'

config forwarding
	option src 'vpn'
	option dest 'lan'

config rule
	option name 'tunnels'
	option src 'wan'
	option proto 'udp'
	option dest_port '4789 51820'
	option target 'ACCEPT'"
    [ "$KIND" != xfrm ] ||
        gw 'modprobe -a xfrm_user xfrm_interface esp4 gcm ghash-generic ctr seqiv'
    site_end "$KIND"
    gw "$(gateway_end "$KIND")"
    for version in $(carries "$KIND"); do
        far=FAR_$version
        soon 20 h10 ping -c 1 -W 1 "${!far}"
    done
}
tunnel_off() {
    gw "ip link delete $SITE; ip xfrm policy flush; ip xfrm state flush" 2>/dev/null || true
    peers "ip -n isp link delete $SITE; ip -n isp xfrm policy flush; ip -n isp xfrm state flush
        rm -f /tmp/e2e/*.key" 2>/dev/null || true
}

listed() { gw "nft list flowtables | grep -qw $SITE"; }

# count_forwarded: counts packets of the flows of inner_rounds in the forward chain.
count_forwarded() {
    local version
    {
        echo "table inet e2e {"
        for version in 4 6; do printf 'counter %s { }\n' "up$version" "down$version"; done
        printf '%s\n' "chain forward {" "type filter hook forward priority raw"
        for version in 4 6; do
            echo "udp sport $((FIRST_PORT + version)) counter name up$version"
            echo "udp dport $((FIRST_PORT + version)) counter name down$version"
        done
        printf '}\n}\n'
    } | gw nft -f -
}
forwarded() { gw nft list counter inet e2e "$1" | sed -n 's/.*packets \([0-9]*\).*/\1/p'; }
all_forwarded() {
    gw nft list table inet e2e | sed -n 's/.*packets \([0-9]*\).*/\1/p' | xargs
}

# inner_rounds NUMBER: starts `rounds` with a flow for each IP version of the tunnel; the version is
# its id.
inner_rounds() {
    local version end far flows=
    FIRST_PORT=$(fresh_port)
    for version in $(carries "$KIND"); do
        end=H10_$version far=FAR_$version
        flows+=" $version/${!end}/$((FIRST_PORT + version))/${!far}/$ECHO_PORT"
    done
    count_forwarded
    peers rm -f /tmp/e2e/go /tmp/e2e/enough /tmp/e2e/rounds.done
    begin h10 rounds "/tmp/e2e/rounds $1$flows"
}

# inner_flow VERSION: prints the flow of this IP version.
inner_flow() { newest --proto udp --text "$((FIRST_PORT + $1))"; }
inner_on_path() { on_path "$1" --proto udp --text "$((FIRST_PORT + $2))"; }
inner_on() {
    local version
    for version in $(carries "$KIND"); do soon 15 inner_on_path "$1" "$version"; done
}
