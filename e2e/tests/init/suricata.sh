# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests of Suricata's init script, sourced by `inside`.
# shellcheck disable=SC2153,SC3043 # `inside` sets REFUSED; BusyBox's shell has local

test_suricata_does_not_start_without_an_overlay() {
    "$SERVICE" start
    never runs || fail "started without an overlay"
    [ ! -s /tmp/calls ] || fail "tested nothing's configuration"
    grep -q '^event fastpath.ips 100 /etc/init.d/suricata reload$' /run/triggers/suricata ||
        fail "nobody listens for fastpathd"
}

test_suricata_runs_with_the_overlay_in_a_jail() {
    running_with one
    set -- "$(cat /tmp/running)"
    case $1 in
        "-c /etc/suricata/suricata.yaml --include /var/etc/suricata/accepted.yaml"*"-q 0:1") ;;
        *) fail "arguments: $1" ;;
    esac
    for word in "-U suricata" "-C /etc/capabilities/suricata.json" -c; do
        grep -q -- " $word .*-- /bin/sh" /tmp/ujail || fail "jail: $(cat /tmp/ujail)"
    done
    grep -q -- --core=0:0 /tmp/limits || fail "limits: $(cat /tmp/limits)"
    [ "$(rehearsals)" = 1 ] || fail "$(rehearsals) tests for one start"
    [ "$(cat "/proc/$(pid)/oom_score_adj")" = 500 ] || fail "not the first to go"
}

without() {
    local file=$1 status=0
    shift
    mv "$file" "$file.away"
    "$@" || status=$?
    mv "$file.away" "$file"
    return $status
}

test_suricata_drops_root_without_a_jail() {
    for file in /sbin/ujail /etc/capabilities/suricata.json; do
        rm -f /tmp/running
        without "$file" running_with one
        [ ! -e /tmp/ujail ] || fail "$(cat /tmp/ujail)"
        case $(cat /tmp/running) in
            *" --user suricata --group fastpath"*) ;;
            *) fail "without $file: $(cat /tmp/running)" ;;
        esac
        "$SERVICE" stop
    done
}

test_suricata_applies_its_options() {
    running_with one
    ! grep -q -- --as /tmp/limits || fail "limited by default: $(cat /tmp/limits)"
    grep -q -- --memlock=unlimited /tmp/limits || fail "limits: $(cat /tmp/limits)"
    "$SERVICE" stop
    # Remove the output of the previous process, which may exit late.
    rm -f /tmp/running
    sed -i "s/option memory_limit '0'/option memory_limit '512'/
        s/option oom_score '500'/option oom_score '300'/" /etc/config/suricata
    printf "\toption log_dir '/tmp/events'\n" >>/etc/config/suricata
    running_with one
    grep -qx -- --as=536870912:536870912 /tmp/limits || fail "limits: $(cat /tmp/limits)"
    [ "$(cat "/proc/$(pid)/oom_score_adj")" = 300 ] || fail "another score"
    grep -q -- '-l /tmp/events ' /tmp/running || fail "arguments: $(cat /tmp/running)"
    grep -q -- '-T .*-l /tmp/events$' /tmp/calls || fail "the test: $(cat /tmp/calls)"
    closed_folder /tmp/events "$(id -u suricata)" 750
}

closed_folder() {
    [ "$(stat -c '%u %a' "$1")" = "$2 $3" ] || fail "$1: $(stat -c '%u %a' "$1")"
}

test_folders_have_restrictive_owners_and_modes() {
    running_with one
    closed_folder /var/run/suricata "$(id -u suricata)" 750
    closed_folder /var/etc/suricata 0 755
    closed_folder /var/log/suricata "$(id -u suricata)" 750
    [ "$(stat -c %g /var/run/suricata)" = "$(id -g fastpath)" ] || fail "the group of the socket"
}

test_the_jail_passes_the_variable_path() {
    running_with one
    grep -q -- " -e PATH -- " /tmp/ujail || fail "jail: $(cat /tmp/ujail)"
    # The jail's stub is a shell, which adds variables.
    environment "$(pid)" | grep -qx PATH=/usr/sbin:/usr/bin:/sbin:/bin ||
        fail "$(environment "$(pid)")"
}

test_an_unchanged_overlay_does_not_restart_suricata() {
    running_with one
    before=$(pid)
    "$SERVICE" reload
    never another "$before" || fail "restarted for nothing"
    runs || fail "stopped for nothing"
    [ "$(rehearsals)" = 1 ] || fail "tested for nothing"
}

test_every_start_tests_the_configuration_again() {
    running_with one
    "$SERVICE" stop
    rm -f /tmp/running
    running_with one
    [ "$(rehearsals)" = 2 ] || fail "rules may have changed: $(rehearsals) tests for two starts"
}

test_a_changed_overlay_restarts_suricata() {
    running_with one
    before=$(pid)
    overlay two
    "$SERVICE" reload
    soon 4 another "$before" || fail "the old instance stayed"
    grep -q two /var/etc/suricata/accepted.yaml || fail "it runs by the old overlay"
}

test_a_changed_main_configuration_restarts() {
    running_with one
    before=$(pid)
    echo "# changed" >>/etc/suricata/suricata.yaml
    "$SERVICE" reload
    sed -i '$ d' /etc/suricata/suricata.yaml
    soon 4 another "$before" || fail "the old instance stayed"
    [ "$(rehearsals)" = 2 ] || fail "not tested"
}

test_changed_arguments_restart() {
    running_with one
    before=$(pid)
    printf '%s\n' -q 0:3 >"$ARGUMENTS"
    "$SERVICE" reload
    soon 4 another "$before" || fail "the old instance stayed"
    soon 3 grep -q -- '-q 0:3$' /tmp/running || fail "arguments: $(cat /tmp/running)"
}

pinned() { grep -q "^Cpus_allowed_list:.0$" "/proc/$(pid)/status"; }

test_all_threads_get_the_cpus_of_the_plan() {
    echo 1 >"$CPUS"
    running_with one
    soon 3 pinned || fail "$(grep Cpus_allowed "/proc/$(pid)/status")"
    before=$(pid)
    echo 3 >"$CPUS"
    "$SERVICE" reload
    soon 4 another "$before" || fail "the old instance stayed"
    # The jail records its arguments after its start.
    soon 4 grep -q "taskset 3" /tmp/ujail || fail "$(cat /tmp/ujail)"
    "$SERVICE" stop
    rm -f /tmp/running
    without /usr/bin/taskset running_with two
    ! grep -q taskset /tmp/ujail || fail "$(cat /tmp/ujail)"
}

test_an_invalid_cpu_mask_pins_nothing() {
    echo "1; reboot" >"$CPUS"
    running_with one
    ! grep -q taskset /tmp/ujail || fail "$(cat /tmp/ujail)"
}

test_a_cpu_plan_writes_only_allowed_files() {
    mkdir -p /var/run/fastpath
    cat >/var/run/fastpath/cpu.plan <<'END'
/etc/passwd f
/proc/irq/../../etc/passwd f
/proc/irq/1x/smp_affinity f
/proc/sys/kernel/core_pattern f
/sys/class/net/../../etc/queues/rx-0/rps_cpus f
/sys/class/net/a/b/queues/rx-0/rps_cpus f
/sys/class/net/lan1/queues/rx-0/b/rps_cpus f
/sys/class/net/lan1/queues/rx-0/rps_flow_cnt f
/sys/class/net/lan1/queues/rx-0/rps_cpus f;reboot
/sys/class/net/lan1/queues/rx-0/rps_cpus f f
/proc/1/napi/../comm f
/sys/class/net/lan1/queues/rx-0/rps_cpus f
END
    before=$(md5sum /etc/passwd)
    /etc/init.d/fastpath-cpu start
    [ "$(md5sum /etc/passwd)" = "$before" ] || fail "/etc/passwd was written"
    refused=$(grep -c "^not a path" /var/run/fastpath-cpu.refused)
    [ "$refused" = 11 ] || fail "$(cat /var/run/fastpath-cpu.refused)"
    # This path is allowed, but the device does not exist.
    tail -n 1 /var/run/fastpath-cpu.refused |
        grep -qx "/sys/class/net/lan1/queues/rx-0/rps_cpus f" ||
        fail "$(tail -n 2 /var/run/fastpath-cpu.refused)"
}

cpus_of() { sed -n 's/^Cpus_allowed_list:.//p' "/proc/$1/status"; }

# Name of a kernel thread that polls a device.
test_a_cpu_plan_pins_the_thread_that_it_names() {
    # @sleep: the work of a thread that is not there
    sh -c 'printf napi/lan1-5 >/proc/$$/comm; while :; do sleep 1000 & wait; done' &
    thread=$!
    soon 3 grep -q napi "/proc/$thread/comm" || fail "no thread"
    mkdir -p /var/run/fastpath
    all=$(cpus_of "$thread")
    echo "/proc/$thread/napi/lan2-5 1" >/var/run/fastpath/cpu.plan
    /etc/init.d/fastpath-cpu start
    [ "$(cpus_of "$thread")" = "$all" ] || fail "another thread is pinned"
    [ -s /var/run/fastpath-cpu.refused ] || fail "not refused"
    echo "/proc/$thread/napi/lan1-5 00000000,00000001" >/var/run/fastpath/cpu.plan
    /etc/init.d/fastpath-cpu reload
    [ "$(cpus_of "$thread")" = 0 ] || fail "on CPUs $(cpus_of "$thread")"
    [ ! -s /var/run/fastpath-cpu.refused ] || fail "$(cat /var/run/fastpath-cpu.refused)"
    kill "$thread"
}

test_a_link_shows_root_s_files_to_nobody() {
    [ "$(id -u suricata)" != 0 ] || exit 77
    echo "secret 5ec7e7" >/etc/secret
    chmod 600 /etc/secret
    mkdir -p /var/run/fastpath
    ln -sf /etc/secret /var/run/fastpath/cpu.plan
    /etc/init.d/fastpath-cpu start 2>/dev/null
    rm /var/run/fastpath/cpu.plan
    ! grep -q 5ec7e7 /var/run/fastpath-cpu.refused || fail "the plan's writer reports it"
    running_with one
    ln -sf /etc/secret "$OVERLAY"
    "$SERVICE" reload
    rm "$OVERLAY"
    ! grep -qr 5ec7e7 /var/etc/suricata /var/run/suricata || fail "a copy of it is there"
}

test_a_pipe_does_not_block_the_init_scripts() {
    running_with one
    mkdir -p /var/run/fastpath
    rm -f /tmp/returned
    mkfifo "$CPUS" /var/run/fastpath/cpu.plan
    ("$SERVICE" reload; /etc/init.d/fastpath-cpu start; : >/tmp/returned) >/dev/null 2>&1 &
    soon 2 [ -e /tmp/returned ] || fail "a script waits for a pipe"
    rm /var/run/fastpath/cpu.plan
    running_with one
    rm -f /tmp/returned "$OVERLAY"
    mkfifo "$OVERLAY"
    ("$SERVICE" reload; : >/tmp/returned) >/dev/null 2>&1 &
    soon 2 [ -e /tmp/returned ] || fail "a script waits for a pipe in place of the overlay"
}

test_an_unreadable_overlay_is_refused() {
    [ "$(id -u suricata)" != 0 ] || exit 77
    running_with one
    before=$(pid)
    for file in "$OVERLAY" "$ARGUMENTS"; do
        chmod 600 "$file"
        "$SERVICE" reload 2>/dev/null
        [ "$(pid)" = "$before" ] || fail "stopped, or runs without $file"
        grep -q "^$file cannot be copied" "$REFUSED" || fail "no reason: $(cat "$REFUSED")"
        chmod 644 "$file"
    done
}

test_a_refused_overlay_keeps_the_old_instance() {
    running_with one
    before=$(pid)
    overlay broken
    "$SERVICE" reload
    [ "$(pid)" = "$before" ] || fail "the old instance is gone"
    grep -q 'E: .*/tmp/my.rules at line 7' "$REFUSED" || fail "no reason: $(cat "$REFUSED")"
    ! grep -q 'This is' "$REFUSED" || fail "more than errors: $(cat "$REFUSED")"
    # A crash must restart the accepted configuration.
    rm /tmp/running
    kill -9 "$(pid)"
    soon 4 another "$before" || fail "it did not come back within 4 s"
    grep -q one /var/etc/suricata/accepted.yaml || fail "it restarted with the refused one"
    overlay three
    "$SERVICE" reload
    [ ! -e "$REFUSED" ] || fail "still reported as refused"
}

refusals_logged() { wc -l </tmp/logged; }

# fastpathd retries, because the cause may disappear.
test_a_refusal_is_logged_once() {
    printf '#!/bin/sh\necho "$*" | head -n 1 >>/tmp/logged\n' >/usr/bin/logger
    chmod +x /usr/bin/logger
    : >/tmp/logged
    # BusyBox's shell prefers its built-in logger unless a path is given.
    sed -i.kept 's|logger -t|/usr/bin/logger -t|' "$SERVICE"
    overlay broken
    "$SERVICE" start
    "$SERVICE" reload
    "$SERVICE" reload
    [ "$(refusals_logged)" = 1 ] || fail "$(refusals_logged) lines: $(cat /tmp/logged)"
    overlay garbage
    "$SERVICE" reload
    "$SERVICE" reload
    [ "$(refusals_logged)" = 2 ] || fail "another reason: $(cat /tmp/logged)"
    overlay fine
    "$SERVICE" reload
    overlay garbage
    "$SERVICE" reload
    [ "$(refusals_logged)" = 3 ] || fail "the same after a good one: $(cat /tmp/logged)"
    rm /usr/bin/logger
    mv "$SERVICE.kept" "$SERVICE"
}

test_an_overlay_of_invalid_yaml_is_refused() {
    running_with one
    before=$(pid)
    overlay garbage
    "$SERVICE" reload
    [ "$(pid)" = "$before" ] || fail "the old instance is gone"
    grep -q 'Failed to parse' "$REFUSED" || fail "no reason"
}

refused_for() {
    overlay "$1"
    "$SERVICE" reload
    [ "$(cat "$REFUSED")" = "$2" ] || fail "$1: $(cat "$REFUSED")"
}

test_the_end_of_a_test_is_explained() {
    running_with one
    before=$(pid)
    refused_for "signal 6" "suricata -T aborted (SIGABRT), perhaps for lack of memory"
    refused_for "signal 9" "suricata -T was killed (SIGKILL): the router ran out of memory"
    refused_for "signal 11" "suricata -T crashed (SIGSEGV)"
    refused_for "signal 24" "suricata -T reached its limit of CPU time (SIGXCPU)"
    refused_for "signal 15" "suricata -T was ended by signal 15"
    refused_for silent "suricata -T ended without a word"
    [ "$(pid)" = "$before" ] || fail "the old instance is gone"
}

test_refused_from_the_start() {
    overlay broken
    "$SERVICE" start
    never runs || fail "started with the refused one"
    [ -s "$REFUSED" ] || fail "no reason"
    overlay fixed
    "$SERVICE" reload
    soon 3 runs || fail "not started once fixed"
}

test_a_restart_tests_first_and_keeps_the_old_instance() {
    running_with one
    before=$(pid)
    "$SERVICE" restart
    soon 4 another "$before" || fail "not restarted"
    [ "$(rehearsals)" -ge 2 ] || fail "not tested before the restart"
    before=$(pid)
    overlay broken
    ! "$SERVICE" restart || fail "said that all is well"
    [ "$(pid)" = "$before" ] || fail "stopped because of the refused one"
}

test_removed_files_stop_suricata() {
    for file in "$OVERLAY" "$ARGUMENTS"; do
        rm -f /tmp/running
        running_with one
        rm "$file"
        "$SERVICE" reload
        soon 3 stopped || fail "runs without $file"
        [ ! -e "$REFUSED" ] || fail "refused: $(cat "$REFUSED")"
    done
}

test_disabling_stops_suricata() {
    running_with one
    sed -i "s/option enabled '1'/option enabled '0'/" /etc/config/suricata
    "$SERVICE" reload
    soon 3 stopped || fail "runs although it is off"
}

test_an_invalid_option_is_refused() {
    running_with one
    before=$(pid)
    sed -i "s/option oom_score '500'/option oom_score '2000'/" /etc/config/suricata
    "$SERVICE" reload
    [ "$(pid)" = "$before" ] || fail "stopped for a wrong option"
    grep -q /etc/config/suricata "$REFUSED" || fail "no reason"
}

without_fastpathd() {
    sed -i "s/option overlay .*/option overlay ''/; s/option arguments .*/option arguments ''/" \
        /etc/config/suricata
}

test_suricata_runs_without_fastpathd() {
    without_fastpathd
    printf "\tlist queue '4'\n\tlist queue '5'\n\tlist rule_file '/etc/my.rules'\n" \
        >>/etc/config/suricata
    "$SERVICE" start
    soon 3 runs || fail "not started"
    grep -q -- '-q 4 -q 5$' /tmp/running || fail "arguments: $(cat /tmp/running)"
    grep -q '^  - /etc/my.rules$' /var/etc/suricata/accepted.yaml || fail "the rules are missing"
}

test_a_configuration_without_a_queue_is_refused() {
    without_fastpathd
    "$SERVICE" start
    never runs || fail "started"
    grep -q 'no queue' "$REFUSED" || fail "no reason"
}

# A compromised Suricata places links and pipes where root's scripts read or write.
test_files_of_suricata_s_user_do_not_mislead_root() {
    [ "$(id -u suricata)" != 0 ] || exit 77
    running_with one
    echo secret >/etc/secret
    chmod 600 /etc/secret
    for kind in 'ln -s /etc/secret' mkfifo mkdir; do
        for name in refused command.sock; do
            rm -rf "/var/run/suricata/$name"
            $kind "/var/run/suricata/$name"
            chown -h suricata "/var/run/suricata/$name"
        done
        overlay broken
        "$SERVICE" reload &
        reload=$!
        soon 3 ended "$reload" || fail "a reload waits for $kind"
        grep -q 'E: .*/tmp/my.rules at line 7' "$REFUSED" || fail "no reason with $kind"
        overlay "$kind"
        "$SERVICE" reload
        [ ! -e "$REFUSED" ] || fail "with $kind still reported as refused"
    done
    [ "$(cat /etc/secret)" = secret ] || fail "root followed a link of the user's"
    soon 3 nothing_at /var/run/suricata/command.sock || fail "a folder in place of the socket"
}
nothing_at() { [ ! -e "$1" ]; }
ended() { ! kill -0 "$1" 2>/dev/null; }
