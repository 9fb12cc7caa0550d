# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Floods of connections, events and clients. Meanwhile an offloaded connection loses no packet, the
# page answers within two seconds, and the daemon uses less than 100 MB and does not restart. Losses
# are counted, and the gateway recovers.

# shellcheck source=e2e/tests/vm/lib/floods.sh
. "$VM/lib/floods.sh"

# is_normal: succeeds if the daemon has no finding, except `resync`, which stays for a minute.
is_normal() {
    says '.conntrack.count < 500 and .conntrack.unlisted == 0 and
        ([.health[] | select(.code != "resync")] == [])' status
}

flood() {
    local mac
    mac=$(peers ip -n h10 neigh show 10.10.10.1 | sed -n 's/.* lladdr \([^ ]*\).*/\1/p')
    [ -n "$mac" ] || fail "h10 does not know the gateway"
    begin h10 flood "/tmp/e2e/flood $1 eth0 $mac $2 $3"
}

flood_from_outside() {
    local address device
    address=$(wan_address)
    device=$(isp ip -o route get "$address" | sed -n 's/.* dev \([^ ]*\).*/\1/p')
    [ -n "$device" ] || fail "the isp has no line to $address"
    begin isp flood "/tmp/e2e/flood tcp $device - $1 0 $address $2"
}

# flooded NUMBER: fails unless NUMBER packets were sent and each was tracked or counted.
flooded() {
    local report total refused
    report=$(peers cat /tmp/e2e/flood.log)
    same "packets of the flood" "${report% *}" "$1"
    read -r total refused < <(said '.conntrack | "\(.total) \(.refused)"' status)
    refused=$((refused - REFUSED))
    note "$1 new connections in ${report#* } s: $total in conntrack, $refused refused;" \
        "$(said '.conntrack | "\(.count) in the flow table, \(.resyncs) resyncs, \(.dump_ms) ms"' \
            status)"
    between "connections that were tracked or counted" $((total + refused)) $(($1 * 98 / 100)) \
        $(($1 + 5000))
}

end_connections() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'for state in SYN_SENT SYN_RECV; do conntrack -D -p tcp --state $state; done
        conntrack -D -p udp -d 203.0.113.128/25' >/dev/null 2>&1 || true
}

# keep_unanswered: keeps unanswered connections for a day or until the test ends, because a flood
# from a slow machine outlasts the normal timeouts.
keep_unanswered() {
    local name before=()
    for name in udp_timeout tcp_timeout_syn_sent tcp_timeout_syn_recv; do
        name=/proc/sys/net/netfilter/nf_conntrack_$name
        before+=("echo $(gw "cat $name; echo 86400 >$name") >$name;")
    done
    TIMEOUTS="${before[*]}"
    at_the_end as_before
}
as_before() {
    end_connections
    gw "$TIMEOUTS"
}

# @timed
# @each 80000 @fault:flood-half-open
# @each 1000000 @long @fault:flood-half-open-million
test_a_flood_of_half_open_connections() {
    keep_unanswered
    begin_flood
    flood tcp "$1" 0
    page_answers_until ended flood
    flooded "$1"
    soon 5 says '[.health[].code] | index("conntrack-full")' status
    end_flood
    end_connections
    soon 30 is_normal
    [ "$1" = 80000 ] || soon 90 says '.health == []' status
}

# Floods a port forward to a web server with SYNs from unreachable sources.
# @timed @fault:flood-port-forward
test_a_flood_through_a_port_forward() {
    keep_unanswered
    # Drop answers silently; an unreachable error would end the connections.
    isp ip route replace blackhole 198.18.0.0/24
    at_the_end 'as_before; isp ip route del blackhole 198.18.0.0/24'
    add_config firewall <<<"
$WEB_FORWARD"
    soon 5 isp curl -sf -m "$(patient 1)" -o /dev/null "http://$(wan_address):8080/index.html"
    begin_flood
    flood_from_outside 80000 8080
    page_answers_until ended flood
    flooded 80000
    soon 5 says '[.health[].code] | index("conntrack-full")' status
    end_flood
    end_connections
    configuration_back
    soon 30 is_normal
}

# Up to 20,000 packets per second, depending on the machine.
# @timed @fault:flood-udp-flows
test_a_flood_of_new_udp_flows() {
    keep_unanswered
    begin_flood
    flood udp 60000 20000
    page_answers_until ended flood
    flooded 60000
    end_flood
    end_connections
    soon 30 is_normal
}

forty_watch() {
    [ "$(gw 'find /tmp/clients -name "watch.*" -size +0 | wc -l')" -eq 40 ]
}

# @fault:flood-ubus-clients
test_a_flood_of_ubus_clients() {
    local answered
    begin_flood
    # 40 clients subscribe and never read; 160 clients call small and large methods. These have the
    # lowest priority, because starting 160 programs would occupy the CPU, unlike remote clients.
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'rm -rf /tmp/clients; mkdir /tmp/clients
        for n in $(seq 40); do
            fastpathctl watch >/tmp/clients/watch.$n 2>&1 &
            echo $! >>/tmp/clients/deaf
        done'
    soon 10 forty_watch
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'kill -STOP $(cat /tmp/clients/deaf)
        cat >/tmp/clients/start
        nice -n 19 sh /tmp/clients/start >/dev/null 2>&1 &' <<'END'
        for n in $(seq 160); do
            case $((n % 4)) in
                0) set -- topology ;;
                1) set -- flows --limit 500 ;;
                *) set -- status ;;
            esac
            { fastpathctl --json "$@" >/tmp/clients/$n.json && echo $n >>/tmp/clients/answered; } \
                2>>/tmp/clients/errors &
        done
        wait
        : >/tmp/clients/ended
END
    page_answers_until gw '[ -e /tmp/clients/ended ]'
    answered=$(gw 'wc -l </tmp/clients/answered; head -n 3 /tmp/clients/errors')
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'kill -KILL $(cat /tmp/clients/deaf); rm -rf /tmp/clients'
    same "calls with an answer, and errors" "$answered" 160
    end_flood
    soon 30 is_normal
}
