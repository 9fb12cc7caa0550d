# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# The part of OpenWrt's /lib/functions.sh that init scripts use. Options become variables
# UCI_SECTION_OPTION; list entries are joined by spaces, as in OpenWrt.

UCI_CONFIG_DIR=${UCI_CONFIG_DIR:-/etc/config}

config_load() {
    UCI_SECTIONS=
    [ -r "$UCI_CONFIG_DIR/$1" ] || return 1
    eval "$(awk -v quote="'" -f /lib/functions/words.awk -f /lib/functions/uci.awk \
        "$UCI_CONFIG_DIR/$1")"
}

config_get() {
    eval "$1=\${UCI_$2_$3:-\${4-}}"
}

config_get_bool() {
    config_get "$@"
    eval "case \$$1 in 1|on|true|yes|enabled) $1=1;; *) $1=0;; esac"
}

# config_foreach FUNCTION [TYPE] [ARGUMENT…]: calls FUNCTION SECTION ARGUMENT… for each section.
config_foreach() {
    # Local variables, because callbacks may call config_foreach.
    local config_call config_type config_section config_this
    config_call=$1
    config_type=${2-}
    shift
    [ $# = 0 ] || shift
    for config_section in $UCI_SECTIONS; do
        eval "config_this=\${UCI_${config_section}_TYPE}"
        if [ -z "$config_type" ] || [ "$config_this" = "$config_type" ]; then
            "$config_call" "$config_section" "$@"
        fi
    done
}
