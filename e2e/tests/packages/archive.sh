# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Source archives of fastpathd, its crates and LuCI's page; see docs/design/packaging.md.

copied() {
    rm -rf "$WORK/copy"
    mkdir -p "$WORK/copy/fastpathd"
    cp "$TOP/feeds/fastpathd/Makefile" "$WORK/copy/fastpathd/"
}

in_copy() {
    make -s --no-print-directory -C "$WORK/copy/fastpathd" TOPDIR="$SHIM" \
        BUILD_DIR="$WORK/build" PKG_INSTALL_DIR="$WORK/built" "$@"
}

test_a_release_names_its_archive() {
    local hash
    copied
    in_copy lab-fields >"$WORK/fields"
    [ -z "$(field "$WORK/fields" fastpathd PKG_SOURCE)" ] || fail "an archive without source.mk"
    hash=$(printf x | sha256sum | cut -d ' ' -f 1)
    printf 'PKG_SOURCE:=%s\nPKG_SOURCE_URL:=%s\nPKG_HASH:=%s\n' fastpathd-0.1.0.tar.xz \
        file:///dist "$hash" >"$WORK/copy/fastpathd/source.mk"
    in_copy lab-fields >"$WORK/fields"
    [ "$(field "$WORK/fields" fastpathd PKG_SOURCE)" = fastpathd-0.1.0.tar.xz ] || fail "no archive"
    [ "$(field "$WORK/fields" fastpathd PKG_HASH)" = "$hash" ] || fail "no hash"
}

test_a_build_without_crates_prints_a_hint() {
    copied
    compiled
    ! in_copy lab-configure 2>"$WORK/said" || fail "it would compile without crates"
    grep -q './build.sh sources' "$WORK/said" || fail "no hint: $(cat "$WORK/said")"
    mkdir -p "$WORK/build/fastpathd/vendor"
    in_copy lab-configure || fail "it does not take vendored crates"
}

test_cargo_stays_offline() {
    copied
    in_copy lab-fields >"$WORK/fields"
    field "$WORK/fields" fastpathd CARGO_PKG_ARGS | grep -qw -- --offline || fail "no --offline"
    field "$WORK/fields" fastpathd CARGO_PKG_VARS | grep -q CARGO_NET_OFFLINE=true || fail "not set"
    ! grep -q 'RUST_PKG_LOCKED' "$TOP/feeds/fastpathd/Makefile" || fail "Cargo.lock may change"
}

# page_archive FOLDER: archives a fixed page from a copy of the package's folder.
page_archive() {
    rm -rf "$WORK/luci"
    cp -a "$TOP/luci-app-fastpath" "$WORK/luci"
    FASTPATH_PAGE="$WORK/page" "$WORK/luci/archive" "$1" https://releases.invalid >/dev/null
}

test_the_page_of_a_release_is_a_reproducible_archive() {
    local name=luci-app-fastpath-page-0.1.0.tar.gz hash
    compiled
    mkdir -p "$WORK/page/assets" "$WORK/one" "$WORK/two"
    echo 1 >"$WORK/page/assets/de.words"
    page_archive "$WORK/one"
    touch -d 2001-01-01 "$WORK/page/index.html"
    chmod 600 "$WORK/page/assets/de.words"
    (umask 077 && page_archive "$WORK/two")
    cmp "$WORK/one/$name" "$WORK/two/$name" || fail "the same page gives other bytes"
    hash=$(sha256sum "$WORK/one/$name" | cut -d ' ' -f 1)
    make -s --no-print-directory -C "$WORK/luci" TOPDIR="$SHIM" BUILD_DIR="$WORK/build" \
        lab-fields >"$WORK/fields"
    [ "$(field "$WORK/fields" luci-app-fastpath PKG_HASH)" = "$hash" ] || fail "another hash"
    [ "$(field "$WORK/fields" luci-app-fastpath PKG_SOURCE)" = "$name" ] || fail "another name"
    # OpenWrt unpacks next to the build folder, where the package expects the page.
    tar -xzf "$WORK/one/$name" -C "$WORK"
    [ -e "$WORK/luci-app-fastpath/htdocs/fastpath/assets/de.words" ] || fail "in another place"
}

test_a_build_without_a_page_prints_a_hint() {
    compiled
    rm -rf "$WORK/page"
    ! in_folder luci-app-fastpath lab-install-luci-app-fastpath DESTDIR="$WORK/dest" \
        2>"$WORK/said" || fail "a package without a page"
    grep -q FASTPATH_PAGE "$WORK/said" || fail "no hint: $(cat "$WORK/said")"
}
