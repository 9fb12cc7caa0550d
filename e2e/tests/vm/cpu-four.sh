# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CPU plans with four CPUs, two of which inspect (LAB_SMP=4).
# @four

# shellcheck source=e2e/tests/vm/lib/cpus.sh
. "$VM/lib/cpus.sh"

# @long
test_configured_cpus_are_used() {
    several_cpus 4
    in_force "	option forwarding '2-3'
	option inspection '0-1'"
    same "workers" "$(planned '.queues | map(.cpu) | join(" ")')" "0 1"
}

# wrong_threads SPREAD: prints how many packets of 24 connections another worker got than the
# flow's.
wrong_threads() {
    local i host server
    protect_inline "	option spread '$1'
	option default 'always'"
    # Addresses select the queue; several address pairs are unlikely to share one.
    i=0
    for _ in 1 2 3; do
        for host in h10 h11; do
            for server in "$ISP_4" "[$ISP_6]" "$H20_4" "[$H20_6]"; do
                i=$((i + 1))
                begin "$host" "busy$i" \
                    "curl -gs -o /dev/null -r 0-599999 --limit-rate 300k http://$server/2.bin"
            done
        done
    done
    for i in $(seq 24); do soon 60 ended "busy$i"; done
    suricatas dump-counters | jq .message.tcp.pkt_on_wrong_thread
}

# @long
test_hash_keeps_a_flow_on_one_worker() {
    local hash fanout
    several_cpus 4
    hash=$(wrong_threads hash | tail -n 1)
    between "queues that were used" \
        "$(ips_value '[.queues[] | select(.handled > 100)] | length')" 2 16
    end_traffic
    fanout=$(wrong_threads fanout | tail -n 1)
    note "packets at the wrong worker: $hash by hash, $fanout by CPU (fanout)"
    same "packets at the wrong worker, by hash" "$hash" 0
}

