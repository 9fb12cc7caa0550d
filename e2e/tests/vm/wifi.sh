# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Wi-Fi: SSIDs are bridge ports in the VLAN of their network. Radios of the user-mode machine are
# veth pairs (gateway/usr/libexec/lab/wireless); the last tests use real 802.11.

# shellcheck source=e2e/tests/vm/lib/clock.sh
. "$VM/lib/clock.sh"

change() { rpc "$1" fastpath.change "$2" "$3" | jq -c '.result[1] // .error'; }

# radios OPTION…: configures radio0 as on OpenWrt's first boot: disabled, with one SSID.
radios() {
    gw '[ -x /usr/libexec/lab/wireless ]' ||
        skip "OpenWrt's own wireless handlers need its patched hostapd, which is not in this root"
    {
        printf "config wifi-device 'radio0'\n"
        printf "\toption %s\n" "type 'mac80211'" "band '2g'" "channel '6'" "disabled '1'" "$@"
        printf "\nconfig wifi-iface 'default_radio0'\n"
        printf "\toption %s\n" "device 'radio0'" "network 'lan'" "mode 'ap'" "ssid 'OpenWrt'" \
            "encryption 'none'"
    } | gw "$RELOAD cat >/etc/config/wireless && reload wireless"
}

KEY='welcome, guests'

guests() {
    jq -nc --arg key "$KEY" --arg encryption "${1:-sae-mixed}" '[
        {config: "network", op: "add", type: "bridge-vlan", id: "vlan",
            values: {device: "br-lan", vlan: "30"}},
        {config: "network", op: "add", type: "interface", section: "guest",
            values: {device: "br-lan.30", proto: "static", ipaddr: ["10.10.30.1/24"]}},
        {config: "dhcp", op: "add", type: "dhcp", section: "guest", values: {interface: "guest"}},
        {config: "firewall", op: "add", type: "zone", id: "zone", values: {name: "guest",
            network: ["guest"], input: "REJECT", output: "ACCEPT", forward: "REJECT"}},
        {config: "firewall", op: "add", type: "forwarding", id: "out",
            values: {src: "guest", dest: "wan"}},
        {config: "firewall", op: "add", type: "rule", id: "dhcp", values: {name: "guests-dhcp",
            src: "guest", proto: "udp", dest_port: "67", target: "ACCEPT"}},
        {config: "wireless", op: "set", section: "radio0", values: {disabled: null, country: "DE"}},
        {config: "wireless", op: "add", type: "wifi-iface", section: "guests", values: {
            device: "radio0", mode: "ap", ssid: "Guests", encryption: $encryption, key: $key,
            network: "guest", isolate: "1"}}]'
}

applied() {
    local answer id
    answer=$(change "$1" apply "$(jq -nc --argjson e "$2" '{edits: $e, seconds: 120}')")
    id=$(jq -er .id <<<"$answer") || fail "not applied: $answer"
    soon 20 in_force "$1"
    change "$1" confirm "{\"id\": $id}" >/dev/null
    echo "$id"
}
in_force() { change "$1" pending '{}' | jq -e '.pending.in_force == true'; }

status() { rpc "$1" fastpath.wireless status '{}' | jq -c '.result[1]'; }

# stations_are SESSION JSON: succeeds if these are the stations of each SSID.
stations_are() { radio_is "$1" "[.ssids[].stations] == ($2)"; }

radio_is() { status "$1" | jq -e ".radios[0] | $2"; }

# in_vlan DEVICE VID: succeeds if the port is an untagged member of only this VLAN.
in_vlan() {
    gw "bridge -j vlan show dev $1" |
        jq -e --argjson vid "$2" '.[0].vlans == [{vlan: $vid, flags: ["PVID", "Egress Untagged"]}]'
}

# station COMMAND…: runs COMMAND in the namespace of a wireless client on the gateway.
station() { gw "ip netns exec station $*"; }

associate() {
    no_station_daemon
    # shellcheck disable=SC2016 # expanded on the gateway
    printf '%s\n' 'network={' 'ssid="Guests"' 'key_mgmt=SAE' 'ieee80211w=2' \
        "sae_password=\"$1\"" '}' | gw 'cat >/run/e2e/wpa.conf
            ip netns exec station wpa_supplicant -B -i wlan1 -c /run/e2e/wpa.conf \
                -P /run/e2e/wpa.pid >/dev/null'
}
no_station_daemon() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw '[ ! -e /run/e2e/wpa.pid ] || kill "$(cat /run/e2e/wpa.pid)"'
    soon 5 gw '! [ -e /run/e2e/wpa.pid ]'
}
associated_with() { station iw dev wlan1 link | grep -qx "[[:space:]]*SSID: $1"; }
# The owner's network has no DHCP server in the lab.
join_owner_network() {
    station ip addr flush dev wlan1 scope global
    station ip addr add 10.10.10.77/24 dev wlan1
    station ping -c 1 -W 1 10.10.10.10
}

# station_of DEVICE: moves DEVICE into the client's namespace and installs its DHCP script.
station_of() {
    gw "[ -e /run/netns/station ] || ip netns add station
        [ ! -e /sys/class/net/$1 ] || ip link set $1 netns station
        ip -n station link set $1 up && ip -n station link set lo up
        printf '%s\n' '#!/bin/sh' '[ \"\$1\" = bound ] || exit 0' \
            'ip addr replace \$ip/\$mask dev \$interface' \
            'ip route replace default via \$router' >/run/e2e/lease
        chmod +x /run/e2e/lease"
}
lease() { station "busybox udhcpc -f -q -n -t 8 -T 1 -i $1 -s /run/e2e/lease"; }
no_station() { gw 'ip netns delete station 2>/dev/null; true'; }

# guest_of DEVICE: fails unless the client gets a guest lease and reaches only the Internet.
guest_of() {
    soon 10 lease "$1"
    has "lease" "$(station "ip -4 addr show dev $1")" "inet 10.10.30."
    soon 10 station ping -c 1 -W 1 203.0.113.1
    ! station ping -c 1 -W 1 10.10.10.10 || fail "a guest reaches the owner's network"
    ! station curl -s -m 2 http://10.10.30.1/ || fail "a guest reaches the router's page"
}

# @core
test_the_guest_ssid_is_in_the_guest_vlan() {
    local root id edits
    radios "path 'lab/veth'"
    root=$(session root fastpath)
    radio_is "$root" '(.up or .failed | not) and .disabled and .ssids == []'
    id=$(applied "$root" "$(guests)")
    radio_is "$root" '.up and .country == "DE" and ([.ssids[] | [.ssid, .device, .networks[]]] ==
        [["OpenWrt", "phy0-ap0", "lan"], ["Guests", "phy0-ap1", "guest"]])' ||
        fail "radios: $(status "$root")"
    soon 5 in_vlan phy0-ap1 30
    soon 5 in_vlan phy0-ap0 10
    station_of phy0-sta1
    guest_of phy0-sta1
    soon 5 stations_are "$root" '[[], []]'
    # The answer of hostapd in OpenWrt v25.12.5 (src/ap/ubus.c). The hostapd of the lab has no ubus.
    gw 'mkdir -p /run/lab/wireless/clients && cat >/run/lab/wireless/clients/phy0-ap1' <<<'{"freq":
        5180, "clients": {"02:00:00:00:00:01": {"auth": true, "assoc": true, "authorized": true,
        "aid": 1, "rate": {"rx": 6000, "tx": 866700}, "signal": -52}, "02:00:00:00:00:02":
        {"auth": true, "assoc": true, "authorized": false, "aid": 2}}}'
    stations_are "$root" '[[], [{"mac": "02:00:00:00:00:01", "signal_dbm": -52, "down_kbit":
        866700, "up_kbit": 6000}]]' || fail "stations: $(status "$root")"
    node "$VM/answer.mjs" "$TOP/feeds/fastpathd/src/schema" wireless status \
        <<<"$(status "$root")" || fail "the schema"
    gw 'rm -r /run/lab/wireless/clients'
    # Topology and flows show the access point as a port.
    soon 5 said_of_port phy0-ap1 30
    no_station
    edits=$(change "$root" undo "{\"id\": $id}" | jq -c .edits)
    applied "$root" "$edits" >/dev/null
    soon 5 gw '! [ -e /sys/class/net/phy0-ap1 ]'
    radio_is "$root" '.up | not'
}
said_of_port() {
    said ".bridges[].ports[] | select(.name == \"$1\") | .vlans[0].vid" topology | grep -qx "$2"
}

test_an_ssid_moves_to_another_vlan_and_back_without_confirmation() {
    local root edit
    radios "path 'lab/veth'"
    root=$(session root fastpath)
    edit='[{"config": "wireless", "op": "set", "section": "radio0", "values": {"disabled": null}},
        {"config": "wireless", "op": "set", "section": "default_radio0",
            "values": {"network": "iot"}}]'
    applied "$root" "$edit" >/dev/null
    soon 5 in_vlan phy0-ap0 20
    edit='[{"config": "wireless", "op": "set", "section": "default_radio0",
        "values": {"network": "lan"}}]'
    applied "$root" "$edit" >/dev/null
    soon 5 in_vlan phy0-ap0 10
    edit=$(jq -nc --argjson e "${edit/lan/iot}" '{edits: $e, seconds: 5}')
    change "$root" apply "$edit" | jq -e .id
    soon 5 in_vlan phy0-ap0 20
    soon 15 in_vlan phy0-ap0 10
}

# @core
test_wifi_keys_never_leave_the_router() {
    local root viewer said object
    radios "path 'lab/veth'"
    root=$(session root fastpath)
    viewer=$(session viewer look)
    applied "$root" "$(guests)" >/dev/null
    has "the file" "$(gw cat /etc/config/wireless)" "option key '$KEY'"
    for object in "$root" "$viewer"; do
        said=$(change "$object" get '{"configs": ["wireless"]}')
        has "sections" "$said" '"ssid":"Guests"' '"key":"•••"'
        said+=$(status "$object")$(change "$object" list '{}')
        [[ $said != *"$KEY"* ]] || fail "a key is shown: $said"
        # netifd's answer contains the keys, so the web may not call this object.
        same "network.wireless" "$(rpc "$object" network.wireless status '{}' | jq .error.code)" \
            -32002
    done
    [[ $(gw 'ubus call network.wireless status') == *"$KEY"* ]] ||
        fail "the stand-in's netifd shows no keys, so this test would not see them"
    said=$(rpc "$viewer" fastpath.change apply "{\"edits\": $(guests)}" | jq -c .)
    has "a viewer's change" "$said" -32002
}

# @fault:wifi-key
test_settings_that_hostapd_rejects_are_refused() {
    local root said
    radios "path 'lab/veth'"
    root=$(session root fastpath)
    # wrong CODE FILTER: fails unless the edits, changed by jq's FILTER, have problem CODE.
    wrong() {
        said=$(change "$root" check "$(guests | jq -c "{edits: ($2)}")")
        same "$2" "$(jq -r '[.problems[].code] | unique | join(" ")' <<<"$said")" "$1"
    }
    wrong "" .
    wrong value '.[7].values.key = "seven77"'
    wrong missing 'del(.[7].values.key)'
    wrong missing 'del(.[7].values.ssid)'
    wrong value '.[6].values.country = "Germany"'
    wrong unknown-radio '.[7].values.device = "radio9"'
    wrong unknown-interface '.[7].values.network = "nobody"'
    applied "$root" "$(guests)" >/dev/null
    said=$(change "$root" check '{"edits": [
        {"config": "network", "op": "delete", "section": "guest"}]}')
    has "an SSID's network goes" "$said" '"config":"wireless"' '"code":"unknown-interface"'
    # An invalid key that bypasses the check fails the whole radio.
    gw "$RELOAD"'sed -i "s/option key .*/option key seven77/" /etc/config/wireless
        reload wireless'
    soon 5 radio_is "$root" '.failed and (.up | not)'
}

# hwsim RADIOS: phy0 is the access point's, phy1 the station's, and phy2 that of another station.
hwsim() {
    trap no_hwsim EXIT
    # cfg80211 numbers radios until it is unloaded.
    gw "modprobe -r mac80211_hwsim mac80211 cfg80211 2>/dev/null
        modprobe mac80211_hwsim radios=$1 && [ -e /sys/class/ieee80211/phy0 ]" ||
        skip "this kernel has no mac80211_hwsim"
}
no_hwsim() {
    no_station_daemon
    gw 'ip netns delete station; ip netns delete other; rm -f /etc/board.json' 2>/dev/null
    configuration_back
    soon 5 no_pids hostapd
    gw 'modprobe -r mac80211_hwsim'
}
# real_radios NUMBER ENCRYPTION [FILTER]: has radios send both SSIDs, with the edits changed by jq's
# FILTER, and prepares a station.
real_radios() {
    local root
    hwsim "$1"
    radios "phy 'phy0'"
    root=$(session root fastpath)
    applied "$root" "$(guests "$2" | jq -c "${3-.}")" >/dev/null
    soon 5 in_vlan phy0-ap1 30
    gw 'ip netns add station && iw phy phy1 set netns name station'
    # The number of a device's events is limited, so each test has another device.
    gw "ip -n station link set wlan1 address 02:01:$(od -An -N4 -tx1 /dev/urandom |
        sed 's/ //; s/ /:/g')"
    station_of wlan1
}
# clock_at HH:MM:SS: sets the gateway's clock to this time of today, UTC.
clock_at() {
    jump $(($(gw "date -u -d '$1' +%s") - $(gw date +%s)))
    trap 'no_hwsim; right_clock; synchronised 0' EXIT
}
# schedule SSID FROM TO: switches SSID off from FROM to TO.
schedule() {
    printf '%s\n' "config schedule" "	list ssid '$1'" "	option from '$2'" "	option to '$3'" |
        gw 'cat >>/etc/config/fastpath; /etc/init.d/fastpathd reload'
}
# roamed EVENT…: succeeds if these are the station's last events.
roamed() {
    local mac
    mac=$(station cat /sys/class/net/wlan1/address)
    diff <(printf "$mac %s\n" "$@") <(said '.events[] | select(.kind == "wifi") | .about' journal |
        tac | grep "^$mac" | tail -n $#)
}

# @core
test_a_schedule_switches_an_ssid_off_and_on_at_its_minute() {
    local before
    real_radios 3 sae '. + [{config: "wireless", op: "add", type: "wifi-iface", section: "old",
        values: {device: "radio0", mode: "ap", ssid: "Guests", disabled: "1"}}]'
    # A program that sets the clock clears the kernel's state.
    clock_at 12:00:00
    synchronised 1
    gw 'ip netns add other && iw phy phy2 set netns name other && ip -n other link set wlan2 up'
    associate "$KEY"
    gw ip netns exec other iw dev wlan2 connect OpenWrt
    soon 20 associated_with Guests
    gw ip -n other address add 10.10.10.88/24 dev wlan2
    soon 10 gw ip netns exec other ping -c 1 -W 1 10.10.10.1
    soon 10 roamed "joined phy0-ap1 Guests"
    gw "ip netns exec other ping -i 0.2 10.10.10.1 >/run/e2e/pings & echo \$! >/run/e2e/pings.pid"
    before=$(gw cat /sys/class/net/phy0-ap0/ifindex)
    schedule Guests 21:00 07:00
    never 2 said '.ssids_off[].ssid' status
    clock_at 20:59:57
    soon 10 says '.ssids_off[0].ssid == "Guests"' status
    soon 5 gw '! [ -e /sys/class/net/phy0-ap1 ]'
    soon 10 said_nothing_of Guests
    has "the table" "$(gw fastpathctl status)" "Wi-Fi off          Guests, by a schedule until"
    soon 10 roamed "joined phy0-ap1 Guests" "left phy0-ap1 Guests"
    clock_at 06:59:57
    soon 20 associated_with Guests
    # The SSID that the owner has disabled stays off.
    same "disabled SSIDs" "$(gw 'grep -cE "disabled|fastpath_off" /etc/config/wireless')" 1
    same "the other SSID's device" "$(gw cat /sys/class/net/phy0-ap0/ifindex)" "$before"
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'kill -INT "$(cat /run/e2e/pings.pid)"'
    has "the other SSID's station" "$(gw cat /run/e2e/pings)" ", 0% packet loss"
}
said_nothing_of() { ! associated_with "$1"; }

test_a_station_that_changes_access_points_is_an_event() {
    real_radios 2 none
    station iw dev wlan1 connect OpenWrt
    soon 20 associated_with OpenWrt
    soon 10 roamed "joined phy0-ap0 OpenWrt"
    station iw dev wlan1 disconnect
    station iw dev wlan1 connect Guests
    soon 20 associated_with Guests
    soon 10 roamed "joined phy0-ap0 OpenWrt" "moved phy0-ap1 Guests"
    station iw dev wlan1 disconnect
    soon 10 roamed "joined phy0-ap0 OpenWrt" "moved phy0-ap1 Guests" "left phy0-ap1 Guests"
}

test_width_and_power_in_use_are_measured() {
    local root said
    hwsim 2
    gw 'cat >/etc/board.json' <<<'{"wlan": {"phy0": {"info": {"bands": {"2G": {"modes":
        ["NOHT", "HT20", "HT40"]}}}}}}'
    radios "phy 'phy0'"
    root=$(session root fastpath)
    applied "$root" "$(guests none)" >/dev/null
    radio_is "$root" '.modes == ["NOHT", "HT20", "HT40"] and .features == ["ieee80211r",
        "ieee80211k", "bss_transition"] and all(.ssids[]; .width_mhz == 20 and .txpower_dbm > 0 and
        .txpower_max_dbm >= .txpower_dbm)' ||
        fail "radios: $(status "$root")"
    node "$VM/answer.mjs" "$TOP/feeds/fastpathd/src/schema" wireless status \
        <<<"$(status "$root")" || fail "the schema"
    said=$(change "$root" check '{"edits": [{"config": "wireless", "op": "set",
        "section": "radio0", "values": {"htmode": "VHT80"}}]}')
    same "a mode that the radio lacks" "$(jq -r '.problems[0].option' <<<"$said")" htmode
    said=$(change "$root" check '{"edits": [{"config": "wireless", "op": "set",
        "section": "radio0", "values": {"htmode": "HT40", "txpower": "10"}}]}')
    same "a mode of the radio" "$(jq -c .problems <<<"$said")" "[]"
}

test_a_station_gets_a_lease_over_80211() {
    real_radios 2 sae
    associate "another key"
    never 8 associated_with Guests
    associate "$KEY"
    soon 20 associated_with Guests
    guest_of wlan1
    # The owner's SSID, open in this test, leads to the owner's VLAN.
    no_station_daemon
    station iw dev wlan1 connect OpenWrt
    soon 20 associated_with OpenWrt
    soon 10 join_owner_network
}
