# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The machines' emulator. Needs paths.sh and images.sh.
#
# A guest of QEMU 10.0 starts a program in 10 ms where one of 7.2, which Debian 12 has, needs 34,
# and more with every hour: most of the time that tests wait. So an older one gets Debian's own
# backport with it, unpacked under build/lab/qemu; the installed one has brought all libraries.

# shellcheck source=e2e/scripts/tools.sh
. "$TOP/e2e/scripts/tools.sh"

EMULATOR_WANTED=10.0

# emulator: the program that the machines run in.
emulator() {
    if [ -x "$IMAGES/qemu/qemu" ]; then
        echo "$IMAGES/qemu/qemu"
    else
        command -v qemu-system-x86_64
    fi
}

emulator_version() { "$(emulator)" --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p'; }

# apt_in FOLDER COMMAND…: apt with the sources in FOLDER alone; it keeps everything there.
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
    # shellcheck disable=SC2016 # the wrapper expands it
    printf '#!/bin/sh\nroot=${0%%/*}/root/usr\nexec "$root/bin/qemu-system-x86_64" %s "$@"\n' \
        '-L "$root/share/qemu" -L /usr/share/seabios' >"$dir/qemu"
    chmod 755 "$dir/qemu"
    "$dir/qemu" --version || return
    rm -rf "$dir"/*.deb "$dir/lists" "$dir/cache" "$IMAGES/qemu"
    mv "$dir" "$IMAGES/qemu"
}

# image_emulator: a newer one where the installed one is old; without it the lab is only slower.
image_emulator() {
    at_least "$(emulator_version)" "$EMULATOR_WANTED" && return
    step "emulator, newer than the installed one" fetch_emulator ||
        say "  ! the machines run in QEMU $(emulator_version), slowly: no newer one was found"
}
