# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Simulates a power cut after each operation of a program: copies the gateway's disk during a single
# run and boots from each copy.

# disk_copied FILE: suspends the machine and copies its disk. As after a power cut, writes may be
# incomplete.
disk_copied() {
    kill -STOP "$(cat "$RUN/gateway.pid")"
    cp --sparse=always "$RUN/gateway.disk" "$1"
    go_on
}
go_on() { kill -CONT "$(cat "$RUN/gateway.pid")"; }

# copies_of COMMAND INPUT [sync]: runs COMMAND on the gateway. COPIES/N is the disk after operation
# N, whose name is in OPERATIONS; the last copy is the final disk. Without `sync`, copies contain
# only data that was flushed or written back.
copies_of() {
    local said go line number
    OPERATIONS=()
    COPIES=$(mktemp -d "$RUN/copies.XXXXXX")
    coproc STEPPED {
        gw "echo '$2' >/tmp/input
            perl /run/e2e/stepper.pl each sh -c 'exec $1 </tmp/input' 2>/tmp/answer"
    }
    exec {said}<&"${STEPPED[0]}" {go}>&"${STEPPED[1]}"
    while read -r line <&"$said"; do
        [[ $line == "at "* ]] || break
        OPERATIONS+=("${line##* }")
        [ -z "${3-}" ] || gw sync
        disk_copied "$COPIES/${#OPERATIONS[@]}"
        echo >&"$go"
    done
    exec {said}<&- {go}>&-
    read -r _ number _ <<<"$line"
    same "operations of '$1' that the power was cut behind" "${#OPERATIONS[@]}" "$number"
    [ "$number" -gt 0 ] || fail "'$1' does nothing: $(gw cat /tmp/answer)"
    OPERATIONS+=(end)
    [ -z "${3-}" ] || gw sync
    disk_copied "$COPIES/${#OPERATIONS[@]}"
}

# Recovers the configuration on the second disk, where change $ID may be pending. Prints digests of
# the configuration after the first and second boot, the state of the change, and unexpected files.
# shellcheck disable=SC2016 # expanded on the gateway
RECOVERY='
recover() {
    FASTPATH_ROOT=$root /usr/libexec/fastpath-rpcd boot || echo "the recovery fails"
    echo "$(cat "$root/etc/config/network" "$root/etc/config/firewall" | sha256sum)"
}
root=/run/e2e/disk/upper
[ -b /dev/e2e.disk ] || mknod /dev/e2e.disk b 98 64
mkdir -p /run/e2e/disk
busybox mount -t ext4 /dev/e2e.disk /run/e2e/disk || exit
[ ! -e /etc/openwrt_release ] || cp /etc/openwrt_release "$root/etc/"
recover
recover
sed "s/.*\"state\":\"\([a-z-]*\)\".*/\1/" "$root/etc/fastpath/changes/$ID.json" 2>/dev/null || echo
find "$root/etc/config" "$root/etc/fastpath/changes" -name ".?*" -o -name "pending*" 2>/dev/null
busybox umount /run/e2e/disk'

# recovered NUMBER ID: boots that copy and sets TEXTS to the configuration's digest and STATE to the
# state of the change. Fails if a second boot changes something or files are left.
recovered() {
    local lines where="operation $1, ${OPERATIONS[$1 - 1]}"
    cp --sparse=always "$COPIES/$1" "$RUN/second.disk"
    mapfile -t lines < <(gw "ID=$2; $RECOVERY" 2>&1)
    [ "${#lines[@]}" = 3 ] || fail "$where: $(printf '%s\n' "${lines[@]}")"
    same "the configuration after one more boot ($where)" "${lines[1]}" "${lines[0]}"
    # shellcheck disable=SC2034 # for the caller
    TEXTS=${lines[0]} STATE=${lines[2]}
}
