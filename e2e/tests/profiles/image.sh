# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reports of builds, and collected images.

test_warnings_about_our_packages_are_reported() {
    local found
    mkdir -p "$NOW"/work/own/{fastpathd,suricata}
    cat >"$NOW/log" <<'END'
WARNING: Makefile 'package/utils/audit/Makefile' has a dependency on 'libev', which does not exist
WARNING: Makefile 'package/feeds/fastpath/fastpathd/Makefile' has a dependency on 'kmod-x', which
WARNING: No feed for package 'suricata' found
WARNING: No feed for package 'luci-app-firewall' found
Installing package 'suricata' from fastpath
END
    found=$("$HERE/stage" our_warnings "$NOW/log")
    [ "$(printf '%s\n' "$found" | wc -l)" = 2 ] || fail "found: $found"
    has "$found" "'kmod-x'" "No feed for package 'suricata'"
}

# Excerpt of a build of the real tree.
test_progress_counts_folders() {
    node "$SCRIPTS/progress.mjs" "$HERE/build.folders" <"$HERE/build.log" |
        sed -E 's/, [0-9]+ s:/, TIME:/' >"$NOW/progress"
    same "$NOW/progress" progress
}

image_check() { BUILD=$NOW/build "$SCRIPTS/image-check" "$@"; }

image() {
    mkdir -p "$(dirname "$NOW/build/images/$1")"
    truncate -s "$2M" "$NOW/build/images/$1"
}

test_image_sizes_are_checked() {
    local said ten=openwrt-layerscape-armv8_64b-traverse_ten64_mtd
    local pc=openwrt-x86-64-generic
    ! said=$(image_check 2>&1) || fail "no images, and it passes"
    has "$said" "there are no images"
    image "traverse-ten64/$ten-squashfs-nand.ubi" 72
    image_check traverse-ten64
    image "traverse-ten64/$ten-squashfs-sysupgrade.bin" 73
    ! said=$(image_check traverse-ten64 2>&1) || fail "73 MiB fit 72"
    has "$said" "✗ $ten-squashfs-sysupgrade.bin: 73 MiB, the limit of traverse-ten64 is 72 MiB" \
        "✓ $ten-squashfs-nand.ubi: 72 of 72 MiB"
    truncate -s $((72 * 1048576 + 1)) "$NOW/build/images/traverse-ten64/$ten-squashfs-nand.ubi"
    ! image_check "$NOW/build/images/traverse-ten64/$ten-squashfs-nand.ubi" || fail "a byte more"
    # Compressed images count unpacked, without OpenWrt's metadata at the end.
    image "x86-64/$pc-squashfs-combined-efi.img" 40
    gzip -1 "$NOW/build/images/x86-64/$pc-squashfs-combined-efi.img"
    echo '{"metadata_version":"1.1"}' >>"$NOW/build/images/x86-64/$pc-squashfs-combined-efi.img.gz"
    has "$(image_check "$NOW/build/images/x86-64/$pc-squashfs-combined-efi.img.gz")" "40 of 1000"
    ! image_check >/dev/null 2>&1 || fail "one profile is over its limit"
    image "x86-64/something.bin" 1
    ! said=$(image_check "$NOW/build/images/x86-64/something.bin" 2>&1) || fail "unknown file"
    has "$said" "named like no profile's image"
    ! said=$(image_check "$NOW/no.bin" 2>&1) || fail "a file that is not there"
    has "$said" "there is no file"
    ! said=$(image_check qnap-301w 2>&1) || fail "no images of it"
    has "$said" "there are no images of qnap-301w"
}

# Creates build results of OpenWrt; date and number of the bill of materials differ each time.
built() {
    local from=$NOW/work/tree/bin/targets/x86/64 pc=openwrt-25.12.5-x86-64-generic
    mkdir -p "$from/packages" "$NOW/work/feeds"
    echo 1782737960 >"$NOW/work/tree/version.date"
    for name in tree feeds/packages feeds/luci feeds/routing; do
        echo 0123456789 >"$NOW/work/$name.commit"
    done
    echo unchecked >"$NOW/work/feeds/luci.commit"
    head -c 100000 /dev/zero | gzip >"$from/$pc-squashfs-combined-efi.img.gz"
    echo "base-files - 1" >"$from/$pc.manifest"
    echo '{"profiles":{"generic":{}}}' >"$from/profiles.json"
    echo "CONFIG_TARGET_x86=y" >"$from/config.buildinfo"
    echo module >"$from/packages/kmod-a.apk"
    echo stale >"$from/sha256sums"
    printf '{"bomFormat":"CycloneDX","specVersion":"1.4","serialNumber":"urn:uuid:%s",%s' \
        "$(cat /proc/sys/kernel/random/uuid)" \
        "\"metadata\":{\"timestamp\":\"$(date)$RANDOM\"},\"components\":[{\"name\":\"zlib\"}]}" \
        >"$from/$pc.bom.cdx.json"
}

gather_images() { PROFILE=x86-64 "$HERE/stage" images_of; }

test_only_complete_builds_replace_the_images() {
    local out=$NOW/build/images/x86-64 said first
    built
    gather_images
    (cd "$out" && sha256sum --quiet -c sha256sums)
    [ "$(wc -l <"$out/sha256sums")" = "$(find "$out" -type f ! -name sha256sums | wc -l)" ] ||
        fail "not every file is in sha256sums"
    grep -q '^src-git luci https://git.openwrt.org/project/luci.git^128a7812.*unchecked' \
        "$out/feeds.buildinfo" || fail "feeds: $(cat "$out/feeds.buildinfo")"
    [ -f "$out/packages/kmod-a.apk" ] || fail "no kernel modules"
    first=$(cat "$out/sha256sums")
    built
    gather_images
    [ "$(cat "$out/sha256sums")" = "$first" ] || fail "the same build has other sums"
    # A build without a manifest must keep the previous files.
    rm "$NOW"/work/tree/bin/targets/x86/64/*.manifest
    ! said=$(gather_images 2>&1) || fail "half a build was taken"
    has "$said" "the build left no images"
    [ "$(cat "$out/sha256sums")" = "$first" ] || fail "the images before are gone"
}
