# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# sysupgrade sources this file and passes the list of files to keep to its hooks.

# An upgrade rolls back a pending change, because the new system might lack fastpath. A backup
# contains the configuration in force, but not the record that would revert it after a restore.
# Neither contains temporary files of a change.
fastpath_leave_out_pending() {
	sed -i '\,^/etc/\(config\|fastpath/changes\)/\.[^/]*\.\(new\|uci-[^/.]*\)$,d' "$1"
	if [ -n "$CONF_BACKUP" ] || [ "$CONF_BACKUP_LIST" = 1 ]; then
		sed -i '\,^/etc/fastpath/changes/pending\.,d' "$1"
		return
	fi
	[ -e /etc/fastpath/changes/pending.json ] || return 0
	# If this fails, the new system reverts the change.
	/usr/libexec/fastpath-rpcd leave || return 0
	# Ending the change may have removed the oldest record, so list the records again.
	sed -i '\,^/etc/fastpath/changes/[^/]*\.json$,d' "$1"
	find /etc/fastpath/changes -name '[!.]*.json' -type f >> "$1"
}

# shellcheck disable=SC2034 # sysupgrade runs them
sysupgrade_init_conffiles="$sysupgrade_init_conffiles fastpath_leave_out_pending"
