# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests of fastpathd's init script, sourced by `inside`. The eBPF package is missing until
# with_loader.
# shellcheck disable=SC3043 # BusyBox's shell has local

with_loader() {
    ln -sf ../sbin/fastpath "$LOADER"
    mkdir -p /sys/fs/bpf/fastpath
}

noted() { grep -qx -- "$1" /tmp/programs; }
signalled_again() { [ "$(grep -c HUP /tmp/programs)" != 1 ]; }
daemon_pid() { cat /run/supervise/fastpathd.child 2>/dev/null; }

started() {
    "$DAEMON" start 2>/dev/null
    soon 3 noted "fastpathd " || fail "not started: $(cat /tmp/programs)"
}

owner() { stat -c %U "$1"; }

test_fastpathd_starts_in_a_jail() {
    started
    local jail="-n fastpathd -C /etc/capabilities/fastpathd.json -U fastpath -G fastpath -c -e PATH"
    [ "$(cat /tmp/ujail)" = "-t 5 $jail -- /usr/sbin/fastpathd" ] || fail "$(cat /tmp/ujail)"
    [ "$(cat /tmp/programs)" = "fastpath-rpcd secrets
fastpath-rpcd free
fastpathd " ] || fail "more than the daemon: $(cat /tmp/programs)"
    [ "$(cat /run/triggers/fastpathd)" = "config fastpath
config network
config firewall
config sqm
config dhcp
command rpcd /usr/libexec/fastpath/session-login.sh" ] ||
        fail "triggers: $(cat /run/triggers/fastpathd)"
}

# environment PID: prints the initial variables. Outside a jail, the supervisor's shell adds PWD.
environment() { tr '\0' '\n' <"/proc/$1/environ" | sort; }

# The daemon starts nft, fastpath-rules and date through PATH.
test_fastpathd_finds_programs_in_its_jail() {
    started
    [ "$(environment "$(daemon_pid)")" = "PATH=/usr/sbin:/usr/bin:/sbin:/bin
container=ujail" ] || fail "$(environment "$(daemon_pid)")"
}

test_fastpathd_runs_without_a_jail() {
    for file in /sbin/ujail /etc/capabilities/fastpathd.json; do
        : >/tmp/programs
        rm -f /tmp/ujail
        without "$file" started
        [ ! -e /tmp/ujail ] || fail "without $file: $(cat /tmp/ujail)"
        "$DAEMON" stop
    done
}

another_daemon() { [ -n "$(daemon_pid)" ] && [ "$(daemon_pid)" != "$1" ]; }

test_a_killed_fastpathd_is_restarted() {
    started
    before=$(daemon_pid)
    kill -9 "$before"
    soon 4 another_daemon "$before" || fail "it did not come back within 4 s"
}

test_fastpathd_owns_its_folders() {
    [ "$(id -u fastpath)" != 0 ] || exit 77
    ln -s /etc/passwd /var/run/fastpath/link
    started
    for folder in /var/run/fastpath /var/run/fastpath/ips; do
        [ "$(stat -c %u $folder)" = "$(id -u fastpath)" ] || fail "$folder: $(owner $folder)"
    done
    [ "$(stat -c %u /etc/passwd)" = 0 ] || fail "a file behind a link was given away"
}

# Between two system calls of chown -R, the owner could replace a folder by a link.
test_root_does_not_recurse_into_fastpathd_s_folders() {
    [ "$(id -u)" = 0 ] && [ "$(id -u fastpath)" != 0 ] || exit 77
    mkdir -p /var/run/fastpath/ips/deep
    touch /var/run/fastpath/ips/deep/file
    started
    for path in /var/run/fastpath/ips/deep /var/run/fastpath/ips/deep/file; do
        [ "$(stat -c %u "$path")" = 0 ] || fail "$path was given away"
    done
    ! grep -E 'chown .*R' "$DAEMON" || fail "the script walks folders"
}

# URLs of rule sources may contain passwords.
test_only_root_and_fastpathd_read_its_configuration() {
    [ "$(id -u)" = 0 ] && [ "$(id -u fastpath)" != 0 ] || exit 77
    chmod 644 /etc/config/fastpath
    started
    noted "fastpath-rpcd secrets" || fail "not closed: $(cat /tmp/programs)"
    [ "$(stat -c '%u %g %a' /etc/config/fastpath)" = "0 $(id -g fastpath) 640" ] ||
        fail "$(ls -l /etc/config/fastpath)"
    # `uci commit` resets owner and group; procd then reloads the service.
    chown root:root /etc/config/fastpath
    "$DAEMON" reload
    [ "$(stat -c %g /etc/config/fastpath)" = "$(id -g fastpath)" ] || fail "not after a reload"
}

# Neither user may write the other's files.
test_rule_updates_run_as_a_user_of_their_own() {
    [ "$(id -u)" = 0 ] && [ "$(id -u fastpath-rules)" != 0 ] || exit 77
    local command=/run/supervise/fastpath-rules.command
    "$UPDATES" start
    # BusyBox's setpriv cannot change the user, so check only the command.
    grep -q -- "setpriv --reuid=fastpath-rules .* '/usr/libexec/fastpath-rules' 'serve'\
 '/var/run/fastpath-rules/update.sock' '/var/lib/fastpath/rules'\
 '/usr/share/fastpath/rules/fastpath.rules'$" $command || fail "$(cat $command)"
    grep -qx "config fastpath" /run/triggers/fastpath-rules || fail "no trigger"
    [ "$(stat -c '%u %g %a' /var/run/fastpath-rules)" = \
        "$(id -u fastpath) $(id -g fastpath-rules) 770" ] ||
        fail "$(ls -ld /var/run/fastpath-rules)"
    [ "$(stat -c %u /var/lib/fastpath/rules)" = "$(id -u fastpath-rules)" ] || fail "the store"
    [ "$(stat -c %u /var/lib/fastpath)" = 0 ] || fail "$(ls -ld /var/lib/fastpath)"
}

test_the_rule_store_of_an_earlier_version_changes_its_owner() {
    [ "$(id -u)" = 0 ] && [ "$(id -u fastpath-rules)" != 0 ] || exit 77
    mkdir -p /var/lib/fastpath/rules/sources
    ln -s /etc/passwd /var/lib/fastpath/rules/sources/link
    chown -Rh fastpath:fastpath /var/lib/fastpath
    "$UPDATES" start
    [ "$(stat -c %u /var/lib/fastpath/rules/sources)" = "$(id -u fastpath-rules)" ] ||
        fail "the folder of the archives"
    [ "$(stat -c %u /etc/passwd)" = 0 ] || fail "a file behind a link was given away"
    [ "$(stat -c %u /var/lib/fastpath)" = 0 ] || fail "the folder above"
}

# The option may point to somebody else's folder.
test_only_the_daemon_s_store_changes_its_owner() {
    [ "$(id -u)" = 0 ] && [ "$(id -u fastpath-rules)" != 0 ] || exit 77
    printf "\nconfig update 'update'\n\toption store '/srv/rules'\n" >>/etc/config/fastpath
    mkdir -p /srv/rules
    "$UPDATES" start
    grep -q "'/srv/rules'" /run/supervise/fastpath-rules.command || fail "another store"
    [ "$(stat -c %u /srv/rules)" = 0 ] || fail "root's folder was given away"
    "$UPDATES" stop
    chown fastpath /srv/rules
    "$UPDATES" start
    [ "$(stat -c %u /srv/rules)" = "$(id -u fastpath-rules)" ] || fail "the daemon's was not"
    [ "$(stat -c %u /srv)" = 0 ] || fail "the folder above was given away"
    rm -r /srv
}

test_programs_are_loaded_before_the_daemon() {
    with_loader
    local most=32768 ids
    ids="$(id -u fastpath):$(id -g fastpath)"
    ! [ -r /proc/sys/net/netfilter/nf_conntrack_max ] ||
        most=$(cat /proc/sys/net/netfilter/nf_conntrack_max)
    chmod 700 /sys/fs/bpf
    started
    [ "$(head -n 1 /tmp/programs)" = "fastpath-bpf load --flows $((2 * most)) --owner $ids" ] ||
        fail "$(cat /tmp/programs)"
    [ "$(stat -c %a /sys/fs/bpf)" = 711 ] || fail "the daemon does not reach them"
}

test_a_changed_configuration_sends_a_signal() {
    started
    before=$(daemon_pid)
    printf "\nconfig exclude\n\toption proto 'tcp'\n" >>/etc/config/fastpath
    "$DAEMON" reload 2>/dev/null
    soon 3 noted "fastpathd HUP" || fail "no signal: $(cat /tmp/programs)"
    [ "$(daemon_pid)" = "$before" ] || fail "restarted"
    "$DAEMON" reload 2>/dev/null
    never signalled_again || fail "a signal for nothing"
    for package in network firewall sqm dhcp; do
        : >/tmp/programs
        echo "# changed" >>"/etc/config/$package"
        sh /usr/libexec/lab/config_change "$package"
        soon 3 noted "fastpathd HUP" || fail "no signal for $package"
    done
}

test_stopping_keeps_the_ebpf_programs() {
    with_loader
    started
    "$DAEMON" stop
    soon 3 noted "fastpathd TERM" || fail "not stopped"
    ! noted "fastpath-bpf unload" || fail "unloaded although on_exit is keep"
}

test_stopping_with_on_exit_remove_unloads_the_ebpf_programs() {
    with_loader
    started
    sed -i "s/option on_exit 'keep'/option on_exit 'remove'/" /etc/config/fastpath
    "$DAEMON" stop
    noted "fastpath-bpf unload" || fail "$(cat /tmp/programs)"
}

# login_by OPTION: prints the programs started by this change of rpcd's configuration.
login_by() {
    : >/tmp/programs
    printf "config access 'fastpath'\n\toption session_login '%s'\n" "$1" >/etc/config/rpcd
    sh /usr/libexec/lab/config_change rpcd
    cat /tmp/programs
}

test_a_change_of_session_login_takes_effect() {
    local said
    started
    said=$(login_by 1)
    [ -z "$said" ] || fail "ran without the page installed: $said"
    mkdir -p /usr/share/rpcd/acl.d
    : >/usr/share/rpcd/acl.d/fastpath-access.json
    said=$(login_by 1)
    [ "$said" = "fastpath-rpcd login open" ] || fail "with the option: $said"
    [ "$(login_by yes)" = "fastpath-rpcd login open" ] || fail "another spelling"
    said=$(login_by 0)
    [ "$said" = "fastpath-rpcd login close" ] || fail "without: $said"
    rm -r /usr/share/rpcd
}

test_a_start_closes_a_login_that_an_upgrade_of_rpcd_opened() {
    mkdir -p /usr/share/rpcd/acl.d
    : >/usr/share/rpcd/acl.d/fastpath-access.json
    login_by "" >/dev/null
    : >/tmp/programs
    started
    noted "fastpath-rpcd login close" || fail "not closed: $(cat /tmp/programs)"
    rm -r /usr/share/rpcd
}

test_a_start_installs_netifd_s_steering_hook() {
    started
    [ "$(readlink "$HOOK")" = /usr/libexec/fastpath/packet-steering.sh ] || fail "no hook"
    [ -x "$HOOK" ] || fail "the hook leads nowhere"
}

# steered FLOWS: prints how the hook calls OpenWrt's packet steering if uci has FLOWS.
steered() {
    mkdir -p /usr/libexec/network
    printf '#!/bin/sh\n[ "$*" = "-q get network.@globals[0].steering_flows" ] && echo "%s"\n' \
        "$1" >/usr/bin/uci
    printf '#!/bin/sh\necho "steering $*"\n' >/usr/libexec/network/packet-steering.uc
    chmod +x /usr/bin/uci /usr/libexec/network/packet-steering.uc
    sh /usr/libexec/fastpath/packet-steering.sh 2
}

test_the_steering_hook_yields_to_the_cpu_plan() {
    local said
    said=$(steered 128)
    [ "$said" = "steering -l 128 2" ] || fail "with flows: $said"
    said=$(steered "")
    [ "$said" = "steering 2" ] || fail "without: $said"
    mkdir -p /var/run/fastpath
    touch /var/run/fastpath/cpu.found
    said=$(steered 128)
    [ -z "$said" ] || fail "although the plan is in force: $said"
}

test_a_target_s_own_steering_hook_is_kept() {
    mkdir -p "${HOOK%/*}"
    echo own >"$HOOK"
    started
    [ "$(cat "$HOOK")" = own ] || fail "the target's hook is gone"
    "$DAEMON" stop
    ln -sf /nowhere "$HOOK"
    started
    [ "$(readlink "$HOOK")" = /nowhere ] || fail "the target's link is gone"
}

# rcS runs scripts by number; script 19 is the first that reads the firewall's configuration.
test_an_unconfirmed_change_is_reverted_before_other_services_start() {
    local change=/etc/init.d/fastpath-change
    [ "$(sed -n 's/^START=//p' "$change")" -lt 19 ] || fail "$(grep "^START" "$change")"
    rm -rf /etc/fastpath
    "$change" boot
    [ ! -s /tmp/programs ] || fail "nothing waits: $(cat /tmp/programs)"
    mkdir -p /etc/fastpath/changes
    : >/etc/fastpath/changes/pending.json
    "$change" start
    [ ! -s /tmp/programs ] || fail "while the router runs: $(cat /tmp/programs)"
    "$change" boot
    rm -r /etc/fastpath
    [ "$(cat /tmp/programs)" = "fastpath-rpcd boot" ] || fail "at boot: $(cat /tmp/programs)"
}

# The firewall (19) and the network (20) let devices reach other networks.
test_the_daemon_starts_before_the_network() {
    [ "$(sed -n 's/^START=//p' "$DAEMON")" -lt 19 ] || fail "$(grep "^START" "$DAEMON")"
}

# rcS sorts names as text: K9 would follow K90network.
test_services_are_numbered_by_two_digits() {
    local wrong
    wrong=$(grep -E "^(START|STOP)=" /etc/init.d/*fastpath* | grep -vE "=[0-9]{2}$" || true)
    [ -z "$wrong" ] || fail "$wrong"
}

test_the_writer_of_the_cpu_plan_exits() {
    /etc/init.d/fastpath-cpu start
    [ ! -e /run/supervise/fastpath-cpu ] || fail "something stays"
    [ "$(cat /run/triggers/fastpath-cpu)" = \
        "event fastpath.cpu 100 /etc/init.d/fastpath-cpu start" ] ||
        fail "triggers: $(cat /run/triggers/fastpath-cpu)"
}
