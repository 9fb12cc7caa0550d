# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rules are fetched, verified, tested and loaded; refused rules leave the old ones in force.
# @inspected

# shellcheck source=e2e/tests/vm/lib/archives.sh
. "$VM/lib/archives.sh"

# mark_page NUMBER: prints the received bytes of the page that rule NUMBER drops.
mark_page() { h10 "curl -s -m 3 -o /dev/null -w '%{size_download}' http://$ISP_4/mark-$1.txt || true"; }
finds() { [ "$(mark_page "$1")" = 0 ]; }
overlooks() { [ "$(mark_page "$1")" = 16 ]; }

with_good_rules() {
    serve_archives
    protect_inline "$(source_of good "${1-}")"
    update good
    soon 10 finds "${2:-1}"
}

# @core
test_a_valid_archive_is_loaded() {
    local before
    serve_archives
    protect_inline "$(source_of good)"
    overlooks 1 || fail "the rule is in force before it was fetched"
    before=$(ips_value .rules.loaded)
    update good
    soon 10 finds 1
    finds 2 || fail "the second file of the archive is not in force"
    soon 10 says ".rules.loaded == $before + 2" ips
    same "rules of the source" "$(ips_value '.rules.sources[0].rules')" 2
    dropped "$ISP_4"
    ips_is inline || fail "$(ips_value .why)"
}

test_an_update_replaces_the_old_rules() {
    with_good_rules
    protect "$(source_of better)"
    update good
    soon 10 overlooks 1
    finds 2 || fail "the new rule is not in force"
}

# @long
test_categories_and_disabled_rules_are_obeyed() {
    with_good_rules "	list category 'mark'"
    overlooks 2 || fail "a category that was not chosen is in force"
    protect "$(source_of good "	list disable '$MARK_1'")"
    update good
    soon 10 overlooks 1
    finds 2 || fail "another rule was disabled"
}

# rejects_update NAME WORD…: fails unless the archive is refused with a message that contains each
# WORD, and the old rules stay in force.
rejects_update() {
    local name=$1 word message
    shift
    protect "$(source_of "$name")"
    update failed
    message=$(ips_value '.rules.message + " " + .rules.sources[0].message')
    note "$name: $message"
    for word; do has "the message" "$message" "$word"; done
    finds 1 || fail "the good rules are gone"
    same "rules in force" "$(ips_value .rules.loaded)" "$LOADED"
}

# The daemon polls the number of loaded rules.
with_loaded_rules() {
    with_good_rules
    LOADED=$(suricatas ruleset-stats | jq '.message[0].rules_loaded')
    soon 15 says ".rules.loaded == $LOADED" ips
}

# Good and built-in rules must stay in force after each refused archive.
# @fault:archive-paths @fault:archive-checksum @fault:archive-syntax
test_invalid_archives_are_refused() {
    with_loaded_rules
    rejects_update traversal lab ../rules/mark.rules
    rejects_update wrong lab SHA-256
    rejects_update syntax mark.rules "line 1"
    dropped "$ISP_4"
    gw 'test ! -e /var/lib/fastpath/mark.rules && test ! -e /var/lib/mark.rules'
}

# @fault:archive-pass
test_pass_rules_are_reported() {
    serve_archives
    serve_archive passing <<END
pass http any any -> any any (msg:"everything"; sid:9000021; rev:1;)
END
    protect_inline "$(source_of passing)"
    update good
    has "the notes" "$(gw /usr/libexec/fastpath-rules status /var/lib/fastpath/rules |
        jq -r '.sources[].notes[]')" "action pass: 1, the first has sid 9000021"
}

# refusal_by_server: prints the downloader's error: curl reports the status, uclient-fetch only 8.
refusal_by_server() {
    if gw 'command -v curl' >/dev/null; then echo 404; else echo "answered with an error"; fi
}

# @long
# @fault:archive-truncated @fault:archive-links @fault:archive-bomb @fault:archive-page
test_damaged_archives_are_refused() {
    with_loaded_rules
    rejects_update truncated lab "is truncated"
    rejects_update link lab link.rules
    rejects_update bomb lab "unpacks to more"
    rejects_update page "is not a rule"
    rejects_update nothing "$(refusal_by_server)"
    dropped "$ISP_4"
    gw 'test ! -e /var/lib/fastpath/mark.rules && test ! -e /var/lib/mark.rules'
    between "KiB that the daemon holds" "$(daemon_kib)" 1000 40000
}

# @long
# @fault:disk-full-rules
test_an_update_on_a_full_disk_keeps_the_old_rules() {
    with_good_rules
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'owner=uid=$(id -u fastpath-rules)
        busybox mount -t tmpfs -o size=32k,mode=755,$owner rules /var/lib/fastpath
        dd if=/dev/zero of=/var/lib/fastpath/full bs=1k count=64 2>/dev/null || true'
    protect "$(source_of better)"
    same "started" "$(said .started update-rules)" true
    soon 30 updated failed
    note "$(ips_value .rules.message)"
    finds 1 || fail "the good rules are gone"
    gw busybox umount /var/lib/fastpath
}

no_leftovers() {
    same "files of an update" "$(gw 'cd /var/lib/fastpath/rules
        find . -path "./work/*" -type f; ls | grep "[.]new$" || true')" ""
}
rules_digest() { gw 'md5sum /var/lib/fastpath/rules/current.rules' | cut -d ' ' -f 1; }

# @fault:read-only-rules
test_an_update_on_a_read_only_disk_keeps_the_old_rules() {
    local digest
    with_good_rules
    digest=$(rules_digest)
    at_the_end 'gw busybox umount /var/lib/fastpath'
    gw 'mkdir -p /run/e2e/rules; busybox mount -t tmpfs -o size=8m,mode=755 rules /run/e2e/rules &&
        cp -a /var/lib/fastpath/. /run/e2e/rules/ &&
        busybox mount --move /run/e2e/rules /var/lib/fastpath &&
        busybox mount -o remount,ro /var/lib/fastpath'
    protect "$(source_of better)"
    update failed
    has "the message" "$(ips_value .rules.message)" "ead-only"
    same "the rules in force" "$(rules_digest)" "$digest"
    finds 1 || fail "the good rules are gone"
    gw busybox mount -o remount,rw /var/lib/fastpath
    update good
    soon 10 overlooks 1
    no_leftovers
}

# held_in_test: starts an update and suspends it while Suricata tests the new rules.
held_in_test() {
    at_the_end trial_goes_on
    # @sleep: between two questions on the gateway, whose answer ends in seconds
    gw '(until pkill -STOP -f "[s]uricata -T .*/work/"; do busybox usleep 20000; done) \
        >/dev/null 2>&1 </dev/null &'
    protect "$(source_of better)"
    same "started" "$(said .started update-rules)" true
    # shellcheck disable=SC2016 # expanded on the gateway
    soon 60 gw 'grep -q "^State:.T" "/proc/$(pgrep -o -f "[s]uricata -T .*/work/")/status"'
}
trial_goes_on() { gw 'pkill -CONT -f "[s]uricata -T .*/work/" || true'; }

# @fault:oom-updater
test_a_killed_update_keeps_the_old_rules() {
    local digest
    with_good_rules
    digest=$(rules_digest)
    held_in_test
    gw 'pkill -KILL -f "fastpath-rules [u]pdate"'
    soon 10 updated failed
    note "$(ips_value .rules.message)"
    [ -n "$(ips_value .rules.message)" ] || fail "no reason"
    trial_goes_on
    same "the rules in force" "$(rules_digest)" "$digest"
    finds 1 || fail "the good rules are gone"
    ips_is inline || fail "$(ips_value .why)"
    update good
    soon 10 overlooks 1
    finds 2 || fail "the new rule is not in force"
    no_leftovers
}

# @fault:oom-suricata
test_an_update_survives_a_killed_suricata() {
    with_good_rules
    held_in_test
    hold_suricata
    at_the_end 'trial_goes_on; release_suricata'
    kill_suricata >/dev/null
    soon 3 ips_is failing-open
    good_page "$ISP_4"
    trial_goes_on
    soon 60 updated good
    release_suricata
    soon 25 ips_is inline
    soon 10 overlooks 1
    finds 2 || fail "the new rule is not in force"
    dropped "$ISP_4"
    no_leftovers
}

# Updates leave bypassed connections alone.
# @long
test_an_update_does_not_affect_bypassed_flows() {
    local port bytes
    with_good_rules
    port=$(fresh_port)
    download h10 "$port" "$ISP_4" 1M
    soon 15 on_path flowtable --proto tcp --text "$port"
    protect "$(source_of better)"
    update good
    read -r _ bytes <<<"$(conntrack_bytes "$port")"
    soon 5 bytes_grow "$port" "$bytes"
}

test_a_source_without_a_checksum_is_refused() {
    refused "config fastpath 'main'

config ips 'ips'
	option enabled '0'

config rules 'lab'
	option url '$RULES_URL/good.tar.gz'" lab sha256
}
