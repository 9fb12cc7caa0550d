# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A pause of h10 stops its offloaded flow, and a flow of h20 loses no packet. Engines as in
# revoke.sh.
# @each flowtable ebpf-tcx
# @each ebpf-auto @qemu: no port of a user-mode machine has a driver with XDP

# shellcheck source=e2e/tests/vm/lib/clock.sh
. "$VM/lib/clock.sh"
# shellcheck source=e2e/tests/vm/lib/revocation.sh
. "$VM/lib/revocation.sh"

# shellcheck disable=SC2034 # carried uses them
OTHER_HOST=h20 OTHER_TO=$ISP_4

mac() { h10 cat /sys/class/net/eth0/address; }

# paused [FIELD]: prints the pause of h10.
paused() { said ".devices[] | select(.mac == \"$(mac)\") | .${1-paused}" devices; }
is_paused() { [ "$(paused)" = "$1" ] || { paused; return 1; }; }

# section [OPTION…]: prints the section of h10, with its MAC in upper case.
section() {
    printf '%s\n' '' 'config device' "	option mac '$(mac | tr a-f A-F)'"
    [ $# = 0 ] || printf '\toption %s\n' "$@"
}

pause() {
    section "paused '1'" | timed 'cat >>/etc/config/fastpath; /etc/init.d/fastpathd reload'
}
# shellcheck disable=SC2120 # like the other ways to undo
resume() { gw "sed -i '/option paused/d' /etc/config/fastpath; /etc/init.d/fastpathd reload"; }

silent() { never 3 more_answers "$(answers)"; }
answered() { soon 15 more_answers "$(answers)"; }

# @each flowtable ebpf-tcx @core
# @each ebpf-auto @qemu @long: no port of a user-mode machine has a driver with XDP
test_a_pause_stops_an_offloaded_flow() {
    local before
    carried "$1"
    pause
    ended_in_time
    before=$(answers)
    silent
    same "h10's pause" "$(paused)" always
    has "the table" "$(gw fastpathctl devices)" always
    # The router itself answers, also to new connections; other networks do not.
    h10 ping -c 1 -W 5 10.10.10.1 >/dev/null || fail "the router does not answer"
    ! h10 ping -c 1 -W 1 "$ISP_4" >/dev/null || fail "the Internet answers"
    ! h10 ping -c 1 -W 1 "$ISP_6" >/dev/null || fail "the Internet answers over IPv6"
    ! h20 ping -c 1 -W 1 "$H10_4" >/dev/null || fail "another network reaches it"
    resume
    soon 15 more_answers "$before"
    soon 30 on_the_fast_path "$REVOKED"
    same "h10's pause" "$(paused)" ""
    others_continue
}

# @each flowtable @long
test_a_pause_stops_an_offloaded_flow_beside_suricata_with() {
    OTHER_HOST=h11 OTHER_TO=$H20_4
    carried "$1" "$(inspection inspect)"
    pause
    ended_in_time
    silent
    resume
    answered
    others_continue
}

# The flow of h10 waits for Suricata's verdicts; the other one is offloaded.
# @each inspecting @long
# @each always-inspected @long
test_a_pause_stops_a_flow_that_is() {
    local of=inspect
    [ "$1" = inspecting ] || of=always
    REVOKED_PATH=inspect/$1
    carried flowtable "$(inspection $of | sed "s/budget_bytes '5000'/budget_bytes '0'/")"
    pause
    ended_in_time
    silent
    resume
    answered
    soon 30 on_the_fast_path "$REVOKED"
    others_continue
}

new_addresses() {
    peers "ip -n h10 address add 10.10.10.99/24 dev eth0
        ip -n h10 address add 2001:db8:10::99/64 dev eth0 nodad"
}
no_new_addresses() {
    peers "ip -n h10 address del 10.10.10.99/24 dev eth0
        ip -n h10 address del 2001:db8:10::99/64 dev eth0"
}
is_dropped() { gw nft list table inet fastpath | grep -F "$1"; }

# An engine is not needed, and a new address does not help.
# @each off @long
test_a_pause_covers_new_addresses_with_engine() {
    local address
    trap 'no_new_addresses' EXIT
    { echo "config fastpath 'main'"; echo "	option engine '$1'"; section "paused '1'"; } | configure
    soon 10 is_paused always
    new_addresses
    for address in 10.10.10.99 2001:db8:10::99; do
        ! h10 ping -c 1 -W 1 -I "$address" "$(if [[ $address = *:* ]]; then echo "$ISP_6"
            else echo "$ISP_4"; fi)" >/dev/null || fail "$address reaches the Internet"
        h10 ping -c 1 -W 5 -I "$address" "${address%99}1" >/dev/null || fail "not the router"
        soon 5 is_dropped "$address"
        ! h20 ping -c 1 -W 1 "$address" >/dev/null || fail "another network reaches $address"
    done
    resume
    soon 10 h10 ping -c 1 -W 1 -I 10.10.10.99 "$ISP_4"
}

# @long
test_a_pause_outlives_the_daemon() {
    local pid
    carried "$1" "$(section "paused_until '$(($(gw date +%s) + 3600))'" | sed '/paused/d')"
    pause_until
    ended_in_time
    soon 5 is_paused until
    pid=$(daemon_pid)
    instance hold fastpathd
    kill_daemon
    silent
    instance release fastpathd
    soon 15 new_process "$pid"
    silent
    soon 10 is_paused until
    silent
    resume
    answered
    others_continue
}
pause_until() {
    timed "sed -i \"/option mac/a\\\\	option paused_until '\$((\$(date +%s) + 3600))'\" \
        /etc/config/fastpath; /etc/init.d/fastpathd reload"
}
new_process() { [ "$(daemon_pid)" != "$1" ] && ask status; }

# schedule FROM TO: prints a schedule of h10.
schedule() {
    section "group 'children'"
    printf '%s\n' '' 'config schedule' "	list group 'children'" "	option from '$1'" \
        "	option to '$2'"
}

# clock_at HH:MM:SS: sets the gateway's clock to this time of today, UTC.
clock_at() {
    jump $(($(gw "date -u -d '$1' +%s") - $(gw date +%s)))
    trap 'clean_up; right_clock; synchronised 0' EXIT
}

# @long
test_a_schedule_stops_an_offloaded_flow_at_its_minute() {
    local edge last
    # A program that sets the clock clears the kernel's state.
    clock_at 12:00:00
    synchronised 1
    carried "$1" "$(schedule 21:00 07:00)"
    is_paused "" || fail "paused before the schedule begins"
    clock_at 20:59:55
    edge=$(gw date -u -d 21:00:00 +%s)
    soon 9 is_paused schedule
    PASSED=$(answers)
    never 2 more_answers "$PASSED"
    PASSED=0
    if one_clock; then
        last=$(peers cat "/tmp/e2e/numbers.$REVOKED")
        LAST_AFTER=$((last / 1000 - edge * 1000))
        between "ms from the edge to the last answer" "$LAST_AFTER" -200 $((20 * $(pace)))
    fi
    same "end of the pause" "$(paused until_ms)" $(((edge + 10 * 3600) * 1000))
    clock_at 06:59:57
    answered
    # A jump into the schedule, and one out of it.
    clock_at 22:30:00
    soon 5 is_paused schedule
    silent
    clock_at 13:00:00
    answered
    soon 30 on_the_fast_path "$REVOKED"
    others_continue
}

# Without a clock, a restart of the router must not lift a schedule.
# @each flowtable @long
test_a_schedule_holds_before_the_clock_is_set_with() {
    local pid
    trap 'synchronised 0' EXIT
    gw test ! -e /dev/rtc0 || skip "this machine has a real-time clock"
    synchronised 0
    ENGINE=$1 configured "$(schedule "$(gw date -u -d "'+2 hours'" +%H:00)" \
        "$(gw date -u -d "'+3 hours'" +%H:00)")"
    pid=$(daemon_pid)
    kill_daemon
    soon 15 new_process "$pid"
    soon 10 is_paused clock
    ! h10 ping -c 1 -W 1 "$ISP_4" >/dev/null || fail "the Internet answers"
    synchronised 1
    soon 5 is_paused ""
    h10 ping -c 1 -W 5 "$ISP_4" >/dev/null || fail "the Internet does not answer"
    synchronised 0
    never 2 is_paused clock
}
