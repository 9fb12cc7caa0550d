# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The doctor's checks of inspection: Suricata inline, missing, in tap mode, on wrong CPUs.
# @inspected

# shellcheck source=e2e/tests/vm/lib/examination.sh
. "$VM/lib/examination.sh"
# shellcheck source=e2e/tests/vm/lib/cpus.sh
. "$VM/lib/cpus.sh"
# shellcheck source=e2e/tests/vm/lib/archives.sh
. "$VM/lib/archives.sh"

ips_checks() {
    gw 'fastpathctl --json doctor || true' | jq -r '.findings[] | select(.group == "ips") | .id' |
        xargs
}

# all_well ID…: succeeds if these checks have no findings. Ignores uninspected packets, which
# earlier tests have caused, and the missing rule sources of the lab.
all_well() {
    local found
    found=$(gw "fastpathctl --json doctor $(printf -- ' --check %s' "$@") || true" |
        jq -c '[.findings[] | select(.id | IN("ips-uninspected", "ips-rules") | not) |
            select(.severity | IN("ok", "info") | not)]')
    [ "$found" = "[]" ] || { echo "$found"; return 1; }
}

# Normal state: inline inspection with built-in rules only.
test_inline_inspection_has_no_findings() {
    local checks
    checks=$(ips_checks)
    has "the checks" "$checks" ips-away
    # shellcheck disable=SC2086 # one check per word
    soon 30 all_well $checks
    # Another test may have fetched rules recently.
    case $(ips_value .rules.checked_ms) in
        0) finds ips-rules warning builtin ;;
        *) well ips-rules ;;
    esac
}

# @finds:ips-end-of-life @finds:ips-queue-unread @finds:ips-drops
test_simulated_faults_of_inspection_are_found() {
    local found queue
    queue=$(said '.queues[0].queue' ips)
    # shellcheck disable=SC2016 # expanded on the gateway
    found=$(view "ips-end-of-life ips-queue-unread ips-drops" '
printf "#!/bin/sh\necho This is Suricata version 6.0.12 RELEASE\n" >/run/e2e/suricata6
chmod +x /run/e2e/suricata6
bind /run/e2e/suricata6 "$(readlink -f /usr/bin/suricata)"
# A bind mount cannot cover single files in /proc/net, and each process has its own: cover that of
# this shell, which becomes the doctor.
mkdir -p /run/e2e/net/netfilter
echo "   77   4711     0 2 65531   300     0     1000  1" >/run/e2e/net/netfilter/nfnetlink_queue
bind /run/e2e/net /proc/$$/net')
    is "$found" ips-end-of-life warning 6.0.12
    is "$found" ips-queue-unread error "\"queue $queue: bound\""
    is "$found" ips-drops warning "300 / 1000"
}

# @finds:ips-away @finds:ips-uninspected
test_a_missing_suricata_is_found() {
    hold_suricata
    kill_suricata >/dev/null
    soon 20 finds ips-away error failing-open
    # More than 1 % of all packets pass uninspected.
    h10 ping -f -q -c 3000 "$ISP_4"
    soon 10 finds ips-uninspected advice open
    good_page "$ISP_4" || fail "nothing passes although inspection fails open"
    release_suricata
    soon 60 well ips-away
}

# @finds:ips-watching
test_tap_mode_is_found_and_switched_to_inline() {
    gw "sed -i \"/^config ips/a\\	option mode 'ids'\\n	list device 'lan1'\" /etc/config/fastpath &&
        /etc/init.d/fastpathd reload"
    soon 10 finds ips-watching warning ids
    apply_fix ips-watching
    soon 60 working
    well ips-watching
}

# pin NAME CPUS: moves a thread of Suricata away from the CPUs of the plan.
pin() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'for task in /proc/'"$(pids Suricata-Main)"'/task/*; do
        [ "$(cat $task/comm)" != '"'$1'"' ] || taskset -pc '"$2"' "${task##*/}"
    done'
}

# @finds:ips-threads
# @qemu: a user-mode machine has one CPU
test_a_thread_on_a_forwarding_cpu_is_found() {
    local forwarding management
    several_cpus 2
    soon 15 says '.active and .suricata.pinned' cpu
    soon 40 threads_obey
    well ips-threads
    forwarding=$(planned '[.cpus[] | select(.role == "forwarding") | .cpu][0]')
    management=$(planned .suricata.management)
    pin FM#01 "$forwarding"
    finds ips-threads warning FM#01
    pin FM#01 "$management"
    well ips-threads
}

# @finds:ips-rules
test_a_failed_rule_update_is_found() {
    gw 'cat >>/etc/config/fastpath && /etc/init.d/fastpathd reload' <<'END'

config rules 'gone'
	option enabled '1'
	option url 'https://127.0.0.1:9/rules.tar.gz'
	option unverified '1'
END
    soon 10 says '.rules.sources | length == 1' ips
    gw fastpathctl update-rules
    soon 30 finds ips-rules warning gone
    gw "sed -i '/^config rules .gone/,\$d' /etc/config/fastpath; /etc/init.d/fastpathd reload"
    soon 10 says '.rules.sources | length == 0' ips
    gw fastpathctl update-rules
    soon 30 finds ips-rules warning builtin
}

# in_days NUMBER: prints the finding on rules with the clock set NUMBER days ahead.
in_days() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw ': >/run/e2e/clock-went-back
        now=$(date +%s); busybox date -s "@$((now + '"$1"' * 86400))" >/dev/null
        fastpathctl --json doctor --check ips-rules
        busybox date -s "@$now" >/dev/null' | jq -c .findings
}

# @finds:ips-rules
test_old_rules_are_found() {
    serve_archives
    protect "
config update 'update'
	option hour '-1'

config rules 'lab'
	option url '$RULES_URL/good.tar.gz'
	option sha256_url '$SUMS_URL/good.tar.gz.sha256'"
    soon 10 says '.rules.sources | length == 1' ips
    gw fastpathctl update-rules
    soon 30 says '.rules.state == "good"' ips
    well ips-rules
    is "$(in_days 10)" ips-rules advice '"10"'
    is "$(in_days 40)" ips-rules warning '"40"'
    gw fastpathctl update-rules
    well ips-rules
}

# flow_of PROTOCOL BYTES: feeds a Suricata event that ends a connection.
flow_of() {
    tr -d '\n' <<END | sed 's/$/\n/' | feed
{"timestamp":"2026-11-22T00:00:00.000000+0000","event_type":"flow","proto":"UDP",
"src_ip":"10.10.10.10","dest_ip":"203.0.113.1","dest_port":5000,"app_proto":"$1",
"flow":{"pkts_toserver":9,"pkts_toclient":9,"bytes_toserver":$2,"bytes_toclient":9}}
END
}

# seen_bytes FILTER: prints the bytes of ended connections that match.
seen_bytes() { said "[.visible[] | select($1) | .bytes] | add" ips; }

# First reports twice as much readable traffic, then twice as much encrypted traffic as there was in
# total, so that other traffic does not matter.
# @finds:ips-encrypted
test_a_large_share_of_encrypted_traffic_is_found() {
    local much=100000000000
    flow_of http $((2 * $(seen_bytes '.kind != "plain"') + much))
    soon 10 well_read
    flow_of quic $((2 * $(seen_bytes true)))
    soon 10 finds ips-encrypted info 'not readable'
    between "share" "$(examined ips-encrypted | jq .params.share)" 60 80
}

well_read() { [ "$(examined ips-encrypted | jq -r .severity)" = ok ]; }
