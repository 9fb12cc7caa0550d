# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tap and bridge modes of inspection, and invalid combinations of options.

# two_hosts: creates two hosts on the gateway, connected only by Suricata:
#
#   e2ea 192.168.77.1 ── e2e-a ╌╌ Suricata ╌╌ e2e-b ── e2eb 192.168.77.2
two_hosts() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'for end in a b; do
        ip netns add e2e$end
        ip link add e2e-$end type veth peer name eth0 netns e2e$end
        ip link set e2e-$end up
        ethtool -K e2e-$end gro off lro off tso off gso off tx off >/dev/null 2>&1
        ip netns exec e2e$end ethtool -K eth0 tso off gso off tx off >/dev/null 2>&1
        ip -n e2e$end link set lo up
        ip -n e2e$end link set eth0 up
    done
    ip -n e2ea addr add 192.168.77.1/24 dev eth0
    ip -n e2eb addr add 192.168.77.2/24 dev eth0
    mkdir -p /tmp/e2e-www
    echo hello >/tmp/e2e-www/index.html
    echo "uid=0(root) gid=0(root) groups=0(root)" >/tmp/e2e-www/id.txt
    # The BusyBox of OpenWrt has no httpd.
    if busybox --list | grep -qx httpd; then server="busybox httpd"; else server=uhttpd; fi
    ip netns exec e2ea $server -p 80 -h /tmp/e2e-www'
}

no_hosts() {
    gw 'ip netns pids e2ea | xargs -r kill; ip netns delete e2ea; ip netns delete e2eb' || true
}

e2eb_gets() {
    gw "ip netns exec e2eb curl -s -m 3 -o /dev/null -w '%{size_download}' \
        http://192.168.77.1/$1 || true"
}
passes() { [ "$(e2eb_gets index.html)" = 6 ]; }
nothing_passes() { [ "$(e2eb_gets index.html)" = 0 ]; }

# @long
test_tap_mode_reports_without_dropping() {
    local last
    protect "	option mode 'ids'
	list device 'lan1'"
    soon 40 ips_is watching
    last=$(said .last alerts)
    same "bytes of the bad page" "$(bad_page h10 "$ISP_4" | cut -d ' ' -f 2)" 39
    soon 3 says ".last > $last and .alerts[0].device == \"lan1\"" alerts --sid "$BAD_SID" --limit 1
    lacks "our rules" "$(gw nft list table inet fastpath)" "queue flags"
    download h10 "$((last + 30001))" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$((last + 30001))"
}

# @long
test_a_killed_suricata_in_tap_mode_stops_no_traffic() {
    protect "	option mode 'ids'
	list device 'lan1'"
    soon 40 ips_is watching
    hold_suricata
    kill_suricata
    soon 3 ips_is failing-open
    good_page "$ISP_4"
    release_suricata
    soon 25 ips_is watching
}

# @long
test_suricata_bridges_two_ports() {
    local last
    two_hosts
    nothing_passes || fail "the hosts are joined without Suricata"
    protect "	option mode 'inline'
	list device 'e2e-a'
	list device 'e2e-b'"
    soon 40 ips_is inline
    soon 10 passes
    last=$(said .last alerts)
    same "bytes of the bad page" "$(e2eb_gets id.txt)" 0
    soon 3 says ".last > $last and .alerts[0].action == \"blocked\"" alerts --sid "$BAD_SID"
    same "answered pings" "$(gw "ip netns exec e2eb ping -q -i 0.02 -c 200 192.168.77.1 |
        sed -n 's/.* \([0-9]*\) received.*/\1/p'")" 200
    # Without Suricata, nothing may forward frames between the ports.
    hold_suricata
    kill_suricata
    soon 3 ips_is failing-closed
    nothing_passes || fail "frames pass without Suricata"
    release_suricata
    soon 25 ips_is inline
    soon 10 passes
    good_page "$ISP_4"
    no_hosts
}

# cannot LINES PART…: fails unless this configuration is refused with a message that contains PART.
# LINES as for `protect`.
cannot() {
    refused "config fastpath 'main'
	option engine 'flowtable'

config ips 'ips'
	option enabled '1'
$1" "${@:2}"
    if pids Suricata-Main; then fail "Suricata was started"; fi
}

test_bridging_ports_of_a_bridge_is_refused() {
    cannot "	option mode 'inline'
	list device 'lan1'
	list device 'lan2'" device lan1 br-lan
}

test_bridging_below_pppoe_is_refused() {
    gw 'modprobe dummy numdummies=0; ip link add e2e0 type dummy; ip link set e2e0 up'
    cannot "	option mode 'inline'
	list device 'wan'
	list device 'e2e0'" device wan
}

test_invalid_values_are_refused() {
    cannot "	option budget_bytes '-1'" budget_bytes -1
    cannot "
config policy
	option src 'nowhere'
	option action 'always'" src nowhere
    cannot "
config cpu 'cpu'
	option inspection '64'" inspection 64
    cannot "	option mode 'sideways'" mode sideways
    cannot "	option mode 'inline'
	list device 'lan1'" device
    gw 'cp /run/e2e/config /etc/config/fastpath; /etc/init.d/fastpathd reload'
    soon 5 healthy
}
