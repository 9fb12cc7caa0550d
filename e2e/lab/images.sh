# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The machines' images. Needs paths.sh, and emulator.sh for `images`.
#
#   base.erofs   Debian with the packages of guest/packages, modules   slow, changes seldom
#   root/        the same as a folder, to run a program without a machine    "
#   vmlinuz      Debian's kernel; vmlinux is the same uncompressed        "
#   initrd.cpio  busybox and the modules that reach the root           "
#   gateway.erofs, peers.erofs   our files over the base               a second
#
# Each has a stamp with the hash of all it was made from, written last; files are moved into
# place whole, so an interrupted build leaves nothing that looks finished.

list() { sed 's/#.*//; /^ *$/d' "$1"; }

# fresh STAMP HASH: whether the file that STAMP belongs to was made from HASH.
fresh() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

# hash_of PATH…: of run bits and contents of the paths that exist, and of names below them. Not of
# where they are: all checkouts share the results of a build.
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

# The archive this machine's own apt uses, whatever release it runs.
debian_mirror() {
    # shellcheck disable=SC2016 # the variable is apt-get's own
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
        sed '/-security\/*$/d' | head -n 1
}

# build_base FOLDER
build_base() {
    local work=$1 mirror
    mirror=$(debian_mirror)
    # apt reports nothing about sources whose lists have been cleaned away.
    [ -n "$mirror" ] || { apt-get update -q && mirror=$(debian_mirror); }
    [ -n "$mirror" ] || { echo "no Debian archive in this machine's apt sources" >&2; return 1; }
    rm -rf "$work"
    mkdir -p "$work"
    # The hook runs on the finished root and leaves its results in /lab-out. Perl's modules come
    # with stunnel, and only a script of it needs them.
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

# shared NAME: a folder that all clones use, under FASTPATH_CACHE where that is set, else of this
# clone. Its name has the hash of its inputs.
shared() { echo "${FASTPATH_CACHE:-$IMAGES}/$1"; }

# in_shared FOLDER WHAT COMMAND…: FOLDER, which COMMAND… FOLDER fills when it is not there yet. It
# appears whole.
in_shared() {
    local folder=$1 what=$2
    shift 2
    [ ! -d "$folder" ] || return 0
    rm -rf "$folder.new"
    mkdir -p "${folder%/*}"
    step "$what" "$@" "$folder.new" || return
    # Two clones may have made it at the same time.
    mv -T "$folder.new" "$folder" || [ -d "$folder" ]
}

# zstd_from_kernel VMLINUZ: the ELF image inside; PVH starts it without a decompressor.
zstd_from_kernel() {
    local at
    at=$(LC_ALL=C grep -obUaP '\x28\xb5\x2f\xfd' "$1" | head -n 1 | cut -d : -f 1)
    [ -n "$at" ] || { echo "$1 holds no zstd stream" >&2; return 1; }
    # The bytes behind the stream are not zstd: the complaint about them means nothing.
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
    in_shared "$folder" "Debian root and kernel of the machines" build_base || return
    rm -rf "${IMAGES:?}/etc"
    # Links where they are on one disk: nobody writes into these files.
    cp -alf "$folder/." "$IMAGES/" 2>/dev/null || cp -a "$folder/." "$IMAGES/"
    printf '%s' "$hash" >"$IMAGES/base.stamp"
}

# The machines' root as a folder of this machine, for programs that need no other kernel.
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

# The programs are those of the tests; PROGRAMS and STANDIN may name others.
PROGRAMS=${PROGRAMS:-$BUILD/cargo/debug}
STANDIN=${STANDIN:-$BUILD/cargo/debug/fastpath-standin}
# The programs for the kernel.
OBJECT=${OBJECT:-$BUILD/fastpath.o}
PAGE=${PAGE:-$TOP/ui/dist}

# install_package FOLDER ROOT: runs the install recipe of the OpenWrt package in FOLDER.
install_package() {
    local folder=$1 root=$2
    [ -f "$folder/Makefile" ] || return 0
    mkdir -p "$IMAGES/stage.bin/bin"
    make -s --no-print-directory -C "$folder" TOPDIR="$LAB/openwrt" DESTDIR="$root" \
        BUILD_DIR="$IMAGES/stage.build" PKG_INSTALL_DIR="$IMAGES/stage.bin" \
        FASTPATH_PAGE="$PAGE" lab-install
}

# add_users ROOT: the users that packages ask for (USERID) and the page's read-only viewer.
add_users() {
    local root=$1 etc=$IMAGES/etc name group id=900 user
    cp "$etc/passwd" "$etc/group" "$root/etc/"
    awk -v hash="$(password fastpath)" 'BEGIN { FS = OFS = ":" } $1 == "root" { $2 = hash } 1' \
        "$etc/shadow" >"$root/etc/shadow"
    # NAME:GROUP, several in a line if a package has more than one.
    # shellcheck disable=SC2013 # split at spaces, too
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

# A fixed salt keeps the image a function of its sources.
password() { openssl passwd -6 -salt fastpathlab "$1"; }

# stage_common ROLE ROOT
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
    seal peers "$root"
}

# stage_gateway ROOT: the gateway's own files.
stage_gateway() {
    local root=$1
    rm -rf "$root" "$IMAGES/stage.bin" "$IMAGES/stage.build"
    mkdir -p "$root"
    if [ -x "$PROGRAMS/fastpath" ]; then
        install -D "$PROGRAMS/fastpath" "$IMAGES/stage.bin/bin/fastpath"
        install -D -m 644 "$OBJECT" "$IMAGES/stage.build/fastpathd/fastpath.o"
        install_package "$TOP/feeds/fastpathd" "$root"
    fi
    # The program itself is in the base, from Debian.
    install_package "$TOP/suricata-pkg" "$root"
    # As in OpenWrt's package without its switch for Hyperscan, whose compiler takes most of the
    # time of each test of a configuration and of each start in emulation.
    sed -i 's/^mpm-algo: auto$/mpm-algo: ac/; s/^spm-algo: auto$/spm-algo: bm/' \
        "$root/etc/suricata/suricata.yaml"
    [ ! -d "$PAGE" ] || install_package "$TOP/luci-app-fastpath" "$root"
    stage_common gateway "$root"
    add_users "$root"
    # The gateway trusts the ISP's certificate.
    mkdir -p "$root/etc/ssl/certs"
    openssl x509 -in "$IMAGES/tls.pem" -out "$root/etc/ssl/certs/ca-certificates.crt"
    [ ! -x "$STANDIN" ] || install -D -m 755 "$STANDIN" "$root/usr/sbin/fastpath-standin"
    rm -rf "$root/usr/lib/lab" "$IMAGES/stage.bin" "$IMAGES/stage.build"
}

build_gateway() {
    stage_gateway "$IMAGES/stage.gateway"
    seal gateway "$IMAGES/stage.gateway"
}

# seal NAME ROOT: root becomes NAME.erofs, owned by root whichever user builds.
seal() {
    local name
    # Debian's /bin, /lib and /sbin are links into /usr; a folder in the layer would hide them.
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

# Keys for ssh to the machines, and the certificate of the web servers.
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

# One build of images at a time, for all callers.
lock_images() {
    mkdir -p "$IMAGES"
    exec 9>"$IMAGES/lock"
    flock -n 9 || { say "  … waiting for another build of the images"; flock 9; }
}

# The progress goes to stderr: stdout is the answer.
root() {
    lock_images >&2
    # Not joined by &&: a failure within the first would pass unseen.
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
    image_base
    image_layer peers "$IMAGES/tls.pem"
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
