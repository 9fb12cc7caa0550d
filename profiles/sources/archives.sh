# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes our own archives. Needs TOP, HERE, STAGE, NEW, TREE, VERSION, EPOCH.

# pack NAME: packs STAGE/NAME into NEW/NAME.tar.xz, reproducibly. The output of xz depends on the
# block size, but not on the number of threads. -3 takes a third of the time of -6.
pack() {
    tar --sort=name --mtime="@$EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
        --format=gnu -C "$STAGE" -cf "$STAGE/$1.tar" "$1"
    xz -3 --threads=2 --block-size=16MiB -c "$STAGE/$1.tar" >"$NEW/$1.tar.xz"
    rm "$STAGE/$1.tar"
}

tree() {
    git -C "$TOP" archive --format=tar --prefix="fastpath-$VERSION/" HEAD | tar -x -C "$STAGE"
}

# Packs the daemon's crates with all dependencies, so that the build needs no network and one hash
# covers everything.
daemon_archive() {
    local name=fastpathd-$VERSION
    cp -a "$TREE/feeds/fastpathd/src" "$STAGE/$name"
    rm -rf "$STAGE/$name/fuzz"
    sed -i 's|^members = .*|members = ["crates/*"]|' "$STAGE/$name/Cargo.toml"
    # cargo metadata removes entries that only other members need, without changing versions.
    cargo fetch --quiet --locked --manifest-path "$TREE/feeds/fastpathd/src/Cargo.toml"
    cargo metadata --quiet --offline --format-version 1 \
        --manifest-path "$STAGE/$name/Cargo.toml" >/dev/null
    [ -f "$STAGE/$name/LICENSE" ] || cp "$TREE/LICENSE" "$STAGE/$name/"
    mkdir -p "$STAGE/$name/.cargo"
    # cargo prints the configuration, with a path relative to the current folder.
    (cd "$STAGE/$name" && cargo vendor --locked --versioned-dirs vendor) \
        >"$STAGE/$name/.cargo/config.toml"
    pack "$name"
}

# Builds the page. Source maps name the bundled npm packages and are not delivered.
page() {
    mkdir -p "$STAGE/maps"
    ln -s "$TOP/ui/node_modules" "$TREE/ui/node_modules"
    (cd "$TREE/ui" && node node_modules/vite/bin/vite.js build --sourcemap hidden \
        --outDir "$STAGE/page" --emptyOutDir)
    rm "$TREE/ui/node_modules"
    (cd "$STAGE/page" && find . -name "*.map" -print0 | xargs -0 cp --parents -t "$STAGE/maps" &&
        find . -name "*.map" -delete)
}

# Makes the page's archive. The tree is packed later, so it must not contain source.mk.
page_archive() {
    FASTPATH_PAGE=$STAGE/page "$TREE/luci-app-fastpath/archive" "$NEW"
    rm "$TREE/luci-app-fastpath/source.mk"
}
