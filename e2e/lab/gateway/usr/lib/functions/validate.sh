# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# Implements uci_load_validate of OpenWrt's procd.sh: sets options as variables and reports invalid
# values. Supports the value types of our packages.

# uci_load_validate PACKAGE TYPE SECTION [FUNCTION] NAME:TYPE[:DEFAULT]…: passes the status to
# FUNCTION.
uci_load_validate() {
    validate_section=$3
    validate_call=$4
    validate_status=0
    config_load "$1"
    shift 4
    for validate_option; do
        validate_name=${validate_option%%:*}
        validate_kind=${validate_option#*:}
        validate_default=
        case $validate_kind in
            *:*)
                validate_default=${validate_kind#*:}
                validate_kind=${validate_kind%%:*}
                ;;
        esac
        config_get "$validate_name" "$validate_section" "$validate_name" "$validate_default"
        eval "validate_value \"\$validate_kind\" \"\$$validate_name\"" || validate_status=1
        [ "$validate_kind" != bool ] ||
            config_get_bool "$validate_name" "$validate_section" "$validate_name" \
                "$validate_default"
    done
    [ -n "$validate_call" ] || return $validate_status
    "$validate_call" "$validate_section" "$validate_status"
}

validate_value() {
    [ -n "$2" ] || return 0
    case $1 in
        string | file) ;;
        bool)
            case $2 in
                0 | 1 | on | off | true | false | yes | no | enabled | disabled) ;;
                *) false ;;
            esac
            ;;
        uinteger) case $2 in *[!0-9]*) false ;; esac ;;
        "range("*)
            validate_range=${1#range(}
            validate_range=${validate_range%)}
            case $2 in *[!0-9]*) return 1 ;; esac
            [ "$2" -ge "${validate_range%,*}" ] && [ "$2" -le "${validate_range#*,}" ]
            ;;
        "list("*)
            validate_inner=${1#list(}
            for validate_word in $2; do
                validate_value "${validate_inner%)}" "$validate_word" || return 1
            done
            ;;
        *)
            echo "validate.sh of the lab does not know the kind $1" >&2
            false
            ;;
    esac
}
