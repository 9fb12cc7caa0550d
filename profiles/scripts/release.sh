# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fetches, verifies and unpacks files of OpenWrt's release. Needs WORK, PLACE (target/subtarget),
# MIRROR, and pins of source.sh.

COMMAND=${COMMAND:-firmware}

# Mirrors have the paths of downloads.openwrt.org.
release_at() { echo "${MIRROR:-$RELEASE_AT}/releases/$RELEASE/targets/$PLACE"; }

offline() {
    die "$COMMAND: $1
Nothing else was changed; downloads are kept. Remedies:
  with a network that reaches $(release_at), run the same command again
  --download-mirror URL  a mirror of downloads.openwrt.org (URL/releases/$RELEASE/…)
  $2 FILE  that file from another source; sha256sums and sha256sums.sig must be next to it"
}

# fetch URL FILE: downloads or resumes. FILE appears only when complete.
fetch() {
    local status=0 shown=(-sS)
    [ ! -t 2 ] || shown=(--progress-bar)
    curl -fL "${shown[@]}" --connect-timeout "$REACH" --speed-limit 1000 --speed-time 30 \
        --retry 2 -C - -o "$2.part" "$1" || status=$?
    # curl's 33 and 36: the server cannot resume, or the file has changed.
    if [ "$status" = 33 ] || [ "$status" = 36 ]; then
        status=0
        curl -fL "${shown[@]}" --connect-timeout "$REACH" -o "$2.part" "$1" || status=$?
    fi
    [ "$status" = 0 ] || return "$status"
    mv "$2.part" "$2"
}

# signer FILE…: prints keyring if a signature has to be verified.
signer() {
    local file
    for file; do
        if [ -z "$file" ] || [ -f "$(dirname "$file")/sha256sums.sig" ]; then
            echo keyring
            return
        fi
    done
}

signed() {
    local said
    obtain keyring
    said=$(node "$HERE/usign.mjs" "$1/sha256sums" "$1/sha256sums.sig" "$WORK/keyring" 2>&1) ||
        die "$COMMAND: $1/sha256sums is not signed by OpenWrt: $said"
    say "  ✓ sha256sums, signed by $said"
}

# Fetches the list of the release's files for this target, without resuming.
release_sums() {
    local into=$WORK/release/${PLACE/\//-} name
    mkdir -p "$into"
    SUMS=$into/sha256sums
    [ ! -f "$into/checked" ] || return 0
    for name in sha256sums sha256sums.sig; do
        rm -f "$into/$name" "$into/$name.part"
        fetch "$(release_at)/$name" "$into/$name" || offline "$(release_at)/$name did not come" "$1"
    done
    signed "$into"
    touch "$into/checked"
}

# check_sums FILE: dies unless signed sums next to the file match it.
check_sums() {
    local folder
    folder=$(dirname "$1")
    if [ -f "$folder/sha256sums" ] && [ -f "$folder/sha256sums.sig" ]; then
        signed "$folder"
        matches "$1" "$folder/sha256sums" || die "$COMMAND: $1 is not the file that its sums name"
    else
        die "$COMMAND: $1 cannot be verified: put sha256sums and sha256sums.sig of its" \
            "release next to it"
    fi
}

# matches FILE SUMS: succeeds if SUMS has the file's name with its hash.
matches() {
    local want
    want=$(awk -v name="${1##*/}" '$2 == name || $2 == "*" name { print $1 }' "$2")
    [ -n "$want" ] && [ "$(sha256sum <"$1" | cut -d ' ' -f 1)" = "$want" ]
}

# release_file OPTION PATTERN FILE: sets FOUND to FILE, or to the fetched file.
release_file() {
    local name
    FOUND=$3
    if [ -n "$FOUND" ]; then
        [ -f "$FOUND" ] || die "$COMMAND: $1: there is no file $FOUND"
        # shellcheck disable=SC2053 # a pattern
        [[ ${FOUND##*/} == $2 ]] || die "$COMMAND: $1: ${FOUND##*/} is not named $2"
        check_sums "$FOUND"
        return
    fi
    command -v curl >/dev/null || need_packages "fetching the release" curl ca-certificates
    release_sums "$1"
    # shellcheck disable=SC2053 # a pattern
    name=$(while read -r _ name; do [[ ${name#\*} != $2 ]] || echo "${name#\*}"; done <"$SUMS")
    [ "$(wc -w <<<"$name")" = 1 ] || die "$COMMAND: the release has not one $2, but: ${name:-none}"
    FOUND=${SUMS%/*}/$name
    [ ! -f "$FOUND" ] || return 0
    say "  … $name"
    fetch "$(release_at)/$name" "$FOUND" || offline "$name did not come whole" "$1"
    matches "$FOUND" "$SUMS" || {
        rm -f "$FOUND"
        die "$COMMAND: $name has another hash than OpenWrt's; it was deleted. The mirror is wrong,
or the transfer was: run the same command again, or name another --download-mirror"
    }
    say "  ✓ $name, its hash is OpenWrt's"
}

unpacked() {
    local file=$1 into=$2 name=${1##*/} want
    name=${name%.tar.zst}
    want="$(stat -c '%s %Y' "$file") $file"
    FOUND=$into/$name
    [ "$(cat "$FOUND.stamp" 2>/dev/null)" != "$want" ] || [ ! -d "$FOUND" ] || return 0
    command -v zstd >/dev/null || need_packages "unpacking $name" zstd
    rm -rf "$FOUND" "$FOUND.stamp" "$into/.new"
    mkdir -p "$into/.new"
    step "$name" tar -I zstd -C "$into/.new" -xf "$file" ||
        die "$COMMAND: $file does not unpack: delete it and run the same command again"
    [ -f "$into/.new/$name/Makefile" ] || die "$COMMAND: $file holds no folder $name"
    mv "$into/.new/$name" "$FOUND"
    rmdir "$into/.new"
    echo "$want" >"$FOUND.stamp"
}

# pristine FILE: saves the original of a file before the first change.
pristine() { [ -e "$1.release" ] || cp "$1" "$1.release"; }
