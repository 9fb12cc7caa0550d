# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CPU plans with two CPUs: one forwards, the other inspects.

# shellcheck source=e2e/tests/vm/lib/cpus.sh
. "$VM/lib/cpus.sh"

PLAN_OFF="
config cpu 'cpu'
	option enabled '0'"

cpu_restored() {
    says '.active | not' cpu && gw test ! -e /var/run/fastpath/cpu.found
}

# @qemu: a user-mode machine has one CPU
test_plan_is_in_force() {
    several_cpus 2
    in_force ""
}

# @qemu: a user-mode machine has one CPU
test_previous_affinities_are_restored() {
    local before
    several_cpus 2
    protect "$PLAN_OFF"
    soon 15 cpu_restored
    before=$(affinities)
    in_force ""
    [ "$(affinities)" != "$before" ] || fail "the plan changes nothing here"
    protect "$PLAN_OFF"
    soon 15 affinities_are "$before"
}

affinities() {
    gw 'grep -H . /proc/irq/*/smp_affinity_list /sys/class/net/*/queues/*/[rx]ps_cpus 2>/dev/null |
        grep -e "^/sys.*/\(lan\|wan\)" -e "^/proc"'
}
affinities_are() { [ "$(affinities)" = "$1" ]; }

# OpenWrt's packet steering writes its own masks on every interface event.
# @qemu: a user-mode machine has one CPU
test_packet_steering_does_not_override_the_plan() {
    several_cpus 2
    protect "$PLAN_OFF"
    soon 15 cpu_restored
    gw 'cp /etc/config/network /run/e2e/network
        sed -i "s/option packet_steering .*/option packet_steering 2/" /etc/config/network
        /etc/init.d/packet_steering reload'
    soon 5 rps_is wan "$(all_cpus)"
    in_force ""
    pppoe_end TERM
    soon 30 wan_is_up
    # @sleep: OpenWrt's service sets its masks a second after the event, and logs nothing
    sleep 3
    soon 5 kernel_obeys
    says '.steering.taken_over' cpu
    protect "$PLAN_OFF"
    soon 15 rps_is wan "$(all_cpus)"
    # packet_steering is inactive while a plan is in force; later tests need its masks.
    soon 15 cpu_restored
    gw 'cp /run/e2e/network /etc/config/network; /etc/init.d/packet_steering reload'
    soon 5 rps_is wan 0
}

all_cpus() { mask_of "0-$(($(cpus) - 1))"; }

rps_is() { [ "$((16#$(gw cat "/sys/class/net/$1/queues/rx-0/rps_cpus")))" = "$((16#$2))" ]; }

test_a_missing_cpu_is_rejected() {
    refused "config fastpath 'main'
	option engine 'flowtable'

config cpu 'cpu'
	option inspection '64'" cpu inspection 64
    gw 'cp /run/e2e/config /etc/config/fastpath; /etc/init.d/fastpathd reload'
    soon 5 healthy
}

test_the_steering_hook_reads_the_router_s_options() {
    same "what it prints" "$(gw 'sh /usr/libexec/fastpath/packet-steering.sh 0 2>&1')" ""
}
