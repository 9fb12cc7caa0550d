# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the lab as one user-mode Linux machine: a process with one CPU, without emulation. Gateway
# and peers are namespaces (uml/init). Needs the other parts; see `lab`.
# $RUN has machine (kernel messages), gateway.console, peers.console, control (pipe with arguments
# for uml/init), and NAME.ssh and NAME.http (sockets of the machine's ports).

# uml_folder: prints the kernel's folder, named by configuration and versions. All clones share it
# if FASTPATH_CACHE is set.
uml_folder() {
    local key
    key=$({
        cat "$LAB/uml/config" "$LAB/uml/modules" "$LAB/uml/openwrt.patch" "$LAB"/uml/switch/* \
            "$IMAGES/uml.packages"
        declare -f build_uml uml_modules
    } | sha256sum)
    echo "${FASTPATH_CACHE:-$IMAGES}/uml-${key:0:16}"
}

uml_apt() { apt_in "$IMAGES/uml.apt" "$@"; }

# uml_sources: prints apt sources. Point releases may exist only in the security archive.
uml_sources() {
    local mirror suite
    mirror=$(debian_mirror)
    [ -n "$mirror" ] || { echo "no Debian archive in this machine's apt sources"; return 1; }
    for suite in trixie trixie-updates; do echo "deb $mirror $suite main"; done
    # shellcheck disable=SC2016 # expanded by apt-get
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian-Security' |
        sed -n '1s/.*/deb & trixie-security main/p'
}

# uml_versions: records package versions when the machines' root is new: the kernel as a program,
# its sources, and its C library.
uml_versions() {
    local dir=$IMAGES/uml.apt kernel package
    rm -rf "$dir"
    mkdir -p "$dir"
    uml_sources >"$dir/sources.list"
    uml_apt apt-get update
    kernel=$(uml_apt apt-cache show user-mode-linux |
        sed -n 's/^Built-Using: .*\<linux (= \([^)]*\)).*/\1/p' | head -n 1)
    for package in user-mode-linux libc6; do
        uml_apt apt-cache show --no-all-versions "$package" | sed -n "s/^Version: /$package=/p"
    done >"$IMAGES/uml.packages.new"
    # Sources of another version rarely fit the kernel; see check_uml.
    echo "linux-source-$(cut -d . -f 1,2 <<<"$kernel")=$kernel" >>"$IMAGES/uml.packages.new"
    mv "$IMAGES/uml.packages.new" "$IMAGES/uml.packages"
    cp "$IMAGES/base.stamp" "$IMAGES/uml.asked"
}

built() { list "$LAB/uml/modules" | sed -n '\|/|p'; }

# build_uml FOLDER: builds kernel, modules and C library. Only modules missing in Debian are
# compiled, mostly netfilter's, in a tenth of the time of a kernel.
build_uml() {
    local work=$1.work release package source make
    rm -rf "$work"
    mkdir -p "$work/built"
    # shellcheck disable=SC2046 # one package per word
    (cd "$work" && uml_apt apt-get download $(cat "$IMAGES/uml.packages"))
    for package in user-mode-linux libc6; do
        dpkg-deb -x "$work/$package"_*.deb "$work/$package"
    done
    # Omit unused folders and all drivers but WireGuard and virtual radios: three quarters of it.
    dpkg-deb --fsys-tarfile "$work"/linux-source-*.deb |
        tar -xO --wildcards '*/linux-source-*.tar.xz' | xz -dc -T0 |
        tar -x -C "$work" --exclude='*/drivers/[!n]*.[ch]' --exclude='*/drivers/n[!e]*.[ch]' \
            --exclude='*/drivers/net/[!w]*.[ch]' --exclude='*/drivers/net/w[!i]*.[ch]' \
            --exclude='*/drivers/net/wireless/[!v]*.[ch]' --exclude='*/sound/*.[ch]' \
            --exclude='*/fs/*/*.[ch]' --exclude='*/Documentation/*/*.*' --exclude='*.dts*'
    source=$(echo "$work"/linux-source-*/)
    patch -s -d "$source" -p1 <"$LAB/uml/openwrt.patch"
    cp -r "$LAB/uml/switch" "$work/"
    release=$(basename "$work"/user-mode-linux/usr/lib/uml/modules/*)
    zcat "$work/user-mode-linux/usr/share/doc/user-mode-linux/config.gz" |
        cat - "$LAB/uml/config" >"$work/built/.config"
    # modpost must only warn about symbols of the kernel program.
    make=(make -s -C "$source" ARCH=um O="$work/built" -j "$(nproc)" KBUILD_MODPOST_WARN=1)
    "${make[@]}" olddefconfig
    uml_lacks "$work/built/.config"
    "${make[@]}" modules_prepare
    # shellcheck disable=SC2046 # one module per word
    "${make[@]}" $(built | sed 's/$/.ko/')
    "${make[@]}" M="$work/switch"
    uml_modules "$work" "$release"
    mkdir "$work/done/lib"
    cp "$work/user-mode-linux/usr/bin/linux.uml" "$work/done/linux"
    cp -a "$work"/libc6/usr/lib/x86_64-linux-gnu/*.so* "$work/done/lib/"
    mv "$work/done" "$1"
    rm -rf "$work"
}

uml_modules() {
    local packaged=$1/user-mode-linux/usr/lib/uml/modules/$2 to=$1/done/uml/usr/lib/modules/$2
    local name ours
    # A subfolder, because the daemon searches OpenWrt's flat folder for modules.
    mkdir -p "$to/kernel" "$1/lib"
    ln -s "${packaged%/*}" "$1/lib/modules"
    # shellcheck disable=SC2046 # one module per word
    modprobe -d "$1" -S "$2" --show-depends -a $(list "$LAB/uml/modules" | sed '\|/|d') |
        awk '$1 == "insmod" { print $2 }' | sort -u | xargs cp -t "$to/kernel"
    ours=$(built | sed 's|.*/||')
    # Debian's modules must not depend on our builds, whose structures may differ.
    for name in $(modinfo -F depends "$to"/kernel/*.ko | tr , ' '); do
        ! grep -qx "$name" <<<"$ours" || { echo "$name is built, its users are not" && return 1; }
    done
    for name in $(built); do cp "$1/built/$name.ko" "$to/kernel/"; done
    cp "$1"/switch/*.ko "$to/kernel/"
    cp "$packaged"/modules.order "$packaged"/modules.builtin* "$to/"
    depmod -b "$1/done/uml/usr" "$2"
}

uml_lacks() {
    local option status=0
    while read -r option; do
        grep -qx "$option" "$1" || { echo "the kernel's sources do not take $option" && status=1; }
    done < <(list "$LAB/uml/config")
    return "$status"
}

# uml_initrd FILE FOLDER: writes an archive that extends the initrd.
uml_initrd() {
    local root=$1.stage
    rm -rf "$root"
    mkdir -p "$root"/{sys,disk,gateway,peers} "$root"/layer/{gateway,peers}
    install -m 755 "$LAB/uml/init" "$LAB/uml/check" "$root/"
    cp -a "$2/uml" "$root/"
    ln -s uml/usr/lib "$root/lib"
    (cd "$root" && find . | cpio -o -H newc --quiet -R 0:0) | cat "$IMAGES/initrd.cpio" - >"$1.new"
    mv "$1.new" "$1"
    rm -rf "$root"
}

uml_state() {
    gcc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$1/xstate.so.new" "$LAB/uml/xstate.c" &&
        mv "$1/xstate.so.new" "$1/xstate.so"
}

# check_uml FOLDER: tests whether the modules fit the kernel: the stable series sometimes changes
# structures.
check_uml() {
    local work=$1.check
    rm -rf "$work"
    mkdir "$work"
    uml_initrd "$work/initrd" "$1"
    cd "$work" || return
    timeout 60 setpriv --pdeathsig KILL "$LAB/uml/run" "$1" mem=256M umid=check uml_dir=./ quiet \
        panic=-1 initrd=initrd rdinit=/check ubd0r="$IMAGES/base.erofs" \
        con=null con0=null,fd:1 ssl=null </dev/null >console 2>&1 || true
    cat console
    if ! grep -q '^MODULES FIT' console; then
        echo "netfilter's modules do not fit the kernel they are for:"
        cat "$IMAGES/uml.packages"
        echo "The emulated machines need none of this: --machine qemu"
        return 1
    fi
    rm -rf "$work"
    touch "$1/fits"
}

image_uml() {
    local folder
    need_packages "the user-mode machine" flex bison bc libelf-dev gcc kmod iproute2 patch
    fresh "$IMAGES/uml.asked" "$(cat "$IMAGES/base.stamp")" ||
        step "versions of the user-mode machine's packages" uml_versions
    folder=$(uml_folder)
    in_shared "$folder" "modules of the user-mode machine" build_uml
    [ "$folder/xstate.so" -nt "$LAB/uml/xstate.c" ] ||
        step "registers of the user-mode machine" uml_state "$folder"
    [ -e "$folder/fits" ] || step "first boot of the user-mode machine" check_uml "$folder"
    uml_initrd "$IMAGES/uml.cpio" "$folder"
}

# front NAME.KIND PORT: opens a host port that leads to the machine's PORT. A socket file connects
# the two network namespaces.
front() {
    local address=10.0.2.15
    [ "${1%.*}" = gateway ] || address=10.0.2.16
    "${INSIDE[@]}" socat "UNIX-LISTEN:$1,fork,unlink-early" "TCP:$address:$2" &
    setpriv --pdeathsig KILL socat -dd "TCP-LISTEN:0,bind=127.0.0.1,fork,reuseaddr" \
        "UNIX-CONNECT:$1" 2>"$1.listen" &
}

# own_cpu: prints a permitted CPU, LAB_CPU or a random one. The kernel and its traced processes
# alternate; on two CPUs each switch waits for a wake-up, and programs start five times more slowly.
own_cpu() {
    local from to cpus=()
    while IFS=- read -r from to; do
        mapfile -t -O ${#cpus[@]} cpus < <(seq "$from" "${to:-$from}")
    done < <(taskset -cp $$ | sed 's/.*: //; s/,/\n/g')
    echo "${cpus[${LAB_CPU:-RANDOM} % ${#cpus[@]}]}"
}

# machine_uml: starts the machine in the background. It ends when gateway or peers power off.
machine_uml() {
    local name layer layers=() nets=() number=0 mac whole=
    for name in gateway peers; do
        mac=52:54:00:0$((number + 1)):00:00
        nets+=("vec$number:transport=tap,ifname=$name,mac=$mac,depth=128")
        number=$((number + 1))
        layer=$IMAGES/$name
        if [ "$name${LAB_ROOT:+ whole}" = "gateway whole" ]; then
            layer=$(userland) whole=whole
        fi
        layers+=("ubd${number}r=$layer.erofs")
    done
    # Second disk, on which tests inspect copies of the first.
    truncate -s 512M second.disk
    # shellcheck disable=SC2086 # a word or none
    "${INSIDE[@]}" taskset -c "$(own_cpu)" "$LAB/uml/run" "$(uml_folder)" quiet panic=-1 $whole \
        "${LAB_KERNEL:-openwrt}" mem=1152M uml_dir=./ umid=uml \
        initrd="$IMAGES/uml.cpio" ubd0r="$IMAGES/base.erofs" "${layers[@]}" \
        ubd3=gateway.disk ubd4=second.disk "${nets[@]}" \
        con=null con0=null,fd:1 ssl=null ssl0=null,fd:7 ssl1=fd:8,null \
        </dev/null >>gateway.console 7>>peers.console 8<>control 2>>machine &
    echo $! | tee gateway.pid >peers.pid
}

own_network() { [ "$(readlink "/proc/$SPACE/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
end_children() { jobs -p | xargs -r kill 2>/dev/null; }

# end_group: kills the machine's process group. A process stopped before being traced would keep the
# lock of the disk.
end_group() {
    kill -KILL -- "-$(cat gateway.pid)" 2>/dev/null || true
    poll 30 unlocked gateway.disk || true
}
unlocked() { ! grep -q ":$(stat -c %i "$1") " /proc/locks; }

keep_uml() {
    echo $$ >"$RUN/keeper.pid"
    cd "$RUN" || return
    trap 'end_children; exit 1' TERM INT
    local alone=(unshare --net) enter=(--net)
    # Without root, use a user namespace.
    [ "$(id -u)" = 0 ] || { alone+=(--map-root-user) && enter+=(--user --preserve-credentials); }
    "${alone[@]}" setpriv --pdeathsig KILL sleep infinity &
    SPACE=$!
    poll 5 own_network
    # Network namespace of this lab's machine and its sockets.
    INSIDE=(nsenter -t "$SPACE" "${enter[@]}" setpriv --pdeathsig KILL)
    # The machine's driver drops GSO packets.
    "${INSIDE[@]}" ip -b - <<END
tuntap add gateway mode tap
tuntap add peers mode tap
link set gateway gso_max_segs 1 up
link set peers gso_max_segs 1 up
address add 10.0.2.2/32 dev gateway
address add 10.0.2.2/32 dev peers
route add 10.0.2.15 dev gateway
route add 10.0.2.16 dev peers
END
    mkfifo control
    exec 9<>control
    make_disk gateway
    front gateway.SSH 22
    front gateway.HTTP 80
    front peers.SSH 22
    while :; do
        machine_uml
        wait "$(cat gateway.pid)" || true
        end_group
        is_rebooting || break
        rm -f gateway.console peers.console
        wait_for_power
    done
    end_children
    wait
}

# fronted MACHINE KIND: prints the host port once socat has logged it.
fronted() { sed -n 's/.* listening on .*:\([0-9]*\)$/\1/p' "$RUN/$1.$2.listen" 2>/dev/null; }
