# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Undo restores options set by fastpath-base unless they were changed later.
# shellcheck source=e2e/tests/packages/boards.sh
. "$HERE/boards.sh"

booted() {
    set_up dsa
    boot
    configured dsa
}

test_an_option_changed_since_stays() {
    booted
    uci set network.globals.packet_steering=2
    uci set firewall.@defaults[0].auto_helper=1
    uci commit
    remove_package
    [ "$(uci get network.globals.packet_steering)" = 2 ] || fail "the owner's steering is gone"
    [ "$(uci get firewall.@defaults[0].auto_helper)" = 1 ] || fail "the owner's helpers are gone"
    ! uci -q get firewall.@defaults[0].flow_offloading || fail "ours is left"
    [ "$(uci get network.lan.device)" = br-lan ] || fail "the bridge is not restored"
}

test_undo_keeps_a_bridge_with_more_vlans() {
    booted
    uci set network.guest_vlan=bridge-vlan
    uci set network.guest_vlan.device=br-lan
    uci set network.guest_vlan.vlan=20
    uci add_list network.guest_vlan.ports=lan4:t
    uci commit
    remove_package
    [ "$(uci get network.lan.device)" = br-lan.1 ] || fail "lan has lost its VLAN"
    [ "$(uci get network.lan_vlan.vlan)" = 1 ] || fail "the VLAN of lan is gone"
    ! uci -q get network.globals.packet_steering || fail "the options are not restored"
}

test_a_bridge_changed_since_stays() {
    local change
    for change in "del_list network.lan_vlan.ports=lan4:u*" "set network.lan_vlan.local=0" \
        "set network.lan.device=br-lan.2"; do
        booted
        uci batch <<<"$change"
        uci commit
        remove_package >"$WORK/said"
        grep -q 'the VLANs of br-lan are kept' "$WORK/said" || fail "$change: $(cat "$WORK/said")"
        [ "$(uci get network.lan_vlan.vlan)" = 1 ] || fail "$change: the VLAN of lan is gone"
        [ "$(uci get network.lan.device)" != br-lan ] || fail "$change: lan has lost its VLAN"
    done
}

test_an_interface_on_the_bridge_keeps_it() {
    booted
    uci set network.guest=interface
    uci set network.guest.device=br-lan.1
    uci commit
    remove_package
    [ "$(uci get network.lan.device)" = br-lan.1 ] || fail "guest has lost its bridge"
}

test_an_upgrade_does_not_repeat_setup_after_a_manual_undo() {
    booted
    in_root /usr/sbin/fastpath-base undo
    unconfigured dsa
    unpack_again
    boot
    unconfigured dsa
    in_root /usr/sbin/fastpath-base apply
    configured dsa
    told "br-lan is VLAN-aware, lan is VLAN 1 on it"
    remove_package
    unconfigured dsa
}

# Board one-port has no VLAN that would show the earlier setup.
test_an_option_reset_manually_is_not_set_again() {
    local board
    for board in dsa one-port; do
        set_up "$board"
        boot
        uci delete network.globals.packet_steering
        uci commit
        unpack_again
        boot
        ! uci -q get network.globals.packet_steering || fail "$board: set again"
    done
}

uncommitted() {
    booted
    uci set "$1"
    cp -r "$ROOT/etc" "$WORK/etc.before"
    ! in_root /usr/sbin/fastpath-base undo 2>"$WORK/said" || fail "undone"
    grep -q 'uci changes' "$WORK/said" || fail "no reason: $(cat "$WORK/said")"
    ! in_root /usr/sbin/fastpath-base apply 2>/dev/null || fail "applied"
    remove_package 2>/dev/null
    diff -r "$ROOT/etc" "$WORK/etc.before" || fail "something was changed"
    rm -rf "$WORK/etc.before"
}

test_uncommitted_changes_prevent_apply_and_undo() {
    uncommitted network.wan.proto=pppoe
    uncommitted firewall.@defaults[0].input=DROP
}

# Power fails between the network file and the firewall file.
test_a_boot_cut_short_is_completed_by_the_next() {
    booted
    cp "$(original dsa firewall)" "$ROOT/etc/config/firewall"
    mv "$ROOT/etc/fastpath/base" "$ROOT/etc/fastpath/base.new"
    unpack_again
    boot
    configured dsa
    remove_package
    unconfigured dsa
}

# Power fails before apply has recorded its changes.
test_undo_reverts_an_apply_cut_short() {
    booted
    mv "$ROOT/etc/fastpath/base" "$ROOT/etc/fastpath/base.new"
    in_root /usr/sbin/fastpath-base undo >/dev/null
    unconfigured dsa
}

# Power fails while the boot migrates options of an earlier boot.
test_an_earlier_change_survives_one_cut_short() {
    local record=$ROOT/etc/fastpath/base
    booted
    cp "$record" "$record.new"
    sed -i '/^network\.lan/d' "$record"
    unpack_again
    boot
    configured dsa
    remove_package
    unconfigured dsa
}

test_upgrade_and_image_change_nothing() {
    booted
    in_folder feeds/fastpath-base lab-script PACKAGE=fastpath-base SCRIPT=prerm >"$ROOT/tmp/prerm"
    in_root PKG_UPGRADE=1 /bin/sh /tmp/prerm
    in_root IPKG_INSTROOT=/tmp/image /bin/sh /tmp/prerm
    configured dsa
    [ -s "$ROOT/etc/fastpath/base" ] || fail "the record is gone"
}

told() {
    in_root /usr/sbin/fastpath-base status >"$WORK/said"
    [ "$(head -n 1 "$WORK/said")" = "$1" ] || fail "$(cat "$WORK/said")"
}

test_status_reports_the_changed_options() {
    set_up own-vlans
    told "br-lan: a bridge already has VLANs"
    set_up dsa
    told "br-lan: fastpath-base apply makes it VLAN-aware"
    unconfigured dsa
    boot
    told "br-lan is VLAN-aware, lan is VLAN 1 on it"
    grep -qx 'network.globals.packet_steering: was not set, changed to 0' "$WORK/said" ||
        fail "$(cat "$WORK/said")"
    grep -qx 'network.lan.device: was br-lan, changed to br-lan.1' "$WORK/said" ||
        fail "$(cat "$WORK/said")"
    in_root /usr/sbin/fastpath-base undo >/dev/null
    told "undone manually: no changes at boot"
}

test_an_unknown_word_changes_nothing() {
    set_up dsa
    ! in_root /usr/sbin/fastpath-base aply 2>"$WORK/said" || fail "taken"
    grep -q '^usage' "$WORK/said" || fail "no usage"
    unconfigured dsa
}
