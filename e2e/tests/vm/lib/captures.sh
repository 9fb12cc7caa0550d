# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # the tests use the names
# Sends the traffic of `rounds` and captures it outside the gateway.

# Egress device and zone of the packets in each capture HOST.DEVICE. Captures are at the far ends of
# the ports; wg0 is captured inside the tunnel, because outside the packets are encrypted.
declare -A LEFT_BY=(
    [isp.access]="pppoe-wan wan" [h20.eth0]="br-lan.20 iot" [isp.wg0]="wg0 vpn"
    [h11.eth0]="br-lan.10 lan"
)

capture() {
    local name
    CAPTURES=("$@")
    for name in "${CAPTURES[@]}"; do
        begin "${name%%.*}" "capture-$name" "exec tcpdump -i ${name#*.} -Q in -B 32768 -s 96" \
            "-w /tmp/e2e/$name.pcap"
    done
    for name in "${CAPTURES[@]}"; do
        soon 5 peers grep -q listening "/tmp/e2e/capture-$name.log"
    done
}

# captured: stops the captures and sets IN[NAME] to the flows of each.
captured() {
    local name
    declare -gA IN=()
    for name in "${CAPTURES[@]}"; do
        peers "kill -INT -- -\$(cat /tmp/e2e/capture-$name.pid)"
        soon 10 peers "! kill -0 \$(cat /tmp/e2e/capture-$name.pid)"
        has "the capture $name" "$(peers cat "/tmp/e2e/capture-$name.log")" \
            $'\n0 packets dropped by kernel'
        IN[$name]=$(peers /tmp/e2e/captured "/tmp/e2e/$name.pcap")
    done
}

rounds() {
    local number=$1 id flows=
    shift
    for id; do
        flows+=" $id/${HOSTS[id]}/$((FIRST_PORT + id))/$BOTH_4/${SERVER_PORTS[id]}"
    done
    peers rm -f /tmp/e2e/go /tmp/e2e/enough /tmp/e2e/rounds.done
    begin h10 rounds "/tmp/e2e/rounds $number$flows"
}
rounds_done() { peers '[ -e /tmp/e2e/rounds.done ]'; }

# in_captures ID: prints the captures that contain the flow, and its number of datagrams there.
in_captures() {
    local name
    for name in "${!LEFT_BY[@]}"; do sed -n "s/^$1 \([0-9]*\) .*/$name \1/p" <<<"${IN[$name]}"; done
}

# scaled_ms MILLISECONDS: scales a time to this machine's speed.
scaled_ms() { echo $(($1 * $(pace) / 100)); }

# first FLOW CAPTURE, last FLOW CAPTURE: print the packet's Unix time in seconds, or 0 if there is
# none.
first() { awk -v id="$1" '$1 == id { at = $3 } END { printf "%.6f", at }' <<<"${IN[$2]}"; }
last() { awk -v id="$1" '$1 == id { at = $4 } END { printf "%.6f", at }' <<<"${IN[$2]}"; }

# after AT TIME: prints the milliseconds from AT to TIME, at least 0.
after() {
    awk -v at="$1" -v time="$2" 'BEGIN { printf "%.1f", (time > at ? time - at : 0) * 1000 }'
}
