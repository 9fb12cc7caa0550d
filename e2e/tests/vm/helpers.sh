# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Conntrack helpers, attached by zone as the page does. They read the control connection, which
# stays slow; data connections through NAT are offloaded if they are TCP or UDP. ebpf-flows has FTP.

# helper MODULE: loads a helper and its NAT module.
helper() {
    gw "modprobe nf_nat_$1" || skip "this kernel has no helper for $1"
}

# attach NAME: attaches a helper to zone lan, as the page does. Only new connections get it.
attach() {
    edit_config firewall "/option name 'lan'/a\\	list helper '$1'"
    gw "conntrack -D -p udp >/dev/null 2>&1 || true"
}

attached() { gw nft list table inet fw4 | grep -F "ct helper set"; }

ends_well() { soon 5 ended "$1" && ended_well "$1"; }

control_is_slow() { soon 5 on_path slow/helper --reason helper "$@"; }

# tftp NAME: fetches a file of the ISP.
tftp() {
    begin h10 "tftp-$1" "curl -sS -m 300 --tftp-blksize 1400 -o /tmp/e2e/tftp.got" \
        "tftp://$ISP_4/32.bin"
}

# Without a firewall rule, the loaded helper does nothing: answers from another port do not reach
# the client.
# @each flowtable tcx
test_tftp_data_is_offloaded_once_a_rule_attaches_the_helper() {
    helper tftp
    begin isp tftpd "exec dnsmasq --conf-file=/dev/null -k --port=0 --user=root --pid-file=" \
        "--enable-tftp --tftp-root=/tmp/www"
    begin h10 tftp-without "curl -sS -m 3 -o /tmp/e2e/tftp.got tftp://$ISP_4/index.html"
    soon 10 ended tftp-without
    ! ended_well tftp-without || fail "TFTP works without a helper"
    attach tftp
    has "rules of fw4" "$(attached)" 'udp dport 69 ct helper set "tftp"'
    engine_at "$1"
    tftp "$1"
    # The server answers from another port, so the connection to port 69 expires first.
    control_is_slow --proto udp --text :69
    soon 10 on_path "$FAST_PATH" --proto udp --host "$ISP_4"
    soon 60 ended "tftp-$1"
    ended_well "tftp-$1"
    peers 'cmp /tmp/www/32.bin /tmp/e2e/tftp.got; rm /tmp/e2e/tftp.got'
}

# The helper translates the addresses and ports in both bodies.
# @each flowtable
# @each tcx
test_rtp_of_a_sip_call_is_offloaded() {
    local end
    helper sip
    attach sip
    engine_at "$1"
    peers rm -f /tmp/e2e/sip.end
    begin isp sip-answer "/tmp/e2e/sip answer $ISP_4"
    begin h10 sip-call "/tmp/e2e/sip call $ISP_4"
    soon 10 on_path "$FAST_PATH" --proto udp --text :5004
    control_is_slow --proto udp --text :5060
    peers touch /tmp/e2e/sip.end
    for end in answer call; do ends_well "sip-$end"; done
    has "packets from the caller" "$(peers cat /tmp/e2e/sip-answer.log)" \
        " from $(wan_address):4000"
    has "packets to the caller" "$(peers cat /tmp/e2e/sip-call.log)" " from $ISP_4:5004"
}

# The helper of Q.931 attaches that of H.245 to the connection that it expects.
# @each flowtable
# @each tcx
test_rtp_of_an_h323_call_is_offloaded() {
    local end
    helper h323
    attach Q.931
    engine_at "$1"
    peers rm -f /tmp/e2e/h323.end
    begin isp h323-answer "/tmp/e2e/h323 answer $ISP_4"
    soon 5 peers "ip netns exec isp ss -tln | grep -q :1721"
    begin h10 h323-call "/tmp/e2e/h323 call $ISP_4"
    soon 10 on_path "$FAST_PATH" --proto udp --text :5006
    control_is_slow --proto tcp --text :1720
    control_is_slow --proto tcp --text :1721
    peers touch /tmp/e2e/h323.end
    for end in answer call; do
        ends_well "h323-$end"
        between "RTP packets at the end that does $end" "$(peers cat "/tmp/e2e/h323-$end.log")" \
            20 100000
    done
}

# Neither a flowtable nor our programs forward GRE of PPTP (version 1).
# @each flowtable
# @each tcx
test_gre_of_a_pptp_tunnel_passes_and_stays_slow_with_a_reason() {
    local end
    helper pptp
    attach pptp
    engine_at "$1"
    peers rm -f /tmp/e2e/pptp.end
    begin isp pptp-answer "/tmp/e2e/pptp answer $ISP_4"
    soon 5 peers "ip netns exec isp ss -tln | grep -q :1723"
    begin h10 pptp-call "/tmp/e2e/pptp call $ISP_4"
    soon 10 on_path slow/unsupported-protocol --proto gre
    control_is_slow --proto tcp --text :1723
    soon 5 passed_gre
    peers touch /tmp/e2e/pptp.end
    for end in answer call; do
        ends_well "pptp-$end"
        between "GRE packets at the end that does $end" "$(peers cat "/tmp/e2e/pptp-$end.log")" \
            5 10000
    done
}
passed_gre() {
    local flow
    flow=$(newest --proto gre)
    [ "$(field up_bytes "$flow")" -gt 500 ] && [ "$(field down_bytes "$flow")" -gt 500 ]
}

# firewall4's default attaches every loaded helper to zones without masquerading.
# @finds:helpers-global
test_helpers_on_all_zones_are_found_and_removed() {
    helper sip
    gw "$RELOAD reload firewall"
    has "rules of fw4" "$(attached)" 'udp dport 5060 ct helper set "sip"'
    doctor 'finds helpers-global'
    change_confirmed helpers-global
    soon 10 no_helper_is_attached
    lacks "zones" "$(gw nft list chain inet fw4 prerouting 2>&1)" helper_
}
no_helper_is_attached() { ! attached; }
