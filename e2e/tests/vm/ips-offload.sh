# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Flows of 200 MB are inspected first and then offloaded.
# @inspected

WANTED=0.95
# Limits for inspected bytes with a budget of 1 MiB.
BUDGET="100000 4000000"

# offloaded_while_it_runs KIND PROTO PORT: succeeds if the flow is offloaded; prints the log of an
# ended flow.
offloaded_while_it_runs() {
    on_path flowtable --proto "$2" --text "$3" && return
    ! ended "$1" || { echo "it has ended:" && peers cat "/tmp/e2e/$1.log"; }
    return 1
}

# offloads KIND PROTO PORT SEEN COMMAND…: checks the flow of h10's COMMAND, which uses PORT. SEEN is
# the range of bytes that Suricata may inspect. The rate is limited to 40 MB/s, because a user-mode
# machine would end faster flows before a check.
offloads() {
    local kind=$1 proto=$2 port=$3 least=${4% *} most=${4#* } flow paths slow total sent=200000000
    shift 4
    protect_inline
    counted "$port"
    begin h10 "$kind" "$@"
    soon 30 offloaded_while_it_runs "$kind" "$proto" "$port"
    flow=$(newest --proto "$proto" --text "$port")
    paths=$(said '[.events[].path] | join(" ")' flow "$(field id "$flow")")
    [[ $paths == *inspect*flowtable* ]] || fail "the flow went $paths"
    soon 300 ended "$kind"
    ended_well "$kind"
    # Echoed bytes that returned; UDP does not retransmit.
    [ "$kind" != quic ] || sent=$((104000000 + $(peers tail -n 1 /tmp/e2e/quic.log)))
    slow=$(slow_bytes)
    total=$(conntrack_bytes "$port" | tr ' ' + | { read -r sum; echo $((sum)); })
    between "bytes of the flow" "$total" "$sent" 260000000
    between "share that was offloaded" "$(awk "BEGIN { print 1 - $slow / $total }")" "$WANTED" 1
    note "$kind: $slow of $total bytes took the slow path"
    between "bytes that Suricata saw" "$slow" "$least" "$most"
}

# @core
test_a_download_is_offloaded_after_inspection() {
    local port
    port=$(fresh_port)
    offloads download tcp "$port" "$BUDGET" \
        "curl -gsSf -o /dev/null --limit-rate 40M --local-port $port http://$ISP_4/200.bin"
}

# @long
test_an_upload_is_offloaded_after_inspection() {
    local port
    port=$(fresh_port)
    offloads upload tcp "$port" "$BUDGET" \
        "iperf3 -c $ISP_4 --cport $port -n 200M -b 320M"
}

# @long
test_udp_is_offloaded_after_inspection() {
    local port
    port=$(fresh_port)
    offloads udp udp "$port" "$BUDGET" \
        "iperf3 -u -c $ISP_4 --cport $port -b 60M -l 1400 -n 200M"
}

# @long
test_udp_on_port_443_is_offloaded_after_inspection() {
    local port
    port=$(fresh_port)
    offloads quic udp "$port" "$BUDGET" \
        "/tmp/e2e/quic $ISP_4 $port 105"
}

# Suricata bypasses encrypted connections early, long before the budget is spent.
test_tls_is_offloaded_once_it_is_encrypted() {
    local port
    port=$(fresh_port)
    offloads tls tcp "$port" "1000 500000" \
        "curl -gskSf -o /dev/null --local-port $port https://$ISP_4/200.bin"
}
