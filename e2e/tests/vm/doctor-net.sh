# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The doctor's network checks. Each test causes a defect, checks the finding, fixes it and checks
# that the finding is gone.
# shellcheck disable=SC2016 # expanded on the gateway

# shellcheck source=e2e/tests/vm/lib/wireguard.sh
. "$VM/lib/wireguard.sh"
# shellcheck source=e2e/tests/vm/lib/tunnels.sh
. "$VM/lib/tunnels.sh"

GROUPS_HERE='["flowtable", "offload", "rules", "bridge", "conntrack", "pppoe"]'

# @core @silent:flowtable @silent:offload @silent:rules @silent:bridge @silent:conntrack
# @silent:pppoe
test_a_healthy_gateway_has_no_findings() {
    local report loud
    report=$(gw "echo '{\"sample_ms\":0}' | /usr/libexec/rpcd/fastpath.doctor call run")
    loud=$(jq -c --argjson groups "$GROUPS_HERE" \
        '[.findings[] | select(.severity != "ok" and .severity != "info")
            | select([.group] - $groups == []) | {id, severity, title, consequence}]' <<<"$report")
    same "the doctor's findings on a healthy gateway" "$loud" "[]"
    note "checks: $(jq --argjson groups "$GROUPS_HERE" \
        '[.findings[] | select([.group] - $groups == [])] | length' <<<"$report")," \
        "took $(jq .took_ms <<<"$report") ms"
}

# @finds:flowtable-off @finds:flowtable-missing @finds:flowtable-differs
test_a_disabled_engine_and_a_missing_module_are_found() {
    doctor '
        fastpathctl engine off >/dev/null
        finds flowtable-off
        silent flowtable-missing
        rmmod nft_flow_offload
        finds flowtable-missing
        # Debian has a list of modules; OpenWrt scans for *.ko files.
        cd /lib/modules/$(uname -r)
        for file in modules.dep modules.dep.bin nft_flow_offload.ko; do
            [ ! -e $file ] || mv $file $file.hidden
        done
        report flowtable-missing | grep -q kmod-nft-offload
        fastpathctl engine flowtable >/dev/null || true
        silent flowtable-off
        soon 5 finds flowtable-differs
        for file in *.hidden; do mv $file ${file%.hidden}; done
        fixes flowtable-missing
        silent flowtable-missing
        fastpathctl engine off >/dev/null
        fixes flowtable-off
        soon 5 silent flowtable-off
        soon 5 silent flowtable-differs'
}

# The daemon restores a deleted table immediately, so the test disables its nft.
# @finds:flowtable-differs
test_a_deleted_table_is_found() {
    trap 'gw "busybox umount /usr/sbin/nft" 2>/dev/null || true' EXIT
    doctor '
        silent flowtable-differs
        cp /usr/sbin/nft /run/e2e/nft
        printf "%s\n" "#!/bin/sh" "[ \$(id -u) = 0 ] && exec /run/e2e/nft \"\$@\"" \
            >/run/e2e/for-root
        chmod +x /run/e2e/nft /run/e2e/for-root
        busybox mount --bind /run/e2e/for-root /usr/sbin/nft
        nft delete table inet fastpath
        soon 5 finds flowtable-differs
        busybox umount /usr/sbin/nft
        soon 60 silent flowtable-differs'
}

# @finds:flowtable-shaped
test_a_queue_that_the_flowtable_bypasses_is_found() {
    trap 'gw "tc qdisc del dev pppoe-wan root" 2>/dev/null || true' EXIT
    doctor '
        silent flowtable-shaped
        tc qdisc add dev pppoe-wan root tbf rate 50mbit burst 100kb latency 50ms
        soon 5 finds flowtable-shaped
        tc qdisc del dev pppoe-wan root
        soon 5 silent flowtable-shaped'
}

# @finds:policy-routing
test_a_routing_rule_unsupported_by_ebpf_is_found() {
    trap 'gw "ip -6 rule del from 2001:db8:77::/64 lookup 100
        fastpathctl engine flowtable" >/dev/null 2>&1' EXIT
    doctor '
        fastpathctl engine ebpf >/dev/null
        silent policy-routing
        ip -6 rule add from 2001:db8:77::/64 lookup 100
        soon 5 finds policy-routing
        fixes policy-routing
        soon 5 silent policy-routing'
}

# @finds:flowtable-devices @finds:pppoe-slow
test_ignored_ports_are_found() {
    configure <<'END'
config fastpath 'main'
	option engine 'flowtable'
	list ignore_device 'lan3'
	list ignore_device 'wan'
END
    doctor 'soon 10 finds flowtable-devices; finds pppoe-slow'
    change_confirmed flowtable-devices
    doctor 'soon 10 silent flowtable-devices; silent pppoe-slow'
}

# @finds:flowtable-upper @finds:flowtable-counters @finds:flowtable-foreign
test_a_foreign_flowtable_is_found() {
    doctor '
        silent flowtable-upper; silent flowtable-counters; silent flowtable-foreign
        nft "table inet e2e { flowtable f { hook ingress priority 9; devices = { br-lan.10 }; }; }"
        finds flowtable-upper; finds flowtable-counters; finds flowtable-foreign
        fastpathctl engine off >/dev/null
        soon 5 silent flowtable-foreign
        fastpathctl engine flowtable >/dev/null
        nft delete table inet e2e
        silent flowtable-upper; silent flowtable-counters; silent flowtable-foreign'
}

# Bridge entry of a station that alternates between two ports.
# @finds:hosts-roam
test_a_host_that_keeps_roaming_is_found() {
    trap 'gw "bridge fdb del 02:00:00:00:77:77 dev lan3 master vlan 10" 2>/dev/null || true' EXIT
    # shellcheck disable=SC2016 # expanded on the gateway
    doctor '
        at() { bridge fdb replace 02:00:00:00:77:77 dev $1 master dynamic vlan 10; }
        at lan1
        for number in 1 2 3 4 5; do at lan3; at lan1; done
        silent hosts-roam
        at lan3
        soon 5 finds hosts-roam
        report hosts-roam | grep -q "lan1 → lan3"
        fastpathctl engine ebpf >/dev/null
        soon 5 silent hosts-roam
        fastpathctl engine flowtable >/dev/null'
}

# @finds:marks-shared
test_mark_bits_shared_with_another_program_are_found() {
    trap 'gw "rm -f /etc/config/pbr /etc/rc.d/S94pbr"' EXIT
    # shellcheck disable=SC2016 # expanded on the gateway
    doctor '
        pbr() { printf "config pbr \"config\"\n\toption enabled \"1\"\n\toption fw_mask \"$1\"\n"; }
        silent marks-shared
        pbr 00ff0000 >/etc/config/pbr
        mkdir -p /etc/rc.d && : >/etc/rc.d/S94pbr
        silent marks-shared
        pbr 70000000 >/etc/config/pbr
        finds marks-shared'
}

# @finds:flowtable-share
test_a_low_share_of_offloaded_traffic_is_found() {
    local port
    configure <<'END'
config fastpath 'main'
	option engine 'flowtable'

config exclude
	option src '10.10.10.10'
END
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 2M
    doctor 'soon 20 finds flowtable-share
        report flowtable-share | grep -q "flows not offloaded: excluded"'
    configure <<<"config fastpath 'main'
	option engine 'flowtable'"
    doctor 'soon 20 silent flowtable-share'
}

# @finds:flowtable-fw4
test_offloading_by_the_firewall_is_found_and_disabled() {
    doctor '
        silent flowtable-fw4
        cp /etc/config/firewall /run/e2e/firewall
        sed -i "s/flow_offloading .0./flow_offloading 1/" /etc/config/firewall
        finds flowtable-fw4'
    change_confirmed flowtable-fw4
    doctor 'soon 10 silent flowtable-fw4
        grep "flow_offloading .0." /etc/config/firewall
        cp /run/e2e/firewall /etc/config/firewall'
}

# @finds:flowtable-stale
test_long_flowtable_timeouts_are_found_and_fixed() {
    doctor '
        silent flowtable-stale
        sysctl -qw net.netfilter.nf_flowtable_tcp_timeout=3600
        finds flowtable-stale
        fixes flowtable-stale
        silent flowtable-stale
        [ "$(sysctl -n net.netfilter.nf_flowtable_tcp_timeout)" = 30 ]'
}

# A connection whose host the router cannot resolve, as after a restart while the host is off.
# @finds:flowtable-neighbours
test_connections_without_a_neighbour_are_found() {
    doctor '
        trap "conntrack -D -s 10.10.10.99; ip neigh del 10.10.10.99 dev br-lan.10" EXIT
        # Earlier tests may have left connections of hosts that no longer exist.
        conntrack -F
        soon 10 silent flowtable-neighbours
        conntrack -I -p tcp -s 10.10.10.99 -d 203.0.113.1 --sport 4711 --dport 80 \
            --state ESTABLISHED -u SEEN_REPLY,ASSURED -t 600
        soon 10 finds flowtable-neighbours
        ip neigh add 10.10.10.99 lladdr 52:54:00:02:00:99 dev br-lan.10 nud permanent
        soon 10 silent flowtable-neighbours'
}

# @qemu: the ports of a user-mode machine have no driver with such offloads
# @finds:gro-off @finds:segmentation-off @finds:rings-small
test_disabled_port_offloads_are_found_and_enabled() {
    doctor '
        for check in gro-off segmentation-off rings-small; do silent $check; done
        ethtool -K lan1 gro off gso off
        ethtool -G lan1 rx 64
        finds gro-off; finds segmentation-off; finds rings-small
        fixes segmentation-off
        silent segmentation-off
        ethtool -G lan1 rx 256
        silent rings-small'
    change_confirmed gro-off
    doctor 'soon 10 silent gro-off
        ethtool -k lan1 | grep "^generic-receive-offload: on"'
}

# Unit tests use recorded answers of ethtool instead.
test_offloads_that_no_emulated_port_has() {
    skip "hw-tc-offload, LRO, receive hash, checksums and several queues: virtio here has none"
}

# @finds:hardware-refused
test_unsupported_hardware_offload_is_found() {
    doctor '
        silent hardware-refused
        fastpathctl engine flowtable-hw >/dev/null || true
        soon 5 finds hardware-refused
        silent flowtable-differs
        fixes hardware-refused
        soon 5 silent hardware-refused'
}

# @finds:forward-deep @finds:established-late
test_expensive_forward_rules_are_found() {
    doctor '
        silent forward-deep; silent established-late
        nft -f /lab/five-chain.nft
        finds forward-deep
        report forward-deep | grep -q "inet lab_five_chain"
        fixes forward-deep
        silent forward-deep
        ! nft list table inet lab_five_chain 2>/dev/null
        nft "table inet e2e { chain forward { type filter hook forward priority 5; policy accept;
            counter; counter; counter; counter; counter; ct state established,related accept; }; }"
        finds established-late
        nft add rule inet e2e forward ip saddr 192.0.2.1 drop
        # A chain with a rule that decides must stay.
        plugin fix "{\"id\":\"established-late\"}" | grep -q no-fix
        nft list table inet e2e >/dev/null
        nft delete table inet e2e
        silent established-late'
}

# @finds:legacy-tables
test_iptables_tables_are_found() {
    gw 'modprobe -n iptable_filter' || skip "the kernel has no iptable_filter"
    # Only `forward=0` creates the table on loading; the parameter drops forwarded packets
    # meanwhile.
    doctor '
        silent legacy-tables
        modprobe iptable_filter forward=0
        finds legacy-tables
        rmmod iptable_filter
        silent legacy-tables'
}

# @finds:bridge-pvid @finds:bridge-vlan-empty @finds:bridge-stp
test_problems_of_bridge_vlans_are_found() {
    doctor '
        for check in pvid vlan-empty per-vlan stp; do silent bridge-$check; done
        bridge vlan add dev lan3 vid 10 untagged
        soon 5 finds bridge-pvid
        bridge vlan del dev lan3 vid 10
        soon 5 finds bridge-pvid
        report bridge-pvid | grep -q "lan3 is not a member of any VLAN"
        bridge vlan add dev lan3 vid 10 pvid untagged
        soon 5 silent bridge-pvid
        bridge vlan add dev br-lan vid 77 self
        soon 5 finds bridge-vlan-empty
        bridge vlan del dev br-lan vid 77 self
        soon 5 silent bridge-vlan-empty
        # Only a port with a new link enters the state listening; others keep forwarding.
        ip link set br-lan type bridge forward_delay 600 stp_state 1
        ip link set lan3 down
        ip link set lan3 up
        soon 5 finds bridge-stp
        ip link set br-lan type bridge stp_state 0 forward_delay 1500
        ip link set lan3 down
        ip link set lan3 up
        soon 20 silent bridge-stp'
}

# @finds:bridge-per-vlan
test_a_bridge_per_vlan_is_found() {
    doctor '
        trap "ip link delete e2ea; ip link delete e2eb; ip link delete e2e0" EXIT
        printf "link add %s\n" "e2e0 type dummy" "e2ea type bridge" "e2eb type bridge" \
            "link e2e0 name e2e0.5 type vlan id 5" "link e2e0 name e2e0.6 type vlan id 6" |
            ip -b -
        ip link set e2e0.5 master e2ea
        silent bridge-per-vlan
        ip link set e2e0.6 master e2eb
        finds bridge-per-vlan
        ip link set e2e0.6 nomaster
        silent bridge-per-vlan'
}

# @finds:accounting-off @finds:conntrack-timeout @finds:conntrack-hash @finds:conntrack-full
test_problems_of_conntrack_are_found() {
    doctor '
        for check in accounting-off conntrack-full conntrack-timeout conntrack-hash; do
            silent $check
        done
        sysctl=/proc/sys/net/netfilter hash=/sys/module/nf_conntrack/parameters/hashsize
        limit=$(cat $sysctl/nf_conntrack_max) buckets=$(cat $hash)
        sysctl -qw net.netfilter.nf_conntrack_acct=0 \
            net.netfilter.nf_conntrack_tcp_timeout_established=432000
        finds accounting-off; finds conntrack-timeout
        fixes accounting-off; fixes conntrack-timeout
        silent accounting-off; silent conntrack-timeout
        echo 512 >$hash
        finds conntrack-hash
        fixes conntrack-hash
        silent conntrack-hash
        echo $buckets >$hash
        cat $sysctl/nf_conntrack_count >$sysctl/nf_conntrack_max
        finds conntrack-full
        fixes conntrack-full
        echo $limit >$sysctl/nf_conntrack_max
        silent conntrack-full'
}

# @finds:pppoe-mtu @finds:pppoe-mss
test_pppoe_problems_with_mtu_and_mss_are_found() {
    doctor '
        silent pppoe-mtu; silent pppoe-mss
        ip link set pppoe-wan mtu 1500
        finds pppoe-mtu
        fixes pppoe-mtu
        silent pppoe-mtu
        cp /etc/config/firewall /run/e2e/firewall
        sed -i /mtu_fix/d /etc/config/firewall
        /etc/init.d/firewall reload
        finds pppoe-mss'
    change_confirmed pppoe-mss
    doctor '
        grep "option mtu_fix .1." /etc/config/firewall
        soon 10 silent pppoe-mss
        cp /run/e2e/firewall /etc/config/firewall'
}

# fits SIZE: succeeds if an inner packet of SIZE bytes, the device's MTU, leaves in one piece.
fits() {
    local far=$FAR_4 size=$(($1 - 28)) before
    [[ $(carries "$KIND") == *4* ]] || far=$FAR_6 size=$((size - 20))
    gw ip link set $SITE mtu "$1"
    before=$(fragments)
    gw ping -c 1 -W 2 -M 'do' -s "$size" "$far" && same "fragments" "$(fragments)" "$before"
}
fragments() { gw 'nstat -asz IpFragCreates Ip6FragCreates | tail -n +2'; }

# @each gre wireguard sit ip6gretap vxlan xfrm
# @finds:tunnel-mtu @finds:tunnel-mss
test_a_tunnel_that_exceeds_the_session_is_found() {
    local room
    tunnel_on "$1"
    gw ip link set $SITE mtu 1500
    doctor 'finds tunnel-mtu'
    room=$(gw "$DOCTOR report tunnel-mtu" | jq '.findings[0].params.room')
    note "$1: $room"
    ! (fits $((room + 1))) || fail "a packet of $((room + 1)) bytes leaves in one piece"
    doctor 'finds tunnel-mtu'
    fits "$room"
    doctor 'silent tunnel-mtu; finds tunnel-mss'
    change_confirmed tunnel-mss
    doctor 'soon 10 silent tunnel-mss'
}

# @finds:pppoe-idle @finds:pppoe-uncounted @finds:conntrack-uncounted
test_counters_and_timeouts_bypassed_by_offload_are_found() {
    trap 'gw "sed -i /demand/d /etc/config/network; fastpathctl engine flowtable" >/dev/null' EXIT
    doctor '
        silent pppoe-idle; silent pppoe-uncounted; silent conntrack-uncounted
        sed -i "/option proto .pppoe./a option demand 300" /etc/config/network
        finds pppoe-idle
        sed -i "/option demand/d" /etc/config/network
        silent pppoe-idle
        [ -p /tmp/never ] || mkfifo /tmp/never
        sh -c "echo vnstatd >/proc/self/comm; read -r line </tmp/never" >/dev/null 2>&1 &
        until grep -qx vnstatd /proc/$!/comm; do :; done
        finds pppoe-uncounted
        kill $!
        silent pppoe-uncounted
        printf "%s\n" "table inet e2e {" "chain forward {" "type filter hook forward priority -10" \
            "ct bytes > 1000000 counter" "}" "}" | nft -f -
        silent conntrack-uncounted
        fastpathctl engine ebpf >/dev/null
        finds conntrack-uncounted
        nft delete table inet e2e
        silent conntrack-uncounted'
}

# Empty the log first: the doctor ignores earlier lines if the clock goes back.
# @finds:pppoe-redials
test_repeated_pppoe_reconnects_are_found() {
    doctor '
        silent pppoe-redials
        now=$(date +%s)
        busybox date -s "@$((now - 200000))" >/dev/null
        for n in 1 2 3; do logger -t "pppd[4711]" "Connect time $n.0 minutes."; done
        found=
        (soon 5 finds pppoe-redials) || found=nothing
        busybox date -s "@$((now + 2))" >/dev/null
        [ -z "$found" ]
        silent pppoe-redials'
}

pmtu() {
    gw "echo '{\"target\":\"$ISP_4\"}' | /usr/libexec/rpcd/fastpath.doctor call pmtu" |
        jq -r '"\(.mtu) \(.limit)"'
}

test_a_path_mtu_black_hole_is_found() {
    trap 'isp nft delete table inet e2e' EXIT
    same "path to the ISP" "$(pmtu)" "1492 device"
    isp "nft 'table inet e2e { chain c {
        type filter hook input priority 0; meta length > 1400 drop; }; }'"
    same "path to the ISP" "$(pmtu)" "1400 silent"
}
