# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs an OpenWrt image for x86-64, LAB_IMAGE, as the gateway. Needs paths.sh, images.sh and
# verbs.sh.
# The image boots as on a PC with BIOS, with its own boot loader and kernel; QEMU discards all
# writes. A second disk is a tar archive with image/setup, which a line typed on the serial console
# unpacks and runs.

# Maximum wait for a root shell on the serial console, in seconds.
LOGIN_LIMIT=${LOGIN_LIMIT:-180}

# Tools of the tests, which a router may lack.
TOOLS="bpftool bridge conntrack curl date ethtool ip nsenter ping pkill setpriv socat ss suricatasc"
TOOLS+=" taskset tc tcpdump unshare"

image_disk() {
    local file=$1 disk tool
    [ -f "$file" ] || die "there is no image $file; './build.sh firmware x86-64' makes one in" \
        "build/images/x86-64"
    case $file in
        *.gz) tool=gzip ;;
        *.xz) tool=xz ;;
        *)
            realpath "$file"
            return
            ;;
    esac
    disk=$IMAGES/unpacked/$(printf '%s ' "$(realpath "$file")" "$(stat -c '%s %Y' "$file")" |
        sha256sum | cut -c 1-16).img
    if [ ! -f "$disk" ]; then
        rm -rf "$IMAGES/unpacked"
        mkdir -p "$IMAGES/unpacked"
        unpack "$tool" "$file" "$disk" ||
            die "$file cannot be unpacked: $(grep -m 1 . "$disk.errors")"
    fi
    echo "$disk"
}

# unpack gzip|xz FILE DISK: decompresses FILE. gzip exits with 2 (warning) because of OpenWrt's
# metadata at the end.
unpack() {
    local status=0
    "$1" -dc "$2" >"$3.new" 2>"$3.errors" || status=$?
    [ "$status" = 0 ] || { [ "$1" = gzip ] && [ "$status" = 2 ] && [ -s "$3.new" ]; } || return 1
    mv "$3.new" "$3"
}

check_disk() {
    local magic
    magic=$(od -An -tx1 -N 4 "$1" | tr -d ' \n')
    case $magic in
        514649fb | 4b444d56 | 76686478 | 3c3c3c20)
            die "$2 is the disk of another virtual machine; the lab takes the raw image" \
                "(openwrt-…-x86-64-generic-…-combined.img or .img.gz)"
            ;;
        68737173) die "$2 is a root file system; the lab takes the whole disk (…-combined.img)" ;;
    esac
    if [ "$(od -An -tx1 -j 510 -N 2 "$1" 2>/dev/null | tr -d ' \n')" != 55aa ] ||
        ! od -An -v -tx1 -j 446 -N 64 "$1" | grep -q '[1-9a-f]'; then
        die "$2 is not a disk image: its first sector has no partition table" \
            "(wanted: openwrt-…-x86-64-generic-…-combined.img, or that as .gz or .xz)"
    fi
}

image_ready() {
    LAB_DISK=$(image_disk "$1")
    check_disk "$LAB_DISK" "$1"
    export LAB_DISK
}

# tool_files TOOL…: prints the paths of these programs in the machines' root and of their libraries.
tool_files() {
    # shellcheck disable=SC2153 # set by paths.sh
    local loader=$ROOT/usr/lib64/ld-linux-x86-64.so.2 tool path
    for tool; do
        for path in "$ROOT/usr/sbin/$tool" "$ROOT/usr/bin/$tool"; do
            [ -x "$path" ] || continue
            echo "$path"
            "$loader" --library-path "$ROOT/usr/lib/x86_64-linux-gnu" --list "$path" |
                awk '$2 == "=>" { print $3 }'
            break
        done
    done | sort -u
    readlink -f "$loader"
}

build_medium() {
    local stage=$IMAGES/stage.medium lab file
    lab=$stage/lab
    rm -rf "$stage"
    mkdir -p "$lab/tools/lib" "$lab/config"
    cp "$LAB/image/"* "$lab/"
    cp "$LAB/gateway/lab/"*.nft "$LAB/gateway/lab/dhcp.leases" "$lab/"
    cp "$LAB/gateway/etc/config/network" "$LAB/gateway/etc/config/firewall" "$lab/config/"
    cp "$IMAGES/id.pub" "$lab/authorized_keys"
    openssl x509 -in "$IMAGES/tls.pem" -out "$lab/isp.pem"
    {
        echo "root:$(password fastpath)"
        echo "viewer:$(password look)"
    } >"$lab/passwords"
    # shellcheck disable=SC2086 # one tool per word
    tool_files $TOOLS | while read -r file; do
        case $file in
            */ld-linux*) cp -L "$file" "$lab/tools/loader" ;;
            */lib/*) cp -L "$file" "$lab/tools/lib/" ;;
            *) cp -L "$file" "$lab/tools/" ;;
        esac
    done
    tar -C "$stage" --owner=0 --group=0 --format=gnu -cf "$IMAGES/medium.tar.new" lab
    mv "$IMAGES/medium.tar.new" "$IMAGES/medium.tar"
    rm -rf "$stage"
}

image_medium() {
    local hash
    hash=$(hash_of "$LAB/image" "$LAB/image.sh" "$LAB/gateway/lab" "$LAB/gateway/etc/config" \
        "$IMAGES/base.stamp" "$IMAGES/id.pub" "$IMAGES/tls.pem")
    fresh "$IMAGES/medium.stamp" "$hash" && [ -f "$IMAGES/medium.tar" ] && return
    rm -f "$IMAGES/medium.stamp"
    image_root
    step "the lab's set-up for an image" build_medium
    printf '%s' "$hash" >"$IMAGES/medium.stamp"
}

# Sets BOOT to QEMU's arguments. The console is a socket and a file.
# shellcheck disable=SC2034 # machines.sh uses BOOT
image_boot() {
    BOOT=(-drive "if=none,id=disk,file=$LAB_DISK,format=raw,snapshot=on,cache=unsafe"
        -device "virtio-blk-pci,drive=disk,bootindex=1"
        -drive "if=none,id=medium,file=$IMAGES/medium.tar,format=raw,readonly=on"
        -device "virtio-blk-pci,drive=medium"
        -chardev "socket,id=tty,path=$1.tty,server=on,wait=off,logfile=$1.console"
        -serial chardev:tty)
}

type_line() {
    (cd "$RUN" && printf '%s\n' "$1" | socat -t 0.2 - UNIX-CONNECT:gateway.tty) >/dev/null 2>&1
}

console_end() {
    tail -c 400 "$RUN/$1.console" 2>/dev/null | tr -d '\r' |
        sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g; s/\x1b][^\a]*\a//g'
}

# image_set_up: starts the setup on the serial console once there is a shell; otherwise sets WHY.
# Enter is harmless in a boot loader, OpenWrt's failsafe prompt and a shell.
image_set_up() {
    local end=$((SECONDS + LOGIN_LIMIT)) last
    while [ "$SECONDS" -lt "$end" ] && alive gateway; do
        last=$(console_end gateway | tail -n 1)
        case $last in
            *[#\$]" ")
                # QEMU's second disk.
                type_line "tar -xf /dev/vdb -C / && sh /lab/setup"
                return
                ;;
            *ogin:" ")
                WHY="the image asks for a login on its serial console; the lab needs OpenWrt's"
                WHY+=" default, a root shell after Enter (ttylogin off)"
                return 1
                ;;
        esac
        type_line ""
        sleep 1
    done
    if alive gateway; then
        WHY="no root shell on the image's serial console (ttyS0) within $LOGIN_LIMIT s"
    else
        WHY="the machine with the image has ended"
    fi
    WHY+="; the console's last lines:"$'\n'"$(console_end gateway | tail -n 8 | sed 's/^/    /')"
    return 1
}

image_errors() {
    tr -d '\r' <"$RUN/gateway.console" 2>/dev/null | sed -n 's/^LAB FAILED: /    /p'
}
