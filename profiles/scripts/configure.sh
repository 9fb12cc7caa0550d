# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Links the feeds, writes the configuration, and checks that it keeps all symbols of the profile.

# Sets TITLE, DEVICE and PLACE (target/subtarget).
about() {
    local -a words
    words=$(profile get "$PROFILE" title device target subtarget) || exit 1
    mapfile -t words <<<"$words"
    TITLE=${words[0]} DEVICE=${words[1]} PLACE=${words[2]}/${words[3]}
    : "$TITLE" "$DEVICE" "$PLACE"
}

own_feed() {
    local folder
    rm -rf "$WORK/own.new"
    mkdir -p "$WORK/own.new"
    for folder in "$TOP"/feeds/*/ "$TOP"/luci-app-fastpath/; do
        [ ! -f "$folder/Makefile" ] || ln -s "${folder%/}" "$WORK/own.new/"
    done
    ln -s "$TOP/suricata-pkg" "$WORK/own.new/suricata"
    rm -rf "$WORK/own"
    mv "$WORK/own.new" "$WORK/own"
}

# Copies our feed into OpenWrt's tree or SDK. Packages contain the path of their Makefile, which is
# absolute outside the tree.
own_copy() {
    mkdir -p "$TREE/fastpath"
    rsync -aL --delete "$WORK/own/" "$TREE/fastpath/"
    export FASTPATH_PAGE=$TOP/ui/dist
}

feeds_conf() {
    local name
    for name in $FEED_NAMES; do printf 'src-link %s %s\n' "$name" "$WORK/feeds/$name"; done
    for name in "${!KIND[@]}"; do
        [ "${KIND[$name]}" != unused ] || printf 'src-dummy %s\n' "$name"
    done | sort
    printf 'src-link fastpath %s\n' "$TREE/fastpath"
}

in_tree() { (cd "$TREE" && unset MAKEFLAGS MAKELEVEL TARGET && "$@"); }

# Updates feeds only if one has changed, because scanning thousands of Makefiles takes a minute.
update_feeds() {
    local want
    own_feed
    own_copy
    feeds_conf >"$TREE/feeds.conf.new"
    mv "$TREE/feeds.conf.new" "$TREE/feeds.conf"
    want=$(digest "$TREE/feeds.conf" "$WORK"/feeds/*.commit "$WORK"/feeds/*/.git/fastpath-patches)
    if [ "$(cat "$WORK/feeds.stamp" 2>/dev/null)" != "$want" ]; then
        rm -f "$WORK/feeds.stamp" "$WORK"/installed.*
        step "feeds: update" in_tree ./scripts/feeds update -a
        echo "$want" >"$WORK/feeds.stamp"
    fi
    want=$(printf '%s\n' "$WORK"/own/* | digest - "$WORK"/own/*/Makefile "$PROFILES"/*.yml)
    [ "$(cat "$WORK/installed.$PROFILE" 2>/dev/null)" != "$want" ] || return 0
    step "feeds: our update" in_tree ./scripts/feeds update -i fastpath
    step "feeds: install" install_feeds
    echo "$want" >"$WORK/installed.$PROFILE"
}

# Installs only our packages and the profile's, with dependencies.
install_feeds() {
    local names
    names=$(profile get "$PROFILE" packages)
    in_tree ./scripts/feeds install -a -p fastpath || return
    # shellcheck disable=SC2086 # one package per word
    in_tree ./scripts/feeds install $names
}

our_warnings() {
    local names
    names=$(cd "$WORK/own" && printf '%s|' *)
    grep -hE '^(WARNING|ERROR|Notice|.*conflict|.*already taken)' "$@" |
        grep -E "feeds/fastpath/|feed/(${names%|})/|'(${names%|})'" || true
}

log_file() { printf '%s/log/%s.log' "$BUILD" "$(printf '%s' "$1" | tr -c 'A-Za-z0-9\n' '-')"; }

configure() {
    local warned wanted
    update_feeds
    profile config "$PROFILE" >"$TREE/.config.new"
    wanted=$(grep -c CONFIG_ "$TREE/.config.new")
    mv "$TREE/.config.new" "$TREE/.config"
    rm -rf "$TREE/files"
    profile overlay "$PROFILE" "$TREE/files"
    step "configuration of $PROFILE" in_tree make defconfig
    warned=$(our_warnings "$(log_file "feeds: install")" "$(log_file "configuration of $PROFILE")")
    [ -z "$warned" ] || die "$COMMAND: OpenWrt complains of our packages:
$warned"
    profile survived "$PROFILE" "$TREE/.config"
    say "  ✓ $wanted symbols of the profile are in the configuration"
}
