# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rights of the daemon's own user, and of the programs it starts.

# as_daemon COMMAND: runs it with the rights of a compromised daemon.
as_daemon() { gw "setpriv --reuid=fastpath --regid=fastpath --init-groups $1" 2>&1; }

# denied OBJECT METHOD ARGUMENTS: of an object that is there. ubusd hides an object from a user who
# may call none of its methods.
denied() {
    local said
    said=$(as_daemon "ubus call $1 $2 '$3'") && fail "$1 $2 is allowed: $said"
    gw "ubus list '$1'" >/dev/null
    [[ $said == *"ermission denied"* || $said == *"Not found"* ]] ||
        fail "answer of $1 $2: $said"
}

login='"config": "rpcd", "section": "@login[0]"'

# @core
test_the_daemon_s_user_writes_no_configuration() {
    local before
    before=$(gw 'md5sum /etc/config/*')
    gw "ubus call uci get '{\"config\": \"rpcd\"}'" >/dev/null
    denied uci set "{$login, \"values\": {\"password\": \"x\", \"write\": [\"*\"]}}"
    denied uci add '{"config": "rpcd", "type": "login"}'
    denied uci delete "{$login}"
    denied uci commit '{"config": "rpcd"}'
    denied uci apply '{}'
    denied session create '{}'
    same "the configuration" "$(gw 'md5sum /etc/config/*')" "$before"
    has "its answer" \
        "$(as_daemon 'ubus call fastpath.config get '\''{"config": "fastpath"}'\' | jq -c .)" \
        '".type":"fastpath"'
}

test_the_daemon_s_user_reads_no_password_of_a_line() {
    local said
    has "the configuration" "$(gw cat /etc/config/network)" password
    denied uci get '{"config": "network"}'
    said=$(as_daemon 'ubus call fastpath.config get '\''{"config": "network"}'\')
    lacks "its answer" "$said" password
    has "its answer for rpcd" \
        "$(as_daemon 'ubus call fastpath.config get '\''{"config": "rpcd"}'\')" '"error"'
    as_daemon 'ubus call fastpath.change apply '\''{"edits": []}'\' && fail "it changes settings"
    soon 5 engine_is flowtable
}

# A change is staged in a shell.
test_persist_writes_the_engine_alone() {
    gw "ubus call uci set '{\"config\": \"fastpath\", \"section\": \"main\",
        \"values\": {\"on_exit\": \"remove\"}}'" >/dev/null
    gw fastpathctl engine off --persist >/dev/null
    has "the configuration" "$(gw cat /etc/config/fastpath)" "option engine 'off'"
    lacks "the configuration" "$(gw cat /etc/config/fastpath)" "option on_exit 'remove'"
    lacks "the configuration that the daemon reads" \
        "$(as_daemon 'ubus call fastpath.config get '\''{"config": "fastpath"}'\')" \
        '"on_exit": "remove"'
    gw fastpathctl engine flowtable --persist >/dev/null
    gw "ubus call uci revert '{\"config\": \"fastpath\"}'" >/dev/null
}

# sets: inheritable, permitted, effective, bounding, ambient.
no_capabilities() {
    local name
    for name in CapInh CapPrm CapEff CapAmb; do
        same "$2: $name" "$(awk -v n="$name:" '$1 == n { print $2 }' <<<"$1")" 0000000000000000
    done
    same "$2: NoNewPrivs" "$(awk '$1 == "NoNewPrivs:" { print $2 }' <<<"$1")" 1
}

# The download program's path, and its restoration however the test ends. A jail shows its
# service the file there was at its start.
fetcher() { gw 'command -v uclient-fetch || echo /usr/sbin/uclient-fetch'; }
restore_fetcher() {
    gw "rm -f $1
        [ ! -e /tmp/e2e-fetcher ] || mv /tmp/e2e-fetcher $1
        /etc/init.d/fastpathd restart"
}

# A download program that only records its own rights and those of its parent.
# @core
test_a_rule_update_has_no_capabilities() {
    local at
    at=$(fetcher)
    gw "[ ! -e $at ] || cp -p $at /tmp/e2e-fetcher"
    # shellcheck disable=SC2064 # its place is known now
    trap "restore_fetcher $at" EXIT
    gw "cat >$at.new && chmod +x $at.new && mv $at.new $at && /etc/init.d/fastpathd restart" <<'END'
#!/bin/sh
cat /proc/self/status >/var/lib/fastpath/download.status
cat /proc/$PPID/status >/var/lib/fastpath/updater.status
exit 4
END
    configure <<END
config fastpath 'main'
	option engine 'flowtable'

config ips 'ips'
	option enabled '0'

config update 'update'
	option hour '-1'

config rules 'lab'
	option url 'http://203.0.113.1/x.tar.gz'
	option sha256_url 'https://203.0.113.1/x.tar.gz.sha256'
END
    soon 5 engine_is flowtable
    same "started" "$(said .started update-rules)" true
    soon 30 gw 'test -s /var/lib/fastpath/updater.status'
    has "who started it" "$(gw head -n 1 /var/lib/fastpath/updater.status)" fastpath-rules
    no_capabilities "$(gw cat /var/lib/fastpath/updater.status)" updater
    no_capabilities "$(gw cat /var/lib/fastpath/download.status)" download
    # The daemon itself keeps the one that it needs, and no program inherits it by default.
    has "the daemon" "$(gw "grep CapEff /proc/$(daemon_pid)/status")" 0000000000001000
    has "the daemon" "$(gw "grep CapAmb /proc/$(daemon_pid)/status")" 0000000000000000
    gw 'rm /var/lib/fastpath/*.status'
}

# Its init script names PATH; it does not depend on that.
# @core
test_the_daemon_finds_nft_without_a_path() {
    ! gw 'grep -qx procd /proc/1/comm' || skip "procd gives every service its own PATH"
    gw 'sed -i.kept "/procd_set_param env/d" /etc/init.d/fastpathd && /etc/init.d/fastpathd stop
        nft delete table inet fastpath; /etc/init.d/fastpathd start'
    soon 15 engine_is flowtable
    lacks "its environment" "$(gw "tr '\0' '\n' </proc/$(daemon_pid)/environ")" PATH
    gw 'mv /etc/init.d/fastpathd.kept /etc/init.d/fastpathd; /etc/init.d/fastpathd restart'
    soon 15 engine_is flowtable
}
