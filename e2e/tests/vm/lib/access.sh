# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares access rights with the tables of docs/ACCESS.md. UPDATE_GOLDEN=1 rewrites the tables: all
# rows on OpenWrt's userland (lab --root), otherwise all but OpenWrt's objects.

# as_documented TABLE OURS [SHOWN]: compares the facts in $RUN/access.seen with the table. Subjects
# that match OURS must be equal in the lab and on OpenWrt; those that match SHOWN are listed even
# without rights.
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

# Users of processes other than root, in the order of the columns.
USERS="fastpath fastpath-rules fastpath-notify suricata nobody"

# as_user NAME: prints a command prefix that gives a program the groups and capabilities of that
# user's service, as set by procd and ujail.
as_user() {
    local group=$1 capabilities=-all
    case $1 in
        fastpath) capabilities=-all,+net_admin ;;
        suricata)
            # The daemon connects to Suricata's command socket through this group.
            group=fastpath
            capabilities=-all,+net_admin,+net_raw,+sys_nice,+ipc_lock
            ;;
        nobody) group=$(gw id -g nobody) ;;
    esac
    echo "setpriv --reuid=$1 --regid=$group --init-groups --no-new-privs" \
        "--bounding-set=$capabilities --inh-caps=$capabilities --ambient-caps=$capabilities"
}

# for_each_user COMMAND…: runs COMMAND for each user, which prints `subject TAB item TAB result`,
# and joins the results per item; missing results become `no`.
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

sessions() {
    echo "$NOBODY $(session viewer look) $(session luci-viewer look) $(session root fastpath)"
}

# with_luci_viewer: adds a login with LuCI's read groups until the test ends.
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
