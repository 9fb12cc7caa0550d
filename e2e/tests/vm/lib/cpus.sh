# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later

several_cpus() { [ "$(cpus)" -ge "$1" ] || skip "the gateway has $(cpus) CPU; LAB_SMP=$1"; }

planned() { said "$1" cpu; }

# mask_of LIST: converts a CPU list like 0-1,3 to the format of rps_cpus, for up to 32 CPUs.
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

suricata_threads() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'for task in /proc/'"$(pids Suricata-Main)"'/task/*; do
        sed -n "s/^Name:\t//p; s/^Cpus_allowed_list:\t/ /p" "$task/status" 2>/dev/null |
            tr -d "\n"
        echo
    done'
}

# threads_obey: succeeds if workers run on their planned CPUs and other threads on the management
# CPUs.
threads_obey() {
    local threads workers management name list wanted queue=0
    workers=$(planned '.queues | map(.cpu) | join(" ")')
    management=$(planned .suricata.management)
    threads=$(suricata_threads)
    wanted=$(for list in $workers; do
        echo "W-NFQ#$queue $list"
        queue=$((queue + 1))
    done)
    if [ "$(grep '^W-NFQ' <<<"$threads" | sort)" != "$wanted" ]; then
        echo "workers: $threads, planned: $wanted"
        return 1
    fi
    while read -r name list; do
        [[ $name == W-NFQ* ]] || [ "$list" = "$management" ] ||
            { echo "thread $name: $list, planned $management"; return 1; }
    done <<<"$threads"
}

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

# kernel_obeys: succeeds if every interrupt and queue has its planned CPUs.
# shellcheck disable=SC2016 # expanded by jq
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
    protect_inline "
config cpu 'cpu'
	option enabled '1'
${1-}"
    soon 15 says '.active and (.differences | length == 0)' cpu
    soon 5 kernel_obeys
    between "interrupts that are planned" "$(interrupts_planned)" 4 100
    soon 40 threads_obey
    note "$(suricata_threads | tr "\n" ",")"
    roles_are_apart
}

