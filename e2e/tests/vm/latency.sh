# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# "Keep latency low": CAKE on the WAN is configured, restored and removed. latency-load.sh tests
# load.

# shellcheck source=e2e/tests/vm/lib/changes.sh
. "$VM/lib/changes.sh"
# shellcheck source=e2e/tests/vm/lib/tunnels.sh
. "$VM/lib/tunnels.sh"

limits_nothing() {
    says '.latency | .active | not' status && shaper_is_removed
}
# shellcheck disable=SC2016 # expanded on the gateway
shaper_is_removed() {
    gw '! ip link show ifb-fastpath 2>/dev/null
        shown=$(tc qdisc show)
        case $shown in *fa57:* | *clsact*) echo "$shown"; exit 1 ;; esac'
}

test_cake_is_restored_and_removed() {
    limits_nothing
    latency_on 50000 10000
    gw tc qdisc del dev wan root
    soon 10 limits 50000 10000
    gw ip link del ifb-fastpath
    soon 10 limits 50000 10000
    internet
    # The device's filters vanish with the PPPoE session.
    pppoe_end KILL
    soon 10 wan_is_down
    soon 45 wan_is_up
    soon 10 internet
    soon 10 filters_of pppoe-wan
    mark_log
    kill_daemon
    soon 15 limits 50000 10000
    lacks "the daemon's log" "$(daemon_log)" 'queues of the WAN: changed'
    cp_config_back
    soon 10 limits_nothing
    internet
}
# filters_of DEVICE: succeeds if every port redirects packets from DEVICE.
filters_of() {
    local port shown
    for port in lan1 lan2 lan3; do
        shown=$(gw tc filter show dev "$port" egress)
        [[ $shown == *"input dev $1"*"ifb-fastpath"* ]] || { echo "$shown"; return 1; }
    done
}

# netifd binds the tunnels of DS-Lite and MAP-E to the WAN, too. Without a filter of the tunnel, its
# download is ten times as fast.
test_the_download_through_a_tunnel_bound_to_the_wan_is_limited() {
    local rate
    tunnel_on ip6tnl
    latency_on 50000 20000
    soon 10 filters_of "$SITE"
    # curl fails, because the time ends first.
    rate=$(h10 "curl -s -m 8 -o /dev/null -w '%{speed_download}' http://$FAR_4/256.bin || true")
    note "download through the tunnel: $((rate * 8 / 1000)) of 50000 kbit/s"
    between "bytes per second" "$rate" 500000 6250000
}

# @finds:latency-missing
test_a_foreign_queue_is_left_alone() {
    trap 'gw tc qdisc del dev wan root 2>/dev/null || true' EXIT
    gw tc qdisc add dev wan root handle 9: cake bandwidth 20mbit
    configure_latency 50000 10000
    soon 10 says '.latency | .enabled and (.active | not) and .cause.code == "foreign" and
        .cause.params.device == "wan"' status
    has "the queue of wan" "$(gw tc qdisc show dev wan root)" 'cake 9: root'
    doctor 'soon 5 finds latency-missing'
    gw tc qdisc del dev wan root
    soon 10 limits 50000 10000
    doctor 'soon 5 silent latency-missing'
}

test_a_foreign_queue_that_is_added_later_replaces_ours() {
    trap 'gw tc qdisc del dev wan root 2>/dev/null || true' EXIT
    latency_on 50000 10000
    # A device that is down would drop redirected packets.
    gw ip link set ifb-fastpath down
    soon 10 gw 'ip link show ifb-fastpath | grep -q "[<,]UP[,>]"'
    soon 10 internet
    gw tc qdisc replace dev wan root handle 9: cake bandwidth 20mbit
    soon 10 says '.latency | .enabled and (.active | not) and .cause.code == "foreign"' status
    soon 10 shaper_is_removed
    has "the queue of wan" "$(gw tc qdisc show dev wan root)" 'cake 9: root'
    internet
    gw tc qdisc del dev wan root
    soon 10 limits 50000 10000
}

# @finds:sqm-downloads
test_the_rates_of_sqm_are_adopted() {
    local root id
    at_the_end 'gw rm -f /etc/config/sqm /etc/rc.d/S50sqm'
    # Only SQM's configuration; services-line.sh tests its queueing disciplines.
    gw 'mkdir -p /etc/rc.d && touch /etc/rc.d/S50sqm && cat >/etc/config/sqm' <<'END'

config queue 'line'
	option enabled '1'
	option interface 'pppoe-wan'
	option download '16000'
	option upload '8000'
	option qdisc 'cake'
	option script 'piece_of_cake.qos'
	option linklayer 'ethernet'
	option overhead '44'
END
    gw '/etc/init.d/fastpathd reload'
    doctor 'soon 5 finds sqm-downloads'
    change_confirmed sqm-downloads
    soon 10 limits 16000 8000
    says '.latency.overhead == 44' status
    has "the configuration of SQM" "$(gw cat /etc/config/sqm)" "option enabled '0'"
    doctor 'soon 5 silent sqm-downloads
        silent latency-missing'
    root=$(session root fastpath)
    id=$(change "$root" list '{}' | jq '.changes[0].id')
    id=$(applied "$root" "$(change "$root" undo "{\"id\": $id}" | jq -c .edits)")
    change "$root" confirm "{\"id\": $id}" >/dev/null
    soon 10 limits_nothing
    has "the configuration of SQM" "$(gw cat /etc/config/sqm)" "option enabled '1'"
}
