# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Publishes images in build/images/PROFILE, completely or not at all.

# Set by the caller: the function that records the sources, the file with their date, and the list
# of packages that the bill of materials lacks.
made_from=records
made_at=$TREE/version.date
made_parts=/dev/null

images() {
    local out=$BUILD/images/$PROFILE from=$1
    step "images of $PROFILE" gather "$from" "$out.new" ||
        die "firmware: the build left no images in $from"
    rm -rf "$out.old"
    [ ! -e "$out" ] || mv "$out" "$out.old"
    mv "$out.new" "$out"
    rm -rf "$out.old"
    "$HERE/image-check" "$PROFILE"
    say "images are in $out:"
    (cd "$out" && find . -maxdepth 1 -type f -printf '  %f\n' | sort)
}

# gather FROM INTO: copies images, records and the modules of this kernel.
gather() {
    rm -rf "$2" && mkdir -p "$2" || return
    find "$1" -maxdepth 1 -type f ! -name 'sha256sums*' \
        -exec cp -a --reflink=auto -t "$2" {} + || return
    if [ ! -f "$2/profiles.json" ] || ! compgen -G "$2/*.manifest" >/dev/null; then
        echo "no profiles.json, or no manifest"
        return 1
    fi
    grep -q "\"$DEVICE\"" "$2/profiles.json" || {
        echo "profiles.json does not name $DEVICE"
        return 1
    }
    [ ! -d "$1/packages" ] || cp -a --reflink=auto "$1/packages" "$2/packages" || return
    [ ! -d "$1/kmods" ] || cp -a --reflink=auto "$1/kmods" "$2/kmods" || return
    "$made_from" "$2" || return
    if compgen -G "$2/*.bom.cdx.json" >/dev/null; then
        node "$HERE/bom.mjs" "$(cat "$made_at")" "$made_parts" "$2"/*.bom.cdx.json || return
    fi
    (cd "$2" && find . -type f ! -name sha256sums -printf '%P\n' | LC_ALL=C sort |
        xargs -d '\n' sha256sum >"../${2##*/}.sums" && mv "../${2##*/}.sums" sha256sums)
}

# records FOLDER: records the inputs. OpenWrt's own record would name local folders.
records() {
    local name state
    for name in openwrt $FEED_NAMES; do
        state=$(cat "$(folder "$name").commit")
        [ "$name" = openwrt ] || printf 'src-git %s %s^%s%s\n' "$name" "$(public "$name")" \
            "${COMMIT[$name]}" "$([ "$state" != unchecked ] || echo ' # from a folder, unchecked')"
    done >"$1/feeds.buildinfo"
    (cd "$PROFILES" && find patches -name '*.patch' -type f | LC_ALL=C sort |
        xargs -r sha256sum) >"$1/patches.buildinfo"
    cp "$PROFILES/pins" "$1/pins"
    clang --version 2>/dev/null | head -n 1 >"$1/clang.buildinfo" || true
}

public() { awk -v name="$1" '$2 == name { print $4 }' "$PROFILES/pins"; }
