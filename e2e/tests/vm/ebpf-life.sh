# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Lifetime of offloaded connections with eBPF: engine switches, daemon restarts, idle hosts, full
# maps.

# arrived: prints port and received bytes of each download of h10.
arrived() {
    h10 ss -tinH 'dport = :80' | awk '
        /:80 *$/ { n = split($4, address, ":"); port = address[n] }
        match($0, /bytes_received:[0-9]+/) { print port, substr($0, RSTART + 15, RLENGTH - 15) }
    ' | sort
}

# all_more BEFORE: succeeds if every download of PORTS has received more data since then.
all_more() {
    local more
    more=$(join <(echo "$1") <(arrived) | awk '$3 > $2 { print $1 }')
    for port in "${PORTS[@]}"; do
        grep -qx "$port" <<<"$more" || { echo "$port of: $1, now $(arrived)"; return 1; }
    done
}
all_go_on() { soon 20 all_more "$(arrived)"; }

# resets: prints the number of h10's connections that were reset.
resets() {
    h10 cat /proc/net/snmp | awk '/^Tcp: [0-9]/ { print $9 }'
}

# strangers: counts packets of PORTS and of the conversation that conntrack does not associate with
# their connection. Ignores leftovers of earlier tests.
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

# unharmed RESETS: fails if further connections were reset, or conntrack saw unexpected packets.
unharmed() {
    same "connections that were reset" "$(resets)" "$1"
    same "packets that conntrack does not know" "$(gw nft list chain inet e2e prerouting |
        sed -n 's/.* packets \([0-9]*\).*/\1/p' | xargs)" "0 0 0 0"
}

ebpf_says() { says "$1" ebpf; }
exits() { said ".exits[] | select(.exit == \"$1\") | .packets" ebpf; }

# under_load [COMMAND]: starts three downloads and a conversation, and waits until all are
# offloaded; sets PORTS. COMMAND runs first, because a later change of rules would end the offload.
under_load() {
    local address at=0
    PORTS=("$(fresh_port)" "$(fresh_port)" "$(fresh_port)")
    "$@"
    # Remove conversations of earlier tests, since a restarted daemon cannot order flows by age.
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
    all_go_on
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
        all_go_on
    done
    all_carried
    unharmed "$before"
    same "the conversation" "$(newest --proto udp --host "$ISP_4" | jq -r .id)" "$talk"
}

# stack_saw PORT NUMBER: succeeds once the slow path has at least NUMBER packets.
stack_saw() {
    local now
    now=$(kernel_saw "$1")
    [ "$now" -ge "$2" ] || { echo "$now"; return 1; }
}

# The programs pass all packets to the stack five seconds after the last heartbeat. The next daemon
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
    # The supervisor is held, so that the daemon stays away.
    instance hold fastpathd
    kill_daemon
    soon 10 stack_saw "$port" $((seen + 20))
    all_go_on
    instance release fastpathd
    soon 15 engine_is ebpf
    [ "$(daemon_pid)" != "$pid" ] || fail "the same daemon"
    all_carried
    between "packets passed on without a daemon" "$(exits stale)" 20 1000000
    unharmed "$before"
    # Packets offloaded for the previous daemon are counted, too. The downloads pause while the
    # counters catch up.
    trap 'peers killall -CONT curl' EXIT
    peers killall -STOP curl
    soon 10 all_reported
}

all_reported() {
    local port bytes
    while read -r port bytes; do counts "$port" "$bytes" || return 1; done <<<"$(arrived)"
}

# counts PORT BYTES: succeeds if the daemon counts at least BYTES, and not much more.
counts() {
    local down
    down=$(newest --proto tcp --text "$1" | jq -r .down_bytes)
    if [ "$down" -lt "$2" ] || [ "$down" -gt $(($2 * 12 / 10 + 1500000)) ]; then
        echo "$1: $down instead of $2"
        return 1
    fi
}

forgotten() { ! conntrack_of "$1"; }

# Timeouts of an hour take seconds here. A flow stays while it is idle for less than conntrack's
# timeout, and any flow with packets stays; all others are removed with their entries.
# @long
test_idle_flows_expire_with_conntrack() {
    local port seen udp updates
    trap 'gw sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=7440 \
        net.netfilter.nf_conntrack_udp_timeout_stream=120' EXIT
    # Removes entries of earlier tests, too.
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

# A reset also ends the connection in conntrack, which did not see the offloaded packets.
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

# forge PORT NUMBER FLAGS [OPTION]: sends segments to that download of h10 with the ISP's address
# and port and random sequence numbers. OPTION is one of socat.
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

# counts_ends HOST: starts counting FIN and RST segments from the ISP that arrive there.
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

# goes_on_at ENGINE PORT: fails unless the connection is open, on that path, and receives data. The
# kernel removes a flow from the flowtable on any RST, and offloads it again.
goes_on_at() {
    local entry
    entry=$(conntrack_of "$2")
    [[ $entry == *src=* && $entry != *CLOSE* && $entry != *WAIT* ]] || fail "no connection: $entry"
    [ "$1" != flowtable ] || soon 10 on_path flowtable --proto tcp --text "$2"
    on_path "$1" --proto tcp --text "$2" || fail "not at $1"
    goes_on "$2"
}

# The second value is the host that forged segments reach.
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
    goes_on_at "$engine" "$port"
    before=$(resets)
    counts_ends "$host"
    for batch in 1 99 100 100 100 100 100 100 100 100 100; do
        # RST without and with ACK.
        forge "$port" "$batch" "$((number % 200 / 100))4"
        number=$((number + batch))
        soon 10 ends_arrived "$host" "$number"
    done
    goes_on_at "$engine" "$port"
    # With TTL 1 no program forwards the segments: conntrack sees them and accepts them for a
    # moment.
    forge "$port" 10 04 ip-ttl=1
    goes_on "$port"
    goes_on_at "$engine" "$port"
    same "connections that were reset" "$(resets)" "$before"
    # The host's own RST ends the connection. With the flowtable the kernel considers it invalid.
    end "tcp$port"
    [ "$engine" = flowtable ] || soon 3 closed "$port"
    peers "size=\$(stat -c %s /tmp/e2e/part); [ \$size -gt 50000 ] &&
        ip netns exec isp curl -gsS -r 0-\$((size - 1)) http://$ISP_4/256.bin | cmp - /tmp/e2e/part"
}
