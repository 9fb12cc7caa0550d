# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Full and read-only disks, for every file that our programs write.

# shellcheck source=e2e/tests/vm/lib/changes.sh
. "$VM/lib/changes.sh"

# Small change; the edits of other tests need a block more each.
SMALL=$(edited lan '{"metric": "7"}')

fill_disk() {
    at_the_end free_disk
    # shellcheck disable=SC2016 # expanded on the gateway
    gw "head -c ${1:-0}k /dev/zero >/root/e2e.room; sync"'
        left=$(df -k / | awk "END { print \$4 }")
        ! command -v fallocate >/dev/null || fallocate -l "${left}k" /root/e2e.full || true
        cat /dev/zero >>/root/e2e.full
        rm /root/e2e.room; sync' 2>/dev/null
}
free_disk() { gw 'rm -f /root/e2e.full /root/e2e.room; sync'; }

no_room() { ! gw 'echo 1 >/root/e2e.try' 2>/dev/null || fail "there is room on the disk"; }

read_only() {
    at_the_end writable
    gw 'busybox mount -o remount,ro /'
    ! gw ': >/root/e2e.try' 2>/dev/null || fail "the disk is not read-only"
}
writable() { gw 'busybox mount -o remount,rw /; rm -f /root/e2e.try'; }

works() {
    says true status || fail "no answer of the daemon: $1"
    internet || fail "no Internet access: $1"
    answers_again || fail "nobody can log in: $1"
}

nothing_waits() { [ "$(change "$1" pending '{}' | jq -c .pending)" = null ]; }

refused_with() {
    refusal failed "$ROOT" apply "$(with "$SMALL")"
    has "the refusal" "$ANSWER" "$1"
    unchanged || fail "a refused change changed something"
    nothing_waits "$ROOT" || fail "a refused change waits"
    works "after the refusal"
}

# @fault:disk-full-apply
test_an_apply_on_a_full_disk_changes_nothing() {
    local answer id kib
    keep
    ROOT=$(session root fastpath)
    fill_disk
    no_room
    refused_with "No space left"
    # Each amount of free space makes a different write fail.
    for kib in 4 8 16 32; do
        free_disk
        fill_disk "$kib"
        answer=$(change "$ROOT" apply "$(with "$(guest 30)" '{"seconds": 600}')")
        id=$(jq -r '.id // empty' <<<"$answer")
        free_disk
        note "$kib KiB: $(jq -c 'del(.error.cause) | .error.text // .' <<<"$answer" | head -c 150)"
        [ -z "$id" ] || {
            has "the configuration of an applied change" "$(gw cat /etc/config/network)" 10.10.30.1
            change "$ROOT" revert "{\"id\": $id}" >/dev/null
        }
        # The daemon retries a revert that failed on the full disk.
        soon 5 nothing_waits "$ROOT"
        soon 5 unchanged
    done
    id=$(applied "$ROOT" "$SMALL")
    change "$ROOT" revert "{\"id\": $id}" >/dev/null
    unchanged || fail "not as before"
}

pending_without_room() {
    keep
    ROOT=$(session root fastpath)
    ID=$(applied "$ROOT" "$SMALL" '{"seconds": 600}')
    fill_disk
    no_room
}

# @fault:disk-full-confirm
test_a_change_can_be_confirmed_on_a_full_disk() {
    pending_without_room
    same "how it ended" "$(change "$ROOT" confirm "{\"id\": $ID}" | jq -r .state)" confirmed
    has "the configuration" "$(gw cat /etc/config/network)" "option metric '7'"
    nothing_waits "$ROOT" || fail "it still waits"
    free_disk
    nothing_waits "$ROOT" || fail "it waits again"
    has "the configuration" "$(gw cat /etc/config/network)" "option metric '7'"
    gw 'cp /run/e2e/kept/network /etc/config/network'
}

# @core
# @fault:disk-full-revert
test_a_change_is_rolled_back_once_the_disk_has_space() {
    local id
    pending_without_room
    change "$ROOT" revert "{\"id\": $ID}" >/dev/null
    free_disk
    soon 10 nothing_waits "$ROOT"
    soon 10 unchanged
    id=$(applied "$ROOT" "$SMALL" '{"seconds": 5}')
    fill_disk
    never 8 state_is "$ROOT" "$id" confirmed
    free_disk
    soon 60 unchanged
    soon 10 nothing_waits "$ROOT"
    state_is "$ROOT" "$id" confirmed && fail "it is noted as confirmed"
    works "afterwards"
}

# @core
# @fault:disk-full-engine
test_an_engine_is_not_stored_on_a_full_disk() {
    local said
    keep
    fill_disk
    no_room
    if said=$(gw 'fastpathctl engine off --persist' 2>&1); then fail "it is stored: $said"; fi
    has "the message" "$said" "No space left"
    unchanged || fail "the configuration is another one"
    free_disk
    gw fastpathctl engine off --persist >/dev/null
    has "the configuration" "$(gw cat /etc/config/fastpath)" "option engine 'off'"
}

# @core
# @fault:disk-full-login
test_logins_work_on_a_full_disk() {
    gw '[ ! -e /etc/fastpath/access.key ] || mv /etc/fastpath/access.key /run/e2e/'
    fill_disk
    no_room
    # The key for browser tokens cannot be created.
    works "without room for a key"
    same "files of the key" "$(gw 'ls /etc/fastpath | grep access || true')" ""
    free_disk
    gw '[ ! -e /run/e2e/access.key ] || mv /run/e2e/access.key /etc/fastpath/access.key'
    works "afterwards"
}

# @fault:run-full
test_the_daemon_starts_with_a_full_run_folder() {
    local pid
    at_the_end 'gw "busybox umount /var/run/fastpath; /etc/init.d/fastpathd restart"'
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'owner=uid=$(id -u fastpath),gid=$(id -g fastpath)
        busybox mount -t tmpfs -o size=4k,mode=755,$owner run /var/run/fastpath
        cat /dev/zero >/var/run/fastpath/full 2>/dev/null || true'
    pid=$(daemon_pid)
    kill_daemon
    soon 15 new_process "$pid"
    soon 15 engine_is flowtable
    works "with a full folder of its own"
    gw rm /var/run/fastpath/full
    works "with room again"
}
new_process() { [ "$(daemon_pid)" != "$1" ] && ask status; }

# @fault:disk-read-only
test_changes_on_a_read_only_disk_are_refused() {
    local id said state
    keep
    ROOT=$(session root fastpath)
    read_only
    refused_with "Read-only"
    if said=$(gw 'fastpathctl engine off --persist' 2>&1); then fail "it is stored: $said"; fi
    has "the message" "$said" "ead-only"
    writable
    gw fastpathctl engine flowtable >/dev/null
    # A confirmed change must stay in force even if the disk fails during the countdown.
    id=$(applied "$ROOT" "$SMALL" '{"seconds": 20}')
    read_only
    state=$(change "$ROOT" confirm "{\"id\": $id}" | jq -r '.state // .error.code')
    note "confirm on a read-only disk: $state"
    writable
    if [ "$state" = confirmed ]; then
        has "the configuration" "$(gw cat /etc/config/network)" "option metric '7'"
    else
        soon 60 unchanged
        soon 10 nothing_waits "$ROOT"
        ! state_is "$ROOT" "$id" confirmed || fail "it is noted as confirmed"
    fi
    works "afterwards"
}
