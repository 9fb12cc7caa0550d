# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Privileges of the daemon's user and of the programs that it starts.

# The daemon's capabilities, from fastpathd.capabilities and its init script.
ONE=-all,+net_admin
CONFINED="setpriv --reuid=fastpath --regid=fastpath --init-groups --no-new-privs"
CONFINED="$CONFINED --bounding-set=$ONE --inh-caps=$ONE --ambient-caps=$ONE"

as_daemon() { gw "$CONFINED $1" 2>&1; }

# attempts [SETPRIV]: runs the script on stdin with the privileges of a compromised daemon, or with
# the command SETPRIV. Fails if a `got` in the script succeeds.
attempts() {
    local said by=${1:-$CONFINED}
    said=$(gw "$by sh -c '$ATTEMPT; $(cat)'" 2>&1)
    has "the end of the script" "$said" "end of attempts"
    lacks "what this user may do" "$said" got:
}
# shellcheck disable=SC2016 # expanded on the gateway
ATTEMPT='got() { name=$1; shift; "$@" >/dev/null 2>&1 </dev/null && echo "got: $name"; true; }'

# denied OBJECT METHOD ARGUMENTS: fails unless an existing object refuses the call. ubusd hides
# objects without a permitted method.
denied() {
    local said
    said=$(as_daemon "ubus call $1 $2 '$3'") && fail "$1 $2 is allowed: $said"
    gw "ubus list '$1'" >/dev/null
    [[ $said == *"ermission denied"* || $said == *"Not found"* ]] ||
        fail "answer of $1 $2: $said"
}

login='"config": "rpcd", "section": "@login[0]"'

# @core
# @fault:daemon-compromised
test_the_daemon_s_user_cannot_write_the_configuration() {
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

test_the_daemon_s_user_cannot_read_passwords() {
    local said passed user
    has "the configuration" "$(gw cat /etc/config/network)" password
    for user in fastpath fastpath-rules suricata; do
        gw "setpriv --reuid=$user --clear-groups cat /etc/config/network" 2>/dev/null &&
            fail "$user reads the file"
    done
    denied uci get '{"config": "network"}'
    said=$(as_daemon 'ubus call fastpath.config get '\''{"config": "network"}'\')
    lacks "its answer" "$said" password
    has "its answer for rpcd" \
        "$(as_daemon 'ubus call fastpath.config get '\''{"config": "rpcd"}'\')" '"error"'
    as_daemon 'ubus call fastpath.change apply '\''{"edits": []}'\' && fail "it changes settings"
    # rpcd does not forward the caller's identity, so private checks report unknown.
    said=$(as_daemon 'ubus call fastpath.doctor run '\''{"sample_ms": 0,
        "checks": ["system-password", "system-sessions"]}'\')
    same "what the doctor says to it" "$(jq -c '[.findings[].severity]' <<<"$said")" \
        '["unknown","unknown"]'
    lacks "what the doctor says to it" "$said" /etc/shadow
    # The daemon's background runs include these checks; administrators read the report.
    passed='Every account has a password'
    said=$(as_daemon 'ubus call fastpath.doctor run '\''{"background": true, "sample_ms": 100}'\')
    lacks "what its own run says to it" "$said" "$passed"
    lacks "what the report says to it" "$(as_daemon 'ubus call fastpath.doctor last')" "$passed"
    as_daemon 'cat /var/run/fastpath-doctor.json' && fail "it reads the report itself"
    has "the report" "$(gw cat /var/run/fastpath-doctor.json)" "$passed"
    soon 5 engine_is flowtable
}

# The shell's staged change must stay uncommitted.
test_persist_writes_only_the_engine() {
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

# @core
test_a_shell_of_the_daemon_s_user_gets_no_root_by_its_capability() {
    local name shell daemon
    shell=$(as_daemon "cat /proc/self/status")
    daemon=$(gw "cat /proc/$(daemon_pid)/status")
    for name in Uid Gid CapInh CapPrm CapEff CapBnd NoNewPrivs; do
        same "$name" "$(grep "^$name:" <<<"$shell")" "$(grep "^$name:" <<<"$daemon")"
    done
    has "its capabilities" "$(grep ^CapBnd: <<<"$daemon")" 0000000000001000
    attempts <<'END'
got "root by setuid" setpriv --reuid=0 true
got "root by su" busybox su -s /bin/sh -c true root
got "another user" setpriv --reuid=suricata true
got "group root" setpriv --regid=0 --clear-groups true
got "a mount" busybox mount -t tmpfs none /mnt
got "the root of another process" ls /proc/1/root/
got "the memory of init" head -c 1 /proc/1/mem
got "a device" mknod /tmp/e2e-device b 8 0
got "a change of the hostname" busybox hostname e2e
echo end of attempts
END
}

# Methods that change the router or reveal secrets.
METHODS="uci get set add delete rename commit revert apply confirm rollback
session create list grant get set login
file read write exec list
service set add list delete signal
system reboot signal sysupgrade
rc init
rpc-sys password_set upgrade_start factory reboot
luci setPassword setInitAction
network restart add_dynamic
network.interface up down remove
container set
log write
fastpath.access login
fastpath.change apply confirm rollback get check
fastpath.device set pause resume forget
fastpath.wireless scan"

# @core
# @fault:daemon-compromised
test_a_shell_of_the_daemon_s_user_gets_no_root_by_ubus() {
    local before
    before=$(gw 'md5sum /etc/config/* /etc/passwd /etc/shadow')
    attempts <<END
echo "$METHODS" | while read -r object methods; do
    for method in \$methods; do
        said=\$(ubus call "\$object" "\$method" "{}" 2>&1)
        case "\$said" in
            *"ermission denied"* | *"Not found"*) ;;
            *) echo "got: \$object \$method: \$said" ;;
        esac
    done
done
echo end of attempts
END
    # The daemon's own four methods accept no file or program name.
    lacks "a file as a package" \
        "$(as_daemon 'ubus call fastpath.config get '\''{"config": "../shadow"}'\')" values
    # Anybody may send this event, so init scripts must handle hostile values.
    as_daemon 'ubus call service event '\''{"type": "config.change",
        "data": {"package": "../../tmp/e2e; touch /tmp/e2e-event"}}'\' >/dev/null
    gw 'test ! -e /tmp/e2e-event'
    same "the files" "$(gw 'md5sum /etc/config/* /etc/passwd /etc/shadow')" "$before"
}

# @core
# @fault:daemon-compromised
test_a_shell_of_the_daemon_s_user_gets_no_root_by_files() {
    # Root only archives the history, without following links.
    # shellcheck disable=SC2016 # expanded on the gateway
    same "files that root runs or reads, and the daemon's user may write" "$(gw '
        for at in /etc /bin /sbin /lib /usr /root /www /var/etc /var/spool/cron /var/run/rpcd; do
            [ ! -e "$at" ] || echo "$at"
        done | xargs -I@ find @/ -xdev -path /etc/fastpath/history -prune -o \
            ! -type l ! -type s \( -user fastpath -o -perm -0002 \
            -o -group fastpath -perm -0020 \) -print 2>/dev/null')" ""
    attempts <<'END'
got "passwords" head -c 1 /etc/shadow
got "the records of changes" grep -qs . /etc/fastpath/changes/*.json
got "the sessions" grep -qs . /var/run/rpcd/sessions/*
got "a new file in /etc" touch /etc/e2e-daemon
got "a new init script" touch /etc/init.d/e2e-daemon
got "another hook" touch /usr/libexec/platform/packet-steering.sh
got "its own capabilities" touch /etc/capabilities/fastpathd.json
got "rights on ubus" touch /usr/share/acl.d/e2e-daemon.json
got "a program for crashes" tee /proc/sys/kernel/core_pattern
got "a program for modules" tee /proc/sys/kernel/modprobe
got "a program for events" tee /proc/sys/kernel/hotplug /sys/kernel/uevent_helper
echo end of attempts
END
}

# @core
test_a_shell_of_the_daemon_s_user_gets_no_root_by_signals_and_sockets() {
    local pids open='ubus[.]sock|log|dns-resolver'
    ! is_openwrt || open+='|udebug[.]sock'
    # shellcheck disable=SC2016 # expanded on the gateway
    pids=$(gw 'for name in procd ubusd rpcd uhttpd netifd dropbear suricata; do
        busybox pidof "$name" || true; done' | xargs)
    attempts <<END
for pid in 1 $pids; do got "a signal to \$pid" kill -0 "\$pid"; done
echo end of attempts
END
    # World-accessible sockets: those of ubusd and the log, and on OpenWrt that of udebugd.
    same "open sockets" "$(gw 'find /run/ /tmp/ /var/run/ -type s -user 0 -perm -0002 2>/dev/null' |
        awk -v open="/($open)\$" '$0 !~ open' | sort -u)" ""
}

# The daemon may change nftables, but nft opens files with the daemon's privileges.
# @core
# @fault:daemon-compromised
test_a_shell_of_the_daemon_s_user_gets_no_root_by_nft() {
    attempts <<'END'
nft list tables >/dev/null || echo "got: no rules, so this test says nothing"
got "passwords" nft -c -f /etc/shadow
got "an included file" nft -c "include \"/etc/shadow\""
nft -c -f /etc/shadow 2>&1 | grep -q root: && echo "got: a line of the passwords"
got "a name space" busybox unshare -n true
echo end of attempts
END
}

# @core
# @fault:updater-compromised
test_the_user_of_rule_updates_has_no_access_to_the_daemon() {
    local by="setpriv --reuid=fastpath-rules --regid=fastpath-rules --init-groups --no-new-privs"
    attempts "$by --bounding-set=-all --inh-caps=-all" <<'END'
got "the configuration" ubus call fastpath.config get "{\"config\": \"fastpath\"}"
got "the doctor" ubus call fastpath.doctor run
got "an event" ubus call service event "{\"type\": \"fastpath.cpu\"}"
got "the CPU plan" touch /var/run/fastpath/cpu.plan
got "the overlay of Suricata" touch /var/run/fastpath/ips/suricata.yaml
got "the rules of nftables" nft list tables
got "a signal to the daemon" sh -c "kill -0 \$(busybox pidof fastpathd)"
echo end of attempts
END
}

# no_capabilities STATUS NAME: fails unless all sets but the bounding one are empty in STATUS.
no_capabilities() {
    local name
    for name in CapInh CapPrm CapEff CapAmb; do
        same "$2: $name" "$(awk -v n="$name:" '$1 == n { print $2 }' <<<"$1")" 0000000000000000
    done
    same "$2: NoNewPrivs" "$(awk '$1 == "NoNewPrivs:" { print $2 }' <<<"$1")" 1
}

# fetcher: prints the path of the download program. restore_fetcher also restarts the daemon,
# because its jail keeps the replaced file.
fetcher() { gw 'command -v curl || command -v uclient-fetch || echo /usr/sbin/uclient-fetch'; }
restore_fetcher() {
    gw "rm -f $1
        [ ! -e /tmp/e2e-fetcher ] || mv /tmp/e2e-fetcher $1
        /etc/init.d/fastpathd restart"
}

# The replaced download program records its privileges and its parent's.
# @core
test_a_rule_update_has_no_capabilities() {
    local at
    at=$(fetcher)
    gw "[ ! -e $at ] || cp -p $at /tmp/e2e-fetcher"
    # shellcheck disable=SC2064 # expanded now
    trap "restore_fetcher $at" EXIT
    gw "cat >$at.new && chmod +x $at.new && mv $at.new $at && /etc/init.d/fastpathd restart" <<'END'
#!/bin/sh
cat /proc/self/status >/var/lib/fastpath/rules/download.status
tr '\0' ' ' </proc/$PPID/cmdline >/var/lib/fastpath/rules/updater.command
cat /proc/$PPID/status >/var/lib/fastpath/rules/updater.status
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
    soon 30 gw 'test -s /var/lib/fastpath/rules/updater.status'
    has "who started it" "$(gw cat /var/lib/fastpath/rules/updater.command)" "fastpath-rules update"
    no_capabilities "$(gw cat /var/lib/fastpath/rules/updater.status)" updater
    no_capabilities "$(gw cat /var/lib/fastpath/rules/download.status)" download
    same "its user" \
        "$(gw grep ^Uid: /var/lib/fastpath/rules/download.status | cut -f 2- | tr '\t' ' ')" \
        "$(gw id -u fastpath-rules | sed 's/.*/& & & &/')"
    # Programs do not inherit the daemon's capability.
    has "the daemon" "$(gw "grep CapEff /proc/$(daemon_pid)/status")" 0000000000001000
    has "the daemon" "$(gw "grep CapAmb /proc/$(daemon_pid)/status")" 0000000000000000
    gw 'rm /var/lib/fastpath/rules/*.status /var/lib/fastpath/rules/updater.command'
}

# The daemon must not depend on the PATH that the init script sets.
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
