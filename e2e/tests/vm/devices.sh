# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Devices: identity and bytes.

# counted HOST: prints the bytes that the host received and sent, without Ethernet headers.
counted() {
    "$1" cat /sys/class/net/eth0/statistics/{rx,tx}_{bytes,packets} | xargs |
        awk '{ print $1 - 14 * $2, $3 - 14 * $4 }'
}

mac_of() { "$1" cat /sys/class/net/eth0/address; }

# device HOST FILTER: prints a value of the host's device; fails unless it has exactly one.
device() {
    local mac
    mac=$(mac_of "$1")
    said ".devices | map(select(.mac == \"$mac\")) | if length == 1 then .[0] | $2
        else error(\"\(length) devices\") end" devices
}

bytes_of() { device "$1" '"\(.down_bytes) \(.up_bytes)"'; }

# agrees HOST: succeeds if host and daemon count the same growth, except for packets that are not
# forwarded, such as ARP.
agrees() {
    local before=$2 host=$3 now bytes
    read -r -a before <<<"$before"
    read -r -a host <<<"$host"
    read -r -a now <<<"$(counted "$1")"
    read -r -a bytes <<<"$(bytes_of "$1")"
    jq -ne --argjson hosts "$((now[0] - host[0]))" --argjson daemons "$((bytes[0] - before[0]))" \
        '($daemons - $hosts | fabs) <= 0.005 * $hosts' >/dev/null ||
        { echo "received: ${now[*]} from ${host[*]}, devices: ${bytes[*]} from ${before[*]}"; return 1; }
}

# Two hosts download over IPv4 and IPv6, one of them from the other.
# @each flowtable
# @each ebpf @core
test_bytes_of_devices_are_those_of_the_hosts_with() {
    local host url bytes own
    declare -A bytes own
    use "$1"
    soon 20 h10 "curl -gsS -o /dev/null http://$H20_4/"
    # The neighbours are known.
    soon 10 device h20 .mac
    for host in h10 h20; do
        bytes[$host]=$(bytes_of $host)
        own[$host]=$(counted $host)
    done
    for url in "$H20_4" "[$H20_6]" "$ISP_4" "[$ISP_6]"; do
        h10 "curl -gsS -o /dev/null http://$url/32.bin"
    done
    h20 "curl -gsS -o /dev/null http://$ISP_4/32.bin"
    for host in h10 h20; do
        soon 20 agrees $host "${bytes[$host]}" "${own[$host]}"
        between "share of $host's bytes that is offloaded" \
            "$(device $host '.offloaded_bytes / (.up_bytes + .down_bytes)')" 0.5 1
    done
    same "devices of h10" "$(device h10 '[.device, .vlan, .port, (.addresses | map(contains(":")) |
        unique)] | @json')" '["br-lan.10",10,"lan1",[false,true]]'
}
