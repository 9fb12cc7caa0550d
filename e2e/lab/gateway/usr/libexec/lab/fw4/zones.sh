# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # config_get assigns by name
# Zones: their devices and their chains.

# The devices of each interface come from the network's configuration: L3_<interface>.
l3_device() {
    config_get proto "$1" proto
    config_get device "$1" device
    # netifd names the device of a tunnel as its interface.
    case $proto in pppoe) device=pppoe-$1 ;; wireguard) device=$1 ;; esac
    case $device in @*) eval "device=\${L3_${device#@}-}" ;; esac
    eval "L3_$1=\$device"
}

# zone_devices SECTION: sets `quoted`; empty for a zone whose interfaces have no device.
zone_devices() {
    config_get network "$1" network
    devices=
    for interface in $network; do
        eval "device=\${L3_$interface-}"
        case " $devices " in *" $device "*) ;; *) devices="${devices:+$devices }$device" ;; esac
    done
    quoted=
    for device in $devices; do quoted="$quoted${quoted:+, }\"$device\""; done
    case $devices in *" "*) quoted="{ $quoted }" ;; esac
}

# zone_jump SECTION HOOK DIRECTION: from a base chain into the zone's own.
zone_jump() {
    config_get zone "$1" name
    zone_devices "$1"
    [ -z "$quoted" ] ||
        echo "    $3 $quoted jump $2_$zone comment \"!fw4: Handle $zone $2 traffic\""
}

# verdict_chain FROM|TO DIRECTION VERDICT STATEMENT: empty for a zone without devices.
verdict_chain() {
    statement=
    [ -z "$devices" ] || statement="$2 $devices counter $4;"
    echo "  chain $3_$1_$zone { $statement }"
}

# Written out for every zone, so that rules may name any target.
zone_chains() {
    config_get zone "$1" name
    zone_devices "$1"
    devices=$quoted
    for hook in input forward output; do
        echo "  chain ${hook}_$zone {"
        config_foreach rule rule "$zone" $hook
        if [ $hook = forward ]; then
            config_foreach forwarding forwarding "$zone"
            # As fw4: only where the zone has a port forward.
            [ -z "$(config_foreach redirect redirect "$zone")" ] ||
                echo "    ct status dnat accept comment \"!fw4: Accept port forwards\""
        fi
        config_get policy "$1" "$hook" "$(policy_of $hook)"
        lower "$policy"
        if [ $hook = input ]; then
            echo "    jump ${verdict}_from_$zone"
        else
            echo "    jump ${verdict}_to_$zone"
        fi
        echo "  }"
    done
    for side in "from iifname" "to oifname"; do
        verdict_chain "${side% *}" "${side#* }" accept accept
        verdict_chain "${side% *}" "${side#* }" reject "jump handle_reject"
        verdict_chain "${side% *}" "${side#* }" drop drop
    done
}

zone_masquerade() {
    config_get_bool masq "$1" masq 0
    [ "$masq" = 1 ] || return 0
    zone_devices "$1"
    [ -z "$quoted" ] || echo "    oifname $quoted meta nfproto ipv4 masquerade" \
        "comment \"!fw4: Masquerade IPv4 traffic\""
}

zone_mss() {
    config_get_bool fix "$1" mtu_fix 0
    zone_devices "$1"
    [ "$fix" = 1 ] && [ -n "$quoted" ] || return 0
    for side in iifname oifname; do
        echo "    $side $quoted tcp flags syn / fin,syn,rst tcp option maxseg size set rt mtu"
    done
}

# policy_of HOOK: the default of zones and base chains.
policy_of() { eval "printf %s \"\$policy_$1\""; }

default_policies() {
    config_get policy_input "$1" input REJECT
    config_get policy_output "$1" output REJECT
    config_get policy_forward "$1" forward REJECT
}

base_chain() {
    lower "$(policy_of "$1")"
    echo "  chain $1 {"
    if [ "$verdict" = accept ]; then policy=accept; else policy=drop; fi
    echo "    type filter hook $1 priority filter; policy $policy;"
    [ "$1" != forward ] || offload_rule
    [ "$1" = forward ] || echo "    $2 lo accept comment \"!fw4: Accept local traffic\""
    echo "    ct state vmap { established : accept, related : accept }"
    [ "$1" != input ] ||
        echo "    icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert } accept"
    config_foreach zone_jump zone "$1" "$2"
    [ "$verdict" != reject ] || echo "    jump handle_reject"
    echo "  }"
}
