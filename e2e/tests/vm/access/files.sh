#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs on the gateway, in the shell of Debian or OpenWrt:
# files.sh list — run by root: prints the files and folders to test: everything in important
# folders, and elsewhere those not owned by root, world-writable, or not world-readable
# files.sh try — reads such paths from stdin; prints each with the user's rights
# files.sh processes NAME=PID… — the same for files in /proc of these processes

list() {
    for folder in /etc/config /etc/fastpath /etc/dropbear /var/run /var/log /var/lib/fastpath \
        /tmp /sys/fs/bpf/fastpath; do
        [ ! -d "$folder" ] || find "$folder/" ! -type l
    done
    find / -xdev \( -type f -o -type d -o -type c -o -type b \) \
        \( ! -user 0 -o ! -group 0 -o -perm -0002 -o ! -perm -0004 \)
    # /dev is a separate file system.
    find /dev/ -xdev \( -type c -o -type b \)
    for file in /etc/passwd /etc/group /etc/shadow /etc/inittab /etc/rc.local \
        /proc/sysrq-trigger /proc/kcore /proc/kmsg /proc/kallsyms /proc/sys/kernel/core_pattern \
        /proc/sys/kernel/modprobe /proc/sys/kernel/sysrq /proc/sys/vm/drop_caches \
        /proc/sys/net/ipv4/ip_forward /proc/sys/net/netfilter/nf_conntrack_max; do
        [ ! -e "$file" ] || echo "$file"
    done
}

# read_file PATH, append PATH: succeed if the file can be opened; neither changes it. Only shell
# built-ins, because machines of the lab start few programs per second.
read_file() { { :; } <"$1"; }
append() { { :; } >>"$1"; }
create() { { :; } >"$1/.e2e" && rm -f "$1/.e2e"; }
# Opening is not enough: some files in /proc open but fail to read.
first_line() {
    line=
    IFS= read -r line <"$1" || [ -n "$line" ]
}
enter() { cd "$1" && cd /; }

attempt() {
    rights=
    if [ -d "$1" ]; then
        { ! [ -r "$1" ] || ! enter "$1"; } || rights=list
        ! create "$1" || rights="${rights:+$rights, }create"
        set -- "${1%/}/"
    elif [ -f "$1" ] || [ -c "$1" ] || [ -b "$1" ]; then
        ! read_file "$1" || rights="read"
        ! append "$1" || rights="${rights:+$rights, }write"
    else
        # The path has vanished or is a socket.
        return 0
    fi
    printf '%s\t%s\n' "$1" "${rights:-no}"
}

case $1 in
    list) list | sort -u ;;
    try) while read -r path; do attempt "$path"; done ;;
    processes)
        shift
        for process; do
            for file in environ maps mem stack root/ fd/ cmdline; do
                path=/proc/${process#*=}/$file
                rights=no
                case $file in
                    */) ! enter "$path" || rights=enter ;;
                    # Reads at the unmapped address 0 would fail.
                    mem) ! read_file "$path" || rights="read" ;;
                    *) ! first_line "$path" || rights="read" ;;
                esac
                printf '/proc/PID/%s\t%s\t%s\n' "${process%%=*}" "$file" "$rights"
            done
        done
        ;;
esac 2>/dev/null
