# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # config_get assigns by name
# Rules and forwardings of fw4's zone chains.

lower() { case $1 in ACCEPT) verdict=accept ;; DROP) verdict=drop ;; *) verdict=reject ;; esac; }

# set_of WORD…: one word as it is, several as a set.
set_of() {
    set_text=
    for set_word; do set_text="$set_text${set_text:+, }$set_word"; done
    [ $# -le 1 ] || set_text="{ $set_text }"
}

# protocol PROTOCOLS: sets `match`, and `ports` to the expressions that match a port.
protocol() {
    match=
    ports=
    case $1 in
        all | any | \* | "") ;;
        icmp) match="meta l4proto { icmp, icmpv6 } " ;;
        *)
            # shellcheck disable=SC2046,SC2086 # split on purpose
            set_of $(echo $1 | sed 's/tcpudp/tcp udp/')
            match="meta l4proto $set_text "
            ;;
    esac
    case $1 in tcp | udp) ports=$1 ;; *) ports=th ;; esac
}

# matched SIDE PORTS: adds ports to `match`.
matched() {
    [ -n "$2" ] || return 0
    # shellcheck disable=SC2046,SC2086 # split on purpose
    set_of $(echo $2 | tr : -)
    match="$match$ports $1 $set_text "
}

# located SIDE ADDRESSES: adds addresses to `match`; all of one family, that of the first.
located() {
    [ -n "$2" ] || return 0
    # shellcheck disable=SC2086 # split on purpose
    set_of $2
    case $2 in *:*) match="${match}ip6 $1 $set_text " ;; *) match="${match}ip $1 $set_text " ;; esac
}

# icmpv6_set TYPE…: sets `set_text` to pairs of type and code; a type of all codes has one for each.
icmpv6_set() {
    pairs=
    for type; do
        case $type in
            router-solicitation) of='nd-router-solicit:0' ;;
            neighbour-solicitation) of='nd-neighbor-solicit:0' ;;
            neighbour-advertisement) of='nd-neighbor-advert:0' ;;
            destination-unreachable) of='1:0 1:1 1:2 1:3 1:4 1:5 1:6' ;;
            packet-too-big) of='packet-too-big:0' ;;
            time-exceeded) of='time-exceeded:0 time-exceeded:1' ;;
            bad-header) of='parameter-problem:0' ;;
            unknown-header-type) of='parameter-problem:1' ;;
            *) echo "icmp_type '$type' is not known here" >&2; return 1 ;;
        esac
        for of in $of; do pairs="$pairs${pairs:+, }${of%:*} . ${of#*:}"; done
    done
    set_text="{ $pairs }"
}

# conditions SECTION: sets `match` from a rule's or redirect's options.
conditions() {
    config_get proto "$1" proto "tcp udp"
    config_get family "$1" family any
    config_get icmp "$1" icmp_type
    protocol "$proto"
    case $family in ipv4 | ipv6) match="meta nfproto $family $match" ;; esac
    [ "$proto:$icmp:$family" != icmp:echo-request:ipv4 ] || match="icmp type echo-request "
    # Of other combinations nothing here has any; a type that was ignored would let all of ICMP in.
    case $proto:$family:$icmp in
        icmp:ipv6:?*)
            # shellcheck disable=SC2086 # split on purpose
            icmpv6_set $icmp
            match="icmpv6 type . icmpv6 code $set_text "
            ;;
    esac
    config_get value "$1" limit
    [ -z "$value" ] || match="${match}limit rate ${value%sec}second "
    config_get value "$1" src_ip
    located saddr "$value"
    config_get value "$1" src_port
    matched sport "$value"
}

disabled() {
    config_get_bool enabled "$1" enabled 1
    [ "$enabled" = 0 ]
}

# rule SECTION ZONE HOOK: prints a rule for this chain. Without a source it matches the gateway's
# own packets.
rule() {
    ! disabled "$1" && ! is_left_out "$1" || return 0
    config_get src "$1" src
    config_get dest "$1" dest
    config_get name "$1" name
    config_get target "$1" target DROP
    [ "$src" = "$2" ] || [ "$src" = "*" ] || { [ -z "$src" ] && [ "$dest" = "$2" ]; } || return 0
    lower "$target"
    conditions "$1"
    config_get value "$1" dest_ip
    located daddr "$value"
    config_get value "$1" dest_port
    matched dport "$value"
    case $3:${src:+source}:$dest in
        input:source: | output::*) echo "    ${match}counter $verdict comment \"!fw4: $name\"" ;;
        forward:source:\*) echo "    ${match}counter $verdict comment \"!fw4: $name\"" ;;
        forward:source:?*) echo "    ${match}jump ${verdict}_to_$dest comment \"!fw4: $name\"" ;;
    esac
}

# forwarding SECTION ZONE
forwarding() {
    ! disabled "$1" || return 0
    config_get src "$1" src
    config_get dest "$1" dest
    [ "$src" != "$2" ] ||
        echo "    jump accept_to_$dest comment \"!fw4: Accept $src to $dest forwarding\""
}
