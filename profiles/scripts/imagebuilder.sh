# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes an image with OpenWrt's ImageBuilder, from the release's kernel and packages and our
# packages. Needs release.sh and images.sh.

own_packages() {
    local file
    if [ -f "$1/packages/.ours" ]; then
        while read -r file; do rm -f "$1/packages/$file"; done <"$1/packages/.ours"
    fi
    (cd "$APKS" && printf '%s\n' *.apk) >"$1/packages/.ours"
    cp "$APKS"/*.apk "$1/packages/"
    # The ImageBuilder makes and signs a new index.
    rm -f "$1/packages/packages.adb"
}

# repositories FOLDER: selects the release's server or a mirror. A standalone ImageBuilder contains
# all packages and lacks this file.
repositories() {
    [ -e "$1/repositories" ] || : >"$1/repositories"
    pristine "$1/repositories"
    sed "s|^$RELEASE_AT/|${MIRROR:-$RELEASE_AT}/|" "$1/repositories.release" >"$1/repositories.new"
    mv "$1/repositories.new" "$1/repositories"
}

# without_indexes FOLDER: deletes apk's cached indexes, which are used for four hours.
without_indexes() { rm -f "$1"/dl/APKINDEX.*; }

# image_config FOLDER: sets the profile's symbols of images. Other symbols affect only compilation.
image_config() {
    local line symbol
    pristine "$1/.config"
    cp "$1/.config.release" "$1/.config.new"
    while read -r line; do
        symbol=${line#\# }
        symbol=${symbol%%[= ]*}
        case $symbol in
            CONFIG_TARGET_*_DEVICE_* | "CONFIG_TARGET_${PLACE%/*}" | CONFIG_TARGET_"${PLACE/\//_}")
                continue ;;
            CONFIG_TARGET_* | CONFIG_GRUB_* | CONFIG_*_IMAGES | CONFIG_JSON_*) ;;
            *) continue ;;
        esac
        sed -i -E "/^(# )?${symbol}[= ]/d" "$1/.config.new"
        echo "$line" >>"$1/.config.new"
    done < <(profile config "$PROFILE")
    mv "$1/.config.new" "$1/.config"
}

# manifest_lacks FILE: prints packages that are missing or not of our version.
manifest_lacks() {
    local name file
    for name in $(profile get "$PROFILE" packages); do
        # Manifests list libraries with their ABI, but profiles name no libraries.
        grep -q "^$name - " "$1" || echo "  $name"
    done
    for file in "$APKS"/*.apk; do
        file=${file##*/}
        file=${file%.apk}
        name=${file%-*-r*}
        ! grep -q "^$name - " "$1" || grep -qxF "$name - ${file#"$name"-}" "$1" ||
            echo "  $name is not ours: $(grep "^$name - " "$1")"
    done
}

# our_field NAME FIELD: prints a field of the package's Makefile. Translations belong to LuCI's.
our_field() {
    local makefile
    makefile=$(grep -lF "BuildPackage,$1))" "$TOP"/feeds/*/Makefile "$TOP/suricata-pkg/Makefile" ||
        echo "$TOP/luci-app-fastpath/Makefile")
    sed -n "s/^$2:=//p" "$makefile"
}

# our_parts MANIFEST: prints our packages, which the ImageBuilder's bill lacks.
our_parts() {
    local file name version
    for file in "$APKS"/*.apk; do
        file=${file##*/}
        file=${file%.apk}
        name=${file%-*-r*}
        version=${file#"$name"-}
        ! grep -qxF "$name - $version" "$1" || printf '%s\t%s\t%s\t%s\n' "$name" \
            "${version%-r*}" "$(our_field "$name" PKG_LICENSE)" "$(our_field "$name" PKG_CPE_ID)"
    done
}

release_records() {
    printf 'release %s %s\nimagebuilder %s %s\n' "$RELEASE" "$RELEASE_AT" "${IMAGEBUILDER##*/}" \
        "$(sha256sum <"$IMAGEBUILDER" | cut -d ' ' -f 1)" >"$1/release.buildinfo"
    (cd "$APKS" && sha256sum -- *.apk) >"$1/packages.buildinfo"
    cp "$PROFILES/pins" "$1/pins"
}

make_image() {
    local partition
    partition=$(profile get "$PROFILE" rootfs_mib)
    "$HERE/run-in" "$1" make image PROFILE="$DEVICE" \
        PACKAGES="$(profile get "$PROFILE" packages | paste -sd ' ')" \
        FILES="$WORK/files/$PROFILE" BIN_DIR="$2" ${partition:+ROOTFS_PARTSIZE="$partition"}
}

image_of_release() {
    local builder into=$WORK/image/$PROFILE lost
    release_file --imagebuilder \
        "openwrt-imagebuilder-$RELEASE-${PLACE/\//-}.Linux-x86_64.tar.zst" "$IMAGEBUILDER"
    IMAGEBUILDER=$FOUND
    unpacked "$FOUND" "$WORK/imagebuilder"
    builder=$FOUND
    own_packages "$builder"
    repositories "$builder"
    without_indexes "$builder"
    image_config "$builder"
    rm -rf "$WORK/files/$PROFILE" "$into"
    mkdir -p "$WORK/files" "$into"
    profile overlay "$PROFILE" "$WORK/files/$PROFILE"
    step "ImageBuilder: image of $PROFILE" make_image "$builder" "$into" ||
        die "firmware: the ImageBuilder failed (see above). Where its packages did not come, run the
same command again, or name a mirror that has them: --download-mirror URL"
    lost=$(manifest_lacks "$into"/*.manifest)
    [ -z "$lost" ] || die "firmware: the image has not every package of the profile:
$lost"
    sed -n 's/^SOURCE_DATE_EPOCH:=//p' "$builder/include/version.mk" >"$into.date"
    our_parts "$into"/*.manifest >"$into.parts"
    # shellcheck disable=SC2034 # images.sh reads them
    made_from=release_records made_at=$into.date made_parts=$into.parts
    images "$into"
}
