# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The packages' files in /etc/config, and the migration of older versions.

daemon() {
    local program=$TOP/build/cargo/debug/fastpath
    [ -x "$program" ] || skip "there is no $program (./build.sh programs)"
    FASTPATHD=$WORK/fastpathd
    ln -sf "$program" "$FASTPATHD"
}

test_uci_reads_every_option() {
    local file
    make_root
    install_into_root feeds/fastpathd suricata-pkg
    for file in fastpath suricata; do
        in_root /sbin/uci show "$file" >"$WORK/shown"
        grep -q "^$file\.main=$file\$" "$WORK/shown" || fail "no section main: $(cat "$WORK/shown")"
        # uci prints one line per option, without comments.
        [ "$(grep -cE '^(config|[[:space:]]+option) ' "$ROOT/etc/config/$file")" = \
            "$(wc -l <"$WORK/shown")" ] || fail "uci sees other options in $file"
    done
}

test_the_daemon_accepts_its_default_configuration() {
    daemon
    make_root
    install_into_root feeds/fastpathd
    "$FASTPATHD" --check "$ROOT/etc/config/fastpath" >"$WORK/said" 2>&1 ||
        fail "$(cat "$WORK/said")"
    [ "$(cat "$WORK/said")" = "the configuration is good" ] || fail "$(cat "$WORK/said")"
}

test_the_daemon_accepts_the_commented_examples() {
    daemon
    local file=$ROOT/etc/config/fastpath
    make_root
    install_into_root feeds/fastpathd
    # Disabled examples follow the # directly; explanations follow a blank.
    sed -i 's/^#\(config \|\toption \|\tlist \)/\1/' "$file"
    grep -q '^config exclude' "$file" || fail "no example found"
    # These lists belong to section main, but follow other sections once uncommented.
    sed -i '/^\tlist \(ignore_\)\?device/d' "$file"
    "$FASTPATHD" --check "$file" >"$WORK/said" 2>&1 || fail "$(cat "$WORK/said")"
}

migrate() {
    install_into_root feeds/fastpathd
    cp "$WORK/config" "$ROOT/etc/config/fastpath"
    boot
    cp "$ROOT/etc/config/fastpath" "$WORK/config"
}

test_an_older_file_is_converted() {
    daemon
    printf '\nconfig %s\n\toption %s\n\toption %s\n\toption %s\n\toption %s\n\n' "fastpath 'main'" \
        "enabled '1'" "engine 'ebpf'" "hook 'xdp'" "mark_mask '0x60000000'" >"$WORK/config"
    ! "$FASTPATHD" --check "$WORK/config" 2>/dev/null || fail "there is nothing to put right"
    make_root
    migrate
    "$FASTPATHD" --check "$WORK/config" || fail "the daemon does not take it"
    printf '\nconfig %s\n\toption %s\n\toption %s\n\toption %s\n\toption %s\n' "fastpath 'main'" \
        "enabled '1'" "engine 'ebpf'" "hook 'auto'" "mark_mask '0x78000000'" >"$WORK/expected"
    printf '\nconfig %s\n' "ips 'ips'" "update 'update'" "cpu 'cpu'" >>"$WORK/expected"
    echo >>"$WORK/expected"
    diff -u "$WORK/expected" "$WORK/config" || fail "not as expected"
    migrate
    diff -u "$WORK/expected" "$WORK/config" || fail "a second run changes it"
}

test_a_file_with_the_old_mark_still_selects_ebpf() {
    daemon
    printf '\nconfig %s\n\toption %s\n\toption %s\n\n' "fastpath 'main'" "engine 'ebpf'" \
        "mark_mask '0x60000000'" >"$WORK/config"
    ! "$FASTPATHD" --check "$WORK/config" 2>/dev/null || fail "there is nothing to put right"
    make_root
    migrate
    "$FASTPATHD" --check "$WORK/config" || fail "the daemon does not take it"
    grep -qF "option mark_mask '0x78000000'" "$WORK/config" || fail "$(cat "$WORK/config")"
    sed -i "s/0x78000000/0xf00/; s/option engine.*/&\n\toption hook 'tcx'/" "$WORK/config"
    migrate
    grep -qF "option mark_mask '0xf00'" "$WORK/config" || fail "the owner's own mask is lost"
    grep -qF "option hook 'tcx'" "$WORK/config" || fail "the owner's own hook is lost"
}

test_a_file_that_was_removed_stays_so() {
    make_root
    install_into_root feeds/fastpathd
    rm "$ROOT/etc/config/fastpath"
    boot
    [ ! -e "$ROOT/etc/config/fastpath" ] || fail "$(cat "$ROOT/etc/config/fastpath")"
}

test_a_first_boot_closes_rpcd_s_own_login() {
    local login=usr/libexec/fastpath/session-login.sh
    make_root
    install_into_root feeds/fastpathd luci-app-fastpath
    printf '#!/bin/sh\necho closed >>/tmp/asked\nexit 1\n' >"$ROOT/$login"
    boot
    same "$ROOT/tmp/asked" <(echo closed) "the login"
    [ ! -e "$ROOT/etc/uci-defaults/81-fastpath-access" ] || fail "the script asks to be run again"
}

test_a_current_file_is_not_changed() {
    make_root
    install_into_root feeds/fastpathd
    cp "$ROOT/etc/config/fastpath" "$WORK/before"
    boot
    cmp "$ROOT/etc/config/fastpath" "$WORK/before" || fail "comments are lost"
    [ ! -e "$ROOT/etc/uci-defaults/80-fastpathd" ] || fail "the script asks to be run again"
}

# upgrade_list VARIABLE=VALUE…: prints the files kept by sysupgrade after its hooks.
upgrade_list() {
    # shellcheck disable=SC2016 # for the inner shell
    in_root "$@" /bin/sh -c 'find $(cat /lib/upgrade/keep.d/*) /etc/config -type f >/tmp/conffiles
        . /lib/upgrade/fastpath.sh
        for hook in $sysupgrade_init_conffiles; do $hook /tmp/conffiles; done
        sort /tmp/conffiles'
}

test_an_upgrade_keeps_a_pending_change_and_a_backup_does_not() {
    local changes=/etc/fastpath/changes all option
    make_root
    install_into_root feeds/fastpathd
    mkdir -p "$ROOT$changes"
    touch "$ROOT$changes/7.json" "$ROOT$changes/pending.json" "$ROOT/etc/fastpath/base"
    touch "$ROOT$changes/.pending.json.new" "$ROOT"/etc/config/{.network.new,.network.uci-Ab1}
    all="/etc/config/fastpath /etc/fastpath/base $changes/7.json $changes/pending.json"
    [ "$(upgrade_list A=1 | xargs)" = "$all" ] || fail "upgrade: $(upgrade_list A=1)"
    for option in CONF_BACKUP=/tmp/backup.tgz CONF_BACKUP=- CONF_BACKUP_LIST=1; do
        [ "$(upgrade_list "$option" | xargs)" = "${all% *}" ] ||
            fail "$option: $(upgrade_list "$option")"
    done
}

# The pending change becomes the newest ended change, and the oldest record is removed.
test_an_upgrade_keeps_the_record_of_the_change_it_ended() {
    local changes=/etc/fastpath/changes kept
    make_root
    install_into_root feeds/fastpathd
    mkdir -p "$ROOT$changes"
    touch "$ROOT$changes/7.json" "$ROOT$changes/8.json" "$ROOT$changes/pending.json"
    # shellcheck disable=SC2016 # expanded by that script
    printf '#!/bin/sh\n[ "$1" = leave ] && cd %s && mv pending.json 9.json && rm 7.json\n' \
        "$changes" >"$ROOT/usr/libexec/fastpath-rpcd"
    chmod +x "$ROOT/usr/libexec/fastpath-rpcd"
    kept=$(upgrade_list A=1 | xargs)
    [ "$kept" = "/etc/config/fastpath $changes/8.json $changes/9.json" ] || fail "kept: $kept"
}
