# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # config_get assigns by name
# Files that rules are read from: includes of nft's and the entries of sets. As with firewall4,
# nft reads the first and fw4 the others, whole, and both as root.

# include_file SECTION POSITION
include_file() {
    ! disabled "$1" || return 0
    config_get type "$1" type script
    config_get position "$1" position table-append
    config_get path "$1" path
    [ "$type:$position" != "nftables:$2" ] || [ ! -r "$path" ] || echo "include \"$path\""
}

include_files() { config_foreach include_file include "$1"; }

# address_set SECTION: a set of IPv4 addresses.
address_set() {
    ! disabled "$1" || return 0
    config_get name "$1" name
    config_get file "$1" loadfile
    entries=
    # All of it, as one line: nft reports invalid addresses.
    [ -z "$file" ] || entries=$(tr '\0' x <"$file" | grep -v '^#' | tr '\n' ,)
    echo "  set $name { type ipv4_addr; flags interval; auto-merge"
    [ -z "$entries" ] || echo "    elements = { $entries }"
    echo "  }"
}

address_sets() { config_foreach address_set ipset; }
