# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Devices: identity and bytes.
# shellcheck disable=SC2016 # expanded by the peers' shell

# counted HOST: prints the bytes that the host received and sent, without Ethernet headers.
counted() {
    local header=14
    # Its frames have a tag.
    [ "$1" != h20 ] || header=18
    "$1" cat /sys/class/net/eth0/statistics/{rx,tx}_{bytes,packets} | xargs |
        awk -v header=$header '{ print $1 - header * $2, $3 - header * $4 }'
}

# merging on|off: lets hosts and gateway merge segments, of whose headers they then count only one.
merging() {
    peers "for host in h10:eth0 h20:eth0 isp:access; do
        ip netns exec \${host%:*} ethtool -K \${host#*:} tso $1 gso $1
    done"
    gw "for port in lan1 lan2 wan; do ethtool -K \$port gro $1; done"
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
        { echo "host: ${now[*]} from ${host[*]}, device: ${bytes[*]} from ${before[*]}"; return 1; }
}

# Bytes of MACs, which the daemon does not know from an earlier run.
CROWD=$(printf 06:00:%02x:%02x:%02x $((RANDOM % 256)) $((RANDOM % 256)) $((RANDOM % 256)))

# JOIN: shell code for the peers. `join NUMBER HOST VLAN` attaches a host of the crowd to the link
# of HOST instead of its former one, with addresses of this VLAN.
JOIN='
join() {
    local link=eth0 words
    [ "$2" != h20 ] || link=eth0.20
    ip -n e2e$1 link del eth0 2>/dev/null
    ip -n $2 link add crowd$1 link $link address $(printf $CROWD:%02x $1) type macvlan mode bridge
    ip -n $2 link set crowd$1 netns e2e$1 name eth0
    for words in "link set lo up" "link set eth0 up" "addr add 10.10.$3.$((AT + $1))/24 dev eth0" \
        "addr add 2001:db8:$3::$((AT + $1))/64 dev eth0 nodad" \
        "route add default via 10.10.$3.1" "route add default via 2001:db8:$3::1"; do
        echo "$words"
    done | ip -n e2e$1 -b -
}
'

# crowd: adds 30 hosts with random MACs to both VLANs, each in a namespace of its own.
crowd() {
    peers "CROWD=$CROWD AT=$AT$JOIN"'for i in $(seq 30); do
        ip netns add e2e$i
        if [ $((i % 2)) = 0 ]; then join $i h10 10; else join $i h20 20; fi
    done'
}

no_crowd() {
    peers 'for i in $(seq 30); do ip netns del e2e$i; done'
    gw "sed -i /$CROWD:ff/d /tmp/dhcp.leases"
}

# crowd_counts: prints received and sent bytes of the 30 hosts, one line each.
crowd_counts() {
    peers 'for i in $(seq 30); do
        (cd /tmp && ip netns exec e2e$i sh -c "cd /sys/class/net/eth0 && cat address \
            statistics/rx_bytes statistics/rx_packets statistics/tx_bytes statistics/tx_packets" |
            xargs)
    done' | awk '{ print $1, $2 - 14 * $3, $4 - 14 * $5 }'
}

# crowd_agrees: succeeds if each of the 30 hosts is one device with its bytes.
crowd_agrees() {
    local hosts
    hosts=$(crowd_counts | jq -Rnc '[inputs / " " | {mac: .[0], down: .[1] | tonumber,
        up: .[2] | tonumber}]')
    ask devices | jq -e --arg crowd "$CROWD" --argjson hosts "$hosts" '
        [.devices[] | select(.mac | startswith($crowd))] as $devices |
        def close($is; $wanted): ($is - $wanted | fabs) <= 0.005 * $wanted + 1000;
        ($devices | length) == 30 and all($hosts[]; . as $host | $devices[] |
            select(.mac == $host.mac) | close(.down_bytes; $host.down) and
            close(.up_bytes; $host.up) and (.addresses | length) == 2 and .random)' >/dev/null ||
        { ask devices | jq -c --argjson hosts "$hosts" '$hosts, (.devices |
            map([.mac, .addresses, .down_bytes, .up_bytes]))'; return 1; }
}

forwarded() { said '.paths | map(.bytes) | add' status; }
# wan_bytes: prints the bytes of the WAN port without Ethernet and PPPoE headers. veth counts no
# VLAN tag.
wan_bytes() {
    gw cat /sys/class/net/wan/statistics/{rx,tx}_{bytes,packets} | xargs |
        awk '{ printf "%.0f\n", $1 + $3 - 22 * ($2 + $4) }'
}

# with ENGINE|inspection: puts the engine in force, or Suricata inline, which inspects the first MiB
# of each flow. Sets AT, the number before the first host's address. An address that moves to
# another MAC renews the flowtable, and the kernel then drops the packets that wait for Suricata.
with() {
    case $1 in
        flowtable) AT=100 ;;
        ebpf) AT=140 ;;
        inspection) AT=180 ;;
    esac
    if [ "$1" = inspection ]; then protect_inline; else use "$1"; fi
}

# The hosts download different amounts over IPv4 and IPv6.
# @each flowtable
# @each ebpf
# @each inspection @long
test_thirty_devices_of_two_vlans_with() {
    local before wan grown
    with "$1"
    trap 'no_crowd; merging on' EXIT
    merging off
    crowd
    before=$(forwarded)
    wan=$(wan_bytes)
    peers 'for i in $(seq 30); do
        for address in 203.0.113.1 [2001:db8:ffff::1]; do
            ip netns exec e2e$i curl -gsS http://$address/32.bin 2>/dev/null |
                head -c $((i * 100000)) >/dev/null
        done
    done'
    soon 30 crowd_agrees
    grown=$(said "[.devices[] | select(.mac | startswith(\"$CROWD\")) |
        .down_bytes + .up_bytes] | add" devices)
    between "bytes of devices, forwarded bytes" \
        "$(jq -n "$grown / ($(forwarded) - $before)")" 0.995 1.005
    wan=$(($(wan_bytes) - wan))
    between "bytes of devices, bytes of the WAN" "$(jq -n "$grown / $wan")" 0.995 1.005
    note "$grown bytes, $wan at the WAN"
    changes_of_the_crowd
}

# changes_of_the_crowd: another MAC, an address that moves to another host when its lease has
# expired, and another VLAN.
changes_of_the_crowd() {
    local before address=10.10.20.$((AT + 1))
    # Another MAC is another device; the former one keeps its bytes.
    before=$(down_of 01)
    peers "ip -n e2e1 link set eth0 address $CROWD:ff
        ip netns exec e2e1 curl -sS -o /dev/null http://203.0.113.1/"
    gw "echo '1999999999 $CROWD:ff $address phone *' >>/tmp/dhcp.leases"
    soon 10 member ff '.name == "phone" and .down_bytes > 0'
    soon 10 member ff "(.addresses | index(\"$address\"))"
    same "bytes of the former MAC" "$(down_of 01)" "$before"
    # The next owner announces the address by an ARP request.
    gw "sed -i /$CROWD:ff/d /tmp/dhcp.leases"
    peers "ip -n e2e1 link set eth0 down; ip -n e2e3 addr add $address/24 dev eth0
        ip -n e2e3 neigh flush dev eth0
        ip netns exec e2e3 ping -c 1 -W 5 -I $address 10.10.20.1 >/dev/null"
    soon 20 member 03 "(.addresses | index(\"$address\"))"
    soon 10 member ff ".name == \"\" and (.addresses | index(\"$address\") | not)"
    before=$(down_of ff)
    peers "ip netns exec e2e3 curl -sS --interface $address -o /dev/null http://203.0.113.1/1.bin"
    soon 10 member 03 '.down_bytes > 1500000'
    same "bytes of the former owner" "$(down_of ff)" "$before"
    before=$(down_of 02)
    peers "CROWD=$CROWD AT=$AT$JOIN"'join 2 h20 20
        ip netns exec e2e2 curl -sS -o /dev/null http://203.0.113.1/1.bin'
    soon 20 member 02 ".vlan == 20 and .port == \"lan2\" and .down_bytes > $before + 1048576"
    same "devices" "$(said "[.devices[] | select(.mac | startswith(\"$CROWD\"))] |
        length" devices)" 31
}

# member BYTE FILTER: succeeds if one device of the crowd has this last byte, and the filter holds.
member() {
    says "[.devices[] | select(.mac == \"$CROWD:$1\")] | length == 1 and (.[0] | $2)" devices
}
down_of() { said ".devices[] | select(.mac == \"$CROWD:$1\") | .down_bytes" devices; }

# Two hosts download over IPv4 and IPv6, one of them from the other.
# @each flowtable
# @each ebpf @core
# @each inspection
test_bytes_of_devices_are_those_of_the_hosts_with() {
    local host url bytes own least=0.5
    declare -A bytes own
    with "$1"
    [ "$1" != inspection ] || least=0.2
    trap 'merging on' EXIT
    merging off
    soon 20 h10 "curl -gsS -o /dev/null http://$H20_4/"
    # The neighbours are known.
    soon 10 device h20 .mac
    for host in h10 h20; do
        bytes[$host]=$(bytes_of $host)
        own[$host]=$(counted $host)
    done
    # Limits the rate, so that a download takes longer than its offload.
    for url in "$H20_4" "[$H20_6]" "$ISP_4" "[$ISP_6]"; do
        h10 "curl -gsS --limit-rate 16M -o /dev/null http://$url/32.bin"
    done
    h20 "curl -gsS --limit-rate 16M -o /dev/null http://$ISP_4/32.bin"
    for host in h10 h20; do
        soon 20 agrees $host "${bytes[$host]}" "${own[$host]}"
        between "share of $host's bytes that is offloaded" \
            "$(device $host '.offloaded_bytes / (.up_bytes + .down_bytes)')" $least 1
    done
    same "devices of h10" "$(device h10 '[.device, .vlan, .port, (.addresses | map(contains(":")) |
        unique)] | @json')" '["br-lan.10",10,"lan1",[false,true]]'
}
