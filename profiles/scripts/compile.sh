# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Downloads archives and compiles an image, with progress lines.

# Downloads depend only on the configuration and on our packages' Makefiles.
download_state() { digest "$TREE/.config" "$WORK"/own/*/Makefile; }
fetched() { [ "$(cat "$WORK/downloaded.$PROFILE" 2>/dev/null)" = "$(download_state)" ]; }

# Makes our archives from this commit. fastpathd's Makefile finds them by source.mk.
own_archives() {
    local want
    want=$(git -C "$TOP" rev-parse HEAD)
    [ "$(cat "$WORK/archives.commit" 2>/dev/null)" != "$want" ] ||
        ! cmp -s "$WORK/archives/source.mk" "$TOP/feeds/fastpathd/source.mk" || return 0
    # OpenWrt would reuse an outdated archive of the same name.
    rm -f "$WORK/archives.commit" "$WORK"/dl/fastpathd-*.tar.xz
    "$TOP/build.sh" sources --archives "$WORK/archives"
    cp "$WORK/archives/source.mk" "$TOP/feeds/fastpathd/source.mk"
    echo "$want" >"$WORK/archives.commit"
}

# why_no_archive LOG: prints why a download failed. OpenWrt tries several mirrors, and a hash
# mismatch is more informative than an unreachable mirror.
why_no_archive() {
    awk '/^Hash of the/ { hash = $0 }
        !/^(make|time:|No more mirrors|Download failed)/ && NF { last = $0 }
        END { print hash ? hash : last ? last : "see its log" }' "$1" 2>/dev/null || echo "no log"
}

# archives WHAT GOAL…: runs make, and lists failed archives with reasons from their logs.
archives() {
    local what=$1 name said=''
    shift
    step "$what" env DOWNLOAD_MIRROR="$MIRROR" "$HERE/run-in" "$TREE" make -j "$JOBS" "$@" && return
    while read -r name; do
        said+=$'\n'"  ${name##*/}: $(why_no_archive "$TREE/logs/$name/download.txt")"
    done < <(sed -n 's/^ *ERROR: \([^ ]*\) .*failed to build.*/\1/p' "$(log_file "$what")" |
        sort -u)
    die "$COMMAND: not every archive came; run the same command again, or name a mirror that has
them: --download-mirror URL$said"
}

download() {
    own_archives
    fetched && return
    archives "archives, checked against their hashes" download
    download_state >"$WORK/downloaded.$PROFILE"
}

folders() {
    in_tree make -s -f "$HERE/folders.mk"
}

compile() {
    local status=0 log
    download
    "$TOP/build.sh" page
    folders >"$WORK/folders"
    rm -rf "$TREE/bin/targets/$PLACE"
    log=$BUILD/log/firmware-$PROFILE.log
    say "  … $(wc -l <"$WORK/folders") folders to compile with $JOBS at once; log: $log"
    "$HERE/run-in" "$TREE" make -j "$JOBS" 2>&1 | tee "$log" |
        node "$HERE/progress.mjs" "$WORK/folders" || status=$?
    [ "$status" = 0 ] || failed "$log"
}

# failed LOG: dies with the first failed package and the end of its log.
failed() {
    local what last
    what=$(sed -n 's/^ *ERROR: \(.*\) failed to build.*/\1/p' "$1" | head -n 1)
    [ -n "$what" ] || { tail -n 20 "$1" >&2; die "$COMMAND: the build failed (see above)"; }
    what=${what%% *}
    last=$(find "$TREE/logs" -path "*/${what##*/}/*.txt" -printf '%T@ %p\n' 2>/dev/null |
        sort -n | tail -n 1)
    [ -z "$last" ] || tail -n 30 "${last#* }" >&2
    die "$COMMAND: $what failed to build; its log: ${last#* }
To see more: make -C $TREE ${what#"$TREE/"}/compile V=s -j1. The same command continues."
}
