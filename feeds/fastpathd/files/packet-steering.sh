#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later

# Installed as /usr/libexec/platform/packet-steering.sh, which OpenWrt's service packet_steering
# runs instead of its own program. That program rewrites rps_cpus of every device for any value of
# network.globals.packet_steering. This file exists while fastpath's CPU plan is in force:
[ -e /var/run/fastpath/cpu.found ] && exit 0

flows="$(uci -q get 'network.@globals[0].steering_flows')"
[ "${flows:-0}" -gt 0 ] && set -- -l "$flows" "$@"
exec /usr/libexec/network/packet-steering.uc "$@"
