# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Lifetime of connections offloaded by eBPF: engine switches, daemon restarts, idle hosts, resets.

# arrived: prints port and received bytes of each of h10's downloads.
arrived() {
    h10 ss -tinH 'dport = :80' | awk '
        /:80 *$/ { n = split($4, address, ":"); port = address[n] }
        match($0, /bytes_received:[0-9]+/) { print port, substr($0, RSTART + 15, RLENGTH - 15) }
    ' | sort
}

all_more() {
    local more
    more=$(join <(echo "$1") <(arrived) | awk '$3 > $2 { print $1 }')
    for port in "${PORTS[@]}"; do
        grep -qx "$port" <<<"$more" || { echo "$port of: $1, now $(arrived)"; return 1; }
    done
}
all_continue() { soon 20 all_more "$(arrived)"; }

resets() {
    h10 cat /proc/net/snmp | awk '/^Tcp: [0-9]/ { print $9 }'
}

# strangers: counts packets of PORTS and of the conversation that conntrack assigns to no
# connection.
strangers() {
    local ports
    ports=$(IFS=,; echo "${PORTS[*]}")
    gw "nft -f - <<END
table inet e2e {
    chain prerouting {
        type filter hook prerouting priority mangle
        ct state invalid tcp sport { $ports } counter
        ct state invalid tcp dport { $ports } counter
        ct state invalid udp sport 53 counter
        ct state invalid udp dport 53 counter
    }
}
END"
}

# unharmed RESETS: fails if more connections were reset, or if `strangers` has counted packets.
unharmed() {
    same "connections that were reset" "$(resets)" "$1"
    same "packets that conntrack does not know" "$(gw nft list chain inet e2e prerouting |
        sed -n 's/.* packets \([0-9]*\).*/\1/p' | xargs)" "0 0 0 0"
}

ebpf_says() { says "$1" ebpf; }
exits() { said ".exits[] | select(.exit == \"$1\") | .packets" ebpf; }

# under_load [COMMAND]: starts the downloads PORTS and a conversation, and waits for their offload.
# COMMAND runs first, because changing rules ends the offload.
under_load() {
    local address at=0
    PORTS=("$(fresh_port)" "$(fresh_port)" "$(fresh_port)")
    "$@"
    # Remove conversations of earlier tests: a restarted daemon cannot order flows by age.
    gw "conntrack -D -p udp -d $ISP_4" >/dev/null 2>&1 || true
    for address in "$ISP_4" "$ISP_6" "$H20_4"; do
        download h10 "${PORTS[at]}" "$address" 300k
        at=$((at + 1))
    done
    talk h10 udp "$ISP_4"
    all_carried
}

all_carried() {
    local port
    for port in "${PORTS[@]}"; do soon 10 on_path ebpf --proto tcp --text "$port"; done
    soon 10 on_path ebpf --proto udp --host "$ISP_4"
    all_continue
}

test_switching_engines_under_load_harms_no_connection() {
    local before talk engine
    engine_ebpf
    under_load
    talk=$(newest --proto udp --host "$ISP_4" | jq -r .id)
    before=$(resets)
    strangers
    for engine in flowtable ebpf off ebpf; do
        gw fastpathctl engine "$engine" >/dev/null
        soon 10 engine_is "$engine"
        all_continue
    done
    all_carried
    unharmed "$before"
    same "the conversation" "$(newest --proto udp --host "$ISP_4" | jq -r .id)" "$talk"
}

# stack_saw PORT NUMBER: succeeds if at least NUMBER packets of PORT took the slow path.
stack_saw() {
    local now
    now=$(kernel_saw "$1")
    [ "$now" -ge "$2" ] || { echo "$now"; return 1; }
}

# Five seconds after the last heartbeat, the programs pass all packets to the stack. The next daemon
# adopts their entries.
# @fault:daemon-stopped
test_connections_survive_ten_seconds_without_the_daemon() {
    local before pid seen port
    configure <<<"config fastpath 'main'
	option engine 'ebpf'"
    soon 10 engine_is ebpf
    under_load strangers
    before=$(resets)
    pid=$(daemon_pid)
    port=${PORTS[0]}
    seen=$(kernel_saw "$port")
    # Hold the supervisor, which would restart the daemon.
    instance hold fastpathd
    kill_daemon
    soon 10 stack_saw "$port" $((seen + 20))
    all_continue
    instance release fastpathd
    soon 15 engine_is ebpf
    [ "$(daemon_pid)" != "$pid" ] || fail "the same daemon"
    all_carried
    between "packets passed on without a daemon" "$(exits stale)" 20 1000000
    unharmed "$before"
    # Packets offloaded under the previous daemon count as well. Pause the downloads so that the
    # counters can catch up.
    trap 'peers killall -CONT curl' EXIT
    peers killall -STOP curl
    soon 10 all_reported
}

all_reported() {
    local port bytes
    while read -r port bytes; do counts "$port" "$bytes" || return 1; done <<<"$(arrived)"
}

# counts PORT BYTES: succeeds if the daemon counts BYTES, or a little more.
counts() {
    local down
    down=$(newest --proto tcp --text "$1" | jq -r .down_bytes)
    if [ "$down" -lt "$2" ] || [ "$down" -gt $(($2 * 12 / 10 + 1500000)) ]; then
        echo "$1: $down instead of $2"
        return 1
    fi
}

forgotten() { ! conntrack_of "$1"; }

# Shortens timeouts from hours to seconds. Flows with packets and flows that are idle for less than
# conntrack's timeout stay; others are removed with their entries.
# @long
test_idle_flows_expire_with_conntrack() {
    local port seen udp updates
    trap 'gw sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=7440 \
        net.netfilter.nf_conntrack_udp_timeout_stream=120' EXIT
    gw conntrack -F
    gw sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=12 \
        net.netfilter.nf_conntrack_udp_timeout_stream=6
    engine_ebpf
    begin isp echo "exec socat TCP4-LISTEN:$POUR_PORT,reuseaddr PIPE"
    talk h10 udp "$ISP_4"
    soon 10 on_path ebpf --proto udp --host "$ISP_4"
    udp=$(newest --proto udp --host "$ISP_4" | jq -r .sport)
    # @sleep: the rhythm of the traffic
    # @sleep: a silence, longer than conntrack would keep the connection
    begin h10 silent "exec bash -c 'exec 3<>/dev/tcp/$ISP_4/$POUR_PORT
        for i in {1..20}; do echo word >&3; read -r _ <&3; sleep 0.1; done
        sleep 8; echo word >&3; read -r -t 3 word <&3; echo again \$word; sleep 100'"
    soon 10 on_path ebpf --proto tcp --text "$POUR_PORT"
    port=$(newest --proto tcp --text "$POUR_PORT" | jq -r .sport)
    seen="$(kernel_saw "$port") $(kernel_saw "$udp")"
    updates=$(gw_during 8 "conntrack -E -e UPDATES -p udp --orig-port-src $udp 2>/dev/null" |
        wc -l)
    between "updates of conntrack in 8 s" "$updates" 1 9
    soon 10 peers grep -q "again word" /tmp/e2e/silent.log
    same "packets that the stack saw meanwhile" "$(kernel_saw "$port") $(kernel_saw "$udp")" "$seen"
    ebpf_says '.flows == 2' || fail "not two connections: $(ask ebpf)"
    never 9 forgotten "$port"
    soon 6 forgotten "$port"
    soon 2 ebpf_says '.flows == 1'
    on_path ebpf --proto udp --text "$udp" || fail "the conversation is carried no more"
    end udp
    soon 9 forgotten "$udp"
    soon 2 ebpf_says '.flows == 0'
}

# Conntrack did not see the offloaded packets, but must accept the reset.
test_a_reset_ends_an_offloaded_connection() {
    engine_ebpf
    under_load
    end_traffic
    for port in "${PORTS[@]}"; do soon 3 closed "$port"; done
}

closed() {
    local entry left state
    entry=$(conntrack_of "$1") || return 0
    read -r _ _ left state _ <<<"$entry"
    if [ "$state" != CLOSE ] || [ "$left" -gt 10 ]; then
        echo "$entry"
        return 1
    fi
}

# forge PORT NUMBER FLAGS [OPTION]: sends segments with random sequence numbers from the ISP's
# address and port to that download of h10. OPTION is a socat option.
# shellcheck disable=SC2034 # segment reads them
forge() {
    local wan ends at FLAGS=$3 SEQ ACK
    wan=$(wan_address)
    ends=$(digits "$ISP_4")$(digits "$wan")
    for ((at = 0; at < $2; at++)); do
        SEQ=$SRANDOM ACK=$SRANDOM
        segment tcp 80 "$1" 20 "$ends"
    done | bytes | peers "cat >/tmp/e2e/forged; ip netns exec isp socat -u -b 20 \
        FILE:/tmp/e2e/forged IP4-SENDTO:$wan:6,bind=$ISP_4${4:+,$4}"
}

counts_ends() {
    "$1" "nft -f - <<END
table inet e2e_ends {
    chain prerouting {
        type filter hook prerouting priority raw
        tcp sport 80 tcp flags & (fin | rst) != 0 counter
    }
}
END"
}

ends_arrived() {
    local now
    now=$("$1" nft list chain inet e2e_ends prerouting | sed -n 's/.* packets \([0-9]*\).*/\1/p')
    [ "$now" = "$2" ] || { echo "$now of $2"; return 1; }
}

# continues_at ENGINE PORT: fails unless the connection is open, receives data, and has that path.
# Any RST removes the flow from the flowtable until the kernel offloads it again.
continues_at() {
    local entry
    entry=$(conntrack_of "$2")
    [[ $entry == *src=* && $entry != *CLOSE* && $entry != *WAIT* ]] || fail "no connection: $entry"
    [ "$1" != flowtable ] || soon 10 on_path flowtable --proto tcp --text "$2"
    on_path "$1" --proto tcp --text "$2" || fail "not at $1"
    goes_on "$2"
}

# The second value is the host that receives the forged segments.
# @fault:blind-rst
# @each ebpf | h10
# @each flowtable | gw
test_a_forged_rst_does_not_end_a_connection() {
    local engine=$1 host=$2 port before number=0 batch
    # shellcheck disable=SC2064 # expanded now
    trap "$host nft delete table inet e2e_ends; peers rm -f /tmp/e2e/part" EXIT
    use "$engine"
    port=$(fresh_port)
    begin h10 "tcp$port" "exec curl -gsS -o /tmp/e2e/part --limit-rate 50k --local-port $port" \
        "http://$ISP_4/256.bin"
    soon 10 on_path "$engine" --proto tcp --text "$port"
    continues_at "$engine" "$port"
    before=$(resets)
    counts_ends "$host"
    for batch in 1 99 100 100 100 100 100 100 100 100 100; do
        forge "$port" "$batch" "$((number % 200 / 100))4"
        number=$((number + batch))
        soon 10 ends_arrived "$host" "$number"
    done
    continues_at "$engine" "$port"
    # Programs do not forward packets with TTL 1, so conntrack sees these and accepts them briefly.
    forge "$port" 10 04 ip-ttl=1
    goes_on "$port"
    continues_at "$engine" "$port"
    same "connections that were reset" "$(resets)" "$before"
    # The host's own RST ends the connection. After the flowtable, conntrack considers it invalid.
    end "tcp$port"
    [ "$engine" = flowtable ] || soon 3 closed "$port"
    peers "size=\$(stat -c %s /tmp/e2e/part); [ \$size -gt 50000 ] &&
        ip netns exec isp curl -gsS -r 0-\$((size - 1)) http://$ISP_4/256.bin | cmp - /tmp/e2e/part"
}
