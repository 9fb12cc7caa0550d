# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # config_get assigns by name
# Conntrack helpers: of those whose module is loaded, a zone that does not masquerade gets all
# unless `auto_helper` is off; `helper` names those that it gets all the same.
# NAME MODULE PROTOCOL PORT, of fw4's own list those that a kernel of the lab may have.
HELPERS="ftp:nf_conntrack_ftp:tcp:21 sip:nf_conntrack_sip:udp:5060 tftp:nf_conntrack_tftp:udp:69
pptp:nf_conntrack_pptp:tcp:1723"

loaded_helpers() {
    for helper in $HELPERS; do
        module=${helper#*:}
        [ ! -e "${SYS:-/sys}/module/${module%%:*}" ] || echo "$helper"
    done
}

helper_objects() {
    loaded=$(loaded_helpers)
    for helper in $loaded; do
        rest=${helper#*:*:}
        echo "  ct helper ${helper%%:*} { type \"${helper%%:*}\" protocol ${rest%:*}; }"
    done
}

# zone_helpers SECTION: sets `assigned`.
zone_helpers() {
    config_get_bool automatic "$1" auto_helper 1
    config_get named "$1" helper
    config_get_bool masq "$1" masq 0
    config_get_bool masq6 "$1" masq6 0
    assigned=
    for helper in $loaded; do
        case " $named " in
            "  ") [ "$automatic$masq$masq6" != 100 ] || assigned="$assigned $helper" ;;
            *" ${helper%%:*} "*) assigned="$assigned $helper" ;;
        esac
    done
}

helper_zone() {
    zone_helpers "$1"
    [ -n "$assigned" ] || return 0
    config_get zone "$1" name
    zones_with_helpers="$zones_with_helpers $1"
    echo "  chain helper_$zone {"
    for helper in $assigned; do
        rest=${helper#*:*:}
        echo "    ${rest%:*} dport ${rest#*:} ct helper set \"${helper%%:*}\"" \
            "comment \"!fw4: ${helper%%:*} connection tracking\""
    done
    echo "  }"
}

helper_chains() {
    zones_with_helpers=
    config_foreach helper_zone zone
    [ -n "$zones_with_helpers" ] || return 0
    echo "  chain prerouting {"
    echo "    type filter hook prerouting priority filter; policy accept;"
    for section in $zones_with_helpers; do zone_jump "$section" helper iifname; done
    echo "  }"
}
