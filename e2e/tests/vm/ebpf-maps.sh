# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Maps and hooks of the eBPF programs: counters, eviction from full maps, removal.

ebpf_says() { says "$1" ebpf; }
hook_of() { said ".devices[] | select(.device == \"$1\") | .hook" ebpf; }

QUESTION='\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03lab\x07example\0\0\x01\0\x01'

# carried_of PORT: prints packets and bytes per direction, summed over conntrack and the eBPF
# entries.
carried_of() {
    local swapped=$((($1 & 255) << 8 | $1 >> 8))
    {
        conntrack_of "$1" | grep -oE '(packets|bytes)=[0-9]+' | cut -d = -f 2 | xargs
        gw bpftool -j map dump pinned /sys/fs/bpf/fastpath/flows4 | jq -r "[.[].formatted] |
            map(.value) | ([.[] | select(.key.sport == $swapped)] +
                [.[] | select(.key.dport == $swapped)]) |
            map(.e | \"\(.packets) \(.bytes)\") | join(\" \")"
    } | awk '{ for (i = 1; i <= 4; i++) sum[i] += $i } END { print sum[1], sum[2], sum[3], sum[4] }'
}

# at_card: prints the counters of h10's network card without link headers.
at_card() {
    h10 "cd /sys/class/net/eth0/statistics && cat tx_packets tx_bytes rx_packets rx_bytes" | xargs |
        awk '{ print $1, $2 - 14 * $1, $3, $4 - 14 * $3 }'
}

# agree SUBJECT GOT WANTED AGAIN: compares four numbers with a tolerance of 0.1 %. AGAIN is the
# number of retransmissions, whose lost originals may have passed the gateway.
agree() {
    local got wanted more at
    read -r -a got <<<"$2"
    read -r -a wanted <<<"$3"
    more=(0 0 "$4" "$(($4 * 1500))")
    for at in 0 1 2 3; do
        between "$1 ($2 instead of $3, $4 sent again): number $at" "${got[at]}" \
            $((wanted[at] * 999 / 1000)) $((wanted[at] * 1001 / 1000 + more[at]))
    done
}

# both_agree PORT WANTED AGAIN: compares conntrack plus entries, then the daemon's counters.
both_agree() {
    (agree "conntrack and entries" "$(carried_of "$1")" "$2" "$3") &&
        (agree "the daemon's counters" "$(newest --proto tcp --text "$1" |
            jq -r '"\(.up_packets) \(.up_bytes) \(.down_packets) \(.down_bytes)"')" "$2" "$3")
}

fetched_all() { peers grep -q fetched /tmp/e2e/gigabyte.log; }

test_a_gigabyte_is_counted_exactly() {
    local port before after again
    engine_ebpf
    again=$(retransmitted isp)
    peers truncate -s 1000000000 /tmp/www/gigabyte.bin
    port=$(fresh_port)
    before=$(at_card)
    # A second file keeps the connection open while the counters are compared.
    begin h10 gigabyte "exec curl -sSf -w '%{stderr}fetched' --local-port $port -o /dev/null" \
        "--limit-rate 40M http://$ISP_4/gigabyte.bin" \
        "--next --limit-rate 1k -o /dev/null http://$ISP_4/1.bin"
    soon 10 on_path ebpf --proto tcp --text "$port"
    carried_from "$port"
    soon 400 fetched_all
    until_still 10 at_card
    after=$(at_card)
    after=$(echo "$before $after" | awk '{ print $5 - $1, $6 - $2, $7 - $3, $8 - $4 }')
    again=$(($(retransmitted isp) - again))
    note "at the host: $after; seen by the stack: $(kernel_saw "$port") packets, $again sent again"
    soon 5 both_agree "$port" "$after" "$again"
    carried_to "$port" 1000000000
}

# small_maps ENTRIES: loads maps of that size. Clears conntrack first, because its connections would
# get entries.
small_maps() {
    gw "fastpathctl engine off >/dev/null; conntrack -F 2>/dev/null; L=/usr/libexec/fastpath-bpf
        \$L unload &&
        \$L load --flows $1 --owner \$(id -u fastpath):\$(id -g fastpath)" >/dev/null
}

# questions NUMBER: opens short conversations from h10 with the ISP's DNS server.
questions() {
    h10 "bash -c 'for i in {1..$1}; do exec 3<>/dev/udp/$ISP_4/53; echo -ne \"$QUESTION\" >&3
        read -r -t 1 -n 1 -u 3 _; done'"
}

# knocks NUMBER: simulates a scan that nobody answers.
knocks() {
    h10 "bash -c 'for i in {1..$1}; do echo >/dev/udp/203.0.113.99/\$i; done
        for i in {1..10}; do
            timeout 0.05 bash -c \"echo >/dev/tcp/203.0.113.99/\$i\"
        done'" || true
}

evicted() { said .evicted ebpf; }

# make_room NUMBER: succeeds once NUMBER ended conversations were evicted.
make_room() {
    questions 5
    ebpf_says ".evicted >= $1"
}

# @fault:maps-full
test_full_maps_evict_ended_connections() {
    local port before
    trap 'gw /etc/init.d/fastpathd restart' EXIT
    small_maps 32
    engine_ebpf
    soon 5 ebpf_says '.capacity == 16'
    port=$(fresh_port)
    download h10 "$port" "$ISP_4"
    soon 10 on_path ebpf --proto tcp --text "$port"
    # Flows without an answer have no entries.
    before=$(said .flows ebpf)
    knocks 100
    same "connections after a scan" "$(said .flows ebpf)" "$before"
    same "connections that had to leave" "$(evicted)" 0
    # Ended conversations are evicted, active ones stay.
    questions 15
    soon 5 ebpf_says '.flows == 16'
    soon 10 make_room 5
    note "$(evicted) conversations made room"
    ebpf_says '.flows <= 16' || fail "more connections than there is room for"
    on_path ebpf --proto tcp --text "$port" || fail "the download had to leave"
}

bare() {
    local ours kernels
    ours=$(gw /usr/libexec/fastpath-bpf show)
    kernels=$(gw bpftool -j net show | jq -c '.[0] | [.xdp, .tc] | flatten')
    [ "$ours$kernels" = "[][]" ] || { echo "$ours $kernels"; return 1; }
}

hooked() { [ "$(hook_of "$1")" = xdp-generic ] || { ask ebpf; return 1; }; }
strips() { gw ethtool -k e2e0 | grep -q 'rx-vlan-offload: on'; }

# Generic XDP needs VLAN tags, so their stripping is disabled. A device with a foreign program stays
# with the flowtable.
test_unloading_removes_all_programs() {
    trap 'gw "ip link set lan3 xdpgeneric off; /etc/init.d/fastpathd restart"' EXIT
    soon 10 bare
    gw 'ip link add e2e0 type veth peer name e2e1
        ip link set e2e0 master br-lan up && ip link set e2e1 up
        bridge vlan add dev e2e0 vid 10 pvid untagged
        bpftool net attach xdpgeneric pinned /sys/fs/bpf/fastpath/none/fastpath_pass dev lan3'
    strips || fail "tags are not stripped from the first"
    configure <<<"config fastpath 'main'
	option engine 'ebpf'
	option hook 'xdp-generic'
	option on_exit 'remove'"
    soon 10 engine_is ebpf
    for device in lan1 lan2 wan e2e0; do
        soon 5 hooked "$device"
    done
    ! strips || fail "tags are stripped before XDP"
    same "hook of lan3" "$(hook_of lan3)" ""
    soon 5 says '.health[] | select(.code == "ebpf-partly") | .text | test("lan3")' status
    note "$(said .why ebpf)"
    soon 5 says '.engine.devices | index("lan3")' status
    has "the flowtable" "$(gw nft list flowtable inet fastpath ft)" "devices = { lan3 }"
    gw 'ip link set lan3 xdpgeneric off; fastpathctl engine off' >/dev/null
    soon 5 engine_is off
    soon 5 bare
    soon 3 strips
    gw fastpathctl engine ebpf >/dev/null
    soon 10 engine_is ebpf
    soon 5 hooked lan3
    gw /etc/init.d/fastpathd stop
    ! gw '[ -e /sys/fs/bpf/fastpath ] || /usr/sbin/nft list table inet fastpath' ||
        fail "something is left: $(gw 'find /sys/fs/bpf/fastpath; nft list tables')"
    same "programs of the kernel" \
        "$(gw bpftool -j net show | jq -c '.[0] | [.xdp, .tc] | flatten')" "[]"
    strips || fail "the card does not take tags off again"
}
