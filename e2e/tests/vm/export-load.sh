# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Flow records at high rates without loss.
# @long

# shellcheck source=e2e/tests/vm/lib/export.sh
. "$VM/lib/export.sh"

# begin_and_end SECONDS NUMBER: opens and closes NUMBER flows per second of the gateway's clock.
# Prints the actual duration in seconds.
begin_and_end() {
    add_connections "$2" >/dev/null
    # @sleep: between two looks at the clock, which sets the rate
    gw "now() { cut -d . -f 1 /proc/uptime; }
        start=\$(now)
        round=0
        while [ \$((round += 1)) -le $1 ]; do
            conntrack -D -p udp --dport 53 >/dev/null 2>&1
            conntrack -R /tmp/crowd >/dev/null 2>&1
            until [ \$(now) -ge \$((start + round)) ]; do busybox usleep 20000; done
        done
        conntrack -D -p udp --dport 53 >/dev/null 2>&1
        echo \$((\$(now) - start))"
}

# Up to 2,000 records per second, depending on the machine.
test_two_thousand_records_a_second_are_received() {
    local seconds
    need_readers
    at_the_end remove_connections
    listen sink
    exports protocol udp
    soon 20 collector_is up
    seconds=$(begin_and_end 60 2000)
    soon 30 says '.exports[0] | .sent >= 120000 and .lost == 0 and .queued == 0' exports
    soon 30 arrived sink.ipfix
    same "lost events" "$(said .conntrack.resyncs status)" 0
    note "$(said '.exports[0] | "sent \(.sent), lost \(.lost)"' exports) in $seconds s"
}
