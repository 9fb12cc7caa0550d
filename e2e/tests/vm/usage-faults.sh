# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# History on flash with a full or read-only disk and a wrong clock, and what it writes.

# shellcheck source=e2e/tests/vm/lib/clock.sh
. "$VM/lib/clock.sh"
# shellcheck source=e2e/tests/vm/lib/history.sh
. "$VM/lib/history.sh"

YEAR=31536000

# works SITUATION: fails unless the gateway forwards, offloads, answers and serves the page.
works() {
    says true status || fail "no answer of the daemon: $1"
    internet || fail "no Internet access: $1"
    engine_is flowtable || fail "another engine: $1"
    h10 curl -gsS -m 10 -o /dev/null http://10.10.10.1/ || fail "no page: $1"
}

# lines TEXT: prints the number of lines with TEXT in the log since mark_log.
lines() { daemon_log | grep -c "$1"; }

# unsaved: lets three writes fail while the bytes of h10 grow.
unsaved() {
    local before
    before=$(total h10)
    soon 20 eval "[ \"\$(total h10)\" -gt $((before + 600000)) ]"
    # @sleep: further writes fail
    sleep 3
}

# room_left KIB: fills the disk but for some space.
# shellcheck disable=SC2016 # expanded on the gateway
room_left() {
    gw 'left=$(df -k /etc | awk "END { print \$4 }")
        dd if=/dev/zero of=/etc/e2e.full bs=64k count=$(((left - '"$1"') / 64)) 2>/dev/null; sync'
}

# @core
# @fault:disk-full-history
test_without_room_the_history_waits_in_memory() {
    local before
    recording 1
    load
    soon 20 storage_is on
    mark_log
    at_the_end 'gw "rm -f /etc/e2e.full; sync"; cp_config_back'
    room_left 3000
    soon 20 storage_is room
    works "without room"
    gw 'dd if=/dev/zero of=/etc/e2e.full bs=64k count=4 oflag=append conv=notrunc 2>/dev/null'
    unsaved
    before=$(total h10)
    works "without room"
    gw 'rm -f /etc/e2e.full; sync'
    soon 20 storage_is on
    saved
    recorded "$before" 1000000000000
    same "lines of the log" "$(lines 'history: the disk has'), $(lines 'history: written again')" \
        "1, 1"
}

# @fault:disk-read-only-history
test_a_read_only_disk_is_retried() {
    local before
    recording 1
    load
    saved
    mark_log
    at_the_end 'gw "busybox mount -o remount,rw /"; cp_config_back'
    gw 'sync; busybox mount -o remount,ro /'
    soon 20 storage_is failed
    unsaved
    before=$(total h10)
    works "on a read-only disk"
    gw 'busybox mount -o remount,rw /'
    soon 20 storage_is on
    saved
    recorded "$before" 1000000000000
    same "lines of the log" \
        "$(lines 'history: writing the history'), $(lines 'history: written again')" "1, 1"
}

days() { gw "ubus call fastpath usage '{\"step\": \"day\"}'" | jq -c '[.rows[][0]]'; }

# all_bytes: prints the bytes of h10 at any time, also in the future.
all_bytes() {
    gw "ubus call fastpath usage '{\"step\": \"day\", \"mac\": \"$(mac_of h10)\"}'" |
        jq '[.rows[] | .[2] + .[3]] | add // 0'
}

# right_history: removes records of a wrong clock.
right_history() {
    right_clock
    gw '/etc/init.d/fastpathd stop
        rm -f /etc/fastpath/history/*
        cp /run/e2e/config /etc/config/fastpath
        /etc/init.d/fastpathd start'
}

# at SECONDS: sets the clock that many seconds ahead of the right one.
at() {
    right_clock
    [ "$1" = 0 ] || jump "$1"
    at_the_end right_history
}

# @fault:clock-history
test_a_clock_that_is_wrong_by_a_year_removes_nothing() {
    local before known
    recording 1
    at_the_end right_history
    load
    saved
    known=$(days)
    before=$(all_bytes)
    at $YEAR
    saved
    works "a year ahead"
    between "bytes a year ahead" "$(all_bytes)" "$before" 1000000000000
    same "new days" "$(days | jq "(. - $known) | length")" 1
    known=$(days)
    # Nothing is written before 2026, when the clock cannot be set.
    at -$YEAR
    soon 20 storage_is clock
    unsaved
    before=$(all_bytes)
    works "a year behind"
    at 0
    soon 20 storage_is on
    saved
    between "bytes with the right clock" "$(all_bytes)" "$before" 1000000000000
    same "lost and new days" "$(days | jq -c "[$known - ., . - $known]")" "[[],[]]"
}

# io: prints the number of writes and flushes that the gateway's disk has completed.
io() { gw 'sync; cat /sys/block/*/stat' | awk '{ w += $5; f += $16 } END { print w, f }'; }

# count COMMAND…: sets WRITES and FLUSHES of the disk during the command.
count() {
    local before now
    read -r -a before < <(io)
    "$@"
    read -r -a now < <(io)
    WRITES=$((now[0] - before[0])) FLUSHES=$((now[1] - before[1]))
}

five_writes() { for _ in 1 2 3 4 5; do soon 20 saved_since "$(storage saved_ms)"; done; }

# A day has 144 intervals of ten minutes.
test_the_disk_is_written_once_per_interval() {
    local others
    need_gateway_disk || exit
    recording 3600
    load
    # @sleep: what other programs write in this time is counted
    count sleep 10
    others="$WRITES and $FLUSHES in 10 s without it"
    recording 3
    saved
    count five_writes
    note "$WRITES writes and $FLUSHES flushes of the disk for 5 of the history; $others"
    # ext4 commits its journal with two flushes.
    between "flushes" "$FLUSHES" 5 20
}
