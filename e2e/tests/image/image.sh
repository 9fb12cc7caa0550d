# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Invalid images are refused. A valid image boots, is set up over its serial console, and is not
# modified.

# refused FILE TEXT: fails unless `lab --image FILE up` fails immediately with TEXT and starts
# nothing.
refused() {
    local words
    if words=$("$LAB/lab" --image "$1" up 2>&1); then fail "$1 was taken: $words"; fi
    [[ $words == *"$2"* ]] || fail "of $1 it says '$words' and not '$2'"
    [ ! -e "$RUN" ] || fail "$1 started something: $(ls "$RUN")"
}

test_invalid_images_are_refused() {
    "$LAB/lab" down >/dev/null 2>&1 || true
    rm -rf "$RUN"
    refused "$WORK/nothing.img" "there is no image $WORK/nothing.img"
    printf 'short' >"$WORK/short.img"
    refused "$WORK/short.img" "has no partition table"
    truncate -s 1M "$WORK/empty.img"
    refused "$WORK/empty.img" "has no partition table"
    { printf 'QFI\373'; head -c 2000 /dev/zero; } >"$WORK/other.img"
    refused "$WORK/other.img" "the raw image"
    { printf 'hsqs'; head -c 2000 /dev/zero; } >"$WORK/root.img"
    refused "$WORK/root.img" "a root file system"
    cp "$WORK/short.img" "$WORK/broken.img.gz"
    refused "$WORK/broken.img.gz" "cannot be unpacked"
    refused "$WORK/broken.img.gz" "not in gzip format"
    head -c 1000 /dev/urandom | xz >"$WORK/noise.img.xz"
    refused "$WORK/noise.img.xz" "has no partition table"
}

# Creates a disk that prints "silent" and halts, packed like OpenWrt's: gzip followed by metadata.
# Code: mov dx,0x3f8; per letter mov al,c and out dx,al; then cli and hlt.
silent_disk() {
    local letter
    {
        printf '\xba\xf8\x03'
        for letter in s i l e n t; do printf '\xb0%s\xee' "$letter"; done
        printf '\xfa\xf4'
    } >"$WORK/sector"
    truncate -s 446 "$WORK/sector"
    printf '\x80\xfe\xff\xff\x83\xfe\xff\xff\x01\0\0\0\x01\0\0\0' >>"$WORK/sector"
    truncate -s 510 "$WORK/sector"
    printf '\x55\xaa' >>"$WORK/sector"
    truncate -s 1M "$WORK/sector"
    { gzip -c "$WORK/sector"; echo '{ "metadata_version": "1.1" }'; } >"$WORK/silent.img.gz"
}

root_refused() {
    local words
    if words=$("$LAB/lab" --root "$1" up 2>&1); then fail "$1 is accepted"; fi
    [[ $words == *"$2"* ]] || fail "$1: '$words' does not say '$2'"
}

test_invalid_roots_are_refused() {
    root_refused "$WORK/none" "there is no folder"
    mkdir -p "$WORK/root/sbin"
    root_refused "$WORK/root" "it has no /sbin/init"
    : >"$WORK/root/sbin/init"
    root_refused "$WORK/root" "it has no /sbin/procd"
}

test_an_image_without_a_shell_on_the_console_fails() {
    local words
    silent_disk
    if words=$(LOGIN_LIMIT=3 "$LAB/lab" --image "$WORK/silent.img.gz" up 2>&1); then
        fail "a gateway that says nothing is up"
    fi
    [[ $words == *"no root shell on the image's serial console (ttyS0) within 3 s"* ]] ||
        fail "it says $words"
    [[ $words == *"last lines:"*silent* ]] || fail "the console's last lines are not shown: $words"
    ! alive gateway || fail "the machine still runs"
    [ ! -e "$RUN/ports" ] || fail "a machine that did not come up looks like a running lab"
}

# Uses consoles of slow machines instead of starting machines.
test_a_boot_timeout_names_the_machine() {
    local WHY KEEPER=$BASHPID RUN=$WORK/late
    # shellcheck source=/dev/null
    . "$LAB/images.sh"
    # shellcheck source=/dev/null
    . "$LAB/image.sh"
    # shellcheck source=/dev/null
    . "$LAB/machines.sh"
    mkdir -p "$RUN"
    echo "READY peers 20.10" >"$RUN/peers.console"
    printf '[ %s.0] port lan1 is up\r\n' {1..20} >"$RUN/gateway.console"
    ! BOOT_LIMIT=1 comes_up || fail "a gateway that is not ready is up"
    [[ $WHY == "the gateway did not come up within 1 s (BOOT_LIMIT)"*"[ 20.0] port lan1 is up" ]] ||
        fail "it says $WHY"
    [[ $WHY != *peers* ]] || fail "it blames the peers: $WHY"
    # shellcheck disable=SC2034 # machines.sh reads it
    KEEPER=999999999
    : >"$RUN/peers.console"
    ! BOOT_LIMIT=1 comes_up || fail "machines that have ended are up"
    [[ $WHY == "the peers had ended before"*"the gateway had ended before"* ]] ||
        fail "it says $WHY"
}

# Copy of the function in machines.sh.
alive() { kill -0 "$(cat "$RUN/$1.pid")" 2>/dev/null; }

booted() {
    ! alive gateway 2>/dev/null || ! lab_port BOOT_MS >/dev/null 2>&1 || return 0
    [ -f "$IMAGE" ] || "$LAB/lab" sample "$IMAGE" || fail "there is no sample"
    sha256sum "$IMAGE" >"$WORK/sum"
    "$LAB/lab" --image "$IMAGE" up || fail "the image does not come up"
}

test_an_image_boots_and_is_set_up() {
    booted
    gw test -d /lab/firstboot || fail "the results of the first boot are not kept"
    ! gw grep -q lan1 /lab/firstboot/network || fail "the image had the lab's network already"
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'for port in lan1 lan2 lan3 wan mgmt; do
            [ -e /sys/class/net/$port/device ] || exit 1
        done' ||
        fail "the ports do not have the lab's names"
}

test_the_lab_adds_tools_that_the_image_lacks() {
    local path
    booted
    gw 'command -v conntrack && conntrack -C' || fail "no conntrack on the gateway"
    # shellcheck disable=SC2016 # expanded on the gateway
    path=$(gw 'readlink -f "$(command -v conntrack)"')
    [ "$IMAGE" != "$WORK/sample.img" ] || [ "$path" = /lab/bin/conntrack ] ||
        fail "conntrack is $path"
}

test_a_missing_package_is_named() {
    local words
    booted
    words=$(gw 'mv /usr/bin/fastpathctl /tmp/ && mv /www/fastpath /tmp/
        LAB_CONSOLE=/tmp/console sh /lab/setup missing; cat /tmp/console
        mv /tmp/fastpathctl /usr/bin/; mv /tmp/fastpath /www/')
    [[ $words == *"LAB FAILED: not installed: fastpathd (no /usr/bin/fastpathctl)"* ]] ||
        fail "the missing program is not named: $words"
    [[ $words == *"luci-app-fastpath (no "* ]] || fail "the missing page is not named: $words"
}

# Writes to a sector outside the partitions.
test_the_image_file_is_never_written() {
    local there='bs=512 count=1 2>/dev/null'
    booted
    gw "echo written | dd of=/dev/vda seek=2040 conv=notrunc $there && sync"
    gw "dd if=/dev/vda skip=2040 $there" | grep -q '^written' || fail "the disk takes no writes"
    "$LAB/lab" down
    sha256sum -c --quiet "$WORK/sum"
}
