# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real OpenWrt tree (OPENWRT_DIR, never modified) reads the Makefiles.

tree() {
    [ -n "${OPENWRT_DIR-}" ] || skip "OPENWRT_DIR names no tree of OpenWrt"
    [ -s "$OPENWRT_DIR/tmp/.packageinfo" ] ||
        fail "$OPENWRT_DIR has no tmp/.packageinfo: run there" \
            "scripts/feeds update -a, scripts/feeds install -a, make defconfig"
}

dump() {
    make --no-print-directory -r -C "$TOP/$1" DUMP=1 TOPDIR="$OPENWRT_DIR" \
        INCLUDE_DIR="$OPENWRT_DIR/include" SUBDIR="feeds/fastpath/${1##*/}" 2>"$WORK/warnings"
}

test_the_scan_of_feeds_finds_every_package() {
    tree
    local folder
    : >"$WORK/dump"
    for folder in $FOLDERS; do
        dump "$folder" >>"$WORK/dump" || fail "$folder: $(cat "$WORK/warnings")"
        [ ! -s "$WORK/warnings" ] || fail "$folder: $(cat "$WORK/warnings")"
    done
    # LuCI's Makefile creates a package per translation.
    same <(sed -n 's/^Package: //p' "$WORK/dump" | grep -v '^luci-i18n-' | sort) \
        <(cd "$HERE/golden" && printf '%s\n' * | sort) "the packages of the scan"
}

provided() { sed -n 's/^\(Package\|Provides\): //p' "$1" | tr ' ' '\n' | sed 's/^@//' | sort -u; }

test_every_dependency_exists() {
    tree
    local folder missing
    for folder in $FOLDERS; do dump "$folder"; done >"$WORK/dump"
    cat "$WORK/dump" "$OPENWRT_DIR/tmp/.packageinfo" >"$WORK/all"
    missing=$(sed -n 's/^Depends: //p' "$WORK/dump" | tr ' ' '\n' | sed 's/^+//; s/.*://' |
        grep -v '^@' | grep . | sort -u |
        comm -23 - <(provided "$WORK/all"))
    [ -z "$missing" ] || fail "no such packages: $missing"
}

test_user_ids_are_not_fixed() {
    tree
    local folder
    for folder in $FOLDERS; do dump "$folder"; done >"$WORK/dump"
    sed -n 's/^Require-User: //p' "$WORK/dump" | sort -u >"$WORK/users"
    [ -s "$WORK/users" ] || fail "nobody asks for a user"
    ! grep '=' "$WORK/users" || fail "a number of its own may be taken: $(cat "$WORK/users")"
}

with_functions() {
    local files=$OPENWRT_DIR/package/base-files/files
    # shellcheck source=e2e/tests/packages/boards.sh
    . "$HERE/boards.sh"
    set_up dsa
    mkdir -p "$ROOT/lib/apk/packages" "$ROOT/usr/share/libubox"
    # The functions source this file without using it.
    : >"$ROOT/usr/share/libubox/jshn.sh"
    cp -r "$files/lib/functions.sh" "$files/lib/functions" "$ROOT/lib/"
    grep '^-' "$HERE/golden/fastpath-base" | cut -d ' ' -f 3 \
        >"$ROOT/lib/apk/packages/fastpath-base.list"
    sed -n '/^uci_apply_defaults()/,/^}/p' "$files/etc/init.d/boot" >"$ROOT/tmp/boot"
    [ -s "$ROOT/tmp/boot" ] || fail "/etc/init.d/boot has no uci_apply_defaults"
    echo uci_apply_defaults >>"$ROOT/tmp/boot"
}

# as_package FUNCTION: runs FUNCTION after the prologue of apk's scripts.
as_package() {
    in_root /bin/sh -c "export root= pkgname=fastpath-base; . /lib/functions.sh; $1"
}

test_openwrt_s_first_boot_sets_up_the_board() {
    tree
    with_functions
    in_root /bin/sh /tmp/boot
    configured dsa
    [ ! -e "$ROOT/etc/uci-defaults/60-fastpath-base" ] || fail "it would run again"
    as_package default_prerm
    remove_package
    unconfigured dsa
}

test_an_installation_on_a_running_router_does_not_reconfigure_it() {
    tree
    with_functions
    echo network.interface >"$ROOT/tmp/ubus"
    as_package default_postinst
    grep -q 'the router runs' "$ROOT/dev/kmsg" || fail "the script was not run"
    [ ! -e "$ROOT/etc/uci-defaults/60-fastpath-base" ] || fail "it would run at the next boot"
    unconfigured dsa
}
