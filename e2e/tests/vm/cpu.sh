# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which CPU does what, as the kernel has it. Needs a gateway of several CPUs (LAB_SMP=2 or 4).

several_cpus() { [ "$(gw nproc)" -ge "$1" ] || skip "the gateway has $(gw nproc) CPU; LAB_SMP=$1"; }

planned() { said "$1" cpu; }

# mask_of LIST: 0-1,3 as the kernel writes it in rps_cpus, up to 32 CPUs.
mask_of() {
    awk -v list="$1" 'BEGIN {
        count = split(list, parts, ",")
        for (i = 1; i <= count; i++) {
            if (split(parts[i], ends, "-") == 1) ends[2] = ends[1]
            for (cpu = ends[1]; cpu <= ends[2]; cpu++) mask += 2 ^ cpu
        }
        printf "%x", mask
    }'
}

# suricata_threads: NAME LIST of each.
suricata_threads() {
    # shellcheck disable=SC2016 # the machine expands it
    gw 'for task in /proc/$(pgrep -x Suricata-Main)/task/*; do
        sed -n "s/^Name:\t//p; s/^Cpus_allowed_list:\t/ /p" "$task/status" | tr -d "\n"
        echo
    done'
}

# Threads are where the plan has them: workers one CPU each, the others on the management set.
threads_obey() {
    local names workers management name list queue=0
    workers=$(planned '.queues | map(.cpu) | join(" ")')
    management=$(planned .suricata.management)
    names=$(suricata_threads)
    for list in $workers; do
        has "threads of Suricata" "$names" "W-NFQ#$queue $list"
        queue=$((queue + 1))
    done
    same "number of workers" "$(grep -c '^W-NFQ' <<<"$names")" "$queue"
    while read -r name list; do
        [[ $name == W-NFQ* ]] || same "CPUs of thread $name" "$list" "$management"
    done <<<"$names"
    note "$(tr '\n' ',' <<<"$names")"
}

# No thread of Suricata may run where packets are forwarded.
roles_are_apart() {
    local forwarding list
    forwarding=$(planned '[.cpus[] | select(.role == "forwarding") | .cpu] | join(" ")')
    [ -n "$forwarding" ] || fail "no CPU forwards: $(planned .cpus)"
    while read -r _ list; do
        for cpu in $forwarding; do
            [ $((16#$(mask_of "$list") >> cpu & 1)) = 0 ] ||
                fail "a thread of Suricata may run on CPU $cpu: $(suricata_threads)"
        done
    done < <(suricata_threads)
}

# kernel_obeys: every interrupt and every queue as planned.
# shellcheck disable=SC2016 # jq expands it
kernel_obeys() {
    local kind one two wanted have
    while read -r kind one two wanted; do
        case $kind in
            irq)
                have=$(gw cat "/proc/irq/$one/smp_affinity_list")
                [ "$have" = "$wanted" ] || { echo "IRQ $one: $have, planned $wanted"; return 1; }
                ;;
            *)
                have=$(gw cat "/sys/class/net/$one/queues/$two/${kind}_cpus")
                [ "$((16#$have))" = "$((16#$(mask_of "$wanted")))" ] ||
                    { echo "$kind of $one $two: $have, planned '$wanted'"; return 1; }
                ;;
        esac
    done < <(planned '.devices[] | .device as $d |
        (.irqs[] | select(.wanted != null) | "irq \(.irq) - \(.wanted)"),
        (.rps[] | select(.wanted != null) | "rps \($d) rx-\(.queue) \(.wanted)"),
        (.xps[] | select(.wanted != null) | "xps \($d) tx-\(.queue) \(.wanted)")')
}

interrupts_planned() { said '[.devices[].irqs[] | select(.wanted != null)] | length' cpu; }

in_force() {
    in_line "
config cpu 'cpu'
	option enabled '1'
${1-}"
    soon 15 says '.active and (.differences | length == 0)' cpu
    soon 5 kernel_obeys
    between "interrupts that are planned" "$(interrupts_planned)" 4 100
    threads_obey
    roles_are_apart
}

test_plan_is_in_force() {
    several_cpus 2
    in_force
}

test_named_cpus() {
    several_cpus 4
    in_force "	option forwarding '2-3'
	option inspection '0-1'"
    same "workers" "$(planned '.queues | map(.cpu) | join(" ")')" "0 1"
}

# What was found before is there again when the plan is switched off.
test_what_was_found_is_given_back() {
    local before
    several_cpus 2
    protect "
config cpu 'cpu'
	option enabled '0'"
    soon 5 says '.active | not' cpu
    soon 5 gw 'test ! -e /usr/libexec/platform/packet-steering.sh || true'
    before=$(affinities)
    in_force
    [ "$(affinities)" != "$before" ] || fail "the plan changes nothing here"
    protect "
config cpu 'cpu'
	option enabled '0'"
    soon 15 affinities_are "$before"
}

affinities() {
    gw 'grep -H . /proc/irq/*/smp_affinity_list /sys/class/net/*/queues/*/[rx]ps_cpus 2>/dev/null |
        grep -e "^/sys.*/\(lan\|wan\)" -e "^/proc"'
}
affinities_are() { [ "$(affinities)" = "$1" ]; }

# OpenWrt's service writes its own masks on every event of an interface.
test_packet_steering_does_not_undo_it() {
    several_cpus 2
    gw 'cp /etc/config/network /run/e2e/network
        sed -i "s/option packet_steering .*/option packet_steering 2/" /etc/config/network
        /etc/init.d/packet_steering reload'
    in_force
    pppoe_end TERM
    soon 30 wan_is_up
    # The service runs a second after the event.
    sleep 3
    soon 5 kernel_obeys
    says '.steering.taken_over' cpu
    protect "
config cpu 'cpu'
	option enabled '0'"
    soon 15 rps_is wan "$(mask_of "0-$(($(gw nproc) - 1))")"
    gw 'cp /run/e2e/network /etc/config/network; /etc/init.d/packet_steering reload'
}

rps_is() { [ "$((16#$(gw cat "/sys/class/net/$1/queues/rx-0/rps_cpus")))" = "$((16#$2))" ]; }

# wrong_threads SPREAD: packets that came to another worker than their flow's, of 24 connections
# with both ways busy.
wrong_threads() {
    local i
    in_line "	option spread '$1'
	option default 'always'"
    for i in $(seq 8); do
        begin h10 "a$i" "curl -s -o /dev/null --limit-rate 300k http://$ISP_4/2.bin"
        begin h10 "b$i" "curl -s -o /dev/null --limit-rate 300k http://$H20_4/2.bin"
        begin h11 "c$i" "curl -gs -o /dev/null --limit-rate 300k http://[$ISP_6]/2.bin"
    done
    for i in $(seq 8); do for kind in a b c; do soon 60 ended "$kind$i"; done; done
    suricatas dump-counters | jq '.message.stream.wrong_thread // .message.tcp.wrong_thread // 0'
}

test_hash_keeps_a_flow_on_one_worker() {
    local hash fanout
    several_cpus 4
    hash=$(wrong_threads hash | tail -n 1)
    between "queues that were used" \
        "$(ips_value '[.queues[] | select(.handled > 100)] | length')" 2 16
    end_traffic
    fanout=$(wrong_threads fanout | tail -n 1)
    note "packets at the wrong worker: $hash by hash, $fanout by CPU (fanout)"
    same "packets at the wrong worker, by hash" "$hash" 0
}

test_a_cpu_that_is_not_there_is_refused() {
    refused "config fastpath 'main'
	option engine 'flowtable'

config cpu 'cpu'
	option inspection '64'" cpu inspection 64
    gw 'cp /run/e2e/config /etc/config/fastpath; /etc/init.d/fastpathd reload'
    soon 5 healthy
}
