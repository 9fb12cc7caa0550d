# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests of the lab's netifd, sourced by `inside`. Each case has `config/network` (wanted),
# `before/network` (previous), `foreign` (unrelated kernel state) and `plan` (expected commands).
CASES=/usr/share/network-cases
LAB_LIB=/usr/libexec/lab

facts() {
    [ ! -e "$1/network" ] || UCI_CONFIG_DIR=$1 $LAB_LIB/wanted
}

devices() {
    printf 'link %s\n' lan1 lan2 lan3 wan
    awk '$1 == "bridge" || $1 == "vdev" { print "link " $2 }' "$1"
}

plan() {
    facts "$1/before" >/tmp/last
    facts "$1/config" >/tmp/want
    { devices /tmp/last && cat /tmp/last; [ ! -e "$1/foreign" ] || cat "$1/foreign"; } >/tmp/have
    awk -f $LAB_LIB/plan.awk pass=last /tmp/last pass=want /tmp/want pass=have /tmp/have
}

test_a_configuration_gives_the_expected_network_commands() {
    [ -d $CASES/boot ] || fail "no cases in $CASES"
    differ=
    for case in "$CASES"/*; do
        plan "$case" >/tmp/plan
        diff -u "$case/plan" /tmp/plan || differ="$differ ${case##*/}"
    done
    [ -z "$differ" ] || fail "another plan for$differ"
}

test_pppoe_options_are_quoted_for_pppd() {
    mkdir -p /tmp/pppoe
    cat >/tmp/pppoe/network <<'END'
config interface 'wan'
	option proto 'pppoe'
	option device 'wan.35'
	option username 'it'\''s "me" \ #1'
	option password 'a b'
	option mtu '1500'
	option ac 'north'
	option service 'fast'
	option keepalive '0'
	option ipv6 '0'
END
    UCI_CONFIG_DIR=/tmp/pppoe $LAB_LIB/pppoe wan >/tmp/options
    for line in 'user "it'\''s \"me\" \\ #1"' 'password "a b"' 'mtu 1500' 'mru 1500' noipv6 \
        'pppoe-ac "north"' 'pppoe-service "fast"' 'nic-wan.35' 'ifname pppoe-wan'; do
        grep -qxF -- "$line" /tmp/options || fail "no $line in: $(cat /tmp/options)"
    done
    ! grep -q lcp-echo /tmp/options || fail "echo requests"
}

test_a_configuration_gives_the_expected_firewall_rules() {
    mkdir -p /tmp/sys/module/nf_conntrack_ftp
    UCI_CONFIG_DIR=/usr/share/firewall-case SYS=/tmp/sys $LAB_LIB/firewall >/tmp/rules
    diff -u /usr/share/firewall-case/rules /tmp/rules || fail "other rules"
}

# Golden rules and warnings are by firewall4 b6e5157.
test_firewall_rules_equal_those_of_firewall4() {
    case=/usr/share/firewall-case/fw4
    UCI_CONFIG_DIR=$case SYS=/tmp/none $LAB_LIB/firewall >/tmp/rules 2>/tmp/warnings
    diff -u $case/rules /tmp/rules || fail "other rules"
    diff -u $case/warnings /tmp/warnings || fail "other warnings"
}

# Like an empty file: all policies are drop, and only established connections are accepted.
test_an_unreadable_firewall_file_counts_as_empty() {
    local case=/usr/share/firewall-case/fw4 text
    mkdir -p /tmp/broken /tmp/empty
    cp $case/network /tmp/broken
    cp $case/network /tmp/empty
    : >/tmp/empty/firewall
    UCI_CONFIG_DIR=/tmp/empty SYS=/tmp/none $LAB_LIB/firewall >/tmp/rules
    [ "$(grep -c 'policy drop' /tmp/rules)" = 3 ] || fail "rules without a file: $(cat /tmp/rules)"
    for text in "config rule 'x" "list" "html>" 'option name "x'; do
        { cat $case/firewall && echo "$text"; } >/tmp/broken/firewall
        UCI_CONFIG_DIR=/tmp/broken SYS=/tmp/none $LAB_LIB/firewall >/tmp/broken.rules 2>/tmp/said ||
            fail "an error: $(cat /tmp/said)"
        diff -u /tmp/rules /tmp/broken.rules || fail "rules with $text"
    done
}

test_unknown_firewall_options_are_refused() {
    mkdir -p /tmp/unknown
    cp /usr/share/firewall-case/fw4/network /tmp/unknown/network
    for option in "weekdays Mon" "target MARK" "dscp CS0" "icmp_type TOS-host-redirect"; do
        printf 'config rule\n option proto icmp\n option %s\n' "$option" >/tmp/unknown/firewall
        ! UCI_CONFIG_DIR=/tmp/unknown SYS=/tmp/none $LAB_LIB/firewall >/tmp/rules 2>/tmp/warnings ||
            fail "rules in spite of $option"
        grep -q "not known here" /tmp/warnings || fail "no reason: $(cat /tmp/warnings)"
    done
}
