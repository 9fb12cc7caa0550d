# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Devices: what the owner says about them, and whence their names are.

# shellcheck source=e2e/tests/vm/lib/changes.sh
. "$VM/lib/changes.sh"

mac_of() { "$1" cat /sys/class/net/eth0/address; }

# verb SESSION METHOD ARGUMENTS: calls fastpath.device and prints the answer or refusal.
verb() { rpc "$1" fastpath.device "$2" "$3" | jq -c '.result[1] // .error // .'; }

digest() { said .configuration.digest status; }

# @core
# @fault:viewer-writes
test_verbs_write_sections_of_devices() {
    local root viewer mac before answer id until
    root=$(session root fastpath)
    viewer=$(session viewer look)
    mac=$(mac_of h10)
    gw 'echo "# the owner'\''s" >>/etc/config/fastpath'
    keep
    for id in "$viewer" "$NOBODY"; do
        for method in set pause resume forget; do
            answer=$(verb "$id" "$method" "{\"mac\": \"$mac\", \"until_s\": 0}")
            same "$method without the right" "$(jq -c .code <<<"$answer")" -32002
        done
    done
    answer=$(verb "$root" pause '{"group": "children", "until_s": 0}')
    same "an unknown group" "$(jq -r .error.cause.code <<<"$answer")" no-group
    answer=$(verb "$root" set "{\"mac\": \"$mac\", \"kind\": \"toaster\"}")
    same "an unknown kind" "$(jq -r .error.code <<<"$answer")" argument
    unchanged || fail "a refused verb changed something"

    before=$(digest)
    answer=$(verb "$root" set \
        "{\"mac\": \"${mac^^}\", \"name\": \"Anna's\", \"group\": \"children\"}")
    same "the answer" "$answer" '{"changed":true}'
    node "$VM/answer.mjs" "$TOP/feeds/fastpathd/src/schema" device set <<<"$answer"
    gw fastpathctl device "$mac" kind phone
    gw fastpathctl pause @children 2h
    until=$(gw "sed -n \"s/^[^#]*paused_until '\(.*\)'/\1/p\" /etc/config/fastpath")
    between "the end of a pause of two hours" "$((until - $(gw date +%s)))" 7100 7200
    gw fastpathctl pause @children
    same "the file" "$(gw cat /etc/config/fastpath)" "$(gw cat /run/e2e/kept/fastpath)

config device
	option group 'children'
	option mac '$mac'
	option name 'Anna'\\''s'
	option kind 'phone'
	option paused '1'"
    soon 10 changed_from "$before"
    same "the same again" "$(gw fastpathctl pause "$mac")" "nothing to change"

    id=$(applied "$root" "$(edited main '{"slow_packets": "3"}' fastpath)" '{"seconds": 60}')
    answer=$(verb "$root" resume "{\"mac\": \"$mac\"}")
    same "during a change" "$(jq -r .error.code <<<"$answer")" pending
    change "$root" revert "{\"id\": $id}" >/dev/null
    gw fastpathctl resume @children
    gw fastpathctl forget "$mac"
    unchanged || fail "the file is not as before: $(gw cat /etc/config/fastpath)"
}

changed_from() { [ "$(digest)" != "$1" ]; }

# named HOST NAME KNOWN: succeeds if the device of the host has this name.
named() {
    says ".devices[] | select(.mac == \"$(mac_of "$1")\") |
        .name == \"$2\" and .known == $3" devices
}

# shellcheck disable=SC2016 # addresses of sed
test_static_leases_and_odhcpd_name_devices() {
    local mac
    trap 'gw "rm /tmp/odhcpd.leases; mv /tmp/e2e.leases /tmp/dhcp.leases"' EXIT
    gw 'cp /tmp/dhcp.leases /tmp/e2e.leases && sed -i "/ h20 /d" /tmp/dhcp.leases'
    h20 curl -gsS -o /dev/null "http://$ISP_4/" "http://[$ISP_6]/"
    mac=$(mac_of h20)
    soon 10 named h20 "" false
    gw "echo '# br-lan.20 00010001aa 1 tv -1 10 128 $H20_6/128' >/tmp/odhcpd.leases"
    soon 10 named h20 tv false
    gw "echo '# br-lan.20 $mac ipv4 desk -1 a0a140a 32 10.10.20.99/32' >>/tmp/odhcpd.leases"
    soon 10 named h20 desk false
    edit_config dhcp '$a config host' "\$a option name 'annas-phone'" "\$a list mac '${mac^^}'"
    soon 10 named h20 annas-phone true
    same "devices at the shell" "$(gw fastpathctl devices | grep -c annas-phone)" 1
    edit_config dhcp '/^config host/,$d'
    soon 10 named h20 desk false
}
