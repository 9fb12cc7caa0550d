# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hardware offload with a switch that forwards flows past the CPU (e2e/lab/uml/switch).

# shellcheck source=e2e/tests/vm/lib/examination.sh
. "$VM/lib/examination.sh"

PORTS="lan1 lan2 lan3 wan"

# switch COMMAND…: passes a command to the switch.
switch() { gw "echo '$*' >/proc/mock_switch"; }

hardware_on() {
    gw modprobe mock_switch 2>/dev/null ||
        skip "the switch is a module of the user-mode machine's kernel"
    at_the_end "hardware_off"
    # Linux binds the flowtable only if all ports have hardware offload; OpenWrt's kernel always.
    gw grep -q Y /sys/module/nf_tables/parameters/openwrt || PORTS="lan1 lan2 lan3 mgmt wan"
    switch "ports $PORTS"
    use flowtable-hw
}

hardware_off() {
    gw 'fastpathctl engine flowtable >/dev/null
        [ ! -d /sys/module/mock_switch ] || rmmod mock_switch'
    timeouts 30
}

# timeouts SECONDS: sets the idle time after which the kernel removes flows from the flowtable.
timeouts() {
    gw sysctl -q -w "net.netfilter.nf_flowtable_tcp_timeout=$1" \
        "net.netfilter.nf_flowtable_udp_timeout=$1"
}

# of_switch FIELD PORT: sums a field of the switch's entries of one connection.
of_switch() {
    gw cat /proc/mock_switch |
        awk -v field="$1" -v port="$2" '
            $0 ~ "(sport|dport) " port " " {
                for (i = 1; i < NF; i++) if ($i == field) sum += $(i + 1)
            }
            END { print sum + 0 }'
}

in_switch() { [ "$(of_switch packets "$1")" -ge "$2" ]; }

# directions PORT: prints which directions of a flow are in hardware.
directions() { said .hardware flow "$(field id "$(newest --proto tcp --text "$1")")"; }
has_directions() { [ "$(directions "$1")" = "$2" ]; }

# signal NAME TRAFFIC: sends a signal to the programs of traffic.
signal() { peers "kill -$1 -- -\$(cat /tmp/e2e/$2.pid)"; }

# all_counted PORT: whether conntrack's bytes are those that h10 received, plus IP and TCP headers.
all_counted() {
    local counted received
    counted=$(conntrack_bytes "$1")
    received=$(peers "ip netns exec h10 ss -tinH 'sport = :$1'" |
        sed -n 's/.* bytes_received:\([0-9]*\).*/\1/p')
    [ "${counted#* }" -ge "$received" ] && [ "${counted#* }" -le $((received * 107 / 100)) ]
}

# @core
test_flows_in_hardware_bypass_the_cpu_in_both_directions() {
    local address port
    hardware_on
    same "ports with hardware offload" \
        "$(said '.engine.hardware_ports | "\(.able | join(" ")) of \(.present)"' status)" \
        "$PORTS of 5"
    for address in "$H20_4" "$H20_6" "$ISP_4" "$ISP_6"; do
        port=$(fresh_port)
        download h10 "$port" "$address" 400k
        soon 15 on_path hardware --proto tcp --text "$port"
        soon 10 in_switch "$port" 500
        # Rules at ingress do not see the packets of PPPoE.
        case $address in
            "$H20_4" | "$H20_6") soon 15 has_directions "$port" both ;;
            *) soon 15 has_directions "$port" either ;;
        esac
        [ "$address" != "$H20_4" ] || soon 15 says '.engine.hardware_counts == true' status
        # The kernel removes an entry without reading its last bytes, so pause instead of ending.
        signal STOP "tcp$port"
        soon 15 all_counted "$port"
        signal CONT "tcp$port"
        end "tcp$port"
    done
}

test_a_direction_that_the_driver_refuses_is_shown() {
    local port
    hardware_on
    switch "refuse-in lan2"
    port=$(fresh_port)
    download h10 "$port" "$H20_4"
    soon 15 on_path hardware --proto tcp --text "$port"
    soon 15 has_directions "$port" up
}

# The driver holds no flow of this kind, so its table does not count as full.
test_flows_that_the_driver_refuses_have_the_reason() {
    local port
    hardware_on
    switch "refuse 80"
    port=$(fresh_port)
    download h10 "$port" "$H20_4"
    soon 20 on_path flowtable/hw-refused --proto tcp --text "$port"
    same "full" "$(said .engine.hardware_full status)" null
}

# The kernel offers a flow again with its next packet on the CPU (`flow_offload_refresh`).
test_a_flow_that_the_driver_loses_is_taken_again() {
    local port
    hardware_on
    port=$(fresh_port)
    download h10 "$port" "$H20_4"
    soon 15 on_path hardware --proto tcp --text "$port"
    soon 10 in_switch "$port" 100
    switch forget
    soon 20 in_switch "$port" 100
    soon 15 has_directions "$port" both
}

many() { begin h10 many "ulimit -n 4096; exec /tmp/e2e/many $H20_4 $1"; }

in_hardware() { said '.paths.hardware.flows' status; }
holds() { [ "$(in_hardware)" = "$1" ]; }

test_a_full_table_is_shown_with_its_size() {
    hardware_on
    switch "entries 2048"
    many 2000
    soon 60 holds 1024
    soon 30 says '.engine.hardware_full == 1024' status
    soon 20 says '.matched == 976' flows --reason hw-table-full --limit 1
    switch "entries 4096"
}

test_bytes_that_the_driver_does_not_count_are_unknown() {
    local port
    hardware_on
    timeouts 4
    switch "count 0"
    port=$(fresh_port)
    download h10 "$port" "$H20_4"
    soon 15 on_path hardware --proto tcp --text "$port"
    soon 40 says '.engine.hardware_counts == false' status
}

test_a_reset_of_the_switch_ends_no_connection() {
    local port before
    hardware_on
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 400k
    soon 15 on_path hardware --proto tcp --text "$port"
    soon 10 in_switch "$port" 100
    switch reset
    soon 20 on_path hardware --proto tcp --text "$port"
    before=$(of_switch packets "$port")
    soon 10 in_switch "$port" $((before + 100))
}

# The first pause, so no section names the device. The kernel removes flows from hardware once a
# second, and a removal takes up to two more.
# @long
test_a_pause_stops_a_flow_in_hardware() {
    local mac port before
    mac=$(h10 cat /sys/class/net/eth0/address)
    hardware_on
    at_the_end "gw fastpathctl forget $mac; hardware_off; cp_config_back"
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 100k
    soon 15 on_path hardware --proto tcp --text "$port"
    soon 10 in_switch "$port" 50
    gw fastpathctl pause "$mac"
    until_still 5 of_switch packets "$port"
    before=$(h10 cat /sys/class/net/eth0/statistics/rx_bytes)
    never 3 received_more "$before" 20000
    gw fastpathctl resume "$mac"
    soon 10 h10 "curl -gsS -m 5 -o /dev/null http://$ISP_4/"
}
received_more() { [ "$(h10 cat /sys/class/net/eth0/statistics/rx_bytes)" -gt $(($1 + $2)) ]; }

in_flowtable() { [ "$(newest --proto tcp --text "$1" | jq -r .path)" = flowtable ]; }

test_the_switch_can_vanish_under_load() {
    local port before
    hardware_on
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 400k
    soon 15 on_path hardware --proto tcp --text "$port"
    gw rmmod mock_switch
    soon 20 in_flowtable "$port"
    before=$(conntrack_bytes "$port")
    soon 10 bytes_grow "$port" "${before#* }"
    lacks "the kernel's log" "$(gw dmesg)" "Call Trace"
}

# entries PORT: prints the entries of a flow in the format of mtk_ppe_debugfs.c (Linux 6.12).
entries() {
    newest --proto tcp --text "$1" | jq -r '
        def line($index; $from; $to; $sent_from; $sent_to):
            "\($index) BND IPv4 5T orig=\($from)->\($to) new=\($sent_from)->\($sent_to)" +
            " eth=02:00:00:00:00:01->02:00:00:00:00:02 etype=0000 vlan=0,0" +
            " ib1=21b10e5c ib2=007ff028 packets=1234 bytes=1851000";
        "\(.src):\(.sport)" as $src | "\(.nat_src):\(.nat_sport)" as $nat_src |
        "\(.dst):\(.dport)" as $dst | "\(.nat_dst):\(.nat_dport)" as $nat_dst |
        line("00123"; $src; $dst; $nat_src; $nat_dst),
        line("02b41"; $nat_dst; $nat_src; $dst; $src)'
}

# table: the text on stdin becomes a driver's table in debugfs, which the lab's kernel lacks.
table() {
    gw '[ -d /sys/kernel/debug/ppe0 ] || busybox mount -t tmpfs none /sys/kernel
        mkdir -p /sys/kernel/debug/ppe0
        cat >/sys/kernel/debug/ppe0/entries
        grep " BND " /sys/kernel/debug/ppe0/entries >/sys/kernel/debug/ppe0/bind || true'
}

# in_table FILTER PORT: prints the answer of fastpath.doctor ppe for a flow.
in_table() {
    local flow
    flow=$(newest --proto tcp --text "$2" | jq -c '
        {proto, src, sport, dst, dport, nat_src, nat_sport, nat_dst, nat_dport}')
    gw "ubus call fastpath.doctor ppe '$flow'" | jq -r "$1"
}

# @finds:hardware-unbound
test_the_table_of_the_chip_is_compared_with_the_flows() {
    local port found
    hardware_on
    port=$(fresh_port)
    download h10 "$port" "$H20_4" 400k
    soon 15 has_directions "$port" both
    same "without debugfs" "$(in_table .error.cause.code "$port")" no-debugfs
    found=$(examined hardware-unbound)
    same "severity" "$(field severity "$found")" unknown
    has "the reason" "$found" "debugfs is not mounted"

    at_the_end 'gw busybox umount /sys/kernel; hardware_off'
    entries "$port" | table
    same "its entries" "$(in_table '.entries[] | "\(.table) \(.index) \(.state) \(.direction)"' \
        "$port")" $'ppe0 291 BND up\nppe0 11073 BND down'
    same "a reply as it enters" "$(in_table '.entries[1].original | "\(.src):\(.sport)"' "$port")" \
        "$H20_4:80"
    well hardware-unbound

    entries "$port" | sed 's/ BND / UNB /' | table
    same "its state" "$(in_table '[.entries[] | .state + (.new | tostring)] | join(" ")' "$port")" \
        "UNBnull UNBnull"
    soon 60 finds hardware-unbound warning "$H20_4:80"
}
