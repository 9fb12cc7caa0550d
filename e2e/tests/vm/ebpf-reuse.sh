# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Successive connections with the same tuple: entries of an ended connection never affect the next
# one.

# client_routes: prints `CLIENT ADDRESS SERVER` for each route. The last route is a port forward.
client_routes() {
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

# prepare_routes: starts a server per route, adds the port forward, and disables TIME_WAIT, which
# would block the reuse of a port.
prepare_routes() {
    local port=$FIRST_SERVED _ host
    add_config firewall <<<"$WEB_FORWARD"
    while read -r _ _ host; do
        begin "$host" "served$port" "exec /tmp/e2e/reuse serve $port" </dev/null
        port=$((port + 1))
    done < <(client_routes)
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

# reuse NUMBER: opens NUMBER connections per route in parallel. Prints COMPLETE STALLS.
reuse() {
    local port=$FIRST_SERVED host address _ source
    source=$(fresh_port)
    while read -r host address _; do
        begin "$host" "reuse$port" "/tmp/e2e/reuse $address $port $source $1" \
            </dev/null
        port=$((port + 1))
    done < <(client_routes)
    for port in $(seq $FIRST_SERVED $((port - 1))); do
        soon 400 ended "reuse$port"
        peers cat "/tmp/e2e/reuse$port.log"
    done | awk '{ complete += $1; stalls += $2 } END { print complete, stalls }'
}

# @each auto | 40 @core
# @each flowtable tcx | 1700 @long
test_connections_that_reuse_a_tuple_complete() {
    engine_at "$1"
    prepare_routes
    same "connections that were complete, and stalled" "$(reuse "$2")" "$((6 * $2)) 0"
}
