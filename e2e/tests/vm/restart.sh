# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Restarts of the daemon and of ubusd; the data plane keeps forwarding.

table_is_there() { gw 'nft list table inet fastpath'; }
table_is_gone() { ! table_is_there; }
# Prints the table without set elements, which change with traffic.
rules() {
    gw 'nft -s list table inet fastpath' | awk '
        /set (passed_|missed_|ended_|encrypted)/ { passed = 1 }
        /^\t}/ { passed = 0 }
        passed && /elements = {/ { skip = 1 }
        !skip { print }
        /}$/ { skip = 0 }'
}
known() { newest --proto tcp --text "$1" | grep .; }
answers() { ask status; }
no_answer() { ! answers; }
new_process() { [ "$(daemon_pid)" != "$1" ] && answers; }

flowing() {
    local bytes
    soon 5 offloaded "$1"
    read -r _ bytes <<<"$(conntrack_bytes "$1")"
    soon 10 bytes_grow "$1" "$bytes"
}

established() {
    PORT=$(fresh_port)
    download h10 "$PORT" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$PORT"
}

# @core
# @fault:daemon-killed
test_flows_stay_offloaded_while_the_daemon_is_dead() {
    local pid before
    established
    pid=$(daemon_pid)
    before=$(rules)
    # Hold the supervisor, which would restart the daemon.
    instance hold fastpathd
    kill_daemon
    soon 5 no_answer
    flowing "$PORT"
    same "the table" "$(rules)" "$before"
    instance release fastpathd
    soon 15 new_process "$pid"
    soon 5 on_path flowtable --proto tcp --text "$PORT"
    flowing "$PORT"
    same "the table" "$(rules)" "$before"
}

# @fault:daemon-killed
test_a_killed_daemon_is_restarted() {
    local pid
    pid=$(daemon_pid)
    kill_daemon
    soon 15 new_process "$pid"
    soon 5 engine_is flowtable
}

# The links come from the kernel; interfaces come later, from netifd.
test_the_first_topology_contains_the_links() {
    local said
    # shellcheck disable=SC2016 # expanded on the gateway
    said=$(gw '/etc/init.d/fastpathd restart
        for n in $(seq 500); do ubus call fastpath topology 2>/dev/null && break; done')
    has "links of the first topology" "$(jq -c '[.links[].name]' <<<"$said")" '"lan1"'
    soon 5 engine_is flowtable
}

# @fault:daemon-stopped
test_stopped_daemon_keeps_the_table() {
    local before
    established
    before=$(rules)
    gw '/etc/init.d/fastpathd stop'
    # procd stops a service after the init script has returned.
    soon 10 no_answer
    same "the table" "$(rules)" "$before"
    flowing "$PORT"
    gw '/etc/init.d/fastpathd start'
    soon 15 on_path flowtable --proto tcp --text "$PORT"
}

test_stopped_daemon_removes_the_table_if_configured() {
    local bytes
    configure <<'END'
config fastpath 'main'
	option on_exit 'remove'
END
    soon 5 engine_is flowtable
    established
    gw '/etc/init.d/fastpathd stop'
    soon 10 table_is_gone
    read -r _ bytes <<<"$(conntrack_bytes "$PORT")"
    soon 10 bytes_grow "$PORT" "$bytes"
    lacks conntrack "$(conntrack_of "$PORT")" OFFLOAD
    gw '/etc/init.d/fastpathd start'
    soon 15 on_path flowtable --proto tcp --text "$PORT"
}

# @fault:broker-restarted
test_broker_restarted() {
    local pid before applied
    established
    pid=$(daemon_pid)
    before=$(rules)
    applied=$(said .engine.applied_ms status)
    restart_broker
    soon 20 answers
    same "process of the daemon" "$(daemon_pid)" "$pid"
    same "the table" "$(rules)" "$before"
    same "time of the last change" "$(said .engine.applied_ms status)" "$applied"
    soon 5 on_path flowtable --proto tcp --text "$PORT"
    flowing "$PORT"
    soon 10 wan_is_up
    # rpcd has lost its sessions, so log in again.
    soon 10 status_over_web
}

status_over_web() {
    local id
    id=$(session root fastpath)
    [ "$(rpc "$id" fastpath status '{}' | jq '.result[0]')" = 0 ]
}
