# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The doctor's checks of CPUs, kernel and system. Defects that need another machine are simulated
# with bind mounts in a private mount namespace.

# shellcheck source=e2e/tests/vm/lib/examination.sh
. "$VM/lib/examination.sh"
# shellcheck source=e2e/tests/vm/lib/cpus.sh
. "$VM/lib/cpus.sh"

loud() {
    gw 'fastpathctl --json doctor || true' | jq -c '[.findings[] |
        select(.group | IN("cpu", "ips", "system")) | select(.severity | IN("ok", "info") | not)]'
}

all_silent() { loud | grep -x '\[\]'; }

# @silent:cpu @silent:ips @silent:system
test_a_healthy_gateway_has_no_findings() {
    soon 30 all_silent
}

# The daemon's method calls rpcd, which the daemon's user may do.
test_the_daemon_forwards_a_run_to_the_doctor() {
    local group=/usr/share/rpcd/acl.d/e2e.json id
    gw "cat >$group" <<<'{"e2e": {"read": {"ubus": {"fastpath": ["doctor"]}}}}'
    id=$(session root fastpath)
    same "the daemon's answer" "$(rpc "$id" fastpath doctor \
        '{"checks": ["system-root"], "sample_ms": 0}' |
        jq -c '[.result[0], .result[1].findings[0].title]')" \
        '[0,"The system can be reset to its flashed state."]'
    same "an unknown argument" "$(rpc "$id" fastpath doctor '{"colour": 1}' |
        jq -c .result)" "[2]"
    gw rm "$group"
}

# @finds:system-daemon
test_a_stopped_daemon_is_found_and_started() {
    gw /etc/init.d/fastpathd stop
    soon 10 finds system-daemon error "fastpath status"
    # Checks that need the daemon report unknown, never ok.
    same "exit status without the daemon" "$(gw 'fastpathctl doctor >/dev/null; echo $?')" 2
    apply_fix system-daemon
    soon 30 engine_is flowtable
}

# @finds:system-secrets
test_a_readable_file_with_a_password_is_found() {
    doctor '
        chmod 644 /etc/config/network
        finds system-secrets
        chmod 600 /etc/config/network
        silent system-secrets
    '
}

# @finds:system-config
test_an_invalid_configuration_file_is_found() {
    doctor '
        cp /etc/config/dhcp /run/e2e-dhcp
        echo "option domain it'"'"'s" >>/etc/config/dhcp
        finds system-config error "/etc/config/dhcp"
        cp /run/e2e-dhcp /etc/config/dhcp
        silent system-config
    '
}

# given HASH NAME: sets an account's password hash; an empty hash means no password.
given() { gw "sed -i 's|^$2:[^:]*:|$2:$1:|' /etc/shadow"; }

# shown SESSION ID: prints the check's findings as shown to this session.
shown() {
    rpc "$1" fastpath.doctor run "{\"checks\": [\"$2\"], \"sample_ms\": 0}" |
        jq -c '.result[1].findings'
}

# @finds:system-password
# @fault:passwords-requested
test_an_account_without_a_password_is_found() {
    local viewer root found
    viewer=$(session viewer look)
    root=$(session root fastpath)
    keep /etc/shadow
    given "" viewer
    finds system-password error viewer
    found=$(shown "$viewer" system-password)
    has "the viewer's answer" "$found" '"severity":"unknown"'
    lacks "the viewer's answer" "$found" '/etc/shadow'
    has "root's answer" "$(shown "$root" system-password)" '"severity":"error"'
    same "the path to a host, for the viewer" \
        "$(rpc "$viewer" fastpath.doctor pmtu '{"target": "192.0.2.1"}' | jq .error.code)" -32002
    given "$(openssl passwd -6 viewer)" viewer
    given "$(openssl passwd -1 admin)" root
    finds system-password warning root
    kept
    well system-password
}

# @finds:system-sessions @finds:system-login
# @fault:viewer-lists-sessions @fault:login-reopened
test_insecure_web_logins_are_found() {
    local viewer root
    viewer=$(session viewer look)
    root=$(session root fastpath)
    well system-sessions
    well system-login
    keep /etc/config/rpcd /usr/share/rpcd/acl.d/unauthenticated.json
    # The last section is the viewer's login.
    gw "printf '\tlist read luci-base\n' >>/etc/config/rpcd"
    finds system-sessions warning viewer
    has "root's answer" "$(shown "$root" system-sessions)" '"severity":"warning"'
    has "the viewer's answer" "$(shown "$viewer" system-sessions)" '"severity":"unknown"'
    # Upgrades of rpcd's package reopen the login method.
    gw /usr/libexec/fastpath-rpcd login open
    finds system-login warning "session login"
    gw /usr/libexec/fastpath-rpcd login close
    kept
    well system-sessions
    well system-login
}

# health_reports CODE LEVEL, health_lacks CODE: check the daemon's health findings.
health_reports() { says ".health | any(.code == \"$1\" and .level == \"$2\")" status; }
health_lacks() { says ".health | all(.code != \"$1\")" status; }

# @finds:system-no-filter @finds:system-wan-open
test_services_open_to_the_wan_are_found() {
    keep /etc/config/firewall
    gw 'nft list table inet fw4 >/run/e2e/fw4; nft delete table inet fw4'
    finds system-no-filter error
    gw nft -f /run/e2e/fw4
    well system-no-filter
    gw "sed -i '/option name .wan.\$/,/option input/s/REJECT/ACCEPT/' /etc/config/firewall
        /etc/init.d/fastpathd reload"
    finds system-wan-open error dropbear
    soon 5 health_reports system-wan-open error
    kept
    gw /etc/init.d/fastpathd reload
    soon 5 health_lacks system-wan-open
    gw 'cat >>/etc/config/firewall' <<'END'

config rule
	option name 'Allow-SSH'
	option src 'wan'
	option proto 'tcp'
	option dest_port '22'
	option target 'ACCEPT'
END
    finds system-wan-open warning Allow-SSH
    kept
    well system-wan-open
}

# @finds:system-clock
test_a_wrong_clock_is_found() {
    local found
    # Change the clock and check in one command, so that few other programs see the year 2001.
    # shellcheck disable=SC2016 # expanded on the gateway
    found=$(gw 'now=$(date +%s); busybox date -s @946684800 >/dev/null
        fastpathctl --json doctor --check system-clock
        busybox date -s @$((now + 2)) >/dev/null' | jq -c .findings)
    is "$found" system-clock error 9466848
    # NTP is configured without a running daemon; afterwards a daemon runs.
    gw '[ ! -x /etc/init.d/sysntpd ] || /etc/init.d/sysntpd stop'
    trap "gw '[ ! -x /etc/init.d/sysntpd ] || /etc/init.d/sysntpd start'" EXIT
    found=$(view system-clock "mkdir -p /run/e2e/clock; cp /etc/config/* /run/e2e/clock
        printf '%s\\n' \"config timeserver 'ntp'\" >/run/e2e/clock/system
        bind /run/e2e/clock /etc/config; export UBUS_SOCKET=/nowhere")
    is "$found" system-clock warning timeserver
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'printf "#!/bin/sh\nsleep 60\n" >/run/e2e/ntpd; chmod +x /run/e2e/ntpd
        setsid /run/e2e/ntpd >/dev/null 2>&1 & echo $! >/run/e2e/ntpd.pid'
    found=$(gw fastpathctl --json doctor --check system-clock | jq -c .findings)
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'kill -- "-$(cat /run/e2e/ntpd.pid)"'
    is "$found" system-clock ok
}

# Faults that need another kernel or hardware, or that would damage the machine.
# @finds:cpu-saturated @finds:cpu-isolated @finds:cpu-governor @finds:system-parts
# @finds:system-memory @finds:system-oom @finds:system-storage @finds:kernel-defects
# @finds:kernel-modules @finds:kernel-modversions @finds:kernel-pointers @finds:kernel-lockdown
# @finds:system-root
test_simulated_faults_of_the_system_are_found() {
    local found checks="cpu-saturated cpu-isolated cpu-governor system-parts system-memory"
    checks+=" system-oom system-storage kernel-defects kernel-modules kernel-modversions"
    checks+=" kernel-pointers kernel-lockdown system-root"
    # shellcheck disable=SC2016 # expanded on the gateway
    found=$(view "$checks" '
put /proc/meminfo "MemTotal: 360000 kB
MemAvailable: 7000 kB"
put /proc/vmstat "oom_kill 3"
put /proc/sys/kernel/osrelease 6.6.28
put /proc/sys/kernel/tainted 8192
put /proc/sys/kernel/kptr_restrict 0
printf "#!/bin/sh\necho vermagic: 6.12.1 SMP\n" >/run/e2e/modinfo
chmod +x /run/e2e/modinfo
bind /run/e2e/modinfo "$(readlink -f "$(command -v modinfo)")"
busybox mount -t tmpfs none /usr/share/fastpath/rules
fill 96000
mkdir -p /run/e2e/cpu/cpufreq/policy0
cd /run/e2e/cpu/cpufreq/policy0
echo powersave >scaling_governor
echo acpi-cpufreq >scaling_driver
echo 0-1 >affected_cpus
echo performance schedutil powersave >scaling_available_governors
echo 7 >/run/e2e/cpu/isolated
bind /run/e2e/cpu /sys/devices/system/cpu
put /proc/stat "cpu0 0 0 0 1000 0 0 0 0
cpu1 0 0 0 1000 0 0 0 0"
busybox mount -t tmpfs none /sys/kernel/security
echo "[none] integrity confidentiality" >/sys/kernel/security/lockdown
echo "/dev/sda2 / ext4 rw,noatime 0 0" >/run/e2e/mounts
bind /run/e2e/mounts /proc/$$/mounts
# @sleep: the second reading of /proc/stat is to differ from the first
(sleep 1; echo "cpu0 0 0 0 1002 0 3 95 0
cpu1 0 0 0 1100 0 0 0 0" >/run/e2e/viewstat) &
')
    is "$found" cpu-saturated warning "98 %"
    is "$found" cpu-isolated advice '"7"'
    is "$found" cpu-governor warning powersave
    is "$found" system-parts error /usr/share/fastpath/rules/fastpath.rules
    is "$found" system-memory warning "7000 KiB"
    is "$found" system-oom warning '"3"'
    is "$found" system-storage warning /tmp
    is "$found" kernel-defects warning CVE-2024-27016
    is "$found" kernel-modules info 8192
    is "$found" kernel-modversions info "6.12.1 SMP"
    is "$found" kernel-pointers advice kptr_restrict
    is "$found" kernel-lockdown info '"none"'
    is "$found" system-root info "ext4, rw"
    # Same files with the governor fixed, and kernels with other defects.
    found=$(view "cpu-governor kernel-defects system-storage kernel-lockdown system-root" '
busybox mount -t tmpfs none /sys/kernel/security
echo "none [integrity] confidentiality" >/sys/kernel/security/lockdown
bind /run/e2e/cpu /sys/devices/system/cpu
put /proc/sys/kernel/osrelease 6.12.80
fill 200000
/usr/libexec/rpcd/fastpath.doctor call fix "{\"id\": \"cpu-governor\"}" >&2')
    is "$found" cpu-governor ok
    same "the governor" "$(gw cat /run/e2e/cpu/cpufreq/policy0/scaling_governor)" schedutil
    is "$found" kernel-defects info CVE-2026-43329
    is "$found" kernel-lockdown ok
    is "$found" system-root ok
    is "$found" system-storage error /tmp
}

# @finds:kernel-pointers
test_readable_kernel_pointers_are_found_and_hidden() {
    gw 'echo 0 >/proc/sys/kernel/kptr_restrict'
    finds kernel-pointers advice
    apply_fix kernel-pointers
    same kptr_restrict "$(gw cat /proc/sys/kernel/kptr_restrict)" 1
}

enabled() { gw "sed -n 's/.*option enabled //p' /etc/config/fastpath"; }

# @finds:cpu-plan-off
# @qemu: a user-mode machine has one CPU
test_a_disabled_cpu_plan_is_found_and_enabled() {
    local said
    several_cpus 2
    configure <<END
config fastpath 'main'
	option engine 'flowtable'

config cpu 'cpu'
	option enabled '0'
END
    soon 15 finds cpu-plan-off advice
    same "without anybody to agree" "$(gw 'fastpathctl doctor --fix cpu-plan-off 2>&1 </dev/null |
        grep -c -- --yes')" 1
    same "the option, not agreed to" "$(enabled)" "'0'"
    said=$(apply_fix cpu-plan-off)
    has "fastpathctl's output" "$said" "fastpath.cpu.enabled: 0 → 1"
    has "fastpathctl's output" "$said" "fixed and confirmed"
    same "the option" "$(enabled)" "'1'"
    soon 15 says '.enabled and .active' cpu
}

# This Suricata is neither inline nor started by us; it captures copies of packets.
# @finds:ips-watching
test_a_manually_started_suricata_is_found() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'mkdir -p /run/e2e/byhand.log
        setsid suricata -c /etc/suricata/suricata.yaml -S /dev/null -l /run/e2e/byhand.log \
            --pcap=lan1 >/dev/null 2>&1 & echo $! >/run/e2e/byhand'
    soon 5 finds ips-watching warning "--pcap=lan1"
    gw 'xargs kill </run/e2e/byhand'
    soon 5 well ips-watching
}

# @finds:cpu-masks @finds:cpu-steering
# @qemu: a user-mode machine has one CPU
test_foreign_masks_and_steering_are_found() {
    several_cpus 2
    keep /etc/config/network /usr/libexec/platform/packet-steering.sh
    soon 15 well cpu-masks
    # Disable the plan's init script while another program writes different masks.
    gw 'chmod -x /etc/init.d/fastpath-cpu; echo 3 >/sys/class/net/lan1/queues/rx-0/rps_cpus'
    soon 40 finds cpu-masks warning lan1
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'chmod +x /etc/init.d/fastpath-cpu
        hook=/usr/libexec/platform/packet-steering.sh
        rm $hook; printf "#!/bin/sh\n" >$hook; chmod +x $hook
        sed -i "s/option packet_steering .*/option packet_steering 2/" /etc/config/network'
    soon 60 well cpu-masks
    soon 40 finds cpu-steering warning foreign
    # The fix restores the script of fastpathd.
    gw rm /usr/libexec/platform/packet-steering.sh
    kept
    soon 40 well cpu-steering
}
