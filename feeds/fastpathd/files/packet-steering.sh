#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later

# OpenWrt's service packet_steering runs this hook at /usr/libexec/platform/packet-steering.sh
# instead of its own program, which rewrites rps_cpus of every device for any value of
# network.globals.packet_steering, including 0. Does nothing while fastpath's CPU plan is in force,
# which this file indicates.
[ -e /var/run/fastpath/cpu.found ] && exit 0

# Otherwise run the service's own program.
flows="$(uci -q get 'network.@globals[0].steering_flows')"
[ "${flows:-0}" -gt 0 ] && set -- -l "$flows" "$@"
exec /usr/libexec/network/packet-steering.uc "$@"
