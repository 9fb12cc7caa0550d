# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Inspected first, then offloaded, whatever kind of flow it is: 200 MB each.
# @inspected

WANTED=0.95
# Until the budget of 1 MiB is spent.
BUDGET="100000 4000000"

# offloaded_while_it_runs KIND PROTO PORT
offloaded_while_it_runs() {
    on_path flowtable --proto "$2" --text "$3" && return
    ! ended "$1" || { echo "it has ended:" && peers cat "/tmp/e2e/$1.log"; }
    return 1
}

# offloads KIND PROTO PORT SEEN COMMAND…: h10's COMMAND uses PORT, and SEEN is the least and the
# most that Suricata sees of it, in bytes. At most 40 MB/s: unlimited, a user-mode machine has done
# with a flow before anybody could see which path it is on.
offloads() {
    local kind=$1 proto=$2 port=$3 least=${4% *} most=${4#* } flow paths slow total sent=200000000
    shift 4
    in_line
    counted "$port"
    begin h10 "$kind" "$@"
    soon 30 offloaded_while_it_runs "$kind" "$proto" "$port"
    flow=$(newest --proto "$proto" --text "$port")
    paths=$(said '[.events[].path] | join(" ")' flow "$(field id "$flow")")
    [[ $paths == *inspect*flowtable* ]] || fail "the flow went $paths"
    soon 300 ended "$kind"
    ended_well "$kind"
    # Bytes of the echo that came back, as the program reports: UDP does not retransmit.
    [ "$kind" != quic ] || sent=$((104000000 + $(peers tail -n 1 /tmp/e2e/quic.log)))
    slow=$(slow_bytes)
    total=$(conntrack_bytes "$port" | tr ' ' + | { read -r sum; echo $((sum)); })
    between "bytes of the flow" "$total" "$sent" 260000000
    between "share that was offloaded" "$(awk "BEGIN { print 1 - $slow / $total }")" "$WANTED" 1
    note "$kind: $slow of $total bytes took the slow path"
    between "bytes that Suricata saw" "$slow" "$least" "$most"
}

# @core
test_download() {
    local port
    port=$(fresh_port)
    offloads download tcp "$port" "$BUDGET" \
        "curl -gsSf -o /dev/null --limit-rate 40M --local-port $port http://$ISP_4/200.bin"
}

# @long
test_upload() {
    local port
    port=$(fresh_port)
    offloads upload tcp "$port" "$BUDGET" \
        "iperf3 -c $ISP_4 --cport $port -n 200M -b 320M"
}

# @long
test_udp() {
    local port
    port=$(fresh_port)
    offloads udp udp "$port" "$BUDGET" \
        "iperf3 -u -c $ISP_4 --cport $port -b 60M -l 1400 -n 200M"
}

# @long
test_quic_like() {
    local port
    port=$(fresh_port)
    offloads quic udp "$port" "$BUDGET" \
        "/tmp/e2e/quic $ISP_4 $port 105"
}

# Suricata itself bypasses it once content is encrypted, long before the budget is spent.
test_tls() {
    local port
    port=$(fresh_port)
    offloads tls tcp "$port" "1000 500000" \
        "curl -gskSf -o /dev/null --local-port $port https://$ISP_4/200.bin"
}
