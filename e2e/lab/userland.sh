# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs OpenWrt's userland as the gateway on Debian's kernel. Needs paths.sh and images.sh.
# LAB_ROOT is a folder with procd, netifd, firewall4, rpcd, uhttpd, LuCI, base-files and the
# dependencies of our packages, for this machine's architecture. The lab adds our packages like an
# image build, and a flat folder of uncompressed kernel modules as in OpenWrt. It boots like an
# initramfs image without a writable partition; the last init script runs the setup of image.sh.

# Modules that tests load, or that routers do not load at boot.
NOT_AT_BOOT="nf_conntrack_ftp nf_nat_ftp pktgen dummy ifb"

# userland: prints the image's path without suffix, distinct per LAB_ROOT.
userland() { echo "$IMAGES/openwrt.$(printf %s "$LAB_ROOT" | sha256sum | cut -c 1-8)"; }

userland_ready() {
    local file
    for file in sbin/init sbin/procd lib/functions.sh etc/openwrt_release bin/busybox; do
        [ -e "$1/$file" ] || [ -L "$1/$file" ] ||
            die "$1 is not a root of OpenWrt: it has no /$file"
    done
    [ "$(id -u)" = 0 ] || die "--root needs root: its own shell adds users and init scripts"
}

add_modules() {
    local release from to
    release=$(cat "$IMAGES/kernel.release")
    # shellcheck disable=SC2153 # set by paths.sh
    from=$ROOT/usr/lib/modules/$release/kernel
    to=$1/lib/modules/$release
    mkdir -p "$to" "$1/etc/modules.d" "$1/etc/modules-boot.d"
    cp "$from"/*.ko "$to/"
    # shellcheck disable=SC2086 # a pattern each
    list "$LAB/guest/modules" | grep -vxF "$(printf '%s\n' $NOT_AT_BOOT)" |
        tr - _ | tee "$1/etc/modules.d/00-lab" >"$1/etc/modules-boot.d/00-lab"
}

# in_userland ROOT COMMAND: runs COMMAND in the root's shell, like an image build.
in_userland() {
    chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin IPKG_INSTROOT=/ /bin/sh -c "$2"
}

# keeps ROOT PACKAGE: registers the conffiles on stdin with sysupgrade, like a package build
# (include/package-pack.mk).
keeps() {
    local file
    mkdir -p "$1/lib/upgrade/keep.d"
    while read -r file; do
        if [ -f "$1$file" ]; then
            echo "$file $(sha256sum <"$1$file" | cut -d ' ' -f 1)" \
                >>"$1/lib/apk/packages/$2.conffiles_static"
        else
            echo "$file" >>"$1/lib/upgrade/keep.d/$2"
        fi
    done
}

add_packages() {
    local root=$1 name known
    known=$(ls "$root/etc/init.d")
    mkdir -p "$root/tmp/lock"
    install -D "$PROGRAMS/fastpath" "$IMAGES/stage.bin/bin/fastpath"
    install -D -m 644 "$OBJECT" "$IMAGES/stage.build/fastpathd/fastpath.o"
    for name in feeds/fastpathd feeds/fastpath-base feeds/fastpath feeds/fastpath-metrics \
        suricata-pkg luci-app-fastpath; do
        install_package "$TOP/$name" "$root"
    done
    mkdir -p "$root/lib/apk/packages"
    for name in "$root"/usr/lib/lab/userid/*; do
        [ -f "$name" ] || continue
        cp "$name" "$root/lib/apk/packages/${name##*/}.rusers"
        in_userland "$root" ". /lib/functions.sh; root=; pkgname=${name##*/} add_group_and_user"
    done
    for name in "$root"/usr/lib/lab/conffiles/*; do
        [ ! -f "$name" ] || keeps "$root" "${name##*/}" <"$name"
    done
    for name in "$root"/etc/init.d/*; do
        name=${name##*/}
        grep -qx "$name" <<<"$known" || in_userland "$root" "/etc/init.d/$name enable"
    done
    rm -rf "$root/usr/lib/lab" "$root/tmp/lock" "$IMAGES/stage.bin" "$IMAGES/stage.build"
}

# add_limits: adds OpenWrt's values, and those that kmod-br-netfilter installs.
add_limits() {
    cat >"$1/etc/sysctl.d/90-lab.conf" <<'END'
net.netfilter.nf_conntrack_tcp_timeout_established=7440
kernel.kptr_restrict=1
net.bridge.bridge-nf-call-arptables=0
net.bridge.bridge-nf-call-ip6tables=0
net.bridge.bridge-nf-call-iptables=0
END
}

add_set_up() {
    tar -xf "$IMAGES/medium.tar" -C "$1"
    install -m 755 "$LAB/openwrt/set-up.init" "$1/etc/init.d/lab"
    in_userland "$1" "/etc/init.d/lab enable"
}

build_openwrt() {
    local stage=$IMAGES/stage.openwrt
    rm -rf "$stage" "$IMAGES/stage.bin" "$IMAGES/stage.build"
    cp -a "$LAB_ROOT" "$stage"
    add_modules "$stage"
    add_packages "$stage"
    add_limits "$stage"
    add_set_up "$stage"
    # OpenWrt names ports in order of discovery.
    install -D -m 644 "$LAB/openwrt/preinit-ports" "$stage/lib/preinit/02_lab_ports"
    rm -f "$1.new"
    mkfs.erofs --quiet -x-1 -T 0 "$1.new" "$stage"
    mv "$1.new" "$1"
    rm -rf "$stage"
}

image_openwrt() {
    local hash made
    hash=$({
        hash_of "$LAB/openwrt" "$LAB/userland.sh" "$IMAGES/base.stamp" "$IMAGES/medium.tar" \
            "$PAGE" "$OBJECT" \
            "$TOP/feeds/fastpathd/Makefile" "$TOP/feeds/fastpathd/files" \
            "$TOP/feeds/fastpath-base" "$TOP/feeds/fastpath" "$TOP/feeds/fastpath-metrics" \
            "$TOP/luci-app-fastpath" "$TOP/suricata-pkg" \
            "$PROGRAMS/fastpath"
        # Names, sizes and times identify files that the lab does not build.
        find "$LAB_ROOT" -printf '%P %m %s %T@ %l\n' | sort
    } | sha256sum)
    made=$(userland)
    fresh "$made.stamp" "$hash" && [ -f "$made.erofs" ] && return
    rm -f "$made.stamp"
    image_root
    step "OpenWrt's userland with our packages" build_openwrt "$made.erofs"
    printf '%s' "$hash" >"$made.stamp"
}

# shellcheck disable=SC2034 # machines.sh uses BOOT
userland_boot() {
    local shared="format=raw,readonly=on,file.locking=off"
    BOOT=(-kernel "$IMAGES/vmlinux" -initrd "$IMAGES/initrd.cpio"
        -append "console=ttyS0 panic=-1 mitigations=off nokaslr maxcpus=1 whole overlay"
        -drive "if=none,id=base,file=$(userland).erofs,$shared"
        -device "virtio-blk-pci,drive=base"
        -drive "if=none,id=own,file=$1.disk,format=raw,cache=unsafe"
        -device "virtio-blk-pci,drive=own"
        -serial "file:$1.console")
}
