# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# OpenWrt's part of the bundle, from the downloads of ./build.sh firmware. Needs WORK, PROFILE, NEW,
# BUILD and the variables of archives.sh.

pinned() { sed 's/#.*//' "$PROFILES/pins" | awk '$1 == "source" || $1 == "feed"'; }

folder_of() { if [ "$1" = openwrt ]; then echo "$WORK/tree"; else echo "$WORK/feeds/$1"; fi; }

has() { git -C "$(folder_of "$1")" cat-file -e "$2^{tree}" 2>/dev/null; }
# unchecked NAME: succeeds if the feed was given as a folder without git.
unchecked() { [ "$(cat "$(folder_of "$1").commit" 2>/dev/null)" = unchecked ]; }

# Dies if parts of OpenWrt are missing, before anything is written.
need_openwrt() {
    local kind name commit rest lost=''
    [ -f "$PROFILES/pins" ] || die "sources: there is no profiles/pins"
    while read -r kind name commit rest; do
        has "$name" "$commit" || unchecked "$name" ||
            lost+=$(printf '\n  %s %s at %s, in %s' "$kind" "$name" "${commit:0:12}" \
                "$(folder_of "$name")")
    done < <(pinned)
    [ -n "$(archives | head -c 1)" ] ||
        lost+=$(printf "\n  OpenWrt's archives, in %s" "$WORK/dl")
    [ -z "$lost" ] || die "sources: of OpenWrt there is not yet:$lost
Nothing was written. Remedies:
  ./build.sh firmware $PROFILE --from-source   fetches it, and builds the image
  ./build.sh sources $PROFILE --own   our part alone, which needs nothing of OpenWrt"
}

# Prints complete downloads. Folders and hidden entries belong to tools.
archives() {
    [ ! -d "$WORK/dl" ] ||
        find -L "$WORK/dl" -maxdepth 1 -type f ! -name '.*' ! -name '*.dl' ! -name '*.hash' -print0
}

# one_commit REPOSITORY COMMIT FILE: writes a git bundle of the commit without history. Deltas are
# recomputed, because they depend on how the clone is packed.
one_commit() {
    local objects
    objects=$(mktemp)
    {
        printf '%s\n' "$2"
        git -C "$1" rev-parse "$2^{tree}"
        git -C "$1" ls-tree -r -t "$2" | awk -F '\t' '{ split($1, f, " ")
            if (f[2] != "commit") print f[3] " " $2 }'
    } >"$objects"
    {
        printf '# v2 git bundle\n%s refs/heads/pin\n\n' "$2"
        git -C "$1" pack-objects --stdout --threads=1 --no-reuse-delta --no-reuse-object -q \
            <"$objects"
    } >"$3"
    rm -f "$objects"
}

bundles() {
    local kind name commit rest
    mkdir -p "$NEW/git"
    while read -r kind name commit rest; do
        if has "$name" "$commit"; then
            one_commit "$(folder_of "$name")" "$commit" "$NEW/git/$name.bundle"
        else
            cp -r "$(folder_of "$name")" "$STAGE/$name"
            pack "$name"
            mv "$NEW/$name.tar.xz" "$NEW/git/"
        fi
    done < <(pinned)
    cp "$PROFILES/pins" "$NEW/pins"
    [ ! -d "$TREE/profiles/patches" ] || cp -r "$TREE/profiles/patches" "$NEW/patches"
}

downloads() {
    mkdir -p "$NEW/dl"
    archives | xargs -0 cp --reflink=auto -t "$NEW/dl"
}

configuration() {
    local images=$BUILD/images/$PROFILE file
    mkdir -p "$NEW/configuration"
    for file in "$images"/*.buildinfo "$images"/*.manifest; do
        [ ! -f "$file" ] || cp "$file" "$NEW/configuration/"
    done
}

openwrt_sources() {
    local bill
    step "git bundles of OpenWrt and its feeds" bundles
    step "archives that packages are made from" downloads
    configuration
    bill=$(find "$BUILD/images" -path "*/$PROFILE/*.bom.cdx.json" 2>/dev/null |
        LC_ALL=C sort | head -n 1 || true)
    [ -n "$bill" ] || say "  ! no image of $PROFILE was built: its bill has our own parts only"
    step "bill of materials" bom ${bill:+--openwrt "$bill"}
}

# unbundle FILE FOLDER: makes a shallow repository of the bundled commit, for ./build.sh firmware.
unbundle() {
    local commit
    commit=$(git bundle list-heads "$1" | cut -d ' ' -f 1)
    git init -q "$2"
    echo "$commit" >"$2/.git/shallow"
    git -C "$2" fetch -q "$(readlink -f "$1")" pin
    git -C "$2" checkout -q --detach "$commit"
}
