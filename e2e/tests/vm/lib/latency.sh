# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# "Keep latency low": configuration, and state in daemon and kernel.

configure_latency() {
    configure <<<"$(gw "sed '/^config latency/,/^\$/d' /run/e2e/config")

config latency 'latency'
	option enabled '1'
	option download '$1'
	option upload '$2'"
}

latency_on() {
    configure_latency "$1" "$2"
    soon 10 limits "$1" "$2"
}

limits() {
    says ".latency | .active and .why == \"\" and .port == \"wan\" and
        .download_kbps == $1 and .upload_kbps == $2" status || return
    shown_rate wan "$2" && shown_rate ifb-fastpath "$1"
}

shown_rate() {
    local shown
    shown=$(gw tc qdisc show dev "$1" root)
    [[ $shown == *" fa57: root "*" bandwidth $(($2 / 1000))Mbit "* ]] || {
        echo "$shown"
        return 1
    }
}
