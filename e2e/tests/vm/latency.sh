# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# "Keep latency low": CAKE for both directions of the WAN, over VLAN and PPPoE.

# configure_latency DOWNLOAD UPLOAD: on, with these rates in kbit/s.
configure_latency() {
    configure <<<"$(gw "sed '/^config latency/,/^\$/d' /run/e2e/config")

config latency 'latency'
	option enabled '1'
	option download '$1'
	option upload '$2'"
}

# latency_on DOWNLOAD UPLOAD: and in force.
latency_on() {
    configure_latency "$1" "$2"
    soon 10 limits "$1" "$2"
}

# limits DOWNLOAD UPLOAD: the daemon says so, and the kernel has it.
limits() {
    says ".latency | .active and .why == \"\" and .port == \"wan\" and
        .download_kbps == $1 and .upload_kbps == $2" status || return
    shown_rate wan "$2" && shown_rate ifb-fastpath "$1"
}

# shown_rate DEVICE KBIT
shown_rate() {
    local shown
    shown=$(gw tc qdisc show dev "$1" root)
    [[ $shown == *" fa57: root "*" bandwidth $(($2 / 1000))Mbit "* ]] || {
        echo "$shown"
        return 1
    }
}

limits_nothing() {
    says '.latency | .active | not' status && ours_is_gone
}
# shellcheck disable=SC2016 # the gateway expands it
ours_is_gone() {
    gw '! ip link show ifb-fastpath 2>/dev/null
        shown=$(tc qdisc show)
        case $shown in *fa57:* | *clsact*) echo "$shown"; exit 1 ;; esac'
}

test_it_is_restored_and_removed() {
    limits_nothing
    latency_on 50000 10000
    # Another program removes it, in part and entirely.
    gw tc qdisc del dev wan root
    soon 10 limits 50000 10000
    gw ip link del ifb-fastpath
    soon 10 limits 50000 10000
    internet
    # A session takes its filters along.
    pppoe_end KILL
    soon 10 wan_is_down
    soon 45 wan_is_up
    soon 10 internet
    soon 10 filters_of pppoe-wan
    # Without the daemon it stays, and the next one finds it.
    mark_log
    kill_daemon
    soon 15 limits 50000 10000
    lacks "the daemon's log" "$(daemon_log)" 'queues of the WAN: changed'
    cp_config_back
    soon 10 limits_nothing
    internet
}
# filters_of DEVICE: packets from it are redirected, on every port.
filters_of() {
    local port shown
    for port in lan1 lan2 lan3; do
        shown=$(gw tc filter show dev "$port" egress)
        [[ $shown == *"input dev $1"*"ifb-fastpath"* ]] || { echo "$shown"; return 1; }
    done
}

# @finds:latency-missing
test_queues_of_others_are_left_alone() {
    trap 'gw tc qdisc del dev wan root 2>/dev/null || true' EXIT
    gw tc qdisc add dev wan root handle 9: cake bandwidth 20mbit
    configure_latency 50000 10000
    soon 10 says '.latency | .enabled and (.active | not) and .cause.code == "foreign" and
        .cause.params.device == "wan"' status
    has "the queue of wan" "$(gw tc qdisc show dev wan root)" 'cake 9: root'
    doctor 'soon 5 finds latency-missing'
    # When it is gone, ours takes its place.
    gw tc qdisc del dev wan root
    soon 10 limits 50000 10000
    doctor 'soon 5 silent latency-missing'
}
