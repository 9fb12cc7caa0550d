# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Creates the Debian trixie root with compilers and emulators for other architectures. Needs HERE,
# CROSS (parent folder), tools.sh, steps.sh and the lab's images.sh.
# Debian has Rust's standard library per architecture (libstd-rust-dev) in the compiler's exact
# version. It and libcrypt are unpacked instead of installed: a multi-arch root would need two more
# package lists and C libraries.

ROOT=$CROSS/root

make_root() {
    local mirror
    mirror=$(debian_mirror)
    # Without package lists apt reports no sources.
    [ -n "$mirror" ] || { apt-get update -q && mirror=$(debian_mirror); }
    [ -n "$mirror" ] || { echo "no Debian archive in this machine's apt sources" >&2; return 1; }
    rm -rf "$1"
    mmdebstrap --mode=root --variant=apt --include="$(list "$HERE/packages" | paste -sd,)" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
        --setup-hook="upload '$HERE/preferences' /etc/apt/preferences.d/cross" \
        --customize-hook="'$HERE/foreign-hook' \"\$1\" '$HERE' '$mirror'" \
        trixie "$1" "deb $mirror trixie main" "deb $mirror trixie-backports main"
}

cross_root() {
    local hash
    hash=$(declare -f make_root | cat - <(hash_of "$HERE/packages" "$HERE/preferences" \
        "$HERE/foreign-hook" "$HERE/foreign.sha256") | sha256sum)
    fresh "$CROSS/root.stamp" "$hash" && return
    rm -f "$CROSS/root.stamp"
    step "Debian with compilers for other processors" make_root "$ROOT.new"
    rm -rf "$ROOT"
    mv "$ROOT.new" "$ROOT"
    printf '%s' "$hash" >"$CROSS/root.stamp"
}
