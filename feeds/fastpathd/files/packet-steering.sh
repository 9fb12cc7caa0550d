#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later

# OpenWrt's service packet_steering runs this, where it lies at
# /usr/libexec/platform/packet-steering.sh, instead of its own program. Each value of
# network.globals.packet_steering has that program rewrite rps_cpus of every device, 0 included;
# so while fastpath's CPU plan is in force, which this file shows, nothing is done at all.
[ -e /var/run/fastpath/cpu.found ] && exit 0

# Otherwise, the service's own program.
flows="$(uci -q get 'network.@globals[0].steering_flows')"
[ "${flows:-0}" -gt 0 ] && set -- -l "$flows" "$@"
exec /usr/libexec/network/packet-steering.uc "$@"
