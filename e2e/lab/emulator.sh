# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Provides the emulator of the machines. Needs paths.sh and images.sh.
# A guest starts a program in 10 ms with QEMU 10.0, but in 34 ms or more with 7.2 of Debian 12,
# which dominates the duration of tests. Debian's backport, unpacked in build/lab/qemu, replaces an
# old QEMU; the installed package provides the libraries.

# shellcheck source=e2e/scripts/tools.sh
. "$TOP/e2e/scripts/tools.sh"

EMULATOR_WANTED=10.0

emulator() {
    if [ -x "$IMAGES/qemu/qemu" ]; then
        echo "$IMAGES/qemu/qemu"
    else
        command -v qemu-system-x86_64
    fi
}

emulator_version() { "$(emulator)" --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p'; }

apt_in() {
    local dir=$1 command=$2
    shift 2
    mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
    "$command" -q -o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/cache" \
        -o APT::Sandbox::User=root "$@"
}

fetch_emulator() {
    local dir=$IMAGES/qemu.new mirror suite package
    # shellcheck source=/dev/null
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}-backports")
    mirror=$(debian_mirror)
    [ -n "$mirror" ] || { echo "no Debian archive in this machine's apt sources"; return 1; }
    rm -rf "$dir"
    mkdir -p "$dir/root"
    echo "deb $mirror $suite main" >"$dir/sources.list"
    apt_in "$dir" apt-get update || return
    (cd "$dir" && apt_in "$dir" apt-get download qemu-system-x86 qemu-system-data) || return
    for package in "$dir"/*.deb; do dpkg-deb -x "$package" "$dir/root" || return; done
    # shellcheck disable=SC2016 # expanded by the wrapper
    printf '#!/bin/sh\nroot=${0%%/*}/root/usr\nexec "$root/bin/qemu-system-x86_64" %s "$@"\n' \
        '-L "$root/share/qemu" -L /usr/share/seabios' >"$dir/qemu"
    chmod 755 "$dir/qemu"
    "$dir/qemu" --version || return
    rm -rf "$dir"/*.deb "$dir/lists" "$dir/cache" "$IMAGES/qemu"
    mv "$dir" "$IMAGES/qemu"
}

# image_emulator: fetches a newer QEMU if needed. On failure the lab is slower.
image_emulator() {
    at_least "$(emulator_version)" "$EMULATOR_WANTED" && return
    step "emulator, newer than the installed one" fetch_emulator ||
        say "  ! the machines run in QEMU $(emulator_version), slowly: no newer one was found"
}
