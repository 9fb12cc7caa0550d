# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# sysupgrade reads this; its hooks get the file that lists the files to keep.

# A change that nobody has confirmed yet outlives an upgrade, and the next boot reverts it. In a
# backup it would be reverted whenever that is restored. Files that a change is writing are in
# neither.
fastpath_leave_out_pending() {
	sed -i '\,^/etc/\(config\|fastpath/changes\)/\.[^/]*\.\(new\|uci-[^/.]*\)$,d' "$1"
	[ -n "$CONF_BACKUP" ] || [ "$CONF_BACKUP_LIST" = 1 ] || return 0
	sed -i '\,^/etc/fastpath/changes/pending\.,d' "$1"
}

# shellcheck disable=SC2034 # sysupgrade runs them
sysupgrade_init_conffiles="$sysupgrade_init_conffiles fastpath_leave_out_pending"
