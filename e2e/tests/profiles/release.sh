# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# OpenWrt's release: verified downloads, packages by the SDK, images by the ImageBuilder. release/
# has doubles of both with the real goals and variables.
# shellcheck source=e2e/tests/profiles/source.sh
. "$HERE/source.sh"
PARTS=$HERE/release
SDK_NAME=openwrt-sdk-25.12.5-x86-64_gcc-14.3.0_musl.Linux-x86_64
BUILDER_NAME=openwrt-imagebuilder-25.12.5-x86-64.Linux-x86_64
RELEASE=$NOW/mirror/releases/25.12.5/targets/x86/64

archive() {
    command -v zstd >/dev/null || skip "zstd is not installed"
    mkdir -p "$RELEASE"
    tar -I zstd -C "$NOW/made" -cf "$RELEASE/$1.tar.zst" "$1"
}

sdk() {
    mkdir -p "$NOW/made/$SDK_NAME"
    cp -r "$PARTS/sdk/." "$NOW/made/$SDK_NAME/"
    mkdir "$NOW/made/$SDK_NAME/dl"
    archive "$SDK_NAME"
}

imagebuilder() {
    local into=$NOW/made/$BUILDER_NAME
    mkdir -p "$into/packages" "$into/include"
    cp -r "$PARTS/imagebuilder/." "$into/"
    echo SOURCE_DATE_EPOCH:=1782770622 >"$into/include/version.mk"
    touch "$into/packages/"{base-files-1,kernel-1,libc-1}.apk
    printf '%s\n' 'http://127.0.0.1:1/releases/25.12.5/packages/x86_64/base/packages.adb' \
        >"$into/repositories"
    printf '%s\n' CONFIG_TARGET_KERNEL_PARTSIZE=16 'CONFIG_TARGET_ROOTFS_PARTSIZE=104' \
        CONFIG_VMDK_IMAGES=y CONFIG_USE_APK=y >"$into/.config"
    archive "$BUILDER_NAME"
}

signed_release() {
    (cd "$RELEASE" && sha256sum -b -- *.tar.zst >sha256sums)
    small_pins
    node "$PARTS/sign.mjs" "$NOW/from/keyring" "$RELEASE/sha256sums"
    git -C "$NOW/from/keyring" add usign
    git -C "$NOW/from/keyring" -c user.name=t -c user.email=t@example.org commit -qm keys
    sed -i "/ keyring /s/ [0-9a-f]\{40\} / $(git -C "$NOW/from/keyring" rev-parse HEAD) /" \
        "$PROFILES/pins"
    cp -r "$TOP/profiles/rust" "$PROFILES/"
}

server() {
    local port
    : >"$NOW/requests"
    node "$PARTS/server.mjs" "$NOW/mirror" "$@" >"$NOW/requests" &
    # shellcheck disable=SC2064 # expanded now
    trap "kill $!" EXIT
    # @sleep: between two looks for the server's port
    until port=$(head -n 1 "$NOW/requests") && [ -n "$port" ]; do sleep 0.1; done
    SERVER=http://127.0.0.1:$port
}

release_of() {
    PROFILE=x86-64 PROFILES=$PROFILES OPENWRT=$NOW/from/openwrt MIRROR=${SERVER-http://127.0.0.1:1} \
        "$HERE/stage" release_of --sdk 'openwrt-sdk-25.12.5-x86-64_*.Linux-x86_64.tar.zst' "$@"
}

refused() {
    local said
    ! said=$(release_of "${@:2}" 2>&1) || fail "taken: $said"
    has "$said" "$1"
}

test_a_file_of_the_release_is_fetched_once() {
    local said
    sdk && signed_release && server
    said=$(release_of 2>&1) || fail "$said"
    has "$said" "signed by" "(a test)" "found $NOW/work/release/x86-64/$SDK_NAME.tar.zst"
    cmp "$NOW/work/release/x86-64/$SDK_NAME.tar.zst" "$RELEASE/$SDK_NAME.tar.zst"
    rm -r "$NOW/mirror"
    release_of >/dev/null 2>&1 || fail "it is fetched again"
}

test_an_interrupted_download_is_resumed() {
    local said
    sdk
    head -c 60000 /dev/urandom >>"$RELEASE/$SDK_NAME.tar.zst"
    signed_release && server 20000
    # curl tries three times, and the server truncates answers that start at byte 0.
    said=$(release_of 2>&1) || said=$(release_of 2>&1) || fail "$said"
    cmp "$NOW/work/release/x86-64/$SDK_NAME.tar.zst" "$RELEASE/$SDK_NAME.tar.zst"
    grep -q "$SDK_NAME.*bytes=20000-" "$NOW/requests" ||
        fail "from the start: $(cat "$NOW/requests")"
}

test_a_tampered_download_is_refused() {
    sdk && signed_release && server
    echo more >>"$RELEASE/$SDK_NAME.tar.zst"
    refused "has another hash than OpenWrt's"
    [ ! -e "$NOW/work/release/x86-64/$SDK_NAME.tar.zst" ] || fail "it is kept"
    # Correct checksums, signed by an unknown key.
    (cd "$RELEASE" && sha256sum -b -- *.tar.zst >sha256sums)
    rm -r "$NOW/work/release"
    refused "the signature of"
    node "$PARTS/sign.mjs" "$NOW/strangers" "$RELEASE/sha256sums"
    refused "is not in the pinned keyring"
    echo garbage >"$RELEASE/sha256sums.sig"
    refused "is not a signature of usign"
}

test_an_unreachable_server_prints_a_hint() {
    sdk && signed_release
    SERVER=http://127.0.0.1:1
    refused "http://127.0.0.1:1/releases/25.12.5/targets/x86/64/sha256sums did not come"
    refused "--sdk FILE" && refused "--download-mirror URL"
}

test_a_local_file_needs_no_server() {
    local said
    sdk && signed_release
    said=$(release_of "$RELEASE/$SDK_NAME.tar.zst" 2>&1) || fail "$said"
    has "$said" "signed by" "found $RELEASE/$SDK_NAME.tar.zst"
    cp "$RELEASE/$SDK_NAME.tar.zst" "$NOW/"
    refused "cannot be verified" "$NOW/$SDK_NAME.tar.zst"
    echo more >>"$RELEASE/$SDK_NAME.tar.zst"
    refused "is not the file that its sums name" "$RELEASE/$SDK_NAME.tar.zst"
    refused "is not named" "$RELEASE/sha256sums"
    refused "there is no file" "$NOW/nowhere"
}

# Like OpenWrt's tree, a folder `package`.
packages_by_sdk() {
    mkdir -p "$NOW/from/openwrt/package/base-files"
    touch "$NOW/from/openwrt/package/base-files/Makefile"
    git -C "$NOW/from/openwrt" add package
    git -C "$NOW/from/openwrt" -c user.name=t -c user.email=t@example.org commit -qm packages
    sed -i "/ openwrt [0-9a-f]\{40\} /s/ [0-9a-f]\{40\} / $(git -C "$NOW/from/openwrt" \
        rev-parse HEAD) /" "$PROFILES/pins"
}

run_sdk() {
    PROFILE=x86-64 PROFILES=$PROFILES OPENWRT=$NOW/from/openwrt \
        "$HERE/stage" packages_of "$RELEASE/$SDK_NAME.tar.zst" "$@"
}

test_the_sdk_builds_the_packages() {
    local said tree=$NOW/work/sdk/$SDK_NAME
    sdk && signed_release && packages_by_sdk
    said=$(run_sdk 2>&1) || fail "$said"
    has "$said" "11 packages for x86_64 are in $NOW/build/apk/x86_64"
    [ "$(cd "$NOW/build/apk/x86_64" && echo fastpathd-*.apk)" = \
        "fastpathd-0.1.0-r1.apk fastpathd-ebpf-0.1.0-r1.apk" ] || fail "$(ls "$NOW/build/apk")"
    # OpenWrt writes this path into packages.
    [ "$(readlink -f "$tree/package/feeds/fastpath/fastpathd")" = "$tree/fastpath/fastpathd" ] ||
        fail "its path is another: $(readlink -f "$tree/package/feeds/fastpath/fastpathd")"
    [ -e "$NOW/build/apk/x86_64/luci-i18n-fastpath-de-0.1.0-r1.apk" ] || fail "no German"
    # The host's Rust replaces OpenWrt's, which takes hours to compile.
    [ -e "$tree/package/feeds/fastpath/rust/Makefile" ] || fail "our Rust is missing"
    grep -qx 'CONFIG_SURICATA_HYPERSCAN=y' "$tree/.config" || fail "an option is lost"
    grep -qx '# CONFIG_ALL is not set' "$tree/.config" || fail "every package of the feeds"
    # Config-build.in selects these modules, a second of build time each.
    ! grep 'CONFIG_PACKAGE_kmod-' "$tree/.config" || fail "modules of the kernel"
    grep -qx 'CONFIG_PACKAGE_dnsmasq=y' "$tree/.config" || fail "other packages are gone"
    # With `openwrt`, Rust is that of OpenWrt's feed.
    said=$(run_sdk openwrt 2>&1) || fail "$said"
    [ ! -L "$tree/package/feeds/fastpath/rust" ] || fail "ours is still there"
    # A package that cannot be selected is an error, except fastpathd-ebpf, which needs a BPF
    # compiler. The mirror also serves dependencies' archives.
    said=$(LOSE=fastpathd-ebpf MIRROR=http://127.0.0.1:1 WANT_MIRROR=http://127.0.0.1:1 \
        run_sdk 2>&1) || fail "$said"
    has "$said" "no compiler for BPF" "10 packages for x86_64"
    ! said=$(LOSE=suricata run_sdk 2>&1) || fail "it is lost in silence"
    has "$said" "has lost: suricata"
    # OpenWrt logs the reason only per package.
    ! said=$(NO_ARCHIVE=suricata run_sdk 2>&1) || fail "it goes on without an archive"
    has "$said" "not every archive came" \
        "  suricata: curl: (6) Could not resolve host: sources.cdn.openwrt.org"
    ! said=$(NO_ARCHIVE=suricata ARCHIVE_SAID="Hash of the downloaded file does not match" \
        run_sdk 2>&1) || fail "it goes on with another archive"
    has "$said" "  suricata: Hash of the downloaded file does not match"
    [ "$(find "$NOW/build/apk/x86_64" -name '*.apk' | wc -l)" = 10 ] || fail "they are gone"
}

built_image() {
    env PROFILES="$PROFILES" FIRMWARE_DIR="$NOW/openwrt" BUILD="$NOW/build" "$@" \
        "$TOP/build.sh" firmware x86-64 --packages "$NOW/ours" --openwrt "$NOW/from/openwrt" \
        --imagebuilder "$RELEASE/$BUILDER_NAME.tar.zst" --download-mirror https://mirror.invalid
}

ours() {
    local name
    rm -rf "$NOW/ours"
    mkdir -p "$NOW/ours"
    for name in fastpath fastpath-ips fastpath-base fastpath-metrics fastpath-notify fastpathd \
        fastpathd-ebpf luci-app-fastpath suricata suricata-tools; do
        echo "$name" >"$NOW/ours/$name-0.1.0-r$1.apk"
    done
}

sbom_of() {
    jq -r '.components[] | [.name, .version, .licenses[0].license.name, .cpe // ""] | @tsv' \
        "$1"/*.bom.cdx.json
}

test_the_imagebuilder_builds_an_image() {
    local said out=$NOW/build/images/x86-64
    imagebuilder && signed_release && ours 1
    said=$(built_image 2>&1) || fail "$said"
    has "$said" "signed by" "images are in"
    (cd "$out" && sha256sum --quiet -c sha256sums) || fail "sums"
    has "$(cat "$out"/*.manifest)" "fastpathd - 0.1.0-r1" "kmod-i40e - 1" "base-files - 1"
    has "$(zcat "$out"/*.img.gz)" "partition 512" CONFIG_TARGET_KERNEL_PARTSIZE=32 \
        ./etc/uci-defaults/95-fastpath-profile \
        https://mirror.invalid/releases/25.12.5/packages/x86_64/base/packages.adb
    has "$(cat "$out"/*.bom.cdx.json)" 2026-06-29T22:03:42
    same <(sbom_of "$out") bill
    has "$(cat "$out/release.buildinfo")" "release 25.12.5" "$BUILDER_NAME"
    diff <(cd "$NOW/ours" && sha256sum -- *.apk) "$out/packages.buildinfo" ||
        fail "sums of our packages"
    ours 2
    said=$(built_image 2>&1) || fail "$said"
    has "$(cat "$out"/*.manifest)" "fastpathd - 0.1.0-r2"
    [ "$(find "$NOW/openwrt/imagebuilder" -name 'fastpathd-[0-9]*.apk' | wc -l)" = 1 ] ||
        fail "two versions"
}

# apk caches its index for four hours, in which the release may get newer packages.
test_an_image_has_the_latest_packages() {
    local said out=$NOW/build/images/x86-64
    imagebuilder && signed_release && ours 1
    said=$(built_image 2>&1) || fail "$said"
    has "$(cat "$out"/*.manifest)" "base-files - 1"
    mv "$NOW/openwrt/imagebuilder/$BUILDER_NAME/packages/base-files-"{1,2}.apk
    said=$(built_image 2>&1) || fail "$said"
    has "$(cat "$out"/*.manifest)" "base-files - 2"
}

test_a_standalone_imagebuilder_builds_an_image() {
    local said out=$NOW/build/images/x86-64
    imagebuilder
    rm "$NOW/made/$BUILDER_NAME/repositories"
    archive "$BUILDER_NAME"
    signed_release && ours 1
    said=$(built_image 2>&1) || fail "$said"
    has "$(cat "$out"/*.manifest)" "fastpathd - 0.1.0-r1"
    said=$(built_image 2>&1) || fail "$said"
}

test_an_image_without_one_of_our_packages_is_refused() {
    local said
    imagebuilder && signed_release && ours 1
    ! said=$(built_image LOSE=suricata 2>&1) || fail "it is lost in silence"
    has "$said" "has not every package of the profile" "  suricata"
    # The release has the package in another version.
    ! said=$(built_image STANDIN_MANIFEST='s/^suricata - .*/suricata - 9.9-r1/' 2>&1) ||
        fail "another one is taken"
    has "$said" "suricata is not ours: suricata - 9.9-r1"
    [ ! -e "$NOW/build/images/x86-64" ] || fail "the image is there"
}
