# shellcheck shell=bash disable=SC2016
# SPDX-License-Identifier: GPL-2.0-or-later
# OpenWrt's sysupgrade while a change is pending, up to the flash. Needs OPENWRT_ROOT, a folder with
# OpenWrt's userland, and `./build.sh programs`.
# shellcheck source=e2e/tests/packages/router.sh
. "$HERE/router.sh"
PROGRAM=$TOP/build/cargo/debug/fastpath

# Router state: change 8 is pending with the old text in its record, uci was interrupted, change 7
# is confirmed.
COUNTDOWN='
set -e
mkdir -p /etc/fastpath/changes
cd /etc/fastpath/changes
cp /mnt/served/7.json /mnt/served/pending.json .
cp pending.json .pending.json.new
printf "config interface '\''new'\''\n\toption key '\''n3w-s3cret'\''\n" >/etc/config/network
cp /etc/config/network /etc/config/.network.uci-Ab1xYz
chmod 600 /etc/config/network * .pending.json.new'

UNPACKED='
set -e
rm -rf /etc/fastpath /etc/config/network /etc/config/.network.uci-Ab1xYz
tar -C / -xzf $ARCHIVE'
NEW_SYSTEM="$UNPACKED"'
[ ! -x /etc/init.d/fastpath-change ] || /etc/init.d/fastpath-change boot'

# Accepts any image; a stub of ubus receives the request to flash it.
UPGRADE='
set -e
mkdir -p /tmp/stub
printf "#!/bin/sh\necho \"\$*\" >/tmp/asked\n" >/tmp/stub/ubus
printf "#!/bin/sh\necho \"{\\\"valid\\\": true, \\\"forceable\\\": true}\"\n" \
    >/usr/libexec/validate_firmware_image
chmod 755 /tmp/stub/ubus /usr/libexec/validate_firmware_image
echo image >/tmp/image
PATH=/tmp/stub:$PATH sysupgrade /tmp/image
grep -q "call system sysupgrade .*sysupgrade.tgz" /tmp/asked'

STATE='cat /etc/config/network; ls -A /etc/fastpath/changes; ls -A /etc/config | grep "^\." || true'
CHANGES=/etc/fastpath/changes

records() {
    local change='{at_ms: 0, user: "root", note: "", draft: {}}'
    local section='{section: .[0], anonymous: false, type: "interface", values: {key: .[1]}}'
    jq -nc "$change + {id: 7, state: \"confirmed\"}" >"$WORK/served/7.json"
    jq -nc --rawfile system "$OPENWRT_ROOT/etc/openwrt_release" --arg old "config interface 'old'
	option key '0ld-s3cret'
" "$change + {id: 8, seconds: 60, files: {network: \$old}, system: \$system, draft: {network: {
    before: [[\"old\", \"0ld-s3cret\"] | $section],
    after: [[\"new\", \"n3w-s3cret\"] | $section], origins: [null]}}}" \
        >"$WORK/served/pending.json"
}

# router_in_countdown: starts a router with fastpathd, without fastpath-base, and a pending change.
router_in_countdown() {
    [ -e "${OPENWRT_ROOT-}/sbin/sysupgrade" ] ||
        skip "OPENWRT_ROOT names no folder with OpenWrt's userland"
    [ "$(id -u)" = 0 ] || skip "a router in namespaces needs root"
    [ -x "$PROGRAM" ] || skip "./build.sh programs has not run"
    trap '[ -z "${ROUTER-}" ] || kill "$ROUTER"' EXIT
    rm -rf "$WORK/served"
    ROOT=$WORK/served/files
    mkdir -p "$ROOT"
    install_into_root feeds/fastpathd
    cp "$PROGRAM" "$ROOT/usr/sbin/fastpath"
    records
    router_root
    on_router 'cp -a /mnt/served/files/. /'
    on_router "$COUNTDOWN"
}

test_a_backup_has_no_pending_change() {
    local listed
    router_in_countdown
    listed=$(on_router 'sysupgrade -l')
    on_router 'sysupgrade -b /tmp/backup.tgz'
    listed+=$(on_router 'tar -tzf /tmp/backup.tgz | sed s,^,/,')
    [ "$(grep -c "^$CHANGES/7.json\|^/etc/config/network" <<<"$listed")" = 4 ] || fail "$listed"
    ! grep "pending\|uci-Ab1xYz" <<<"$listed" || fail "left in the backup, see above"
    on_router 'rm -rf /etc/fastpath /etc/config/.network.uci-Ab1xYz && echo >/etc/config/network
        sysupgrade -r /tmp/backup.tgz && /etc/init.d/fastpath-change boot'
    router_says "the restored configuration" "$STATE" "n3w-s3cret" 7.json
    [[ $(on_router "$STATE") != *0ld-s3cret* ]] || fail "it was reverted"
    ! on_router "grep -r 0ld-s3cret /etc" || fail "the old text is back, see above"
}

test_an_upgrade_reverts_a_pending_change() {
    local listed
    router_in_countdown
    on_router "$UPGRADE"
    listed=$(on_router 'tar -tzf /tmp/sysupgrade.tgz')
    [[ $listed == *"${CHANGES#/}/8.json"* ]] || fail "not kept: $listed"
    ! grep "pending\|uci-Ab1xYz" <<<"$listed" || fail "kept, see above"
    on_router "ARCHIVE=/tmp/sysupgrade.tgz; $NEW_SYSTEM"
    ended_at_boot
    # Without fastpath, the new image also boots the files from before the change.
    on_router "rm -r $CHANGES; $COUNTDOWN"
    on_router "$UPGRADE"
    on_router "rm /etc/init.d/fastpath-change; ARCHIVE=/tmp/sysupgrade.tgz; $NEW_SYSTEM"
    router_says "the configuration without fastpath" 'cat /etc/config/network' 0ld-s3cret
    ! on_router "grep -r n3w-s3cret /etc/config" || fail "the change is still there, see above"
}

ended_at_boot() {
    router_says "the configuration before the change" "$STATE" 0ld-s3cret 7.json 8.json
    [[ $(on_router "$STATE") != *pending* ]] || fail "it still waits"
    router_says "how it ended" "cat $CHANGES/8.json" '"state":"power-cut"'
}

# Ending the change fails, as on a full flash.
test_a_boot_reverts_a_pending_change_that_an_upgrade_could_not_end() {
    local listed rpcd=/usr/libexec/fastpath-rpcd
    router_in_countdown
    on_router "mv $rpcd /tmp/rpcd; $UPGRADE; mv /tmp/rpcd $rpcd"
    listed=$(on_router 'tar -tzf /tmp/sysupgrade.tgz')
    [[ $listed == *"${CHANGES#/}/pending.json"* ]] || fail "not kept: $listed"
    ! grep "pending.json.new\|uci-Ab1xYz" <<<"$listed" || fail "kept, see above"
    on_router "echo \"DISTRIB_TAINTS='another build'\" >>/etc/openwrt_release"
    on_router "ARCHIVE=/tmp/sysupgrade.tgz; $NEW_SYSTEM"
    ended_at_boot
    # fastpath is installed later on the new image, after files were edited.
    on_router "rm $CHANGES/8.json; ARCHIVE=/tmp/sysupgrade.tgz; $UNPACKED"
    on_router "printf '\tlist dns 10.0.0.1\n' >>/etc/config/network"
    on_router '/etc/init.d/fastpath-change boot'
    router_says "the configuration edited since" "$STATE" n3w-s3cret 10.0.0.1
    [[ $(on_router "$STATE") != *pending* ]] || fail "the record is still there"
}

# Otherwise a later installation would revert files.
test_removing_the_package_reverts_a_pending_change() {
    router_in_countdown
    on_router "rm $CHANGES/.pending.json.new"
    in_folder feeds/fastpathd lab-script PACKAGE=fastpathd SCRIPT=prerm >"$WORK/served/prerm"
    on_router '/bin/sh /mnt/served/prerm'
    ended_at_boot
}
