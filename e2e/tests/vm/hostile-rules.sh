# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A rule server that redirects, never stops sending, or is extremely slow.

served() {
    peers 'cat >/tmp/e2e/rule-server && chmod +x /tmp/e2e/rule-server' <"$VM/peers/rule-server"
    begin isp rules "exec socat TCP4-LISTEN:8081,bind=$ISP_4,fork,reuseaddr" \
        EXEC:/tmp/e2e/rule-server
    soon 5 listens isp 8081
}

# update_from NAME: starts an update from URL path NAME.
update_from() {
    configure <<END
config fastpath 'main'

config ips 'ips'
	option enabled '0'

config update 'update'
	option hour '-1'
	option limit_mib '1'

config rules '$1'
	option url 'http://$ISP_4:8081/$1.tar.gz'
	option sha256 '$(printf '0%.0s' {1..64})'
END
    soon 10 says '.rules.sources[0].name == "'"$1"'"' ips
    same "started" "$(said .started update-rules)" true
}

# rejects_update NAME: fails unless the update fails and its message quotes no file of the router.
rejects_update() {
    local why
    update_from "$1"
    soon 60 says '.rules.state == "failed"' ips
    why=$(said '.rules.message + " " + .rules.sources[0].message' ips)
    note "$1: $why"
    [ "${#why}" -gt 10 ] || fail "no reason for $1"
    lacks "the reason" "$why" root:
}

# @core
# @fault:server-redirects
test_redirects_of_a_rule_server_are_refused() {
    served
    rejects_update file
    rejects_update router
    rejects_update loop
    same "files of an update" "$(gw 'grep -rl root: /var/lib/fastpath || true')" ""
}

# @core
# @fault:server-endless
test_endless_answers_of_a_rule_server_are_refused() {
    local memory
    served
    memory=$(daemon_kib)
    rejects_update endless
    rejects_update header
    rejects_update long
    between "memory of the daemon, KiB more" $(($(daemon_kib) - memory)) -4000 4000
    same "KiB that the update leaves" \
        "$(gw 'find /var/lib/fastpath/rules/work -type f -size +0 | wc -l')" 0
}

# @core
# @fault:server-slow
test_a_slow_rule_server_does_not_block_an_update() {
    local port
    served
    update_from slow
    port=$(fresh_port)
    download h10 "$port" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    says '.rules.state == "updating"' ips || fail "it does not wait for the server"
    # Removing the source ends the update.
    cp_config_back
    soon 10 engine_is flowtable
    end rules
    soon 60 says '.rules.state != "updating"' ips
}
