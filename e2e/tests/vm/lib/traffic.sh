# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Background traffic between peers, identified by a name.
# shellcheck disable=SC2034 # the tests use the names

# Addresses by host and family.
H10_4=10.10.10.10
H10_6=2001:db8:10::10
H20_4=10.10.20.10
H20_6=2001:db8:20::10
ISP_4=203.0.113.1
ISP_6=2001:db8:ffff::1
# Port of the server `pour` on h20 and isp.
POUR_PORT=9000

prepare_peers() {
    local file
    peers 'mkdir -p /tmp/e2e'
    for file in talk pour drink quic exchange ftp flood numbers steady rounds captured openers \
        reuse pretend many; do
        peers "cat >/tmp/e2e/$file && chmod +x /tmp/e2e/$file" <"$VM/peers/$file"
    done
}

# begin HOST NAME COMMAND…: starts a process group that logs to /tmp/e2e/NAME.log.
begin() {
    local host=$1 name=$2
    shift 2
    peers "rm -f /tmp/e2e/$name.status
        ip netns exec $host setsid sh -c $(quoted "$*; echo \$? >/tmp/e2e/$name.status") \
            >/tmp/e2e/$name.log 2>&1 </dev/null &
        echo \$! >/tmp/e2e/$name.pid"
}

ended() { peers "[ -f /tmp/e2e/$1.status ]"; }
ended_well() { peers "[ \"\$(cat /tmp/e2e/$1.status)\" = 0 ] || { cat /tmp/e2e/$1.log; exit 1; }"; }
end() { peers "kill -- -\$(cat /tmp/e2e/$1.pid); rm -f /tmp/e2e/$1.pid" 2>/dev/null || true; }

# shellcheck disable=SC2016 # expanded on the peers
end_traffic() {
    peers 'for pid in /tmp/e2e/*.pid; do
        [ ! -f "$pid" ] || kill -- -"$(cat "$pid")" 2>/dev/null
    done
    rm -f /tmp/e2e/*.pid /tmp/e2e/*.status /tmp/e2e/*.log /tmp/e2e/*.answer'
}

# fresh_port: prints a source port that earlier connections are unlikely to use.
fresh_port() { echo $((20000 + RANDOM % 30000)); }

bracketed() { if [[ $1 == *:* ]]; then echo "[$1]"; else echo "$1"; fi; }

# download HOST PORT ADDRESS [RATE [FILE]]: starts a long, rate-limited download.
download() {
    begin "$1" "tcp$2" "exec curl -gsS -o /dev/null --limit-rate ${4:-100k} --local-port $2" \
        "http://$(bracketed "$3")/${5:-256.bin}"
}

# talk HOST NAME ADDRESS: sends a DNS query every 0.3 s from one UDP port.
talk() { begin "$1" "$2" "exec /tmp/e2e/talk $3"; }

# numbered HOST PORT ADDRESS: starts numbered datagrams and echoes. steady_ends PORT ends them and
# sets SENT, BACK and GAPS (lines `FIRST LENGTH`).
numbered() { begin "$1" "steady$2" "/tmp/e2e/steady $3 $2"; }
steady_ends() {
    peers touch "/tmp/e2e/steady.$1.end"
    soon 20 ended "steady$1"
    read -r SENT BACK < <(peers cat "/tmp/e2e/steady$1.log")
    GAPS=$(peers tail -n +2 "/tmp/e2e/steady$1.log")
}

# count_of PORT FIELD: prints the datagrams sent (1) or returned (2).
count_of() { peers cat "/tmp/e2e/steady.$1" | cut -d ' ' -f "$2"; }
steady_reaches() {
    local now
    now=$(count_of "$1" "$2")
    [ "${now:-0}" -ge "$3" ] || { echo "$now of $3"; return 1; }
}

later() { soon 20 steady_reaches "$1" 1 $(($(count_of "$1" 1) + $2)); }

retransmitted() { "$1" cat /proc/net/snmp | awk '/^Tcp: [0-9]/ { print $13 }'; }

nothing_at() { ! "$1" curl -s -m 2 -o /dev/null "http://$2:$3/index.html"; }
