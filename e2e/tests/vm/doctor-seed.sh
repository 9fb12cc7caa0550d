# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Starts with the slow gateway of the project's first days. The doctor finds and fixes its problems;
# both states are measured in one run, in build/reports/doctor.json.
# shellcheck source=e2e/lab/measure.sh
. "$LAB/measure.sh"
# shellcheck source=e2e/tests/vm/lib/examination.sh
. "$VM/lib/examination.sh"

# Defects of the slow gateway: five chains, a bridge per VLAN, helpers, no flowtable, Suricata in
# tap mode; on an emulated machine also GRO off and no CPU plan.
OF_SEED="bridge-per-vlan flowtable-off forward-deep helpers-global ips-watching"
OF_SEVERAL_CPUS="cpu-plan-off ips-threads"
TRANSFER=6

# transfer HOST OPTIONS…: prints Mbit/s, and CPU seconds of the gateway's machine per GB.
transfer() {
    local ticks report
    ticks=$(gateway_ticks)
    report=$(h10 timeout $((TRANSFER + 20)) iperf3 -J -t "$TRANSFER" -c "$@")
    ticks=$(($(gateway_ticks) - ticks))
    jq -c --argjson cpu "$ticks" --argjson hz "$(getconf CLK_TCK)" '
        def round(digits): . * pow(10; digits) | round / pow(10; digits);
        .end.sum_received | { mbit_s: (.bits_per_second / 1e6 | round(1)),
            cpu_s_per_gb: ($cpu / $hz / (.bytes / 1e9) | round(2)) }' <<<"$report"
}

# measured: prints the results of both routes as one object.
measured() {
    jq -nc --argjson vlans "$(transfer "$H20_4")" --argjson pppoe "$(transfer "$ISP_4" -R)" \
        '{"inter-vlan": $vlans, $pppoe}'
}

# report: prints the doctor's report, whatever its exit status.
report() { gw 'fastpathctl doctor --json || true'; }

# ids REPORT: prints the sorted findings above info on one line.
ids() {
    jq -r '[.findings[] | select(.severity | IN("error", "warning", "advice")) | .id]
        | sort | join(" ")' <<<"$1"
}

reaches_both() { h10 ping -c 1 -W 1 "$H20_4" && h10 ping -c 1 -W 1 "$ISP_4"; }
green() {
    local now
    now=$(report)
    # An empty answer does not count as healthy.
    jq -e '.summary.ok > 30' <<<"$now" >/dev/null || return 1
    # Inspection enabled by a fix has only built-in rules, because the lab has no rule source, and
    # the kernel may have ended a process in an earlier test.
    now=$(ids "$now" | tr ' ' '\n' | grep -vxE 'ips-rules|system-oom' || true)
    [ -z "$now" ] || { echo "$now"; return 1; }
}

# are_found "ID…": fails unless all of these are found.
are_found() {
    local id now
    now=" $(ids "$(report)") "
    for id in $1; do [[ $now == *" $id "* ]] || { echo "$id is not in$now"; return 1; }; done
}

# found_and_fixed MEASURE: runs the doctor on the slow gateway until nothing is left to fix. Calls
# MEASURE with before and after.
found_and_fixed() {
    local sick id said wrong=$OF_SEED
    trap '"$LAB/seed" off' EXIT
    # Earlier tests of FTP may have loaded the modules.
    doctor 'unload nf_nat_ftp nf_conntrack_ftp'
    # An earlier test may have replaced ports; the daemon checks masks every ten seconds.
    soon 15 well cpu-masks
    green || fail "the gateway was not healthy at first: $(ids "$(report)")"
    "$LAB/seed" on
    soon 20 reaches_both
    # A user-mode machine has ports without a driver, and one CPU that needs no plan.
    ! gw '[ -e /sys/class/net/lan1/device ]' || wrong+=" gro-off"
    [ "$(cpus)" -lt 2 ] || wrong+=" $OF_SEVERAL_CPUS"
    # The daemon checks interrupts every ten seconds.
    soon 25 are_found "$wrong"
    sick=$(report)
    "$1" before
    # Repeat, because some problems only show after others are fixed.
    for id in {1..3}; do
        said=$(gw 'fastpathctl doctor --yes --fix all' 2>&1) || true
        printf '%s\n' "$said"
        ! poll 20 green >/dev/null || break
    done
    soon 20 green
    soon 20 reaches_both
    "$1" after
    jq '[.findings[] | select(.severity | IN("error", "warning", "advice"))
        | {id, severity, title, fix: .fix.kind}]' <<<"$sick" >"$RUN/seed.findings"
}

nothing() { :; }

# @core
test_problems_of_the_slow_gateway_are_found_and_fixed() {
    found_and_fixed nothing
}

measure() { measured >"$RUN/seed.$1"; }

# @qemu: it needs the CPU time of the gateway alone
test_the_fixed_gateway_uses_less_cpu_per_gigabyte() {
    found_and_fixed measure
    mkdir -p "$REPORTS"
    jq -n --slurpfile before "$RUN/seed.before" --slurpfile after "$RUN/seed.after" \
        --slurpfile findings "$RUN/seed.findings" \
        '{before: $before[0], after: $after[0], findings: $findings[0]}' >"$REPORTS/doctor.json"
    note "before $(jq -c .before "$REPORTS/doctor.json")"
    note "after  $(jq -c .after "$REPORTS/doctor.json")"
    local id
    for id in inter-vlan pppoe; do
        jq -e --arg way "$id" '.after[$way].cpu_s_per_gb < .before[$way].cpu_s_per_gb' \
            "$REPORTS/doctor.json" || fail "$id costs as much as before"
    done
}
