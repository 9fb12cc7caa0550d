# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# /etc/config/fastpath: good, bad, and read again.

test_unknown_engine() {
    refused "config fastpath 'main'
	option engine 'warp'" main engine warp
    gw 'cp /run/e2e/config /etc/config/fastpath; /etc/init.d/fastpathd reload'
    soon 5 healthy
}

test_all_mistakes_are_named_at_once() {
    refused "config fastpath 'main'
	option engine 'flowtable'
	option mark_mask 'many'

config exclude 'backup'
	option src '10.10.10.0/99'" mark_mask many backup src 10.10.10.0/99
}

test_exclusion_keeps_a_flow_slow() {
    local port other
    configure <<'END'
config fastpath 'main'
	option engine 'flowtable'

config exclude
	option name 'web of the isp'
	option dest '203.0.113.0/24'
	option proto 'tcp'
	option dest_port '80'
END
    soon 5 engine_is flowtable
    port=$(fresh_port)
    other=$((port + 1))
    download h10 "$port" "$ISP_4"
    download h10 "$other" "$H20_4"
    soon 10 on_path slow/excluded --proto tcp --text "$port"
    soon 10 on_path flowtable --proto tcp --text "$other"
    lacks conntrack "$(conntrack_of "$port")" OFFLOAD
    has "our rules" "$(gw nft list table inet fastpath)" "web of the isp"
}

test_reload_of_a_good_change() {
    local pid
    pid=$(daemon_pid)
    configure <<'END'
config fastpath 'main'
	option engine 'off'
END
    soon 5 engine_is off
    same source "$(said .engine.source status)" config
    configure <<'END'
config fastpath 'main'
	option engine 'flowtable'
	list ignore_device 'mgmt'
END
    soon 5 engine_is flowtable
    same devices "$(said '.engine.devices | join(" ")' status)" "lan1 lan2 lan3 wan"
    same "process of the daemon" "$(daemon_pid)" "$pid"
}

# A name that is not there is a decision with words, not a mistake: it may come later.
test_device_that_is_not_there() {
    configure <<'END'
config fastpath 'main'
	option engine 'flowtable'
	list device 'lan1'
	list device 'wan'
	list device 'lan9'
END
    soon 5 says '.engine.devices == ["lan1", "wan"]' status
}

test_check_says_what_is_wrong() {
    local answer
    gw fastpathd --check /etc/config/fastpath >/dev/null
    gw "printf 'config fastpath main\n\toption engine warp\n' >/tmp/bad"
    if answer=$(gw fastpathd --check /tmp/bad 2>&1); then fail "no error: $answer"; fi
    has "the error" "$answer" main
    has "the error" "$answer" engine
    has "the error" "$answer" warp
    gw "printf 'config fastpath main\n\toption \"engine\n' >/tmp/bad"
    if answer=$(gw fastpathd --check /tmp/bad 2>&1); then fail "no error: $answer"; fi
    has "the error" "$answer" "line 2"
}
