# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Many connections as conntrack entries: UDP from LAN hosts to the Internet, with a timeout of ten
# minutes.

add_connections() {
    gw "sysctl -qw net.netfilter.nf_conntrack_max=$(($1 > 60000 ? $1 + 5536 : 65536))
        awk 'BEGIN {
            for (i = 0; i < $1; i++) {
                port = 1024 + i % 60000; server = 100 + i % 7 + 7 * int(i / 60000)
                printf \"-I -s 10.10.10.%d -d 203.0.113.%d -p udp --sport %d --dport 53 \" \
                    \"-r 203.0.113.%d -q 198.51.100.10 --reply-port-src 53 \" \
                    \"--reply-port-dst %d -t 600 -u SEEN_REPLY,ASSURED\\n\",
                    100 + i % 100, server, port, server, port
            }
        }' >/tmp/crowd; conntrack -R /tmp/crowd 2>&1 | tail -n 3"
}

remove_connections() {
    gw 'conntrack -D -p udp --dport 53 >/dev/null 2>&1
        sysctl -qw net.netfilter.nf_conntrack_max=4096' || true
}

conntrack_count() { gw 'cat /proc/sys/net/netfilter/nf_conntrack_count'; }
