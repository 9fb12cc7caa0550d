#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Closes rpcd's own `session login` to the web, because it does not limit attempts; the page uses
# fastpath.access. To keep it open for other programs:
#	uci set rpcd.fastpath=access; uci set rpcd.fastpath.session_login=1; uci commit rpcd
# Runs at first boot, at each start of fastpathd (because upgrades of rpcd reopen the login), and
# after each change of /etc/config/rpcd.
[ -e /usr/libexec/rpcd/fastpath.access ] || exit 0
[ -e /usr/share/rpcd/acl.d/fastpath-access.json ] || exit 0

# shellcheck source=e2e/lab/gateway/usr/lib/functions.sh
. /lib/functions.sh
config_load rpcd
open=0
config_get_bool open fastpath session_login 0
if [ "$open" = 1 ]; then
	/usr/libexec/fastpath-rpcd login open
else
	/usr/libexec/fastpath-rpcd login close
fi
