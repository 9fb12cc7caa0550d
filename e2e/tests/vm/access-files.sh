# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Access of the services' users to files, processes and sockets, compared with docs/ACCESS.md by
# access.sh.
# @inspected
# shellcheck source=e2e/tests/vm/lib/access.sh
. "$VM/lib/access.sh"

TRIES=/tmp/e2e-access

# tries ARGUMENTS…: runs access/files.sh on the gateway, as the user prefix in AS if set.
tries() { gw "${AS-} sh $TRIES $*"; }
to_gateway() {
    # shellcheck disable=SC2016 # expanded on the gateway
    gw "cat >$TRIES && chmod 755 $TRIES" <"$VM/access/files.sh"
    at_the_end "gw rm -f $TRIES"
}

# named: normalises paths that differ between Debian and OpenWrt or contain numbers.
named() {
    sed -E -e 's#^/(run|tmp/run)/#/var/run/#; s#^/tmp/(log|lib)/#/var/\1/#' \
        -e 's#/[0-9a-f]{16}(/|\t|$)#/HASH\1#; s#/[0-9]+([.]json)?\t#/NUMBER\1\t#' \
        -e 's#^/dev/(tty|pts/|pty)[^\t]*#/dev/tty*#'
}
# collapsed: replaces names of temporary files by `*`.
collapsed() {
    local folders='var/lib/fastpath/rules|var/run/fastpath(/ips|-change)?|var/log/suricata'
    sed -E "s#^/($folders)/[^/\t]+\t#/\1/*\t#"
}

# Files of the lab, of its tests and of Debian only, and devices without data of the router.
NOT_SHOWN='^/(tmp|run|tmp/run|var/run|var/log|etc)/(e2e|lab|lock|supervise|triggers|standin)'
NOT_SHOWN+='|^/(tmp|run|tmp/run|var/run|var/log|etc)/config[.]md5'
NOT_SHOWN+='|^/(lab|layer|uml|base|disk)/|^/etc/(chatscripts|credstore|gshadow|security|shadow-)'
NOT_SHOWN+='|^/etc/([.]pwd|ppp/|wireguard)|^/var/lib/(dpkg|systemd|private|libuuid|misc)|^/var/mail'
NOT_SHOWN+='|^/tmp/[^/]+$|^/dev/(console|full|null|ptmx|random|urandom|zero|tty)|^/usr/s?bin/'

# listed: filters NOT_SHOWN and, in the lab, device files.
listed() {
    local more='^$'
    is_openwrt </dev/null || more='^/dev/|^/var/tmp$'
    grep -vE "$NOT_SHOWN|$more" | sort -u
}

by_folder() {
    sed -E 's#^(.*[^/]/|/)([^/\t]+/?)\t#\1\t\2\t#; s#^([^\t]+)/\t#\1\t#'
}

on_files() { AS=$(as_user "$1") tries try <"$RUN/access.list" | named | collapsed | by_folder; }

# @core
test_access_to_files() {
    to_gateway
    tries list | listed >"$RUN/access.list"
    has "the list" "$(cat "$RUN/access.list")" /etc/shadow
    # Omit files that all users can only read, except configuration.
    for_each_user on_files | awk -F '\t' '
        { same = 1; for (i = 4; i <= NF; i++) same = same && $i == $3 }
        !(same && ($3 == "read" || $3 == "list")) || /^.etc/' >"$RUN/access.seen"
    # Most files that no user can access depend on packages and recent features, so show only some.
    as_documented files '/proc/sys/net' '/(proc|sys/fs/bpf|etc/fastpath$)'
}

# processes: prints NAME=PID for each kind of process. ujail has the daemon's name but runs as root.
processes() {
    printf 'init=1 fastpathd=%s ' "$(daemon_pid)"
    # shellcheck disable=SC2016 # expanded on the gateway
    gw 'for name in fastpath-rules Suricata-Main ubusd rpcd uhttpd netifd; do
        for comm in $(grep -lxs "$name" /proc/[0-9]*/comm | head -n 1); do
            pid=${comm#/proc/}
            echo "$name=${pid%/comm}"
        done
    done' | xargs
}
on_processes() {
    # shellcheck disable=SC2086 # one argument per word
    AS=$(as_user "$1") tries processes $PROCESSES
}

test_access_to_processes() {
    to_gateway
    PROCESSES=$(processes)
    has "processes" "$PROCESSES" fastpathd=
    for_each_user on_processes | sed -E 's#^/proc/PID/#process #' >"$RUN/access.seen"
    as_documented processes 'process (init|fastpathd)'
}

# on_sockets USER: prints which sockets the user can reach. Only EACCES counts as denied; other
# errors come from the socket itself.
on_sockets() {
    gw "$(as_user "$1") sh -c $(printf '%q' "$ON_SOCKETS")" <"$RUN/access.list" |
        named | by_folder
}
# shellcheck disable=SC2016 # expanded on the gateway
ON_SOCKETS='
while read -r path; do
    said=$(socat -u /dev/null "UNIX-CONNECT:$path" 2>&1 </dev/null)
    case $said in
        *"ermission denied"*) result=no ;;
        *) result=yes ;;
    esac
    printf "%s\t%s\n" "$path" "$result"
done
'

# @core
test_access_to_sockets() {
    gw 'find / -xdev -type s; find /var/run/ /tmp/ /dev/ -type s' 2>/dev/null |
        sed 's#^/\(tmp/\)\{0,1\}run/#/var/run/#' | listed >"$RUN/access.list"
    has "the list" "$(cat "$RUN/access.list")" /var/run/ubus/ubus.sock
    for_each_user on_sockets >"$RUN/access.seen"
    as_documented sockets '/var/run/fastpath' '/'
}
