# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sources of OpenWrt: unreachable servers, pinned commits, patches.

firmware() { FIRMWARE_DIR=$NOW/openwrt BUILD=$NOW/build "$TOP/build.sh" firmware "$@"; }

# fails_offline TEXT…: fails unless COMMAND fails within ten seconds with each TEXT and writes
# nothing.
fails_offline() {
    local said started=$SECONDS
    ! said=$("${COMMAND[@]}" 2>&1) || fail "it passed"
    [ $((SECONDS - started)) -le 10 ] || fail "took $((SECONDS - started)) s"
    has "$said" "cannot be reached" "$@" "--openwrt DIR|URL" "--feeds-from DIR|URL" \
        "--download-mirror URL" "run the same command again"
    [ ! -e "$NOW/openwrt" ] || fail "written: $(find "$NOW/openwrt" | head)"
    [ ! -e "$NOW/build/images" ] || fail "written: $(find "$NOW/build")"
}

# @runs ./build.sh firmware x86-64
test_without_a_network_unreachable_sources_are_listed() {
    unshare --map-root-user --net true 2>/dev/null || skip "no network namespaces here"
    export FIRMWARE_DIR=$NOW/openwrt BUILD=$NOW/build
    COMMAND=(unshare --map-root-user --net "$TOP/build.sh" firmware x86-64)
    fails_offline https://git.openwrt.org/openwrt/openwrt.git \
        https://git.openwrt.org/feed/packages.git https://git.openwrt.org/project/luci.git \
        f0a60eee2fe0
}

# @runs ./build.sh firmware x86-64 --config-only
test_a_refused_connection_is_reported() {
    COMMAND=(firmware x86-64 --config-only --openwrt http://127.0.0.1:1/openwrt.git
        --feeds-from http://127.0.0.1:1/feeds)
    fails_offline "openwrt: http://127.0.0.1:1/openwrt.git" \
        "luci: http://127.0.0.1:1/feeds/luci.git"
}

test_a_silent_server_times_out() {
    local silent port
    mkfifo "$NOW/port"
    node -e 'require("net").createServer(() => {}).listen(0, "127.0.0.1", function () {
        console.log(this.address().port); })' >"$NOW/port" &
    silent=$!
    read -r port <"$NOW/port"
    COMMAND=(firmware x86-64 --config-only --openwrt "http://127.0.0.1:$port/openwrt.git"
        --feeds-from "http://127.0.0.1:$port/feeds")
    # shellcheck disable=SC2064 # expanded now
    trap "kill $silent" EXIT
    fails_offline "http://127.0.0.1:$port/openwrt.git" "no answer within 8 s"
}

small() {
    git init -q "$NOW/from/$1"
    printf 'one\ntwo\nthree\n' >"$NOW/from/$1/file"
    git -C "$NOW/from/$1" add file
    git -C "$NOW/from/$1" -c user.name=t -c user.email=t@example.org commit -qm "${2:-first}"
    git -C "$NOW/from/$1" rev-parse HEAD
}

small_pins() {
    local name kind
    PROFILES=$NOW/profiles
    mkdir -p "$PROFILES/patches/openwrt" "$PROFILES/patches/luci"
    cp "$TOP"/profiles/*.yml "$TOP/profiles/schema.json" "$PROFILES"
    for name in openwrt packages luci routing keyring; do
        kind=feed
        case $name in openwrt) kind=source ;; keyring) kind=keys ;; esac
        echo "$kind $name $(small "$name" "of $name") http://127.0.0.1:1/$name.git"
    done >"$PROFILES/pins"
    echo "release openwrt 25.12.5 http://127.0.0.1:1" >>"$PROFILES/pins"
}

# sources_from [OPENWRT [FEEDS]]: fetches the pinned sources, by default from the small
# repositories.
sources_from() {
    PROFILES=$PROFILES OPENWRT=${1-$NOW/from/openwrt} FEEDS=${2-} \
        "$HERE/stage" fetched_sources
}

mirror() { MIRROR=$1 "$HERE/stage" reach_mirror; }

test_an_unreachable_mirror_is_reported() {
    local said
    ! said=$(mirror http://127.0.0.1:1/ 2>&1) || fail "a refused mirror is taken"
    has "$said" "archives: http://127.0.0.1:1/" "--download-mirror URL"
    ! said=$(mirror "file://$NOW/nowhere" 2>&1) || fail "a folder that is not there is taken"
    has "$said" "there is no such folder"
    mirror "file://$NOW"
}

test_sources_are_the_pinned_commits() {
    local commit
    small_pins
    commit=$(git -C "$NOW/from/openwrt" rev-parse HEAD)
    echo later >"$NOW/from/openwrt/file"
    git -C "$NOW/from/openwrt" -c user.name=t -c user.email=t@example.org commit -qam later
    sources_from
    [ "$(git -C "$NOW/work/tree" rev-parse HEAD)" = "$commit" ] || fail "not the pinned commit"
    [ "$(cat "$NOW/work/tree/file")" = $'one\ntwo\nthree' ] || fail "not the pinned file"
    [ "$(git -C "$NOW/work/feeds/luci" log -1 --format=%s)" = "of luci" ] || fail "no feed luci"
    # A second run needs neither server nor folder.
    rm -rf "$NOW/from"
    said=$(sources_from http://127.0.0.1:1/openwrt.git http://127.0.0.1:1 2>&1) || fail "$said"
    [ -z "$said" ] || fail "a second time it said: $said"
}

test_a_missing_commit_is_reported() {
    local said
    small_pins
    sed -i '/ luci /s/ [0-9a-f]\{40\} / 0123456789012345678901234567890123456789 /' "$PROFILES/pins"
    ! said=$(sources_from 2>&1) || fail "an unknown commit was found"
    has "$said" "luci: commit 0123456789012345678901234567890123456789 did not come from" \
        "--feeds-from"
    [ ! -e "$NOW/work/feeds/luci" ] || fail "half a feed is there"
    [ -d "$NOW/work/tree" ] || fail "a complete download was removed"
    # With a valid pin, the command resumes.
    sed -i "/ luci /s/ 0123[0-9]* / $(git -C "$NOW/from/luci" rev-parse HEAD) /" "$PROFILES/pins"
    said=$(sources_from 2>&1) || fail "$said"
    [[ $said != *openwrt* ]] || fail "openwrt came twice: $said"
    [ -f "$NOW/work/feeds/luci/file" ] || fail "no feed luci"
}

# patch_of NAME FROM TO NUMBER: adds a patch that replaces FROM by TO in openwrt's file.
patch_of() {
    git -C "$NOW/from/openwrt" checkout -q -b "make-$1"
    sed -i "s/$2/$3/" "$NOW/from/openwrt/file"
    git -C "$NOW/from/openwrt" -c user.name=a -c user.email=a@example.org commit -qam "$1" \
        --date '2026-01-02T03:04:05Z'
    git -C "$NOW/from/openwrt" format-patch -q -1 --start-number "$4" \
        -o "$PROFILES/patches/openwrt"
}

test_patches_give_reproducible_commits() {
    local head
    small_pins
    patch_of second two zwei 1
    patch_of third three drei 2
    sources_from
    [ "$(cat "$NOW/work/tree/file")" = $'one\nzwei\ndrei' ] || fail "not patched"
    [ "$(git -C "$NOW/work/tree" branch --show-current)" = fastpath ] || fail "not our branch"
    [ "$(git -C "$NOW/work/tree" log -1 --format=%ct)" = 1767323045 ] || fail "another date"
    head=$(git -C "$NOW/work/tree" rev-parse HEAD)
    sources_from
    [ "$(git -C "$NOW/work/tree" rev-parse HEAD)" = "$head" ] || fail "applied twice"
    rm -rf "$NOW/work"
    # Committer and time must not affect the result.
    GIT_COMMITTER_NAME=other GIT_COMMITTER_DATE='@1 +0000' sources_from
    [ "$(git -C "$NOW/work/tree" rev-parse HEAD)" = "$head" ] || fail "another commit"
    # Without one patch, patching restarts from the pinned commit.
    rm "$PROFILES"/patches/openwrt/0002-*
    sources_from
    [ "$(cat "$NOW/work/tree/file")" = $'one\nzwei\nthree' ] || fail "a removed patch stays"
}

test_a_failing_patch_leaves_the_tree_unpatched() {
    local said
    small_pins
    patch_of second two zwei 1
    sed -i 's/^-two/-deux/' "$PROFILES"/patches/openwrt/0001-*
    ! said=$(sources_from 2>&1) || fail "it applied"
    has "$said" "patches/openwrt/0001-second.patch does not fit commit" "without patches again"
    [ ! -d "$NOW/work/tree/.git/rebase-apply" ] || fail "git am is half done"
    [ "$(cat "$NOW/work/tree/file")" = $'one\ntwo\nthree' ] || fail "half a patch is there"
    sed -i 's/^-deux/-two/' "$PROFILES"/patches/openwrt/0001-*
    sources_from
    [ "$(cat "$NOW/work/tree/file")" = $'one\nzwei\nthree' ] || fail "it does not continue"
}

test_local_changes_stop_the_command() {
    local said
    small_pins
    sources_from
    echo mine >>"$NOW/work/tree/file"
    ! said=$(sources_from 2>&1) || fail "a changed tree was taken"
    has "$said" "were changed locally" "file" "profiles/patches"
    grep -q mine "$NOW/work/tree/file" || fail "the change is gone"
}

# OpenWrt writes the Makefile's folder into packages; inside the tree it is equal on every machine.
test_our_feed_is_within_the_tree() {
    small_pins
    sources_from
    "$HERE/stage" feeds_of >"$NOW/feeds.conf"
    grep -qx "src-link fastpath $NOW/work/tree/fastpath" "$NOW/feeds.conf" ||
        fail "$(cat "$NOW/feeds.conf")"
    [ "$(readlink -f "$NOW/work/tree/fastpath/fastpathd/Makefile")" = \
        "$NOW/work/tree/fastpath/fastpathd/Makefile" ] || fail "its Makefiles are elsewhere"
    # The tree with our feed must not count as modified.
    sources_from
}
