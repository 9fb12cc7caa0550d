# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A hostile PPPoE server or subscriber of the same VLAN damages frames, terminates sessions, or
# assigns invalid addresses and MRUs.

DEVICE=access.35

# peer ARGUMENTS…: starts the hostile server, which logs to /tmp/e2e/peer.log.
peer() { begin isp peer "exec /tmp/e2e/pppoe-peer $*"; }
copied() {
    peers 'cat >/tmp/e2e/pppoe-peer && chmod +x /tmp/e2e/pppoe-peer' <"$VM/peers/pppoe-peer"
}
# received LINE [TIMES]: succeeds once the hostile server has logged LINE that often.
received() { [ "$(peers "grep -cx '$1' /tmp/e2e/peer.log")" -ge "${2:-1}" ]; }

# @core
# @fault:pppoe-padt
test_only_the_servers_own_padt_ends_a_session() {
    local port session since bytes sessions
    copied
    knows_macs
    port=$(fresh_port)
    download h10 "$port" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    session=$(said '.pppoe[0].session' topology)
    since=$(said '.wan[0].up_since_ms' status)
    DAEMON=$(daemon_pid)
    # PADTs for all other session numbers of this subscriber, and for the real one from a wrong MAC.
    sessions="seq 1 3000 | grep -vx $session"
    isp "/tmp/e2e/pppoe-peer padt $DEVICE - ${MAC[wan]} \$($sessions)"
    isp "/tmp/e2e/pppoe-peer padt $DEVICE 525400020099 ${MAC[wan]} $session $session"
    read -r _ bytes <<<"$(conntrack_bytes "$port")"
    soon 10 bytes_grow "$port" "$bytes"
    on_path flowtable --proto tcp --text "$port" || fail "not offloaded any more"
    same "the session" "$(said '.pppoe[0].session' topology)" "$session"
    # netifd reports whole seconds.
    says ".wan[0].up_since_ms - $since | fabs < 2000" status || fail "another session of the WAN"
    isp "/tmp/e2e/pppoe-peer padt $DEVICE - ${MAC[wan]} $session"
    soon 10 wan_is_down
    says '[.health[] | select(.code == "wan-down")] | length == 1' status || fail "health is silent"
    ! offloaded "$port" || fail "offloaded over a session that is over: $(conntrack_of "$port")"
    soon 30 wan_is_up
    [ "$(said '.wan[0].up_since_ms' status)" -gt "$since" ] || fail "up since before the reconnect"
    soon 15 internet
    same "the daemon" "$(daemon_pid)" "$DAEMON"
}

# no_server: stops the ISP's server and its sessions until server_back.
no_server() {
    at_the_end server_back
    peers 'pkill -STOP -x pppoe-server; pkill -x pppd || true'
}
server_back() {
    end peer
    peers 'pkill -CONT -x pppoe-server'
}

# @fault:pppoe-discovery
test_damaged_discovery_answers_are_ignored() {
    local memory
    copied
    DAEMON=$(daemon_pid)
    memory=$(daemon_kib)
    no_server
    peer serve "$DEVICE" - 203.0.113.1 198.51.100.10
    pppoe_end TERM
    soon 10 wan_is_down
    # pppd retries after each damaged answer.
    soon 30 received "discovery 19" 2
    wan_is_down || fail "up without a session"
    says '[.health[] | select(.code == "wan-down")] | length == 1' status || fail "health is silent"
    lacks "the answers" "$(ask status; ask topology)" onerror
    server_back
    soon 60 wan_is_up
    soon 15 internet
    same "the daemon" "$(daemon_pid)" "$DAEMON"
    between "memory, KiB more" $(($(daemon_kib) - memory)) -4000 4000
}

# serves MRU LOCAL REMOTE LINE: runs the hostile server until it has logged LINE. Fails unless the
# session is then down or reported with the kernel's address.
serves() {
    peer serve "$DEVICE" "$1" "$2" "$3"
    pppoe_end TERM
    soon 60 received "$4"
    until_still 5 wan_state
    note "MRU $1, $2, $3: $(wan_state)"
    soon 10 matches_kernel
    between "MTU of the session" "$(gw cat /sys/class/net/pppoe-wan/mtu || echo 1492)" 68 1500
    end peer
}
wan_state() { said '.wan[0] | "\(.up) \(.addresses | map(select(contains(":") | not)))"' status; }
matches_kernel() {
    local address
    address=$(gw 'ip -4 -o addr show dev pppoe-wan 2>/dev/null' |
        sed -n 's/.* inet \([0-9.]*\).*/\1/p')
    if [ -z "$address" ]; then
        wan_is_down && says '[.health[] | select(.code == "wan-down")] | length == 1' status
    else
        wan_says ".up and ([.addresses[] | startswith(\"$address/\")] | any)"
    fi
}

# @fault:pppoe-addresses
test_invalid_addresses_and_mrus_are_harmless() {
    copied
    DAEMON=$(daemon_pid)
    no_server
    serves 0 203.0.113.1 198.51.100.10 "ppp c021 4"
    serves 65535 203.0.113.1 224.0.0.1 addresses
    serves 65535 203.0.113.1 127.0.0.1 addresses
    serves 1492 0.0.0.0 0.0.0.0 addresses
    server_back
    pppoe_end TERM
    soon 60 wan_is_up
    soon 15 internet
    same "the daemon" "$(daemon_pid)" "$DAEMON"
}
