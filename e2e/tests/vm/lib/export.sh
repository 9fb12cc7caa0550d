# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # the tests use the names
# Flow records: a collector on h10, and the sums of its records.

COLLECTOR=10.10.10.10
HERE=$RUN/export

# exports OPTION VALUE…: adds an exporter to h10 to the configuration.
exports() {
    {
        gw cat "/run/e2e/$CONFIG"
        printf "\nconfig export 'store'\n"
        printf "\toption %s '%s'\n" host $COLLECTOR active_timeout 5 idle_timeout 3 "$@"
    } | configure
}

collector_is() { says ".exports[0] | .state == \"$1\"" exports; }
nothing_waits() { says '.exports[0].queued == 0' exports; }

# SO_RCVBUFFORCE, 32 MiB: the default holds 92 datagrams, less than a round of 2,000 records.
BUFFER=setsockopt-listen=1:33:i33554432

# listen NAME: starts a UDP collector that appends messages to an IPFIX file (RFC 5655).
listen() {
    begin h10 "$1" "exec socat -u UDP-RECV:4739,$BUFFER CREATE:/tmp/e2e/$1.ipfix"
}

# listen_tcp NAME: the same over TCP.
listen_tcp() {
    begin h10 "$1" "exec socat -u TCP-LISTEN:4739,reuseaddr CREATE:/tmp/e2e/$1.ipfix"
}

# File on the peers, read by by_tshark and records_are_read.
RECORDS=export.pcap

# capture_export: captures all datagrams to the collector. In immediate mode each packet needs the
# full snapshot length in the buffer.
capture_export() {
    begin h10 export "exec tcpdump --immediate-mode -U -i eth0 -B 32768 -s 2000" \
        "-w /tmp/e2e/export.pcap udp dst port 4739"
    soon 5 peers grep -q listening /tmp/e2e/export.log
}

take() { peers "cat /tmp/e2e/$1" >"$HERE/$1"; }

read_tshark() { node "$VM/records.mjs" read "$1"; }

need_readers() {
    local program
    for program in tshark nfcapd nfdump nfacctd; do
        command -v "$program" >/dev/null || skip "this machine has no $program"
    done
    rm -rf "$HERE"
    mkdir -p "$HERE"
}

# sums_of PORT…: sums lines of "PORT UP DOWN" for these ports.
sums_of() {
    awk -v ports="$*" '
        BEGIN { n = split(ports, wanted, " ") }
        { up[$1] += $2; down[$1] += $3 }
        END {
            for (i = 1; i <= n; i++) {
                port = wanted[i]
                printf "%d %d %d\n", port, up[port], down[port]
            }
        }'
}

by_tshark() {
    take $RECORDS
    read_tshark "$HERE/$RECORDS" | awk '{ print $1, $3, $4 }' | sums_of "$@"
}

# by_conntrack PORT…: prints the kernel's counters, which include offloaded packets.
by_conntrack() {
    local port
    for port; do echo "$port $(conntrack_bytes "$port")"; done
}

records_are_whole() {
    local wanted found
    wanted=$(by_conntrack "$@")
    found=$(by_tshark "$@")
    [ "$wanted" = "$found" ] || { echo "conntrack: $wanted, records: $found"; return 1; }
}

PAYLOAD=52428800

fetch() {
    same "bytes of the host" "$(h10 "curl -gsS -o /dev/null -r 0-$((PAYLOAD - 1)) \
        --local-port $2 -w '%{size_download}' http://$(bracketed "$1")/256.bin")" $PAYLOAD
}

# payload_is_whole PORT…: fails unless the payload, alternately IPv4 and IPv6, is correct within 0.1
# %. Subtracts IP and TCP headers of all counted packets.
payload_is_whole() {
    awk -v payload=$PAYLOAD -v ports="$*" '
        BEGIN { n = split(ports, wanted, " ") }
        { down[$1] += $4; packets[$1] += $6; carried[$1] += $7; all[$1] += $3 + $4 }
        END {
            for (i = 1; i <= n; i++) {
                port = wanted[i]
                net = down[port] - packets[port] * (i % 2 ? 52 : 72)
                printf "note: %s: %d bytes in %d packets, %.5f of the payload, %.4f offloaded\n",
                    port, down[port], packets[port], net / payload, carried[port] / all[port]
                if (net < payload * 0.999 || net > payload * 1.001) exit 1
                if (carried[port] < all[port] * 0.95) exit 1
            }
        }' "$HERE/records"
}

records_are_read() {
    take $RECORDS
    read_tshark "$HERE/$RECORDS" >"$HERE/records"
    payload_is_whole "$@"
}

records_in() { node "$VM/records.mjs" count "$1"; }

# counted: fails unless the exported records equal sent plus lost ones, and all received records
# were sent.
counted() {
    local sent lost captured seen=0 file
    read -r sent lost < <(said '.exports[0] | "\(.sent) \(.lost)"' exports)
    for file in "$@"; do
        take "$file"
        seen=$((seen + $(records_in "$HERE/$file")))
    done
    take export.pcap
    captured=$(records_in "$HERE/export.pcap")
    [ "$captured $seen" = "$((sent + lost)) $sent" ] || {
        echo "sent $sent, lost $lost, captured $captured, received $seen"
        return 1
    }
}

# arrived FILE: succeeds if all records are in FILE, and none is lost or queued.
arrived() {
    local sent lost queued seen
    read -r sent lost queued < <(said '.exports[0] | "\(.sent) \(.lost) \(.queued)"' exports)
    take "$1"
    seen=$(records_in "$HERE/$1")
    [ "$seen $lost $queued" = "$sent 0 0" ] || {
        echo "sent $sent, lost $lost, queued $queued, received $seen"
        return 1
    }
}

end_of() {
    end "$1"
    soon 10 peers "! ss -Hlnu -N h10 sport = :4739 | grep -q ."
}

questions() {
    add_connections "$1"
    gw 'conntrack -D -p udp --dport 53 >/dev/null 2>&1'
}
