# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# History of traffic and events on flash.

# recording SECONDS: configures the interval between writes.
recording() {
    at_the_end cp_config_back
    gw "sed \"s/history_interval '600'/history_interval '$1'/\" /run/e2e/config" | configure
}

mac_of() { "$1" cat /sys/class/net/eth0/address; }

# total HOST: prints the recorded bytes of the host.
total() { usage_of "$1" '[.rows[] | .[2] + .[3]] | add // 0'; }

usage_of() { said "$2" usage "$(mac_of "$1")" --days 3650; }

storage() { said ".storage.$1" journal; }
storage_is() { says ".storage.state == \"$1\"" journal; }

# saved: waits until what is recorded now is on flash.
saved() {
    SINCE=$(($(gw date +%s) * 1000))
    soon 20 saved_since "$SINCE"
}
saved_since() { says ".storage.saved_ms > $1" journal; }

load() { download h10 "$(fresh_port)" "$ISP_4" 300k; }

recorded() { between "recorded bytes of h10" "$(total h10)" "$@"; }
