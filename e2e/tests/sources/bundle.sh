# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The source bundle, its bill of materials and the licences.

# @runs ./build.sh sources x86-64 --own
first() {
    [ -f "$FIRST/sbom.cdx.json" ] || "$TOP/build.sh" sources "$PROFILE" --own --out "$FIRST"
}

archive() { find "$FIRST" -name "$1-[0-9]*.tar.?z"; }

# Licences that a program under GPL-2.0 may link, and the check that refuses others.
test_licences_are_compatible() {
    first
    SBOM=$FIRST/sbom.cdx.json LICENCES=$TOP/profiles/sources/licences.mjs \
        node --test "$HERE/licences.test.mjs"
}

test_the_bundle_has_every_file_of_the_commit() {
    first
    (cd "$FIRST" && sha256sum --quiet -c SHA256SUMS)
    [ "$(cd "$FIRST" && find . -type f | wc -l)" = "$(($(wc -l <"$FIRST/SHA256SUMS") + 1))" ]
    [ "$(cat "$FIRST/commit")" = "$(git -C "$TOP" rev-parse HEAD)" ]
    rm -rf "$WORK/own"
    mkdir -p "$WORK/own"
    tar -xf "$(archive fastpath)" -C "$WORK/own" --strip-components=1
    diff <(git -C "$TOP" ls-tree -r --name-only HEAD | LC_ALL=C sort) \
        <(cd "$WORK/own" && find . ! -type d -printf '%P\n' | LC_ALL=C sort)
    tar -tf "$(archive luci-app-fastpath-page)" >"$WORK/page"
    grep -q '/index.html$' "$WORK/page"
    not grep '\.map$' "$WORK/page"
}

# The second bundle has another folder, locale, time zone and umask.
# @long
test_the_bundle_is_reproducible() {
    local clone="$WORK/a clone/of it"
    first
    rm -rf "$WORK/a clone" "$WORK/second"
    mkdir -p "$WORK/a clone"
    git clone -q --shared "$TOP" "$clone"
    git -C "$clone" checkout -q --detach "$(git -C "$TOP" rev-parse HEAD)"
    cp -al "$TOP/ui/node_modules" "$clone/ui/node_modules"
    touch "$clone/ui/node_modules/.package-lock.json"
    mkdir -p "$clone/build/sources"
    cp -r "$BUILD/sources/npm" "$clone/build/sources/"
    (umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 "$clone/build.sh" sources "$PROFILE" --own \
        --out "$WORK/second")
    diff -r "$FIRST" "$WORK/second"
    rm -rf "$WORK/a clone" "$WORK/second"
}

test_the_bill_of_materials_is_complete() {
    first
    tar -xf "$(archive fastpathd)" -C "$WORK" --wildcards --no-wildcards-match-slash \
        --strip-components=1 'fastpathd-*/Cargo.lock'
    SBOM=$FIRST/sbom.cdx.json LOCK=$WORK/Cargo.lock \
        PAGE=$TOP/ui/package-lock.json NPM=$FIRST/npm node --test "$HERE/bill.test.mjs"
}

# The archive contains all of the daemon's crates: CARGO_HOME is empty and, if namespaces are
# permitted, there is no network.
test_the_archive_builds_without_a_network() {
    local alone=() folder
    first
    rm -rf "$WORK/build"
    mkdir -p "$WORK/build/home"
    tar -xf "$(archive fastpathd)" -C "$WORK/build"
    folder=$(echo "$WORK"/build/fastpathd-*)
    [ -f "$folder/LICENSE" ]
    if unshare --net true 2>/dev/null; then alone=(unshare --net); fi
    (cd "$folder" && CARGO_HOME=$WORK/build/home "${alone[@]}" \
        cargo metadata --offline --frozen --format-version 1 >"$WORK/build/metadata")
    (cd "$folder" && CARGO_HOME=$WORK/build/home CARGO_PROFILE_DEV_DEBUG=0 "${alone[@]}" \
        cargo check --offline --frozen -p fastpathctl --target-dir "$WORK/build/target")
    rm -rf "$WORK/build"
}

# @runs ./build.sh sources --archives DIR
# Packages need the same archives, and lines with their names and hashes.
# @long
test_archives_for_packages_equal_those_of_the_bundle() {
    local archive
    first
    rm -rf "$WORK/archives"
    "$TOP/build.sh" sources --archives "$WORK/archives"
    archive=$(archive luci-app-fastpath-page)
    cmp "$archive" "$WORK/archives/${archive##*/}"
    archive=$(archive fastpathd)
    cmp "$archive" "$WORK/archives/${archive##*/}"
    grep -qx "PKG_HASH:=$(sha256sum <"$archive" | cut -d ' ' -f 1)" "$WORK/archives/source.mk"
    grep -qx "PKG_SOURCE:=${archive##*/}" "$WORK/archives/source.mk"
}

# Without OpenWrt's sources the command prints a hint and writes nothing.
test_missing_sources_are_reported() {
    local status=0
    rm -rf "$WORK/nowhere" "$WORK/out"
    FIRMWARE_DIR=$WORK/nowhere "$TOP/build.sh" sources "$PROFILE" --out "$WORK/out" \
        >"$WORK/said" 2>&1 || status=$?
    cat "$WORK/said"
    [ "$status" != 0 ] && [ ! -e "$WORK/out" ]
    grep -q "source openwrt at [0-9a-f]\{12\}, in $WORK/nowhere/tree" "$WORK/said"
    grep -q "feed packages at " "$WORK/said"
    grep -q "archives, in $WORK/nowhere/dl" "$WORK/said"
    grep -q "build.sh firmware $PROFILE" "$WORK/said"
    not "$TOP/build.sh" sources nothing --own >"$WORK/said" 2>&1
    grep -q "unknown profile 'nothing'" "$WORK/said"
    mkdir -p "$WORK/out"
    touch "$WORK/out/kept"
    not "$TOP/build.sh" sources "$PROFILE" --own --out "$WORK/out" >"$WORK/said" 2>&1
    [ -f "$WORK/out/kept" ]
}

# The archive has no history and does not depend on how the clone is packed. docs/sources.md
# describes the steps.
test_a_commit_is_restored_from_its_archive() {
    local from=$WORK/from to=$WORK/to commit
    rm -rf "$from" "$from.clone" "$to"
    git init -q "$from"
    git -C "$from" config user.name test
    git -C "$from" config user.email test@example.org
    mkdir "$from/folder"
    seq 3000 >"$from/folder/a file"
    git -C "$from" add . && git -C "$from" commit -q -m first
    seq 3001 >"$from/folder/a file"
    git -C "$from" commit -q -a -m second
    commit=$(git -C "$from" rev-parse HEAD)
    one_commit "$from" "$commit" "$WORK/one.bundle"
    git clone -q --depth 1 "file://$from" "$from.clone"
    git -C "$from.clone" gc -q --aggressive
    one_commit "$from.clone" "$commit" "$WORK/other.bundle"
    cmp "$WORK/one.bundle" "$WORK/other.bundle"
    unbundle "$WORK/one.bundle" "$to"
    [ "$(git -C "$to" rev-parse HEAD)" = "$commit" ]
    diff -r --exclude=.git "$from" "$to"
}

# `set -e` ignores a failing `!`.
not() { if "$@"; then return 1; fi; }
