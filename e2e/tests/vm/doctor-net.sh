# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The doctor's network checks: each defect is caused, found, fixed, and then silent.
# shellcheck disable=SC2016 # the gateway expands it

# The groups this file is about.
GROUPS_HERE='["flowtable", "offload", "rules", "bridge", "conntrack", "pppoe"]'

# @core @silent:flowtable @silent:offload @silent:rules @silent:bridge @silent:conntrack
# @silent:pppoe
test_healthy_gateway_is_silent() {
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
test_engine_and_its_module() {
    doctor '
        fastpathctl engine off >/dev/null
        finds flowtable-off
        silent flowtable-missing
        rmmod nft_flow_offload
        finds flowtable-missing
        # Debian has its list of modules, OpenWrt reads each *.ko.
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

# A table that is deleted comes back at once, so the daemon has to be kept from making it.
# @finds:flowtable-differs
test_table_that_was_deleted() {
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
test_queue_that_the_flowtable_would_pass() {
    trap 'gw "tc qdisc del dev pppoe-wan root" 2>/dev/null || true' EXIT
    doctor '
        silent flowtable-shaped
        tc qdisc add dev pppoe-wan root tbf rate 50mbit burst 100kb latency 50ms
        soon 5 finds flowtable-shaped
        tc qdisc del dev pppoe-wan root
        soon 5 silent flowtable-shaped'
}

# @finds:policy-routing
test_routing_rule_that_ebpf_does_not_follow() {
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

# A fix that changes the settings: reviewed, applied, confirmed.
# @finds:flowtable-devices @finds:pppoe-slow
test_ports_left_out_by_the_settings() {
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
test_flowtable_of_somebody_elses() {
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

# A station that the bridge sees at one port and at another.
# @finds:hosts-roam
test_host_that_roams_all_the_time() {
    trap 'gw "bridge fdb del 02:00:00:00:77:77 dev lan3 master vlan 10" 2>/dev/null || true' EXIT
    # shellcheck disable=SC2016 # the gateway expands it
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
test_another_program_uses_our_bits_of_the_mark() {
    trap 'gw "rm -f /etc/config/pbr /etc/rc.d/S94pbr"' EXIT
    # shellcheck disable=SC2016 # the gateway expands it
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
test_traffic_kept_from_the_fast_path() {
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
test_firewall_that_offloads_itself() {
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
test_timeouts_of_the_flowtable() {
    doctor '
        silent flowtable-stale
        sysctl -qw net.netfilter.nf_flowtable_tcp_timeout=3600
        finds flowtable-stale
        fixes flowtable-stale
        silent flowtable-stale
        [ "$(sysctl -n net.netfilter.nf_flowtable_tcp_timeout)" = 30 ]'
}

# A connection of a host that nobody has met, as after a restart while its owner is away.
# @finds:flowtable-neighbours
test_hosts_without_a_neighbour() {
    doctor '
        trap "conntrack -D -s 10.10.10.99; ip neigh del 10.10.10.99 dev br-lan.10" EXIT
        # Connections of earlier tests, whose hosts have gone.
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
test_offloads_of_a_port() {
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

# Unit tests use ethtool's answers of real ones.
test_offloads_that_no_emulated_port_has() {
    skip "hw-tc-offload, LRO, receive hash, checksums and several queues: virtio here has none"
}

# @finds:hardware-refused
test_hardware_that_cannot() {
    doctor '
        silent hardware-refused
        fastpathctl engine flowtable-hw >/dev/null || true
        soon 5 finds hardware-refused
        silent flowtable-differs
        fixes hardware-refused
        soon 5 silent hardware-refused'
}

# @finds:forward-deep @finds:established-late
test_rules_for_each_packet() {
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
        # Now it decides something, and stays.
        plugin fix "{\"id\":\"established-late\"}" | grep -q no-fix
        nft list table inet e2e >/dev/null
        nft delete table inet e2e
        silent established-late'
}

# @finds:legacy-tables
test_tables_of_iptables() {
    gw 'modprobe -n iptable_filter' || skip "the kernel has no iptable_filter"
    # Only with this parameter does the table exist before its first use. It drops packets that are
    # forwarded for as long.
    doctor '
        silent legacy-tables
        modprobe iptable_filter forward=0
        finds legacy-tables
        rmmod iptable_filter
        silent legacy-tables'
}

# @finds:bridge-pvid @finds:bridge-vlan-empty @finds:bridge-stp
test_vlans_of_the_bridge() {
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
        # Ports that forward already go on; one whose link comes up listens first.
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
test_bridges_for_a_vlan_each() {
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
test_connection_tracking() {
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

# @finds:helpers-global
test_helpers_that_nobody_asked_for() {
    doctor '
        unload nf_nat_ftp nf_conntrack_ftp
        silent helpers-global
        modprobe nf_nat_ftp
        finds helpers-global
        nft "table inet e2e { ct helper ftp { type \"ftp\" protocol tcp; };
            chain pre { type filter hook prerouting priority 0;
                tcp dport 21 ct helper set ftp; }; }"
        silent helpers-global
        nft delete table inet e2e
        finds helpers-global
        fixes helpers-global
        silent helpers-global
        ! lsmod | grep nf_conntrack_ftp'
}

# @finds:pppoe-mtu @finds:pppoe-mss
test_line_whose_sizes_do_not_fit() {
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

# A program by its name alone.
# @finds:pppoe-idle @finds:pppoe-uncounted @finds:conntrack-uncounted
test_counters_and_timeouts_that_offload_bypasses() {
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

# Older lines are forgotten, for as long as the test takes: it starts with an empty log.
# @finds:pppoe-redials
test_line_that_ends_again_and_again() {
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

# pmtu: MTU and limit of the path to the ISP.
pmtu() {
    gw "echo '{\"target\":\"$ISP_4\"}' | /usr/libexec/rpcd/fastpath.doctor call pmtu" |
        jq -r '"\(.mtu) \(.limit)"'
}

test_packets_that_vanish_on_the_way() {
    trap 'isp nft delete table inet e2e' EXIT
    same "path to the ISP" "$(pmtu)" "1492 device"
    isp "nft 'table inet e2e { chain c {
        type filter hook input priority 0; meta length > 1400 drop; }; }'"
    same "path to the ISP" "$(pmtu)" "1400 silent"
}
