# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# First boots. boards/NAME has a board's description and the files that OpenWrt's config_generate
# made of it, or that somebody has changed since; expected/ has our results, the whole files.
# Without expected/ nothing may change. `said` has the lines for the kernel's log.

# set_up BOARD: a root that has not booted yet.
set_up() {
    local board=$HERE/boards/$1
    make_root
    install_into_root feeds/fastpathd feeds/fastpath-base
    cp "$board/board.json" "$ROOT/etc/"
    cp "$board/network" "$ROOT/etc/config/"
    cp "$HERE/boards/firewall" "$ROOT/etc/config/"
    [ ! -f "$board/firewall" ] || cp "$board/firewall" "$ROOT/etc/config/"
}

# unpack_again: an upgrade of the router installs the scripts again.
unpack_again() { install_into_root feeds/fastpath-base; }

# remove_package: as a package manager does.
remove_package() {
    in_folder feeds/fastpath-base lab-script PACKAGE=fastpath-base SCRIPT=prerm >"$ROOT/tmp/prerm"
    in_root /bin/sh /tmp/prerm
}

# configured BOARD: network and firewall are as expected.
configured() {
    local board=$HERE/boards/$1 name expected
    for name in network firewall; do
        expected=$board/expected/$name
        [ -n "${UPDATE_GOLDEN-}" ] && [ -d "$board/expected" ] || [ -f "$expected" ] ||
            expected=$(original "$1" "$name")
        same "$ROOT/etc/config/$name" "$expected" "$name"
    done
}

# original BOARD NAME
original() {
    local file=$HERE/boards/$1/$2
    [ -f "$file" ] || file=$HERE/boards/$2
    echo "$file"
}

unconfigured() {
    local name
    for name in network firewall; do
        diff -u "$(original "$1" "$name")" "$ROOT/etc/config/$name" || fail "$name is not restored"
    done
}

# A boot, another one after an upgrade, removal.
board() {
    set_up "$1"
    boot
    configured "$1"
    same "$ROOT/dev/kmsg" "$HERE/boards/$1/said" "the output"
    [ ! -e "$ROOT/etc/uci-defaults/60-fastpath-base" ] || fail "the script asks to be run again"
    cp -r "$ROOT/etc/fastpath" "$WORK/record" 2>/dev/null || true
    unpack_again
    boot
    configured "$1"
    [ ! -d "$ROOT/etc/fastpath" ] ||
        diff -r "$WORK/record" "$ROOT/etc/fastpath" || fail "the second boot changes the record"
    rm -rf "$WORK/record"
    remove_package
    unconfigured "$1"
    [ ! -e "$ROOT/etc/fastpath" ] || fail "the record is left behind"
}

test_dsa() { board dsa; }
test_two_nics() { board two-nics; }
test_one_port() { board one-port; }
test_steered() { board steered; }
test_release_before() { board release-before; }
test_own_vlans() { board own-vlans; }
test_own_address() { board own-address; }
test_own_ports() { board own-ports; }
test_swconfig() { board swconfig; }
test_old_vlans() { board old-vlans; }

# A package manager runs uci-defaults too.
test_running_router_is_left() {
    set_up dsa
    echo network.interface >"$ROOT/tmp/ubus"
    boot
    unconfigured dsa
    [ ! -e "$ROOT/etc/fastpath" ] || fail "something is recorded"
    grep -q 'the router is already running' "$ROOT/dev/kmsg" || fail "nothing is said"
}

test_wan_is_never_in_the_bridge() {
    local board
    for board in "$HERE"/boards/*/; do
        [ -f "$board/expected/network" ] || continue
        ! sed -n "s/.*list ports '\([^:']*\).*/\1/p" "$board/expected/network" |
            grep -Fxq "$(jq -r .network.wan.device "$board/board.json")" || fail "$board"
    done
}
