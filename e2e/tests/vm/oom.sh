# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel kills one of our processes because memory is exhausted, in a control group or simulated
# by SIGKILL.

# shellcheck source=e2e/tests/vm/lib/changes.sh
. "$VM/lib/changes.sh"

# without_memory PID: the OOM killer ends this process at its next page allocation.
without_memory() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'at=/sys/fs/cgroup
        grep -qs memory $at/cgroup.controllers || {
            at=/run/e2e/cgroup; mkdir -p $at
            grep -q " $at " /proc/mounts || busybox mount -t cgroup2 none $at
        }
        grep -q memory $at/cgroup.controllers || exit 77
        echo +memory >$at/cgroup.subtree_control 2>/dev/null
        mkdir -p $at/e2e && echo '"$1"' >$at/e2e/cgroup.procs && echo 0 >$at/e2e/memory.max
        echo $at/e2e >/run/e2e/no-memory' || skip "the gateway's kernel has no memory controller"
}
# shellcheck disable=SC2016 # expanded on the gateway
oom_kills() { gw 'sed -n "s/^oom_kill //p" "$(cat /run/e2e/no-memory)/memory.events"'; }
# shellcheck disable=SC2016 # expanded on the gateway
memory_back() {
    gw 'at=$(cat /run/e2e/no-memory) && {
            echo max >$at/memory.max; rmdir $at; rm /run/e2e/no-memory
        }
        ! grep -q " /run/e2e/cgroup " /proc/mounts || busybox umount /run/e2e/cgroup' \
        2>/dev/null || true
}

new_process() { [ "$(daemon_pid)" != "$1" ] && ask status; }
ended_for_memory() { [ "$(oom_kills)" -gt 0 ] || { ask flows; return 1; }; }

# @core
# @fault:oom-daemon
test_a_killed_daemon_restarts_without_losing_flows() {
    local pid port bytes
    at_the_end memory_back
    port=$(fresh_port)
    download h10 "$port" "$ISP_4"
    soon 10 on_path flowtable --proto tcp --text "$port"
    pid=$(daemon_pid)
    without_memory "$pid"
    soon 30 ended_for_memory
    note "$(gw dmesg | grep -c 'Memory cgroup out of memory') processes ended by the kernel"
    soon 15 new_process "$pid"
    soon 15 engine_is flowtable
    soon 5 on_path flowtable --proto tcp --text "$port"
    offloaded "$port" || fail "the connection left the flowtable"
    read -r _ bytes <<<"$(conntrack_bytes "$port")"
    soon 10 bytes_grow "$port" "$bytes"
}

# @core
# @fault:oom-settle
test_a_change_expires_without_its_watcher() {
    local root id
    keep
    root=$(session root fastpath)
    id=$(applied "$root" "$(edited lan '{"metric": "7"}')" '{"seconds": 6}')
    gw 'pkill -KILL -f "^fastpath-rpcd [s]ettle"' || fail "nobody watches the change"
    soon 60 unchanged
    soon 10 state_is "$root" "$id" expired
}

# @core
# @fault:oom-call
test_a_killed_call_is_answered_with_an_error() {
    local root answer at=/usr/libexec/rpcd/fastpath.change
    root=$(session root fastpath)
    at_the_end "gw '[ ! -e /run/e2e/program ] || { rm -f $at; mv /run/e2e/program $at; }'"
    gw "mv $at /run/e2e/program && cat >$at && chmod +x $at" <<'END'
#!/bin/sh
kill -KILL $$
END
    answer=$(rpc "$root" fastpath.change list '{}')
    note "the caller's answer: $answer"
    jq -e '.error or .result[0] != 0' <<<"$answer" >/dev/null || fail "no error: $answer"
    gw "rm -f $at; mv /run/e2e/program $at"
    change "$root" list '{}' | jq -e .changes >/dev/null || fail "no answer afterwards"
}

# loader_ends: until loader_back, the loader of the eBPF programs is killed after 20 ms. Its
# replacement keeps the name.
LOADER=/usr/libexec/fastpath-bpf
loader_ends() {
    at_the_end loader_back
    # A multi-call binary: the link's name selects the program.
    gw "mkdir -p /run/e2e/loader && ln -sf \$(readlink -f $LOADER) /run/e2e/loader/fastpath-bpf &&
        mv $LOADER /run/e2e/loader/kept && cat >$LOADER && chmod +x $LOADER" <<'END'
#!/bin/sh
/run/e2e/loader/fastpath-bpf "$@" & child=$!
# @sleep: how long the loader works before it is ended
busybox usleep 20000
kill -KILL "$child" $$
END
}
loader_back() {
    gw "[ ! -L /run/e2e/loader/kept ] || mv /run/e2e/loader/kept $LOADER"
}

# @long
# @fault:oom-helper
test_a_killed_loader_does_not_stop_forwarding() {
    local port
    port=$(fresh_port)
    loader_ends
    gw fastpathctl engine ebpf >/dev/null 2>&1 || true
    soon 10 says '.engine.wanted == "ebpf"' status
    note "$(said '.engine | .active + ": " + .why' status)"
    download h10 "$port" "$ISP_4"
    soon 10 arrives "$port"
    loader_back
    gw fastpathctl engine flowtable >/dev/null
    soon 10 engine_is flowtable
    soon 10 goes_on "$port"
    engine_ebpf
    soon 20 on_path ebpf --proto tcp --text "$port"
}
