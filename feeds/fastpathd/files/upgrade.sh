# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# sysupgrade reads this; its hooks get the file that lists the files to keep.

# An upgrade ends a change that nobody has confirmed yet: the new system begins with the old files,
# also one without fastpath. A backup has the configuration in force, without what would revert it
# when it is restored. Files that a change is writing are in neither.
fastpath_leave_out_pending() {
	sed -i '\,^/etc/\(config\|fastpath/changes\)/\.[^/]*\.\(new\|uci-[^/.]*\)$,d' "$1"
	if [ -n "$CONF_BACKUP" ] || [ "$CONF_BACKUP_LIST" = 1 ]; then
		sed -i '\,^/etc/fastpath/changes/pending\.,d' "$1"
		return
	fi
	[ -e /etc/fastpath/changes/pending.json ] || return 0
	# If that fails, the new system reverts the change.
	/usr/libexec/fastpath-rpcd leave || return 0
	# It is one of the ended changes now, of which the oldest may be gone.
	sed -i '\,^/etc/fastpath/changes/[^/]*\.json$,d' "$1"
	find /etc/fastpath/changes -name '[!.]*.json' -type f >> "$1"
}

# shellcheck disable=SC2034 # sysupgrade runs them
sysupgrade_init_conffiles="$sysupgrade_init_conffiles fastpath_leave_out_pending"
