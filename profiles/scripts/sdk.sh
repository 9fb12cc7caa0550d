# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds our packages with OpenWrt's SDK and the pinned feeds. Needs release.sh, source.sh and
# configure.sh. TREE is the SDK here, and OpenWrt's tree is its feed `base`.

own_names() {
    local folder
    for folder in "$WORK"/own/*/; do
        case $folder in */rust/) continue ;; esac
        # shellcheck disable=SC2016 # expanded by make
        sed -n 's/^$(eval $(call BuildPackage,\([^)]*\)))$/\1/p' "$folder/Makefile"
        # LuCI's Makefile makes the package and its translations.
        grep -q 'luci\.mk$' "$folder/Makefile" || continue
        folder=${folder%/}
        basename "$folder"
        find "$folder/po" -mindepth 1 -maxdepth 1 -type d ! -name templates -printf '%f\n' |
            sed "s/^/luci-i18n-${folder##*/luci-app-}-/"
    done | sort
}

# Adds the host's Rust to the feed if it supports the target, because OpenWrt's Rust takes hours to
# build.
own_rust() {
    if [ "$(cat "$TREE/rust.kind" 2>/dev/null)" != "$RUST" ]; then
        # Remove the other Rust and its installation.
        rm -f "$TREE"/package/feeds/*/rust
        find "$TREE" -path "*/staging_dir/*/.rust_installed" -delete
        echo "$RUST" >"$TREE/rust.kind"
    fi
    [ "$RUST" = host ] || return 0
    ln -s "$PROFILES/rust" "$WORK/own/rust"
}

sdk_feeds_conf() {
    printf 'src-link base %s\n' "$BASE/package"
    feeds_conf
}

sdk_feeds() {
    local want name
    own_feed
    own_rust
    own_copy
    sdk_feeds_conf >"$TREE/feeds.conf.new"
    mv "$TREE/feeds.conf.new" "$TREE/feeds.conf"
    want=$(digest "$TREE/feeds.conf" "$WORK"/feeds/*.commit "$BASE.commit")
    if [ "$(cat "$TREE/feeds.stamp" 2>/dev/null)" != "$want" ]; then
        rm -f "$TREE/feeds.stamp"
        step "SDK feeds: update" in_tree ./scripts/feeds update -a
        echo "$want" >"$TREE/feeds.stamp"
    fi
    step "SDK feeds: our update" in_tree ./scripts/feeds update -i fastpath
    # Rust first, so that the feeds' Rust is not installed as a dependency.
    [ "$RUST" != host ] || step "SDK feeds: Rust" in_tree ./scripts/feeds install -p fastpath rust
    step "SDK feeds: install" in_tree ./scripts/feeds install -a -p fastpath
    for name in fastpathd suricata luci-app-fastpath; do
        [ -e "$TREE/package/feeds/fastpath/$name" ] || die "$COMMAND: the SDK's feeds did not take
$name: $(log_file "SDK feeds: install")"
    done
}

# Unselects all kernel modules, which an SDK selects in a file that no configuration overrides. Our
# packages do not need them, because routers install modules from the release.
without_modules() {
    pristine "$TREE/Config-build.in"
    awk '/^config /{ module = $2 ~ /^PACKAGE_kmod-/ } !module' \
        "$TREE/Config-build.in.release" >"$TREE/Config-build.in.new"
    mv "$TREE/Config-build.in.new" "$TREE/Config-build.in"
}

# Only packages and their options can be configured in an SDK.
sdk_config() {
    local name lost=''
    {
        printf '# CONFIG_%s is not set\n' ALL ALL_KMODS ALL_NONSHARED SIGNED_PACKAGES
        echo CONFIG_BUILD_LOG=y
        profile config "$PROFILE" | grep -E '^(# )?CONFIG_SURICATA_' || true
        own_names | sed 's/.*/CONFIG_PACKAGE_&=m/'
        own_names | sed -n 's/^luci-i18n-.*-\([a-z]*\)$/CONFIG_LUCI_LANG_\1=y/p'
    } >"$TREE/.config.new"
    mv "$TREE/.config.new" "$TREE/.config"
    without_modules
    step "SDK configuration" in_tree make defconfig
    for name in $(own_names); do
        grep -qxE "CONFIG_PACKAGE_$name=[my]" "$TREE/.config" || lost+=" $name"
    done
    if [ "$lost" = " fastpathd-ebpf" ]; then
        say "  ! this SDK has no compiler for BPF: no fastpathd-ebpf, the engine ebpf"
    elif [ -n "$lost" ]; then
        die "$COMMAND: the SDK's configuration has lost:$lost"
    fi
}

sdk_compile() {
    local log=$BUILD/log/packages-${PLACE/\//-}.log goals=() folder status=0
    for folder in "$WORK"/own/*/; do
        case $folder in */rust/) continue ;; esac
        goals+=("package/feeds/fastpath/$(basename "$folder")/compile")
    done
    archives "SDK archives" "${goals[@]/%compile/download}"
    (in_tree make -s -f "$HERE/folders.mk" SDK=1 || true) >"$WORK/folders"
    say "  … $(wc -l <"$WORK/folders") folders to compile with $JOBS at once; log: $log"
    rm -rf "$TREE"/bin/packages/*/fastpath
    # Compiling also downloads archives of dependencies.
    env DOWNLOAD_MIRROR="$MIRROR" "$HERE/run-in" "$TREE" make -j "$JOBS" "${goals[@]}" 2>&1 |
        tee "$log" |
        node "$HERE/progress.mjs" "$WORK/folders" || status=$?
    [ "$status" = 0 ] || failed "$log"
}

# Publishes the packages in build/apk/ARCHITECTURE, completely or not at all.
collect() {
    local from name into
    from=$(find "$TREE/bin/packages" -mindepth 2 -maxdepth 2 -name fastpath -type d)
    [ "$(wc -w <<<"$from")" = 1 ] || die "$COMMAND: the SDK left no packages in $TREE/bin/packages"
    ARCH=$(basename "$(dirname "$from")")
    for name in $(own_names); do
        [ "$name" = fastpathd-ebpf ] || compgen -G "$from/$name-[0-9]*.apk" >/dev/null ||
            die "$COMMAND: the SDK made no package $name; its log is in $TREE/logs"
    done
    into=$BUILD/apk/$ARCH
    rm -rf "$into.new" "$into.old"
    mkdir -p "$into.new"
    cp "$from"/*.apk "$into.new/"
    [ ! -e "$into" ] || mv "$into" "$into.old"
    mv "$into.new" "$into"
    rm -rf "$into.old"
    say "$(find "$into" -name '*.apk' | wc -l) packages for $ARCH are in $into"
}

own_parts() {
    own_archives
    "$TOP/build.sh" page
}

# Builds the packages and sets ARCH. Writes only below WORK and build/apk.
build_packages() {
    local BASE=$TREE TREE
    release_file --sdk "openwrt-sdk-$RELEASE-${PLACE/\//-}_*.Linux-x86_64.tar.zst" "$SDK"
    unpacked "$FOUND" "$WORK/sdk"
    TREE=$FOUND
    mkdir -p "$WORK/dl"
    [ -L "$TREE/dl" ] || { rm -rf "$TREE/dl" && ln -s "$WORK/dl" "$TREE/dl"; }
    own_parts
    sdk_feeds
    sdk_config
    sdk_compile
    collect
}
