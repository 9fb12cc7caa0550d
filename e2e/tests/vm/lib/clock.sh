# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The gateway's clock.

# jump SECONDS: changes the gateway's clock until the end of the test.
jump() {
    at_the_end right_clock
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'read -r up _ </proc/uptime; now=$(date +%s)
        [ -e /run/e2e/clock ] || echo $((now - ${up%.*})) >/run/e2e/clock
        busybox date -s @$((now + '"$1"')) >/dev/null'
}
# shellcheck disable=SC2016 # expanded on the gateway
right_clock() {
    gw '[ ! -e /run/e2e/clock ] || {
        read -r up _ </proc/uptime
        busybox date -s @$(($(cat /run/e2e/clock) + ${up%.*})) >/dev/null
        rm /run/e2e/clock
    }'
}

# synchronised 1|0: makes the kernel call the clock synchronised or not (adjtimex).
synchronised() {
    local unsynchronised=$(((1 - $1) * 64))
    gw perl -e "'my \$state = pack \"L x4 q4 i x164\", 0x14, 0, 0, 0, 0, $unsynchronised;
        exit(syscall(159, \$state) < 0)'"
}
