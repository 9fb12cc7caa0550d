# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One tuple, connection after connection: no entry of an ended connection touches the next one.

# A way a line: who connects, to which address, and who serves there. The last is a port forward.
ways() {
    cat <<END
h10 $ISP_4 isp
h10 $ISP_6 isp
h10 $H20_4 h20
h10 $H20_6 h20
h11 $ISP_4 isp
isp $(wan_address) h10
END
}
FIRST_SERVED=7301

# prepare_ways: a server for each way, and the port forward. Ends keep no TIME_WAIT, which
# would refuse the next connection from the same port.
prepare_ways() {
    local port=$FIRST_SERVED _ host
    add_config firewall <<<"$WEB_FORWARD"
    while read -r _ _ host; do
        begin "$host" "served$port" "exec /tmp/e2e/reuse serve $port" </dev/null
        port=$((port + 1))
    done < <(ways)
    gw "nft -f - <<END
table inet e2e {
    chain dstnat {
        type nat hook prerouting priority dstnat
        ip daddr $(wan_address) tcp dport $((port - 1)) dnat to 10.10.10.10:$((port - 1))
    }
}
END"
    for host in h10 h11 h20 isp; do "$host" sysctl -qw net.ipv4.tcp_max_tw_buckets=0; done
    for port in $(seq $FIRST_SERVED $((port - 1))); do soon 5 is_served "$port"; done
}
is_served() {
    peers "for host in h10 h20 isp; do ip netns exec \$host ss -tlnH sport = :$1; done" | grep -q .
}

# reuse NUMBER: so many connections on each way, all ways at once. Prints COMPLETE STALLS.
reuse() {
    local port=$FIRST_SERVED host address _ source
    source=$(fresh_port)
    while read -r host address _; do
        begin "$host" "reuse$port" "/tmp/e2e/reuse $address $port $source $1" \
            </dev/null
        port=$((port + 1))
    done < <(ways)
    for port in $(seq $FIRST_SERVED $((port - 1))); do
        soon 400 ended "reuse$port"
        peers cat "/tmp/e2e/reuse$port.log"
    done | awk '{ complete += $1; stalls += $2 } END { print complete, stalls }'
}

# @each auto | 40 @core
# @each flowtable tcx | 1700 @long
test_a_tuple_is_used_again() {
    engine_at "$1"
    prepare_ways
    same "connections that were complete, and stalled" "$(reuse "$2")" "$((6 * $2)) 0"
}
