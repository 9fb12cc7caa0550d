# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # frames.sh uses the names
# Packets that no eBPF program may forward are counted exactly once, by reason.

# Number of frames per kind, IPv4 and IPv6 together.
FRAGMENTS=20
OPTIONS=14
LAST_HOPS=18
TRAILERS=6
GROUP=11

with_header() {
    local length
    printf -v length %04x $((16#${1:8:4} + ${#3} / 2))
    printf '%s' "${1:0:8}$length$2${1:14:66}$3${1:80}"
}

# with_options PACKET: inserts four bytes of IPv4 options (no operation).
with_options() {
    local length head
    printf -v length %04x $((16#${1:4:4} + 4))
    head=46${1:2:2}$length${1:8:12}
    printf '%s' "$head$(sum_of "$head${1:24:16}01010101")${1:24:16}01010101${1:40}"
}

# part PACKET OFFSET: makes the packet a fragment; OFFSET contains flags and offset.
part() {
    local head=${1:0:12}$2${1:16:4}
    printf '%s' "$head$(sum_of "$head${1:24:16}")${1:24}"
}

times() { for ((n = 0; n < $1; n++)); do printf '%s\n' "$2"; done; }

# odd_frames PORT: prints frames with the tuple of the UDP connection from h10's PORT to h20.
odd_frames() {
    local four six four_up six_up
    four=$(packet udp 10.10.10.10 "$1" "$H20_4" 7200 100)
    six=$(packet udp 2001:db8:10::10 "$1" "$H20_6" 7200 100)
    times 5 "$(frame h10 "$(part "$four" 2000)")"
    times 5 "$(frame h10 "$(part "$four" 0010)")"
    times 10 "$(frame h10 "$(with_header "$six" 2c 1100000100000001)")"
    times 7 "$(frame h10 "$(with_options "$four")")"
    times 7 "$(frame h10 "$(with_header "$six" 00 1100010400000000)")"
    TTL=1
    times 9 "$(frame h10 "$(packet udp 10.10.10.10 "$1" "$H20_4" 7200 100)")"
    times 9 "$(frame h10 "$(packet udp 2001:db8:10::10 "$1" "$H20_6" 7200 100)")"
    # The stack trims bytes after the packet; a program would forward them unchecked.
    times "$TRAILERS" "$(frame h10 "$four")$(filling 100)"
    times "$GROUP" "$(frame h10 "$four" | sed 's/^.\{12\}/01005e010203/')"
}

# unaccounted: prints received frames minus packets counted by the programs. Uses only readings
# without frames in between, and their most frequent value, because drivers may count later than the
# programs.
# shellcheck disable=SC2016 # expanded by the gateway and jq
unaccounted() {
    gw 'rx=statistics/rx_packets; cd /sys/class/net
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        cat lan1/$rx lan2/$rx lan3/$rx wan/$rx
        bpftool -j map dump pinned /sys/fs/bpf/fastpath/exits
        cat lan1/$rx lan2/$rx lan3/$rx wan/$rx
    done' | jq -s '[range(0; length; 9) as $i | select(.[$i:$i + 4] == .[$i + 5:$i + 9])
        | (.[$i:$i + 4] | add) - ([.[$i + 4][].formatted.values[].value.out[]] | add)]
        | if . == [] then error("frames arrived during every reading") else . end
        | group_by(.) | max_by(length) | .[0]'
}

exit_of() { jq ".exits[] | select(.exit == \"$2\") | .packets" <<<"$1"; }

# grew ANSWER REASON NUMBER: succeeds if the counter of REASON grew by NUMBER since ANSWER.
grew() {
    local now
    now=$(($(exits "$2") - $(exit_of "$1" "$2")))
    [ "$now" = "$3" ] || { echo "$now"; return 1; }
}

accounted() {
    local now
    now=$(unaccounted)
    [ "$now" = "$1" ] || { echo "$now instead of $1"; return 1; }
}

test_packets_that_are_not_forwarded_are_counted_once() {
    local before apart length
    configure <<END
config fastpath 'main'
	option engine 'ebpf'
	list ignore_device 'mgmt'
END
    soon 10 says '.engine.active == "ebpf"' status
    knows_macs
    h10 "ping -c 1 -W 2 $H20_4; ping -c 1 -W 2 $H20_6" >/dev/null
    apart=$(unaccounted)
    before=$(ask ebpf)
    odd_frames 7400 >"$BUILD/odd"
    for length in 114 118 122 214; do
        awk -v digits=$((length * 2)) 'length($0) == digits' "$BUILD/odd" | bytes |
            peers "cat >/tmp/e2e/odd; ip netns exec h10 socat -u -b $length \
                FILE:/tmp/e2e/odd INTERFACE:eth0"
    done
    soon 5 grew "$before" fragment "$FRAGMENTS"
    soon 2 grew "$before" options "$OPTIONS"
    soon 2 grew "$before" ttl "$LAST_HOPS"
    soon 2 grew "$before" malformed "$TRAILERS"
    # Hosts may send multicast packets themselves.
    between "packets to a group" $(($(exits multicast) - $(exit_of "$before" multicast))) \
        "$GROUP" $((GROUP + 10))
    says '.seen == ([.exits[].packets] | add)' ebpf || fail "exits do not add up"
    between "the packets that came in" "$(said .seen ebpf)" \
        $(($(jq .seen <<<"$before") + FRAGMENTS + OPTIONS + LAST_HOPS + TRAILERS + GROUP)) \
        1000000000
    soon 10 accounted "$apart"
}

# bench_agrees FUNCTION: succeeds if the benchmark and the daemon count the same forwarded packets.
bench_agrees() {
    local found
    found=$(gw "$1; forwarded /sys/fs/bpf/fastpath/exits")
    if [ "$found" -le 100 ] || [ "$found" != "$(exits forwarded)" ]; then
        echo "$found"
        return 1
    fi
}

# @core
# The benchmark discards rows whose packets took another path.
test_the_bench_counts_forwarded_packets_of_all_ports() {
    local counter
    # shellcheck source=e2e/bench/guest/lib.sh
    counter=$(. "$TOP/e2e/bench/guest/lib.sh" && declare -f forwarded)
    engine_ebpf
    h10 "curl -sS -o /dev/null http://$ISP_4/32.bin"
    soon 10 bench_agrees "$counter"
}
