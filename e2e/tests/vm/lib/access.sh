# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who may do what on the gateway, and the tables of docs/ACCESS.md with it. UPDATE_GOLDEN=1 writes
# the tables instead of comparing them. With OpenWrt's userland (lab --root) it writes all rows; on
# the lab's own gateway it keeps rows of objects that are OpenWrt's.

# as_documented TABLE OURS [SHOWN]: the facts in $RUN/access.seen are those of the table. OURS and
# SHOWN are patterns of subjects: those that both kinds of gateway have alike, and those that are
# shown although nobody may do anything.
as_documented() {
    local gateway=lab status=0 seen=$RUN/access.seen
    ! is_openwrt || gateway=openwrt
    note "table $1: $(wc -l <"$seen") facts"
    node "$VM/access/document.mjs" "$TOP/docs/ACCESS.md" "$1" "$gateway" "$2" "${3:-$2}" \
        ${UPDATE_GOLDEN:+renew} <"$seen" || status=$?
    case $status in
        0) ;;
        "$SKIP") exit "$SKIP" ;;
        *) fail "docs/ACCESS.md says something else; UPDATE_GOLDEN=1 renews it" ;;
    esac
}

# The users of processes that are not root, in the order of the tables' columns.
USERS="fastpath fastpath-rules suricata nobody"

# as_user NAME: the program that runs the rest of a command with the rights of that user's
# processes: groups and capabilities from procd's parameters and ujail's files.
as_user() {
    local group=$1 capabilities=-all
    case $1 in
        fastpath) capabilities=-all,+net_admin ;;
        suricata)
            # Its command socket is open to the daemon.
            group=fastpath
            capabilities=-all,+net_admin,+net_raw,+sys_nice,+ipc_lock
            ;;
        nobody) group=$(gw id -g nobody) ;;
    esac
    echo "setpriv --reuid=$1 --regid=$group --init-groups --no-new-privs" \
        "--bounding-set=$capabilities --inh-caps=$capabilities --ambient-caps=$capabilities"
}

# for_each_user COMMAND…: runs it with each user name. It prints `subject TAB item TAB result`; the
# results of all users are joined to one line, with `no` for a line that is missing.
for_each_user() {
    local user
    for user in $USERS; do
        "$@" "$user" | sed "s/^/$user\t/"
    done | awk -F '\t' -v users="$USERS" '
        BEGIN { count = split(users, names, " ") }
        {
            id = $2 "\t" $3
            if (!(id in known)) { known[id]; order[++ids] = id }
            if (!(($1, id) in result) || result[$1, id] == "no") result[$1, id] = $4
        }
        END {
            for (i = 1; i <= ids; i++) {
                line = order[i]
                for (n = 1; n <= count; n++)
                    line = line "\t" ((names[n], order[i]) in result ? \
                        result[names[n], order[i]] : "no")
                print line
            }
        }'
}

# sessions: ids of nobody, a viewer, a viewer inside LuCI, an administrator.
sessions() {
    echo "$NOBODY $(session viewer look) $(session luci-viewer look) $(session root fastpath)"
}

# with_luci_viewer: a login with the groups that LuCI needs for reading, until the test ends.
with_luci_viewer() {
    gw 'cp -p /etc/config/rpcd /run/e2e/before.rpcd && cat >>/etc/config/rpcd' <<'END_OF_LOGIN'

config login
	option username 'luci-viewer'
	option password '$p$viewer'
	list read 'luci-app-fastpath'
	list read 'luci-base'
	list read 'unauthenticated'
END_OF_LOGIN
    at_the_end "settings_back rpcd"
}
