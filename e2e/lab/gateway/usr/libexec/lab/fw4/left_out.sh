# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # config_get assigns by name
# Sections that fw4 leaves out with a warning on stderr; it succeeds all the same. Here one kind of
# several: restricted to one family, but with an address of the other.

left_out=" "

# one_family SECTION TYPE
one_family() {
    case $1 in cfg*) place="@$2[$index]" ;; *) place=$1 ;; esac
    index=$((index + 1))
    ! disabled "$1" || return 0
    config_get name "$1" name
    config_get family "$1" family any
    for option in src_ip:source dest_ip:destination; do
        config_get value "$1" "${option%:*}"
        case $family:$value in
            ipv4:*:*) families="4 6" ;;
            ipv6:*.*) families="6 4" ;;
            *) continue ;;
        esac
        left_out="$left_out$1 "
        echo "[!] Section $place${name:+ ($name)} is restricted to IPv${families% *} but" \
            "referenced ${option#*:} IP is IPv${families#* } only, skipping" >&2
        return 0
    done
}

find_left_out() {
    for type in rule redirect; do
        index=0
        config_foreach one_family "$type" "$type"
    done
}

is_left_out() {
    case $left_out in *" $1 "*) return 0 ;; esac
    return 1
}
