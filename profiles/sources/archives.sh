# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Our own archives. Needs TOP, HERE, STAGE, NEW, TREE, VERSION, EPOCH.

# pack NAME: STAGE/NAME as NEW/NAME.tar.xz, the same bytes for any user and time. The size of
# the blocks is fixed, or they would follow the number of threads; -3 takes a third of the time
# of -6 and a megabyte more.
pack() {
    tar --sort=name --mtime="@$EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
        --format=gnu -C "$STAGE" -cf "$STAGE/$1.tar" "$1"
    xz -3 --threads=2 --block-size=16MiB -c "$STAGE/$1.tar" >"$NEW/$1.tar.xz"
    rm "$STAGE/$1.tar"
}

# The commit's files, whatever lies about in the work tree.
tree() {
    git -C "$TOP" archive --format=tar --prefix="fastpath-$VERSION/" HEAD | tar -x -C "$STAGE"
}

# The crates of the daemon and every other that they need, in the versions of Cargo.lock: one hash
# covers all, and nothing is fetched when it is built.
daemon_archive() {
    local name=fastpathd-$VERSION
    cp -a "$TREE/feeds/fastpathd/src" "$STAGE/$name"
    rm -rf "$STAGE/$name/fuzz"
    sed -i 's|^members = .*|members = ["crates/*"]|' "$STAGE/$name/Cargo.toml"
    # Versions come from the lock file alone, which then loses what only other members need.
    cargo fetch --quiet --locked --manifest-path "$TREE/feeds/fastpathd/src/Cargo.toml"
    cargo metadata --quiet --offline --format-version 1 \
        --manifest-path "$STAGE/$name/Cargo.toml" >/dev/null
    [ -f "$STAGE/$name/LICENSE" ] || cp "$TREE/LICENSE" "$STAGE/$name/"
    mkdir -p "$STAGE/$name/.cargo"
    # Its output is the configuration, with the folder relative to where it is read.
    (cd "$STAGE/$name" && cargo vendor --locked --versioned-dirs vendor) \
        >"$STAGE/$name/.cargo/config.toml"
    # For the bill of materials: Cargo there finds the crates, too.
    pack "$name"
}

# The page, and which npm packages went into it: from the source maps, which are not delivered.
page() {
    mkdir -p "$STAGE/maps"
    ln -s "$TOP/ui/node_modules" "$TREE/ui/node_modules"
    (cd "$TREE/ui" && node node_modules/vite/bin/vite.js build --sourcemap hidden \
        --outDir "$STAGE/page" --emptyOutDir)
    rm "$TREE/ui/node_modules"
    (cd "$STAGE/page" && find . -name "*.map" -print0 | xargs -0 cp --parents -t "$STAGE/maps" &&
        find . -name "*.map" -delete)
}

# As its package uses it. The tree is packed later, without the archive's record.
page_archive() {
    FASTPATH_PAGE=$STAGE/page "$TREE/luci-app-fastpath/archive" "$NEW"
    rm "$TREE/luci-app-fastpath/source.mk"
}
