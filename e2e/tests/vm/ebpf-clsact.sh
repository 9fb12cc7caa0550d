# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# eBPF programs at clsact (TC before Linux 6.6), with and without CAKE's filters. Switching the
# engine off removes only our clsacts and filters; removed ones are restored.
# @long

# engine_at_clsact [REST]: configures the engine and appends REST to its section. `fastpathctl
# engine` would not reload an unchanged engine.
engine_at_clsact() {
    configure <<END
config fastpath 'main'
	option engine 'ebpf'
	option hook 'clsact'
	option on_exit 'remove'
${1-}
END
    gw fastpathctl engine ebpf >/dev/null
    soon 10 engine_is ebpf
    soon 5 says '.devices | length > 0 and all(.hook == "clsact")' ebpf
    read -ra PORTS < <(said '.devices[].device' ebpf | sort | xargs)
}

# engine_at_clsact_with_cake: also shapes the WAN with CAKE, fed by filters at the ports HOSTS.
engine_at_clsact_with_cake() {
    engine_at_clsact "
config latency 'latency'
	option enabled '1'
	option download '50000'
	option upload '10000'"
    soon 10 limits 50000 10000
    read -ra HOSTS < <(said '.latency.hosts[]' status | sort | xargs)
    soon 5 feeds_cake "${HOSTS[@]}"
}

clsacts() {
    local shown
    shown=$(gw tc qdisc show | awk '$2 == "clsact" { print $5 }' | sort | xargs)
    [ "$shown" = "$*" ] || { echo "clsacts: $shown"; return 1; }
}

# filters DEVICE ingress|egress: prints kind and priority of each filter.
filters() {
    gw tc filter show dev "$1" "$2" | sed -nE 's/.* pref ([0-9]+) ([a-z0-9]+) .*/\2 \1/p' |
        sort -u | xargs
}
filters_are() {
    local shown
    shown=$(filters "$1" "$2")
    [ "$shown" = "$3" ] || { echo "$1 $2: $shown"; return 1; }
}

# programs [DEVICE…]: succeeds if exactly these devices have a program at clsact. The lab's kernel
# may not report the names of filters.
programs() {
    local shown
    shown=$(gw bpftool -j net show 2>/dev/null | jq -r '[.[0].tc[] |
        select(.kind | startswith("clsact")) | .devname] | sort | join(" ")')
    [ "$shown" = "$*" ] || { echo "programs: $shown"; return 1; }
}

# feeds_cake DEVICE…: succeeds if egress packets of these devices are redirected to CAKE.
feeds_cake() {
    local device
    for device; do filters_are "$device" egress "u32 64087" || return; done
}

shaped_bytes() { gw cat /sys/class/net/ifb-fastpath/statistics/tx_bytes; }
more_shaped() {
    local now
    now=$(shaped_bytes)
    [ "$now" -gt "$1" ] || { echo "$now"; return 1; }
}

test_a_clsact_with_a_foreign_filter_is_kept() {
    local port
    trap 'gw tc qdisc del dev lan3 clsact 2>/dev/null || true' EXIT
    engine_at_clsact
    soon 5 clsacts "${PORTS[@]}"
    soon 5 programs "${PORTS[@]}"
    port=$(fresh_port)
    download h10 "$port" "$ISP_4"
    soon 10 on_path ebpf --proto tcp --text "$port"
    gw tc filter add dev lan3 ingress pref 9 protocol ip u32 match u8 0 0
    gw fastpathctl engine flowtable >/dev/null
    soon 10 engine_is flowtable
    soon 5 clsacts lan3
    same "filters of lan3" "$(filters lan3 ingress)" "u32 9"
    gw tc qdisc del dev lan3 clsact
    gw fastpathctl engine ebpf >/dev/null
    soon 10 engine_is ebpf
    soon 5 programs "${PORTS[@]}"
    gw /etc/init.d/fastpathd stop
    clsacts || fail "a clsact is left"
    gw /etc/init.d/fastpathd start
}

test_filters_that_feed_cake_stay_without_the_engine() {
    local port before
    engine_at_clsact_with_cake
    soon 5 clsacts "${PORTS[@]}"
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 300k
    soon 10 on_path ebpf --proto tcp --text "$port"
    before=$(shaped_bytes)
    soon 10 more_shaped $((before + 300000))
    gw fastpathctl engine off >/dev/null
    soon 10 engine_is off
    soon 5 programs
    clsacts "${HOSTS[@]}" || fail "it is not in force"
    feeds_cake "${HOSTS[@]}" || fail "it is not in force"
    limits 50000 10000 || fail "it is not in force"
    before=$(shaped_bytes)
    soon 10 more_shaped $((before + 300000))
    gw fastpathctl engine ebpf >/dev/null
    soon 10 engine_is ebpf
    soon 5 programs "${PORTS[@]}"
    # Removing CAKE keeps the programs.
    engine_at_clsact
    soon 10 says '.latency.active | not' status
    clsacts "${PORTS[@]}" || fail "not all have one"
    programs "${PORTS[@]}" || fail "not all have one"
    same "filters for CAKE" "$(filters lan1 egress)" ""
    gw /etc/init.d/fastpathd stop
    clsacts || fail "a clsact is left"
    gw /etc/init.d/fastpathd start
}

test_a_removed_clsact_is_restored() {
    local port
    engine_at_clsact
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 300k
    soon 10 on_path ebpf --proto tcp --text "$port"
    gw tc qdisc del dev lan1 clsact
    soon 5 programs "${PORTS[@]}"
    engine_at_clsact_with_cake
    gw tc qdisc del dev lan1 clsact
    soon 5 feeds_cake "${HOSTS[@]}"
    soon 5 programs "${PORTS[@]}"
    limits 50000 10000 || fail "it is not in force"
    # A clsact is restored without the engine, too.
    gw fastpathctl engine off >/dev/null
    soon 10 engine_is off
    gw tc qdisc del dev lan1 clsact
    soon 5 feeds_cake "${HOSTS[@]}"
    clsacts "${HOSTS[@]}" || fail "others have one"
}
