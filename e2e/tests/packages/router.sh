# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs OpenWrt's userland in namespaces. Needs OPENWRT_ROOT and WORK. Changes stay in memory; the
# folder is never modified.

# shellcheck disable=SC2016 # expanded by the inner shell
ROUTER_INIT='
set -eu
mount -t tmpfs memory "$2"
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay root -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
cd "$2/root"
mkdir -p proc sys dev tmp mnt/served rom/outside
mount --bind "$3" mnt/served
mount -t proc proc proc
mount -t sysfs sys sys
mount -t bpf bpf sys/fs/bpf 2>/dev/null || true
mount -t tmpfs dev dev
for node in null zero full random urandom tty; do
    : >"dev/$node"
    mount --bind "/dev/$node" "dev/$node"
done
: >dev/kmsg
mkdir dev/pts dev/shm
mount -t devpts devpts dev/pts -o newinstance,ptmxmode=0666
mount -t tmpfs tmp tmp
pivot_root . rom/outside
exec chroot . /bin/sh -c "umount -l /rom/outside && exec /usr/bin/tail -f /dev/null"'

router_root() {
    local waited=0
    mkdir -p "$WORK/mount" "$WORK/served"
    unshare --mount --pid --net --ipc --uts --fork --kill-child --propagation private \
        bash -c "$ROUTER_INIT" bash "$(readlink -f "$OPENWRT_ROOT")" "$WORK/mount" \
        "$WORK/served" >"$WORK/router.log" 2>&1 &
    ROUTER=$!
    until ROUTER_INSIDE=$(pgrep -P "$ROUTER" -x tail); do
        [ $((waited += 1)) -lt 100 ] || fail "no router: $(cat "$WORK/router.log")"
        # @sleep: between two looks at whether the router's processes are there
        sleep 0.1
    done
}

router_up() {
    router_root
    on_router "$(cat "$HERE/router-boot")"
}

on_router() {
    nsenter --target "$ROUTER_INSIDE" --mount --pid --net --ipc --uts --root --wd \
        /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root /bin/sh -c "$1"
}

router_says() {
    local what=$1 said part
    said=$(on_router "$2" 2>&1) || fail "$what: it ended with $?: $said"
    shift 2
    for part; do [[ $said == *"$part"* ]] || fail "$what: '$part' is not in: $said"; done
}

eventually() {
    local tries=0
    until on_router "$1" >"$WORK/said" 2>&1; do
        [ $((tries += 1)) -lt 50 ] || fail "never came true: $1: $(cat "$WORK/said")"
        # @sleep: between two questions to the router
        sleep 0.2
    done
}
