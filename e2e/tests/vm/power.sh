# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Power cuts after each file operation of fastpath-rpcd (on ext4, not flushed) and after each
# request to rpcd, which also writes. The configuration is then the old or the new one, according to
# the records. Copies of the disk simulate the cuts (lib/steps.sh); the first operation of each kind
# has a real cut.

# shellcheck source=e2e/tests/vm/lib/steps.sh
. "$VM/lib/steps.sh"

ORDER='[{"config": "network", "op": "set", "section": "iot", "values": {"metric": "9"}},
    {"config": "firewall", "op": "add", "type": "zone", "id": "zone",
        "values": {"name": "guest", "input": "REJECT"}}]'

call() { gw "ubus call fastpath.change $1 '${2:-{\}}'"; }

apply() {
    local answer
    answer=$(call apply "{\"seconds\": $1, \"edits\": ${2:-$ORDER}}")
    jq -er .id <<<"$answer" || fail "not applied: $answer"
}

texts() { gw 'cat /etc/config/network /etc/config/firewall | sha256sum'; }

# Restores and flushes the state before each cut.
begin() {
    gw 'cp /run/e2e/kept/* /etc/config/ && rm -rf /etc/fastpath/changes /etc/e2e.kept &&
        cp -a /run/e2e /etc/e2e.kept && sync'
    BEFORE=$(texts)
    ID=1
    INPUT="{\"id\": 1}"
}

# The before_… functions prepare a step and set its COMMAND and INPUT.
before_apply() {
    INPUT="{\"seconds\": 600, \"edits\": $ORDER}"
    COMMAND='/usr/libexec/rpcd/fastpath.change call apply'
}
before_confirm() {
    apply 600 >/dev/null
    COMMAND='/usr/libexec/rpcd/fastpath.change call confirm'
}
before_revert() {
    apply 600 >/dev/null
    COMMAND='/usr/libexec/rpcd/fastpath.change call revert'
}
# rpcd's timer expires the change in its own process, so kill that and run COMMAND instead.
# shellcheck disable=SC2016 # expanded on the gateway
before_expiry() {
    apply 6 >/dev/null
    gw 'kill $(grep -lxs fastpath /proc/[0-9]*/comm | cut -d / -f 3)'
    COMMAND='/usr/libexec/fastpath-rpcd settle'
}
before_undo() {
    apply 600 >/dev/null
    call confirm '{"id": 1}' >/dev/null
    BEFORE=$(texts)
    ID=$(apply 600 "$(call undo '{"id": 1}' | jq -c .edits)")
    INPUT="{\"id\": $ID}"
    COMMAND='/usr/libexec/rpcd/fastpath.change call confirm'
}
# Recovery at boot, repeated by the boot after the cut. Files in memory are lost.
before_boot() {
    apply 600 >/dev/null
    restart_broker
    soon 20 call list
    gw 'rm /var/run/fastpath-change/running.json'
    COMMAND='/usr/libexec/fastpath-rpcd boot'
}

# cut STEP NUMBER: cuts the power after operation NUMBER of STEP, whose name is in SAID.
cut() {
    begin
    "before_$1"
    # Flush before every third cut.
    SAID=$(gw "mkfifo /tmp/said; echo '$INPUT' >/tmp/input
        perl /run/e2e/stepper.pl $2 $COMMAND </tmp/input >/tmp/said 2>/tmp/answer &
        read -r said </tmp/said; [ $(($2 % 3)) != 0 ] || sync; echo \"\$said\"")
    ANSWER=
    [[ $SAID != ended* ]] || ANSWER=$(gw 'cat /tmp/answer') AFTER=$(texts)
    cycle_power || exit
    judge "$1, $SAID"
}

judge() {
    local state now
    soon 20 call list
    state=$(call list | jq -r --argjson i "$ID" '.changes[] | select(.id == $i).state')
    now=$(texts)
    if [ "$state" = confirmed ]; then
        same "configuration of a confirmed change ($1)" "$now" "$AFTER"
    else
        same "configuration ($1), change '$state'" "$now" "$BEFORE"
    fi
    if [[ $ANSWER == *'"state"'* ]]; then
        same "state in the answer ($1)" "$(jq -r .state <<<"$ANSWER")" "$state"
    fi
    same "a change that waits ($1)" "$(call pending | jq -c .pending)" null
    same "files that were being written ($1)" \
        "$(gw 'find /etc/config /etc/fastpath/changes -name ".?*" 2>/dev/null; true')" ""
    soon 20 ask status
}

# cuts STEP: cuts the power after STEP and after the first operation of each kind.
cuts() {
    local count names number=0 name
    cut "$1" 9999
    read -r _ count names <<<"$SAID"
    note "$1 has $count operations: $names"
    for name in $names; do
        number=$((number + 1))
        [[ " ${POINTS[*]} " != *" $1-$name "* ]] || continue
        cut "$1" "$number"
        same "the operation that the power was cut behind" "$SAID" "cut $number $name"
        POINTS+=("$1-$name")
    done
}

# states STEP END: boots disk copies from every operation of STEP, unflushed and flushed. A complete
# STEP has flushed everything, and its change has the state END.
states() {
    local flushed number ends
    for flushed in '' sync; do
        begin
        "before_$1"
        copies_of "$COMMAND" "$INPUT" $flushed
        AFTER=$(texts) ANSWER=$(gw 'cat /tmp/answer')
        ends=
        for ((number = 1; number <= ${#OPERATIONS[@]}; number++)); do
            recovered "$number" "$ID"
            ends+=" ${STATE:-none}"
            if [ "$STATE" = confirmed ]; then
                same "configuration of a confirmed change ($number)" "$TEXTS" "$AFTER"
            else
                same "configuration ($number), change '$STATE'" "$TEXTS" "$BEFORE"
            fi
        done
        same "the change after the end of '$1'" "$STATE" "$2"
        [[ $ANSWER != *'"state"'* ]] ||
            same "the state in the answer" "$(jq -r .state <<<"$ANSWER")" "$STATE"
        POINTS+=("$((${#OPERATIONS[@]} - 1)) of $1${flushed:+, flushed}:$(tr ' ' '\n' <<<"$ends" |
            grep . | uniq -c | xargs)")
        rm -r "$COPIES"
        end_pending_change
    done
}

# end_pending_change: ends the change on the running gateway.
end_pending_change() {
    call revert "$INPUT" >/dev/null 2>&1 || true
    call revert '{"id": 1}' >/dev/null 2>&1 || true
    same "a change that waits" "$(call pending | jq -c .pending)" null
}

ready() {
    gw 'command -v perl >/dev/null' || skip "no Perl on this gateway, which runs stepper.pl"
    need_gateway_disk || exit
    gw 'mkdir -p /run/e2e/kept && cp /etc/config/network /etc/config/firewall /run/e2e/kept/'
    gw 'cat >/run/e2e/stepper.pl' <"$VM/lib/stepper.pl"
    at_the_end 'gw "rm -rf /etc/e2e.kept"'
    POINTS=()
}

ready_for_states() {
    [ "$(lab_port MACHINE)" = uml ] || skip "only a user-mode machine has a second disk"
    ready
    # shellcheck disable=SC2016 # expanded at the end
    at_the_end 'go_on; rm -rf "$RUN"/copies.*; call revert "{\"id\": ${ID:-1}}" >/dev/null 2>&1
        gw "cp /run/e2e/kept/* /etc/config/; rm -rf /etc/e2e.kept /etc/fastpath/changes"'
}

done_with() {
    begin
    gw 'rm -rf /etc/e2e.kept'
    note "$(printf '%s, ' "${POINTS[@]}")"
    good_state
}

# @long
# @each apply confirm expiry
test_a_power_cut_leaves_a_consistent_configuration_in() {
    ready
    cuts "$1"
    done_with
}

# Confirming is part of every run, because it has both outcomes.
# @each confirm | confirmed @fault:power-cut-confirm
# @each apply | power-cut @long @fault:power-cut-apply
# @each revert | reverted @long @fault:power-cut-revert
# @each expiry | expired @long @fault:power-cut-revert
# @each undo | confirmed @long @fault:power-cut-undo
# @each boot | power-cut @long @fault:power-cut-boot
test_every_step_recovers_after_a_power_cut_in() {
    ready_for_states
    states "$@"
    done_with
}

# The backup contains the unconfirmed configuration, but no record that would revert it at boot.
# @long @fault:backup-in-countdown
test_a_backup_of_an_unconfirmed_change_is_restored_unchanged() {
    local backup now
    ready
    begin
    apply 600 >/dev/null
    now=$(texts)
    [ "$now" != "$BEFORE" ] || fail "nothing was applied"
    backup=$(mktemp)
    at_the_end "rm -f $backup; gw 'rm -rf /etc/e2e.kept /tmp/backup.tgz'"
    gw 'sysupgrade -b /tmp/backup.tgz && cat /tmp/backup.tgz' >"$backup"
    lacks "the backup" "$(tar -tzf "$backup")" pending
    call revert '{"id": 1}' >/dev/null
    same "the configuration after the revert" "$(texts)" "$BEFORE"
    begin
    gw 'cat >/tmp/backup.tgz && sysupgrade -r /tmp/backup.tgz && sync' <"$backup"
    cycle_power || exit
    soon 20 call list
    same "the restored configuration" "$(texts)" "$now"
    same "a change that waits" "$(call pending | jq -c .pending)" null
    gw '! ls -A /etc/fastpath/changes | grep pending' || fail "the countdown is back"
    begin
    gw 'rm -f /etc/uci-defaults/10_disable_services'
}

# upgraded: boots a new system with the files kept by sysupgrade.
# shellcheck disable=SC2016 # expanded on the gateway
upgraded() {
    local kept archive
    kept=$(mktemp) archive=$(mktemp)
    # shellcheck disable=SC2064 # expanded now
    trap "rm -f $kept $archive" EXIT
    gw 'echo image >/tmp/image && sum=$(sha256sum </tmp/image | cut -d " " -f 1) &&
        echo "lab-image $sum" >>/tmp/image && mount --bind /bin/true /usr/sbin/reboot &&
        sysupgrade /tmp/image && umount /usr/sbin/reboot && cat /tmp/sysupgrade.tgz' >"$archive"
    gw 'tar -cf - -C /run e2e' >"$kept"
    gw ': >/factory-reset; sync'
    cut_power gw || exit
    power_on gw
    gw 'tar -xf - -C /run' <"$kept"
    gw '! test -e /etc/fastpath/changes' || fail "the system is not a new one"
    gw 'tar -C / -xzf - && cp -a /run/e2e /etc/e2e.kept && sync' <"$archive"
    # sysupgrade without fastpath-base would keep these records.
    same "the configuration that was kept" "$(texts)" "$BEFORE"
    gw '! test -e /etc/fastpath/changes/pending.json' || fail "the record was kept"
    cycle_power || exit
}

# @long @fault:upgrade-in-countdown @fault:upgrade-without-base
test_an_upgrade_reverts_an_unconfirmed_change() {
    local file
    ready
    for file in base none; do
        begin
        apply 600 >/dev/null
        [ "$(texts)" != "$BEFORE" ] || fail "nothing was applied"
        [ "$file" = base ] || gw 'rm -f /lib/upgrade/keep.d/fastpath-base'
        ANSWER=
        upgraded
        judge "upgrade, $file"
        same "how it ended" "$(call list | jq -r '.changes[0].state')" power-cut
    done
    begin
    gw 'rm -rf /etc/e2e.kept /etc/uci-defaults/10_disable_services'
    good_state
}
