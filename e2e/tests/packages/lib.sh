# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Common functions of the package tests; need HERE, TOP and WORK.
SHIM=$TOP/e2e/lab/openwrt
# shellcheck disable=SC2034
FOLDERS="feeds/fastpathd feeds/fastpath-base feeds/fastpath feeds/fastpath-metrics suricata-pkg
    luci-app-fastpath"
ROOT=$WORK/root

fail() {
    printf '%s\n' "$*"
    exit 1
}

skip() {
    echo "skipped: $*"
    exit "$SKIP"
}

# in_folder FOLDER GOAL [VARIABLE=VALUE…]: runs make with the lab's double of OpenWrt's build
# system.
in_folder() {
    local folder=$1
    shift
    make -s --no-print-directory -C "$TOP/$folder" TOPDIR="$SHIM" BUILD_DIR="$WORK/build" \
        PKG_INSTALL_DIR="$WORK/built" FASTPATH_PAGE="$WORK/page" "$@"
}

# compiled: creates empty files instead of compiled programs and the page.
compiled() {
    rm -rf "$WORK/built" "$WORK/build" "$WORK/page"
    mkdir -p "$WORK"/built/{bin,usr/bin} "$WORK"/build/{fastpathd,suricata/etc} "$WORK/page"
    touch "$WORK/built/bin/fastpath" "$WORK"/built/usr/bin/{suricata,suricatasc,suricatactl} \
        "$WORK"/build/suricata/{etc/classification.config,etc/reference.config,threshold.config} \
        "$WORK/build/fastpathd/fastpath.o" "$WORK/page/index.html"
}

same() {
    [ -z "${UPDATE_GOLDEN-}" ] || [ ! -f "$1" ] || cp "$1" "$2"
    diff -u "$2" "$1" || fail "$3 is not as expected in ${2#"$TOP"/}"
}

provide() {
    local library
    cp -L "$1" "$ROOT$2"
    for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*'); do
        mkdir -p "$ROOT${library%/*}"
        cp -L "$library" "$ROOT$library"
    done
}

make_root() {
    rm -rf "$ROOT"
    mkdir -p "$ROOT"/{bin,sbin,dev,etc/config,lib,tmp,usr/bin,usr/sbin}
    cp "$(command -v busybox)" "$ROOT/bin/busybox"
    rooted /bin/busybox --install -s /bin
    : >"$ROOT/dev/null"
    : >"$ROOT/dev/kmsg"
    cp "$HERE/doubles/ubus" "$ROOT/usr/bin/"
    if [ -n "${UCI-}" ]; then
        provide "$UCI" /sbin/uci.real
        # This uci may have other default folders.
        printf '#!/bin/sh\nexec /sbin/uci.real -c /etc/config -t /tmp/.uci "$@"\n' >"$ROOT/sbin/uci"
        chmod +x "$ROOT/sbin/uci"
    else
        cp "$HERE/doubles/uci" "$ROOT/sbin/"
        cp "$HERE/doubles/uci.awk" "$ROOT/lib/uci-double.awk"
    fi
    if [ -n "${JSONFILTER-}" ]; then
        provide "$JSONFILTER" /usr/bin/jsonfilter
    else
        cp "$HERE/doubles/jsonfilter" "$ROOT/usr/bin/"
        provide "$(command -v jq)" /usr/bin/jq
    fi
}

rooted() {
    local isolate=()
    [ "$(id -u)" = 0 ] || isolate=(unshare --map-root-user)
    "${isolate[@]}" chroot "$ROOT" "$@"
}

in_root() { rooted /bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

install_into_root() {
    local folder
    compiled
    for folder; do in_folder "$folder" lab-install DESTDIR="$ROOT"; done
}

# boot: runs uci-defaults like OpenWrt's /etc/init.d/boot, which removes successful scripts.
boot() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    in_root /bin/sh -c 'cd /etc/uci-defaults
        for file in *; do ( . "./$file" ) && done="$done $file"; done
        uci commit
        rm -f $done'
}

fields() { in_folder "$1" lab-fields; }

packages_of() { fields "$1" | sed -n 's/ TITLE: .*//p'; }

field() { sed -n "s/^$2 $3: //p" "$1"; }
