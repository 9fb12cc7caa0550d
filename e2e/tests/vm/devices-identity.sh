# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Vendors and kinds of devices. The packages' file and object are stand-ins.

OUI=/usr/share/arp-scan/ieee-oui.txt
# A globally administered MAC, which only this run uses.
MAC=$(printf '00:00:5e:%02x:%02x:%02x' $((RANDOM % 256)) $((RANDOM % 256)) $((RANDOM % 256)))

joins() {
    peers "ip netns add e2e1 && ip -n h10 link add e2e1 link eth0 address $MAC type macvlan \
            mode bridge && ip -n h10 link set e2e1 netns e2e1 name eth0 && {
        ip -n e2e1 link set eth0 up; ip -n e2e1 address add 10.10.10.78/24 dev eth0
        ip -n e2e1 route add default via 10.10.10.1; }"
    peers "ip netns exec e2e1 ping -c 1 -W 2 10.10.10.1"
}
leaves() {
    peers 'ip netns del e2e1'
    gw "rm -rf ${OUI%/*} /usr/libexec/rpcd/umdns; pkill -HUP -x 'fastpath-standi|rpcd'"
}
device_says() { says ".devices[] | select(.mac == \"$MAC\") | $1" devices; }

# umdns SERVICE: publishes umdns' object, with a service of the device. rpcd and its stand-in list
# their plug-ins on SIGHUP.
umdns() {
    gw 'cat >/usr/libexec/rpcd/umdns; chmod 755 /usr/libexec/rpcd/umdns
        pkill -HUP -x "fastpath-standi|rpcd"' <<SCRIPT
#!/bin/sh
case \$1 in
list) echo '{"browse": {"array": true}}' ;;
call) echo '{"$1": {"x": {"ipv4": ["10.10.10.78"], "txt": ["rp=ipp/print"]}}}' ;;
esac
SCRIPT
}

# @core
test_a_device_has_vendor_and_kind_if_the_packages_are_installed() {
    local prefix
    at_the_end leaves
    joins
    soon 20 device_says '.vendor == "" and .kind == "" and .kind_source == ""'
    same "the file of vendors" "$(said .vendors devices)" false
    umdns _ipp._tcp
    prefix=${MAC//:/}
    gw "mkdir -p ${OUI%/*}; cat >$OUI" <<<"# test
00005E	ICANN, IANA Department
${prefix:0:9}	Example Small"
    soon 20 device_says '.vendor == "Example Small"'
    same "the file of vendors" "$(said .vendors devices)" true
    soon 30 device_says '.kind == "printer" and .kind_source == "mdns"'
    has "the command line" "$(gw fastpathctl devices)" "printer (mdns)  Example Small"
    # A damaged file.
    gw "head -c 9000000 /dev/zero >$OUI"
    soon 20 device_says '.vendor == ""'
    soon 10 healthy
}
