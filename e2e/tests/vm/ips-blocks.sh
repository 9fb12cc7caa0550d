# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sources that trigger a drop rule are blocked for a time.
# @inspected

blocked() { says "[.blocks[].address] | index(\"$1\") != null" blocks; }
not_blocked() { says "[.blocks[].address] | index(\"$1\") == null" blocks; }
reaches() { h10 ping -c 1 -W 1 "$1"; }
unreachable() { ! reaches "$1"; }
block_of() { said ".blocks[] | select(.address == \"$1\")" blocks; }

# @core
test_source_is_blocked_and_released() {
    local block
    in_line "	option block '1'
	option block_time '300'"
    dropped "$ISP_4"
    soon 3 blocked "$ISP_4"
    soon 3 unreachable "$ISP_4"
    # Others are not meant.
    reaches "$H20_4"
    block=$(block_of "$ISP_4")
    same "rule of the block" "$(field sid "$block")" "$BAD_SID"
    between "seconds left" "$(jq '(.until_ms - .since_ms) / 1000' <<<"$block")" 299 301
    has "the set in the kernel" "$(gw nft list table inet fastpath)" "$ISP_4"
    soon 3 says '.packets > 0' blocks
    gw fastpathctl release "$ISP_4"
    soon 3 not_blocked "$ISP_4"
    soon 3 reaches "$ISP_4"
    if gw fastpathctl release "$ISP_4" 2>/dev/null; then fail "released twice"; fi
}

# @long
test_source_is_blocked_ipv6() {
    in_line "	option block '1'"
    dropped "$ISP_6"
    soon 3 blocked "$ISP_6"
    soon 3 unreachable "$ISP_6"
    reaches "$ISP_4"
    gw fastpathctl release "$ISP_6"
    soon 3 reaches "$ISP_6"
}

test_block_ends_by_itself() {
    in_line "	option block '1'
	option block_time '10'"
    dropped "$ISP_4"
    soon 3 blocked "$ISP_4"
    soon 15 reaches "$ISP_4"
    soon 3 not_blocked "$ISP_4"
}

# @core
test_exempt_sources_are_not_blocked() {
    in_line "	option block '1'
	list block_exempt '203.0.113.0/24'"
    dropped "$ISP_4"
    soon 3 says '.refused > 0' blocks
    not_blocked "$ISP_4"
    reaches "$ISP_4"
    # Between VLANs, the other end is one of our hosts and no exemption names it.
    dropped "$H20_4"
    soon 3 blocked "$H20_4"
}

# A new ruleset keeps who is blocked.
test_blocks_outlive_a_reload_and_a_restart() {
    in_line "	option block '1'"
    dropped "$ISP_4"
    soon 3 blocked "$ISP_4"
    gw /etc/init.d/fastpathd reload
    soon 5 blocked "$ISP_4"
    kill_daemon
    soon 15 engine_is flowtable
    soon 5 unreachable "$ISP_4"
    soon 5 blocked "$ISP_4"
    gw fastpathctl release "$ISP_4"
    soon 3 reaches "$ISP_4"
}
