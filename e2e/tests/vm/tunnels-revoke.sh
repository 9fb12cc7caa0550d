# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A change of rules, routes or policies reaches offloaded flows through a tunnel within a second,
# and flows beside the tunnel lose no packet. Inspection works through tunnels.
# @each wireguard gre gretap ipip sit ip6tnl ip6gre ip6gretap

# shellcheck source=e2e/tests/vm/lib/wireguard.sh
. "$VM/lib/wireguard.sh"
# shellcheck source=e2e/tests/vm/lib/tunnels.sh
. "$VM/lib/tunnels.sh"
# shellcheck source=e2e/tests/vm/lib/revocation.sh
. "$VM/lib/revocation.sh"

OTHER_TO=$ISP_4
INSPECTED_ZONE=vpn
AFTERWARDS=tunnel_off

# tunnel_to_echoes KIND: sets up the tunnel with an echo server at the port that `numbers` uses.
tunnel_to_echoes() {
    REVOKED_TO=$FAR_4
    [ "$1" != sit ] || REVOKED_TO=$FAR_6
    tunnel_on "$1"
    begin isp echoes "exec /lab/echo 443 $REVOKED_TO"
}

forbid_site() {
    local ip=ip
    [[ $REVOKED_TO != *:* ]] || ip=ip6
    printf "insert rule inet fw4 forward $ip %s $REVOKED_TO counter drop comment \"e2e\"\n" "$@" |
        timed nft -f -
}
# @each gre @core
# @each wireguard gretap ipip sit ip6tnl ip6gre ip6gretap
test_a_drop_rule_stops_a_flow_through_a_tunnel() {
    tunnel_to_echoes "$1"
    stops flowtable rules_back forbid_site saddr daddr
}
test_a_drop_rule_for_answers_stops_a_flow_through_a_tunnel() {
    tunnel_to_echoes "$1"
    stops flowtable rules_back forbid_site saddr
}

site_lost() { timed ip route add blackhole "$REVOKED_TO"; }
site_found() { gw ip route del blackhole "$REVOKED_TO"; }
test_a_blackhole_route_stops_a_flow_through_a_tunnel() {
    tunnel_to_echoes "$1"
    stops flowtable site_found site_lost
}

test_a_new_inspection_policy_ends_the_offload_through_a_tunnel() {
    tunnel_to_echoes "$1"
    carried flowtable "$(inspection none)"
    diverts inspect/always-inspected always_inspected
}

bad_answer() {
    timed true
    bad_page h10 "$REVOKED_TO" >/dev/null
    soon 5 says "[.blocks[].address] | index(\"$REVOKED_TO\") != null" blocks
}
unblock() { gw fastpathctl release "$REVOKED_TO"; }
test_a_blocked_site_behind_a_tunnel_is_stopped() {
    tunnel_to_echoes "$1"
    WITH=$(inspection inspect "	option block '1'")
    stops flowtable unblock bad_answer
}
