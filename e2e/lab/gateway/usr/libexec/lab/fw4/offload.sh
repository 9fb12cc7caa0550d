# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # config_get assigns by name
# fw4's own flow offloading, off unless the defaults say so: a flowtable of the zones' ports.

offload_defaults() { config_get_bool offloading "$1" flow_offloading 0; }

# From the network's configuration: PORTS_<interface>, the devices below its device.
interface_ports() {
    config_get device "$1" device
    case $device in @* | lo) return 0 ;; esac
    below=
    config_foreach bridge_ports device "${device%%.*}"
    eval "PORTS_$1=\${below:-${device%%.*}}"
}

bridge_ports() {
    config_get name "$1" name
    [ "$name" != "$2" ] || config_get below "$1" ports
}

zone_ports() {
    config_get network "$1" network
    for interface in $network; do
        eval "below=\${PORTS_$interface-}"
        for port in $below; do
            port=${port%%.*}
            case " $offloaded " in *" $port "*) ;; *) offloaded="$offloaded $port" ;; esac
        done
    done
}

offload_table() {
    offloaded=
    [ "$offloading" = 0 ] || config_foreach zone_ports zone
    [ -n "$offloaded" ] || return 0
    # shellcheck disable=SC2086 # split on purpose
    set_of $offloaded
    case $set_text in "{"*) ;; *) set_text="{ $set_text }" ;; esac
    echo "  flowtable ft { hook ingress priority filter; devices = $set_text; counter; }"
}

offload_rule() {
    [ -z "$offloaded" ] || echo "    meta l4proto { tcp, udp } flow offload @ft"
}
