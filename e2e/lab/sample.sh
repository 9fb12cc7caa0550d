# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds a disk image to test --image without OpenWrt's build: the lab's gateway on a disk laid out
# like OpenWrt's for a PC. Needs paths.sh and images.sh.
# sector 0: boot.img and partition table; sector 1…: GRUB's core image
# partition 1: ext2 "kernel" with /boot/grub/grub.cfg; 2: Debian; 3: the layer (both erofs)
# Boots like OpenWrt's first boot: OpenWrt's port names, 192.168.1.1 on a bridge, a shell without
# password on the serial console, no ssh key.

GRUB=${GRUB:-/usr/lib/grub/i386-pc}
GRUB_MODULES="biosdisk part_msdos ext2 linux normal configfile serial terminal echo"

sample_layer() {
    local root=$IMAGES/stage.sample
    rm -rf "$root"
    stage_gateway "$root"
    # Omit fastpathd-ebpf: loading its programs is slow in emulation.
    rm -rf "$root/usr/libexec/fastpath-bpf" "$root/lib/bpf"
    install_package "$TOP/feeds/fastpath-base" "$root"
    cp -a "$LAB/sample/." "$root/"
    rm -f "$root/etc/config/firewall" "$root/root/.ssh/authorized_keys"
    ln -s /etc/dropbear/authorized_keys "$root/root/.ssh/authorized_keys"
    # Only root, without a password, as at a first boot.
    sed -i '/^viewer:/d' "$root/etc/passwd" "$root/etc/group" "$root/etc/shadow"
    sed -i 's/^root:[^:]*:/root::/' "$root/etc/shadow"
    seal sample "$root"
}

# sectors FILE: prints the size in sectors, rounded up to MiB with at least one byte to spare.
sectors() { echo $((($(stat -c %s "$1") / 1048576 + 1) * 2048)); }

sample_boot() {
    local stage=$IMAGES/stage.boot
    rm -rf "$stage"
    mkdir -p "$stage/boot/grub"
    cp "$IMAGES/vmlinuz" "$stage/boot/vmlinuz"
    cp "$IMAGES/initrd.cpio" "$stage/boot/initrd"
    cp "$LAB/sample/grub.cfg" "$stage/boot/grub/"
    rm -f "$IMAGES/boot.ext2"
    mke2fs -q -t ext2 -L kernel -d "$stage" "$IMAGES/boot.ext2" 24M
    rm -rf "$stage"
}

write_at() {
    dd if="$2" of="$3" bs=1M oflag=seek_bytes seek=$(($1 * 512)) conv=notrunc,sparse status=none
}

# little NUMBER: prints 32 bits as escaped little-endian bytes.
little() {
    printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($1 & 255)) $(($1 >> 8 & 255)) \
        $(($1 >> 16 & 255)) $(($1 >> 24))
}

# partition START SECTORS: prints a partition entry of type Linux without CHS addresses.
partition() { printf '%b' "\\x00\\xfe\\xff\\xff\\x83\\xfe\\xff\\xff$(little "$1")$(little "$2")"; }

build_sample() {
    local disk=$1 core=$IMAGES/core.img head=$IMAGES/sector.0 start=2048 file parts
    sample_layer
    sample_boot
    # shellcheck disable=SC2086 # one module per word
    grub-mkimage -O i386-pc -d "$GRUB" -p '(hd0,msdos1)/boot/grub' -o "$core" $GRUB_MODULES
    parts=("$IMAGES/boot.ext2" "$IMAGES/base.erofs" "$IMAGES/sample.erofs")
    head -c 446 "$GRUB/boot.img" >"$head"
    rm -f "$disk.new"
    for file in "${parts[@]}"; do
        partition "$start" "$(sectors "$file")" >>"$head"
        write_at "$start" "$file" "$disk.new"
        start=$((start + $(sectors "$file")))
    done
    truncate -s $((start * 512)) "$disk.new"
    head -c 16 /dev/zero >>"$head"
    printf '\x55\xaa' >>"$head"
    write_at 0 "$head" "$disk.new"
    write_at 1 "$core" "$disk.new"
    mv "$disk.new" "$disk"
    rm -f "$core" "$head" "$IMAGES/boot.ext2" "$IMAGES/sample.erofs"
}

sample() {
    images
    lock_images
    mkdir -p "$(dirname "$1")"
    step "sample of an image" build_sample "$(realpath -m "$1")"
    exec 9>&-
}
