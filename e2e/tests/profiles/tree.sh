# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests with a real OpenWrt tree. The next run reuses build/profiles-tree.

need_tree() {
    [ -f "${OPENWRT_DIR-}/feeds.conf.default" ] ||
        skip "OPENWRT_DIR names no OpenWrt tree${1:+ ($1)}"
}

# board_ports FILE BOARD: prints the calls in a board.d file that set the board's ports.
board_ports() {
    awk -v board="$2" '
        !found && index($0, board) && /[|)]/ { found = 1 }
        found && /ucidef_set_interface/ { print; seen = 1 }
        found && seen && /;;/ { exit }' "$1"
}

test_ports_of_profiles_equal_those_of_the_tree() {
    local name key value file board said=''
    need_tree "ports of the profiles"
    while IFS=$'\t' read -r name key value; do
        case $key in
            ports.from)
                file=$OPENWRT_DIR/$value
                [ -f "$file" ] || fail "$name: no $file"
                said=$(tr -s "\"'" ' ' <"$file") ;;
            ports.board)
                board=$value
                said=$(board_ports "$file" "$board" | tr -s "\"'" ' ')
                [ -n "$said" ] || fail "$name: $board is not in $file" ;;
            *)
                [[ " ${said//$'\n'/ } " == *" $value "* ]] ||
                    fail "$name: $value is not in: $said" ;;
        esac
    done < <(profile facts ports.from ports.board ports.lan ports.wan)
    [ -n "$said" ] || fail "no profile has ports"
}

configured() {
    FIRMWARE_DIR=$TOP/build/profiles-tree BUILD=$TOP/build "$SCRIPTS/firmware" "$1" \
        --config-only --openwrt "$OPENWRT_DIR"
}

test_every_profile_configures() {
    local name
    need_tree "feeds, defconfig and symbols of every profile"
    for name in $(profile list | cut -f 1); do
        configured "$name" || fail "$name: see above"
    done
}

# Missing archives are not defects of our packages.
test_our_packages_prepare() {
    local name log tree=$TOP/build/profiles-tree/tree done=0
    need_tree "make package/feeds/fastpath/NAME/{clean,prepare}"
    # luci-app-fastpath contains the built page.
    "$TOP/build.sh" page
    configured x86-64
    for name in "$tree"/package/feeds/fastpath/*/; do
        name=$(basename "$name")
        log=$NOW/$name.log
        if (cd "$tree" && env -u MAKEFLAGS FASTPATH_PAGE="$TOP/ui/dist" make \
            "package/feeds/fastpath/$name/"{clean,prepare} V=s) >"$log" 2>&1; then
            done=$((done + 1))
        elif grep -qE 'Download failed|Could not resolve|No more mirrors' "$log"; then
            echo "skipped: $name needs an archive that cannot be reached"
        else
            tail -n 30 "$log"
            fail "$name does not prepare"
        fi
    done
    [ "$done" -gt 0 ] || skip "no archive can be reached"
}
