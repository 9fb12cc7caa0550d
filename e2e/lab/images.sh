# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the images of the machines. Needs paths.sh, and emulator.sh for `images`.
#
#   base.erofs   Debian with the packages of guest/packages, modules   slow, rarely changed
#   root/        the same as a folder, to run a program without a machine    "
#   vmlinuz      Debian's kernel; vmlinux is the same uncompressed           "
#   initrd.cpio  busybox and the modules that mount the root                 "
#   gateway.erofs, peers.erofs   our files over the base                     a second
#
# An image's stamp is the hash of its inputs. Images and then stamps are renamed into place, so that
# interrupted builds leave nothing incomplete.

list() { sed 's/#.*//; /^ *$/d' "$1"; }

fresh() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

# hash_of PATH…: hashes modes, contents and relative names below existing paths. The location is
# excluded, because checkouts share results.
hash_of() {
    local path name number=0
    for path; do
        number=$((number + 1))
        [ -e "$path" ] || continue
        find -L "$path" -type f -printf '%m /%P\0' | sort -z -k 2 |
            while IFS= read -r -d '' entry; do
                name=${entry#* }
                printf '%s %s ' "$number" "$entry"
                sha256sum <"$path${name%/}"
            done
    done | sha256sum | cut -d ' ' -f 1
}

debian_mirror() {
    # shellcheck disable=SC2016 # expanded by apt-get
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
        sed '/-security\/*$/d' | head -n 1
}

build_base() {
    local work=$1 mirror
    mirror=$(debian_mirror)
    # Without package lists apt reports no sources.
    [ -n "$mirror" ] || { apt-get update -q && mirror=$(debian_mirror); }
    [ -n "$mirror" ] || { echo "no Debian archive in this machine's apt sources" >&2; return 1; }
    rm -rf "$work"
    mkdir -p "$work"
    # The hook writes to /lab-out. Perl's modules, a dependency of stunnel, are unused.
    mmdebstrap --variant=apt --include="$(list "$LAB/guest/packages" | paste -sd,)" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
        --dpkgopt='path-exclude=/usr/share/perl/*' --dpkgopt='path-exclude=/usr/lib/*/perl/*' \
        --setup-hook="upload '$LAB/guest/preferences' /etc/apt/preferences.d/lab" \
        --customize-hook="'$LAB/base-hook' \"\$1\" '$LAB'" \
        --customize-hook="sync-out /lab-out '$work'" \
        trixie /dev/null "deb $mirror trixie main" "deb $mirror trixie-backports main"
    zstd_from_kernel "$work/vmlinuz" >"$work/vmlinux"
}

# shared NAME: prints a folder for results; all clones share it if FASTPATH_CACHE is set. NAME
# contains a hash of the inputs.
shared() { echo "${FASTPATH_CACHE:-$IMAGES}/$1"; }

# in_shared FOLDER TITLE COMMAND…: runs COMMAND… to create a missing FOLDER, and renames it into
# place. Other clones wait. `|| return` after it would disable `set -e` in COMMAND.
in_shared() {
    local folder=$1 what=$2 lock
    shift 2
    [ ! -d "$folder" ] || return 0
    mkdir -p "${folder%/*}"
    exec {lock}>"$folder.lock"
    flock "$lock"
    if [ ! -d "$folder" ]; then
        rm -rf "$folder.new"
        step "$what" "$@" "$folder.new"
        mv -T "$folder.new" "$folder"
    fi
    exec {lock}>&-
}

# zstd_from_kernel VMLINUZ: prints the ELF image, which PVH boots without decompression.
zstd_from_kernel() {
    local at
    at=$(LC_ALL=C grep -obUaP '\x28\xb5\x2f\xfd' "$1" | head -n 1 | cut -d : -f 1)
    [ -n "$at" ] || { echo "$1 holds no zstd stream" >&2; return 1; }
    # zstd fails on data after the stream.
    tail -c "+$((at + 1))" "$1" | zstd -dcq 2>/dev/null || true
}

image_base() {
    local hash folder
    hash=$(declare -f build_base | cat - <(hash_of "$LAB/guest/packages" "$LAB/guest/preferences" \
        "$LAB/guest/modules" "$LAB/guest/initramfs" "$LAB/base-hook") | sha256sum)
    fresh "$IMAGES/base.stamp" "$hash" && return
    rm -f "$IMAGES/base.stamp"
    folder=$(shared "debian-${hash:0:16}")
    find "$IMAGES" -maxdepth 1 -name 'debian-*' ! -path "$folder" -exec rm -rf {} +
    in_shared "$folder" "Debian root and kernel of the machines" build_base
    rm -rf "${IMAGES:?}/etc"
    # Hard links suffice, because the files are never written.
    cp -alf "$folder/." "$IMAGES/" 2>/dev/null || cp -a "$folder/." "$IMAGES/"
    printf '%s' "$hash" >"$IMAGES/base.stamp"
}

build_root() {
    rm -rf "${ROOT:?}" "$ROOT.new"
    fsck.erofs --extract="$ROOT.new" "$IMAGES/base.erofs"
    mkdir -p "$ROOT.new"/{dev,proc,sys,tmp,run} "$ROOT.new$TOP"
    mv "$ROOT.new" "$ROOT"
}

image_root() {
    fresh "$IMAGES/root.stamp" "$(cat "$IMAGES/base.stamp") $TOP" && [ -d "$ROOT" ] && return
    step "root folder of the machines" build_root
    printf '%s' "$(cat "$IMAGES/base.stamp") $TOP" >"$IMAGES/root.stamp"
}

# Programs for the lab, by default from the tests' build.
PROGRAMS=${PROGRAMS:-$BUILD/cargo/debug}
STANDIN=${STANDIN:-$BUILD/cargo/debug/fastpath-standin}
OBJECT=${OBJECT:-$BUILD/fastpath.o}
PAGE=${PAGE:-$TOP/ui/dist}

install_package() {
    local folder=$1 root=$2
    [ -f "$folder/Makefile" ] || return 0
    mkdir -p "$IMAGES/stage.bin/bin"
    make -s --no-print-directory -C "$folder" TOPDIR="$LAB/openwrt" DESTDIR="$root" \
        BUILD_DIR="$IMAGES/stage.build" PKG_INSTALL_DIR="$IMAGES/stage.bin" \
        FASTPATH_PAGE="$PAGE" lab-install
}

add_users() {
    local root=$1 etc=$IMAGES/etc name group id=900 user
    cp "$etc/passwd" "$etc/group" "$root/etc/"
    awk -v hash="$(password fastpath)" 'BEGIN { FS = OFS = ":" } $1 == "root" { $2 = hash } 1' \
        "$etc/shadow" >"$root/etc/shadow"
    # Entries are NAME:GROUP, possibly several per line.
    # shellcheck disable=SC2013 # split at spaces
    for user in $(cat "$root"/usr/lib/lab/userid/* 2>/dev/null); do
        name=${user%%:*} group=${user#*:}
        id=$((id + 1))
        echo "$name:x:$id:$id:$name:/var/run/$name:/bin/false" >>"$root/etc/passwd"
        echo "$group:x:$id:" >>"$root/etc/group"
        echo "$name:*:0:0:99999:7:::" >>"$root/etc/shadow"
    done
    echo "viewer:x:1000:1000:may only look:/tmp:/usr/sbin/nologin" >>"$root/etc/passwd"
    echo "viewer:x:1000:" >>"$root/etc/group"
    echo "viewer:$(password look):0:0:99999:7:::" >>"$root/etc/shadow"
    chmod 600 "$root/etc/shadow"
}

# A fixed salt for reproducible images.
password() { openssl passwd -6 -salt fastpathlab "$1"; }

stage_common() {
    mkdir -p "$2/lab" "$2/root/.ssh" "$2/etc/dropbear"
    cp -a "$LAB/$1/." "$2/"
    cp "$LAB/guest/init" "$2/lab/init"
    cp "$IMAGES/id.pub" "$2/root/.ssh/authorized_keys"
    chmod 700 "$2/root" "$2/root/.ssh"
    chown -R 0:0 "$2" 2>/dev/null || true
}

build_peers() {
    local root=$IMAGES/stage.peers
    rm -rf "$root"
    stage_common peers "$root"
    install -m 600 "$IMAGES/tls.pem" "$root/lab/"
    gcc -O2 -static -Wall -Wextra "$TOP/e2e/bench/frames.c" -o "$root/lab/frames"
    seal peers "$root"
}

stage_gateway() {
    local root=$1
    rm -rf "$root" "$IMAGES/stage.bin" "$IMAGES/stage.build"
    mkdir -p "$root"
    if [ -x "$PROGRAMS/fastpath" ]; then
        install -D "$PROGRAMS/fastpath" "$IMAGES/stage.bin/bin/fastpath"
        install -D -m 644 "$OBJECT" "$IMAGES/stage.build/fastpathd/fastpath.o"
        install_package "$TOP/feeds/fastpathd" "$root"
    fi
    # Suricata's program is Debian's, in the base.
    install_package "$TOP/suricata-pkg" "$root"
    # Pattern matchers of a build without Hyperscan, because compiling its patterns dominates each
    # start in emulation.
    sed -i 's/^mpm-algo: auto$/mpm-algo: ac/; s/^spm-algo: auto$/spm-algo: bm/' \
        "$root/etc/suricata/suricata.yaml"
    [ ! -d "$PAGE" ] || install_package "$TOP/luci-app-fastpath" "$root"
    stage_common gateway "$root"
    add_users "$root"
    mkdir -p "$root/etc/ssl/certs"
    openssl x509 -in "$IMAGES/tls.pem" -out "$root/etc/ssl/certs/ca-certificates.crt"
    [ ! -x "$STANDIN" ] || install -D -m 755 "$STANDIN" "$root/usr/sbin/fastpath-standin"
    rm -rf "$root/usr/lib/lab" "$IMAGES/stage.bin" "$IMAGES/stage.build"
}

build_gateway() {
    stage_gateway "$IMAGES/stage.gateway"
    seal gateway "$IMAGES/stage.gateway"
}

# seal NAME ROOT: packs ROOT into NAME.erofs; root owns all files.
seal() {
    local name
    # Debian's /bin, /lib and /sbin are links, which folders of the layer would hide.
    for name in bin lib sbin; do
        [ -d "$2/$name" ] || continue
        mkdir -p "$2/usr/$name"
        cp -a "$2/$name/." "$2/usr/$name/"
        rm -rf "${2:?}/$name"
    done
    rm -f "$IMAGES/$1.erofs.new"
    mkfs.erofs --quiet -x-1 --all-root -T 0 "$IMAGES/$1.erofs.new" "$2"
    mv "$IMAGES/$1.erofs.new" "$IMAGES/$1.erofs"
    rm -rf "$2"
}

# image_counter: builds the plugin that counts the gateway's instructions.
image_counter() {
    local api=1
    ! at_least "$(emulator_version)" 9.0 || api=2
    # A running machine keeps the old file.
    gcc -O2 -Wall -Wextra -shared -fPIC -DAPI=$api "$TOP/e2e/bench/counts.c" \
        -o "$IMAGES/counts.so.new"
    mv "$IMAGES/counts.so.new" "$IMAGES/counts.so"
}

image_layer() {
    local name=$1 hash
    shift
    hash=$(hash_of "$LAB/$name" "$LAB/guest/init" "$LAB/images.sh" "$IMAGES/base.stamp" \
        "$IMAGES/id.pub" "$@")
    fresh "$IMAGES/$name.stamp" "$hash" && [ -f "$IMAGES/$name.erofs" ] && return
    rm -f "$IMAGES/$name.stamp"
    step "files of the $name" "build_$name"
    printf '%s' "$hash" >"$IMAGES/$name.stamp"
}

keys() {
    [ -f "$IMAGES/id.pub" ] || {
        rm -f "$IMAGES/id"
        ssh-keygen -q -t ed25519 -N '' -C lab -f "$IMAGES/id"
    }
    [ -f "$IMAGES/tls.pem" ] || {
        openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=lab.example \
            -addext "subjectAltName=DNS:lab.example,IP:203.0.113.1,IP:2001:db8:ffff::1" \
            -keyout "$IMAGES/tls.pem.new" -out "$IMAGES/tls.pem.new" 2>/dev/null
        mv "$IMAGES/tls.pem.new" "$IMAGES/tls.pem"
    }
}

lock_images() {
    mkdir -p "$IMAGES"
    exec 9>"$IMAGES/lock"
    flock -n 9 || { say "  … waiting for another build of the images"; flock 9; }
}

# root: prints the path of the root; progress goes to stderr.
root() {
    lock_images >&2
    # Separate statements: `set -e` ignores failures in an && list.
    image_base >&2
    image_root >&2
    [ "$(machine_kind)" != uml ] || image_uml >&2
    exec 9>&-
    echo "$ROOT"
}

images() {
    lock_images
    keys
    image_emulator
    image_counter
    image_base
    image_layer peers "$IMAGES/tls.pem" "$TOP/e2e/bench/frames.c"
    [ "$(machine_kind)" != uml ] || image_uml
    if [ -n "${LAB_IMAGE-}${LAB_ROUTER-}" ]; then
        image_medium
        [ -z "${LAB_ROOT-}" ] || image_openwrt
    else
        image_layer gateway "$LAB/openwrt" "$TOP/feeds/fastpathd/Makefile" \
            "$TOP/feeds/fastpathd/files" "$TOP/luci-app-fastpath" "$PAGE" "$STANDIN" \
            "$IMAGES/tls.pem" "$TOP/suricata-pkg" "$PROGRAMS/fastpath" "$OBJECT"
    fi
    exec 9>&-
}
