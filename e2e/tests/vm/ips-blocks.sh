# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sources that trigger a drop rule are blocked for a limited time.
# @inspected

# shellcheck source=e2e/tests/vm/lib/archives.sh
. "$VM/lib/archives.sh"

blocked() { says "[.blocks[].address] | index(\"$1\") != null" blocks; }
not_blocked() { says "[.blocks[].address] | index(\"$1\") == null" blocks; }
reaches() { h10 ping -c 1 -W 1 "$1"; }
unreachable() { ! reaches "$1"; }
block_of() { said ".blocks[] | select(.address == \"$1\")" blocks; }

# @core
test_an_offender_is_blocked_and_released() {
    local block
    protect_inline "	option block '1'
	option block_time '300'"
    dropped "$ISP_4"
    soon 3 blocked "$ISP_4"
    soon 3 unreachable "$ISP_4"
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
test_an_ipv6_offender_is_blocked() {
    protect_inline "	option block '1'"
    dropped "$ISP_6"
    soon 3 blocked "$ISP_6"
    soon 3 unreachable "$ISP_6"
    reaches "$ISP_4"
    gw fastpathctl release "$ISP_6"
    soon 3 reaches "$ISP_6"
}

test_a_block_expires() {
    protect_inline "	option block '1'
	option block_time '10'"
    dropped "$ISP_4"
    soon 3 blocked "$ISP_4"
    soon 15 reaches "$ISP_4"
    soon 3 not_blocked "$ISP_4"
}

test_exempt_sources_are_not_blocked() {
    protect_inline "	option block '1'
	list block_exempt '203.0.113.0/24'"
    dropped "$ISP_4"
    soon 3 says '.refused > 0' blocks
    not_blocked "$ISP_4"
    reaches "$ISP_4"
    # Traffic between VLANs: the blocked host is a local one, which is not exempt.
    dropped "$H20_4"
    soon 3 blocked "$H20_4"
}

test_blocks_survive_a_reload_and_a_restart() {
    protect_inline "	option block '1'"
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

# Rules that drop the payload of frames.sh.
MARK_UDP=9000011
MARK_TCP=9000012
serve_forgery_rules() {
    serve_archives
    serve_archive forgeries <<END
drop udp any any -> any any (msg:"udp"; content:"|00 07 0e 15 1c 23 2a 31|"; sid:$MARK_UDP; rev:1;)
drop tcp any any -> any any (msg:"tcp"; content:"|00 07 0e 15 1c 23 2a 31|"; sid:$MARK_TCP; rev:1;)
END
}

# sends_as ADDRESS PROTO: sends a packet from h10 with this source address, which a rule drops.
# shellcheck disable=SC2034 # segment reads them
sends_as() {
    local FLAGS=18 SEQ=1000 ACK=5000
    frame h10 "$(packet "$2" "$1" 5000 "$ISP_4" 7 100)" | bytes |
        peers 'cat >/tmp/e2e/forged; ip netns exec h10 socat -u -b 114 \
            FILE:/tmp/e2e/forged INTERFACE:eth0'
}
alert_of() { says ".alerts[0] | .action == \"blocked\" and .src == \"$2\"" alerts --sid "$1"; }

# A LAN host forges the address of another host so that it gets blocked.
# @fault:forged-offences
test_forged_senders_are_not_blocked() {
    serve_forgery_rules
    protect_inline "	option block '1'
$(source_of forgeries)"
    update good
    knows_macs
    soon 20 sends_until_alert udp 10.10.10.77 "$MARK_UDP"
    soon 20 sends_until_alert tcp 10.10.10.78 "$MARK_TCP"
    # A genuine offender shows that blocks work, so the forged ones were ignored.
    dropped "$ISP_4"
    soon 3 blocked "$ISP_4"
    not_blocked 10.10.10.77
    not_blocked 10.10.10.78
    gw fastpathctl release "$ISP_4"
}
# Retries, because Suricata loads rules slightly after the update has succeeded.
sends_until_alert() {
    sends_as "$2" "$1"
    alert_of "$3" "$2"
}
