# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # config_get assigns by name
# Port forwards. A host of the inside cannot reach one by the outer address (no reflection).

# redirect SECTION ZONE
redirect() {
    ! disabled "$1" && ! is_left_out "$1" || return 0
    config_get src "$1" src
    config_get target "$1" target DNAT
    [ "$src" = "$2" ] && [ "$target" = DNAT ] || return 0
    config_get name "$1" name
    config_get to "$1" dest_ip
    config_get port "$1" dest_port
    conditions "$1"
    case $match in *nfproto*) ;; *) match="meta nfproto ipv4 $match" ;; esac
    config_get value "$1" src_dip
    located daddr "$value"
    config_get value "$1" src_dport
    matched dport "$value"
    # Without a host fw4 redirects to the gateway itself, by default to the same port.
    statement="dnat ip to $to"
    [ -n "$to" ] || statement="redirect to "
    [ -n "$to" ] || [ -n "$port" ] || port=$value
    echo "    ${match}counter $statement${port:+:$port} comment \"!fw4: $name\""
}

redirect_zone() {
    config_get zone "$1" name
    redirects=$(config_foreach redirect redirect "$zone")
    zone_devices "$1"
    [ -n "$redirects" ] && [ -n "$quoted" ] || return 0
    zones_with_redirects="$zones_with_redirects $1"
    echo "  chain dstnat_$zone {"
    echo "$redirects"
    echo "  }"
}

redirect_chains() {
    zones_with_redirects=
    config_foreach redirect_zone zone
    echo "  chain dstnat {"
    echo "    type nat hook prerouting priority dstnat; policy accept;"
    for section in $zones_with_redirects; do zone_jump "$section" dstnat iifname; done
    echo "  }"
}
