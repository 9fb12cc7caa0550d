# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The lab as one user-mode Linux machine: a process of this machine, without emulation, with one
# CPU. The gateway and its peers are namespaces of it (uml/init). Needs the other parts, see lab.
#
# $RUN holds machine (what the kernel said), gateway.console, peers.console, control (a pipe with
# words for uml/init), NAME.ssh and NAME.http (sockets in front of the machine's own ports).

# One kernel for all clones: under FASTPATH_CACHE where that is set.
# uml_folder: of this configuration and version.
uml_folder() {
    local key
    key=$({ cat "$LAB/uml/config" && declare -f build_uml && uml_version; } | sha256sum)
    echo "${FASTPATH_CACHE:-$IMAGES}/uml-${key:0:16}"
}

# The same sources as those of the emulated machines' kernel: 6.12.107 of 6.12.107+deb13-amd64.
uml_version() { sed 's/[+-].*//' "$IMAGES/kernel.release"; }

# build_uml FOLDER: the kernel, and the lists of what is built in.
build_uml() {
    local work=$1.new version mirror source
    version=$(uml_version)
    mirror=$(debian_mirror)
    rm -rf "$work"
    mkdir -p "$work/kernel"
    printf 'deb %s trixie main\ndeb %s trixie-updates main\n' "$mirror" "$mirror" \
        >"$work/sources.list"
    apt_in "$work" apt-get update
    (cd "$work" && apt_in "$work" apt-get download "linux-source-${version%.*}")
    dpkg-deb --fsys-tarfile "$work"/linux-source-*.deb |
        tar -xO --wildcards '*/linux-source-*.tar.xz' | tar -xJ -C "$work"
    source=$(echo "$work"/linux-source-*/)
    make -s -C "$source" ARCH=um O="$work/kernel" KCONFIG_ALLCONFIG="$LAB/uml/config" allnoconfig
    uml_lacks "$work/kernel/.config"
    make -s -C "$source" ARCH=um O="$work/kernel" -j "$(nproc)" linux modules
    mkdir "$work/done"
    strip -o "$work/done/linux" "$work/kernel/linux"
    cp "$work/kernel"/modules.builtin* "$work/kernel/modules.order" "$work/done/"
    find "$work/kernel" -name '*.ko' -exec cp -t "$work/done" {} +
    mv "$work/done" "$1"
    rm -rf "$work"
}

# uml_lacks CONFIG: an option that was asked for, and whose own needs are not met.
uml_lacks() {
    local option status=0
    while read -r option; do
        grep -qx "$option" "$1" || { echo "the kernel's sources do not take $option" && status=1; }
    done < <(list "$LAB/uml/config")
    return "$status"
}

image_uml() {
    local folder root=$IMAGES/stage.uml
    folder=$(uml_folder)
    need_packages "the user-mode machine" flex bison bc libelf-dev gcc iproute2
    [ -x "$folder/linux" ] || step "kernel of the user-mode machine" build_uml "$folder"
    rm -rf "$root"
    mkdir -p "$root"/{sys,disk,gateway,peers} "$root"/layer/{gateway,peers}
    install -D -m 644 -t "$root/modules.uml" "$folder"/modules.* "$folder"/*.ko
    install -m 755 "$LAB/uml/init" "$root/init"
    # An archive over the other one: busybox and the first folders are the same.
    (cd "$root" && find . | cpio -o -H newc --quiet -R 0:0) |
        cat "$IMAGES/initrd.cpio" - >"$IMAGES/uml.cpio"
    rm -rf "$root"
}

# front NAME.KIND PORT: a port of this machine for one of that machine's, in two steps: the two
# networks meet in a socket of the file system.
front() {
    local address=10.0.2.15
    [ "${1%.*}" = gateway ] || address=10.0.2.16
    "${INSIDE[@]}" socat "UNIX-LISTEN:$1,fork,unlink-early" "TCP:$address:$2" &
    setpriv --pdeathsig KILL socat -dd "TCP-LISTEN:0,bind=127.0.0.1,fork,reuseaddr" \
        "UNIX-CONNECT:$1" 2>"$1.listen" &
}

# machine_uml: in the background; ends when one side powers off.
machine_uml() {
    local name layers=() nets=() number=0 mac
    for name in gateway peers; do
        mac=52:54:00:0$((number + 1)):00:00
        nets+=("vec$number:transport=tap,ifname=$name,mac=$mac,depth=128")
        number=$((number + 1))
        layers+=("ubd${number}r=$IMAGES/$name.erofs")
    done
    "${INSIDE[@]}" "$(uml_folder)/linux" quiet panic=-1 mem=1152M uml_dir=./ umid=uml \
        initrd="$IMAGES/uml.cpio" ubd0r="$IMAGES/base.erofs" "${layers[@]}" ubd3=gateway.disk \
        "${nets[@]}" con=null con0=null,fd:1 ssl=null ssl0=null,fd:7 ssl1=fd:8,null \
        </dev/null >>gateway.console 7>>peers.console 8<>control 2>>machine &
    echo $! | tee gateway.pid >peers.pid
}

own_network() { [ "$(readlink "/proc/$SPACE/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
end_children() { jobs -p | xargs -r kill 2>/dev/null; }

# keep_uml: the parent of the machine; ends with it, and it with this.
keep_uml() {
    echo $$ >"$RUN/keeper.pid"
    cd "$RUN" || return
    trap 'end_children; exit 1' TERM INT
    local alone=(unshare --net) enter=(--net)
    # Whoever is not root is root in there.
    [ "$(id -u)" = 0 ] || { alone+=(--map-root-user) && enter+=(--user --preserve-credentials); }
    "${alone[@]}" setpriv --pdeathsig KILL sleep infinity &
    SPACE=$!
    poll 5 own_network
    # What runs in the network that only this lab's machine and its sockets have.
    INSIDE=(nsenter -t "$SPACE" "${enter[@]}" setpriv --pdeathsig KILL)
    "${INSIDE[@]}" ip -b - <<END
tuntap add gateway mode tap
tuntap add peers mode tap
link set gateway up
link set peers up
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
        on_again || break
        while [ -e gateway.off ]; do sleep 0.1; done
    done
    end_children
    wait
}

# fronted MACHINE KIND: the port in front of it, once socat has said it.
fronted() { sed -n 's/.* listening on .*:\([0-9]*\)$/\1/p' "$RUN/$1.$2.listen" 2>/dev/null; }
