#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# packet-steering.uc [-l FLOWS] [0|1|2]: writes rps_cpus of every port like netifd's program. 0:
# none, 1 (default): one CPU per port, 2: all CPUs.
steering=1
while [ $# != 0 ]; do
    case $1 in
        -l) shift ;;
        [012]) steering=$1 ;;
        *) ;;
    esac
    shift
done
count=$(grep -c ^processor /proc/cpuinfo)
# Like the original, do nothing on a single CPU.
[ "$count" -gt 1 ] || exit 0
next=0
for queue in /sys/class/net/*/queues/rx-*/rps_cpus; do
    device=${queue#/sys/class/net/}
    [ -e "/sys/class/net/${device%%/*}/device" ] || continue
    case $steering in
        0) mask=0 ;;
        2) mask=$(printf %x $(((1 << count) - 1))) ;;
        *) mask=$(printf %x $((1 << next))) ;;
    esac
    next=$(((next + 1) % count))
    echo "$mask" >"$queue"
done
