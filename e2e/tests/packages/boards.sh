# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# First boots. boards/NAME has a board's description and the files by OpenWrt's config_generate, or
# an owner's later version. expected/ has the complete results; without it, the files must not
# change. `said` has the expected lines in the kernel log.

uci() { in_root /sbin/uci "$@"; }

# set_up BOARD: creates a root before its first boot.
set_up() {
    make_root
    install_into_root feeds/fastpathd feeds/fastpath-base
    factory "$1"
}

factory() {
    local board=$HERE/boards/$1
    rm -rf "$ROOT/etc/fastpath"
    : >"$ROOT/dev/kmsg"
    cp "$board/board.json" "$ROOT/etc/"
    cp "$board/network" "$ROOT/etc/config/"
    cp "$HERE/boards/firewall" "$ROOT/etc/config/"
    [ ! -f "$board/firewall" ] || cp "$board/firewall" "$ROOT/etc/config/"
}

unpack_again() { install_into_root feeds/fastpath-base; }

remove_package() {
    in_folder feeds/fastpath-base lab-script PACKAGE=fastpath-base SCRIPT=prerm >"$ROOT/tmp/prerm"
    in_root /bin/sh /tmp/prerm
}

configured() {
    local board=$HERE/boards/$1 name expected
    for name in network firewall; do
        expected=$board/expected/$name
        [ -n "${UPDATE_GOLDEN-}" ] && [ -d "$board/expected" ] || [ -f "$expected" ] ||
            expected=$(original "$1" "$name")
        same "$ROOT/etc/config/$name" "$expected" "$name"
    done
}

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

test_dsa_board_is_set_up() { board dsa; }
test_board_with_two_nics_is_set_up() { board two-nics; }
test_board_with_one_port_is_set_up() { board one-port; }
test_board_with_packet_steering_is_set_up() { board steered; }
test_board_of_the_previous_release_is_set_up() { board release-before; }
test_own_vlans_are_kept() { board own-vlans; }
test_own_address_is_kept() { board own-address; }
test_own_ports_are_kept() { board own-ports; }
test_swconfig_board_is_left_alone() { board swconfig; }
test_old_vlans_are_left_alone() { board old-vlans; }

# changed CHANGE…: boots a router for the first time with these changes, lines for `uci batch`.
changed() {
    factory dsa
    printf '%s\n' "$@" | uci batch
    uci commit
    rm -rf "$WORK/config.before"
    cp -r "$ROOT/etc/config" "$WORK/config.before"
    in_root /usr/sbin/fastpath-base first-boot
}

is_left() {
    local reason=$1
    shift
    changed "$@"
    diff -r "$WORK/config.before" "$ROOT/etc/config" || fail "$*: the configuration is changed"
    grep -qF "configuration not changed: $reason" "$ROOT/dev/kmsg" ||
        fail "$*: $(cat "$ROOT/dev/kmsg")"
}

test_an_owner_s_changes_are_left_alone() {
    set_up dsa
    is_left "there is not exactly one bridge br-lan" "set network.@device[1].name=br-lan"
    is_left "there is not exactly one bridge br-lan" "set network.@device[0].name=br-home"
    is_left "bridge br-lan has custom options" "set network.@device[0].stp=1"
    is_left "bridge br-lan has custom options" "set network.@device[0].type=macvlan"
    is_left "interface lan is not on br-lan" "set network.lan.device=lan1"
    is_left "interface lan has been customized" "set network.lan.dns=192.0.2.1"
    is_left "interface lan has been customized" "set network.lan.proto=dhcp"
    is_left "interface lan has been customized" "set network.lan.ipaddr=192.168.1.1/25"
    is_left "interface lan has been customized" "add_list network.lan.ipaddr=192.168.2.1/24"
    is_left "br-lan is also used by: network.iot.device network.old.ifname" \
        "set network.iot=interface" "set network.iot.device=br-lan.7" \
        "set network.old=interface" "set network.old.ifname=br-lan"
    is_left "the ports of br-lan differ from the board's: lan1 lan2 lan3 lan4 lan5" \
        "add_list network.@device[0].ports=lan5"
}

test_a_board_s_own_address_is_no_change() {
    local lan address
    set_up dsa
    for lan in '"ipaddr":"10.0.0.1" 10.0.0.1/24' \
        '"ipaddr":"10.0.0.1","netmask":"255.255.0.0" 10.0.0.1/16'; do
        factory dsa
        address=${lan#* }
        sed -i "s|\"lan\": {|&${lan% *},|" "$ROOT/etc/board.json"
        uci set network.lan.ipaddr="$address"
        uci commit
        in_root /usr/sbin/fastpath-base first-boot
        [ "$(uci get network.lan.device)" = br-lan.1 ] || fail "$lan: $(cat "$ROOT/dev/kmsg")"
    done
}

test_without_a_description_of_the_board_nothing_is_changed() {
    set_up dsa
    rm "$ROOT/etc/board.json"
    boot
    unconfigured dsa
    grep -q 'the ports are unknown' "$ROOT/dev/kmsg" || fail "nothing is said"
}

test_options_without_a_section_are_left() {
    set_up dsa
    changed "delete network.globals" "delete firewall.@defaults[0]"
    [ "$(uci get network.lan.device)" = br-lan.1 ] || fail "the bridge is not changed"
    ! grep -rE 'steering|offloading|auto_helper' "$ROOT/etc/config/" || fail "options of no section"
    grep -q 'has no section defaults' "$ROOT/dev/kmsg" || fail "nothing is said"
}

# The package manager also runs uci-defaults.
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
