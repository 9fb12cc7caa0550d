# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Kinds of connections that eBPF offloads, and packets that it leaves to the stack.

# kinds: prints `HOST ADDRESS PORT` for each kind of connection.
kinds() {
    local wan
    wan=$(wan_address)
    cat <<END
h10 $ISP_4 7200
h10 $ISP_6 7200
h10 $H20_4 7200
h10 $H20_6 7200
isp $wan 7205
h11 $wan 7205
h10 $wan 7207
END
}

# port_forwards: adds port forwards to h10 and h20, also for hairpin connections, whose source
# address must be translated as well.
port_forwards() {
    # fw4 accepts foreign port forwards only if it has its own.
    add_config firewall <<<"$WEB_FORWARD"
    gw "nft -f - <<END
table inet e2e {
    chain dstnat {
        type nat hook prerouting priority dstnat
        ip daddr $(wan_address) meta l4proto { tcp, udp } th dport 7205 dnat to 10.10.10.10:7200
        ip daddr $(wan_address) meta l4proto { tcp, udp } th dport 7207 dnat to 10.10.20.10:7200
    }
    chain srcnat {
        type nat hook postrouting priority srcnat
        ip saddr 10.10.10.0/24 ip daddr 10.10.10.10 ct status dnat snat to 10.10.10.1
    }
}
END"
}

# begin_all NAME: reads lines `HOST COMMAND` and runs them in a background process group.
begin_all() {
    { sed 's/^/ip netns exec /; s/$/ \&/' && echo wait; } | peers "cat >/tmp/e2e/$1
        setsid sh /tmp/e2e/$1 >/tmp/e2e/$1.log 2>&1 </dev/null & echo \$! >/tmp/e2e/$1.pid"
}

# echoes: starts echo servers at port 7200. With larger blocks than 4096 bytes socat deadlocks: a
# pipe is writable as soon as a page is free.
echoes() {
    local host
    peers 'rm -f /tmp/e2e/go /tmp/e2e/exchange.*
        [ -f /tmp/e2e/noise ] ||
            head -c 300000 /dev/urandom | base64 -w 74 >/tmp/e2e/noise'
    for host in isp h10 h20; do
        echo "$host socat -b 4096 TCP6-LISTEN:7200,ipv6only=0,fork,reuseaddr PIPE"
        echo "$host /lab/echo 7200"
    done | begin_all echoes
    # @sleep: between two questions to ss
    peers "for host in isp h10 h20; do
        until [ \$(ip netns exec \$host ss -tuln | grep -c :7200) = 2 ]; do
            busybox usleep 50000
        done
    done"
}

# Multiples of 75 bytes, the length of a line of noise.
TCP_BYTES=390000
UDP_BYTES=60000

# exchanges: reads lines `HOST ADDRESS PORT` and exchanges data over TCP, and over UDP with the next
# local port.
exchanges() {
    local host address to port
    FIRST=$((10000 + RANDOM % 1000 * 20))
    port=$FIRST
    PORTS=()
    while read -r host address to; do
        echo "$host /tmp/e2e/exchange tcp $address $to $port $TCP_BYTES"
        echo "$host /tmp/e2e/exchange udp $address $to $((port + 1)) $UDP_BYTES"
        PORTS+=("$port")
        port=$((port + 2))
    done >"$BUILD/exchanges"
    begin_all exchanges <"$BUILD/exchanges"
}

answered() {
    local port
    for port in "${PORTS[@]}"; do
        echo "[ -s exchange.$port ] && [ -s exchange.$((port + 1)) ]"
    done | peers "cd /tmp/e2e; sh -e"
}

carried() {
    local on
    on=$(flows --path ebpf |
        jq -s "[.[] | select(.sport >= $FIRST and .sport < $FIRST + 20)] | length")
    [ "$on" = $((2 * ${#PORTS[@]})) ] || { paths; return 1; }
}

# echoed: succeeds once all TCP data and most UDP data has returned unchanged.
echoed() {
    local port
    for port in "${PORTS[@]}"; do
        echo "cmp -n $TCP_BYTES noise exchange.$port"
        port=$((port + 1))
        echo "if grep -v -x -F -f noise exchange.$port; then exit 1; fi"
        echo "[ \$(wc -c <exchange.$port) -ge $((UDP_BYTES * 8 / 10)) ]"
    done | peers "cd /tmp/e2e; sh -e"
}

# took: prints the slow-path bytes of each TCP connection.
took() {
    local port
    for port in "${PORTS[@]}"; do kernel_took "$port"; done
}

# carried_since TOOK PERCENT…: fails if a connection sent more than PERCENT of its bytes since TOOK
# over the slow path.
carried_since() {
    local before at=0 port
    mapfile -t before <<<"$1"
    shift
    for port in "${PORTS[@]}"; do
        between "bytes of the connection from $port that the stack saw, once it was carried" \
            $(($(kernel_took "$port") - before[at])) 0 $((2 * TCP_BYTES * $1 / 100))
        at=$((at + 1))
        shift
    done
}

# All connections run in parallel and in both directions. GRO merges packets before TCX, and the
# kernel cannot segment merged packets behind a PPPoE header, so they take the slow path.
# @each tcx @core
# @each auto @qemu: no port of a user-mode machine has a driver with XDP
test_connections_of_all_kinds_are_offloaded() {
    local before line=5
    ebpf_at "$1"
    [ "$1" != tcx ] || line=75
    gw "conntrack -F 2>/dev/null"
    port_forwards
    echoes
    exchanges < <(kinds)
    # The connections are older than these rules, which must accept them first.
    soon 30 answered
    gw nft add chain inet e2e later
    soon 30 carried
    before=$(took)
    peers touch /tmp/e2e/go
    soon 60 echoed
    carried
    carried_since "$before" "$line" "$line" 5 5 "$line" 5 5
    [ "$1" != auto ] || says '.devices | all(.hook == "xdp")' ebpf ||
        fail "the programs are not at the drivers"
    all_close
}

# shellcheck disable=SC2016 # expanded on the gateway
entries() {
    gw 'for map in flows4 flows6; do bpftool -j map dump pinned /sys/fs/bpf/fastpath/$map; done' |
        jq -s 'map(length) | add'
}
entries_are() { local now; now=$(entries); [ "$now" = "$1" ] || { echo "$now"; return 1; }; }

# all_close: checks that FIN and RST remove entries of both directions, and that UDP entries stay.
all_close() {
    local port left before
    port=$(fresh_port)
    download h10 "$port" "$ISP_4"
    soon 10 on_path ebpf --proto tcp --text "$port"
    before=$(exits tcp)
    peers "cd /tmp/e2e; kill -KILL -- -\$(cat tcp$port.pid)
        kill -INT -- -\$(cat echoes.pid) -\$(cat exchanges.pid)"
    left=${#PORTS[@]}
    soon 5 entries_are $((2 * left))
    # A FIN per connection, and the reset.
    soon 3 exits_reach tcp $((before + left + 1))
    download h10 "$port" "$ISP_4"
    soon 10 on_path ebpf --proto tcp --text "$port"
}

ftp() {
    local name=$1
    shift
    begin h10 "ftp-$name" "curl -sS $* -o /tmp/e2e/ftp.$name \
        ftp://203.0.113.1/noise"
}

ftp_arrived() {
    peers touch /tmp/e2e/go
    soon 20 ended "ftp-$1"
    ended_well "ftp-$1"
    peers "cmp /tmp/e2e/noise /tmp/e2e/ftp.$1; rm /tmp/e2e/go"
}

# The helper reads the control connection, so only expected data connections are offloaded.
test_ftp_data_connections_are_offloaded() {
    ebpf_at auto
    echoes
    gw 'modprobe -a nf_conntrack_ftp nf_nat_ftp; nft -f - <<END
table inet e2e {
    ct helper ftp { type "ftp" protocol tcp; }
    chain helpers {
        type filter hook prerouting priority filter
        tcp dport 21 ct helper set "ftp"
    }
}
END'
    begin isp ftpd "exec socat TCP4-LISTEN:21,fork,reuseaddr EXEC:/tmp/e2e/ftp"
    ftp passive --disable-epsv
    soon 10 on_path ebpf --proto tcp --text 7321
    soon 3 on_path slow/helper --reason helper
    ftp_arrived passive
    ftp active --disable-eprt -P -
    soon 10 on_path ebpf --proto tcp --text 7320
    on_path slow/helper --reason helper
    ftp_arrived active
}

mtu() {
    local bytes=$1 device
    shift
    for device; do echo "link set $device mtu $bytes"; done | gw 'ip -b -'
}

hosts_mtu() {
    peers "ip -n h10 link set eth0 mtu $1
        { ip -n h20 link set eth0.20 mtu $1 && ip -n h20 link set eth0 mtu $1; } 2>/dev/null ||
            { ip -n h20 link set eth0 mtu $1 && ip -n h20 link set eth0.20 mtu $1; }"
}

# shellcheck disable=SC2016 # expanded on the peers
mtu_back() {
    mtu 1500 br-lan.20 br-lan.10 br-lan lan1 lan2
    hosts_mtu 1500
    peers 'for host in h10 h20; do
        ip -n $host route flush cache; ip -n $host -6 route flush cache
    done'
}

between_vlans() {
    echoes
    exchanges <<<"h10 $H20_4 7200
h10 $H20_6 7200"
}

# After the path MTU has decreased, the kernel reports the first oversized packet to the sender;
# later packets are offloaded.
# @each auto
# @each tcx @long
test_a_smaller_path_mtu_is_reported_and_obeyed() {
    local before
    trap mtu_back EXIT
    ebpf_at "$1"
    mtu 1280 br-lan.20
    before=$(exits mtu)
    # Starts before the load, because a sender short of CPU time merges writes into large segments.
    between_vlans
    soon 30 carried
    peers touch /tmp/e2e/go
    soon 60 echoed
    carried
    has "the way to h20" "$(h10 ip route get "$H20_4")" "mtu 1280"
    until_still 5 exits mtu
    between "packets that were too large" $(($(exits mtu) - before)) 2 80
}

test_jumbo_frames_are_offloaded() {
    local port before
    trap mtu_back EXIT
    ebpf_at auto
    hosts_mtu 9000
    mtu 9000 lan1 lan2 br-lan br-lan.10 br-lan.20
    between_vlans
    soon 30 carried
    before=$(took)
    peers touch /tmp/e2e/go
    soon 60 echoed
    carried
    carried_since "$before" 5 5
    for port in "${PORTS[@]}"; do
        has "the connection" "$(h10 "ss -tin 'sport = :$port'")" pmtu:9000
    done
}
