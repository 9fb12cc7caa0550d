# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Common services with the flowtable: each works, and its flows are offloaded. services-line.sh
# tests WAN services.

test_flows_of_a_static_lease_are_offloaded() {
    local mac
    mac=$(h30 cat /sys/class/net/eth0/address)
    at_the_end "h30_port off"
    add_config dhcp <<<"
config dhcp 'lan'
	option interface 'lan'

config host
	option name 'printer'
	option mac '$mac'
	option ip '10.10.10.77'"
    soon 10 h30_port lease
    same "lease" "$(address_of h30 eth0 4)" 10.10.10.77
    has "name" "$(h30 busybox nslookup printer 10.10.10.1)" 10.10.10.77
    offloads h30 "$ISP_4"
    soon 10 comes_from printer
}
comes_from() { [ "$(newest --proto tcp --text "$PORT" | jq -r .src_name)" = "$1" ]; }

# from_outside ADDRESS PORT: downloads from ADDRESS to the ISP; PORT becomes the source port.
from_outside() {
    PORT=$(fresh_port)
    begin isp "tcp$PORT" "exec curl -sS -o /dev/null --limit-rate 100k --local-port $PORT" \
        "http://$1:$2/256.bin"
    in_flowtable
}

# goes_to ADDRESS PORT: fails unless the download has this translated destination.
goes_to() {
    local flow
    flow=$(newest --proto tcp --text "$PORT")
    same "incoming zone" "$(field in_zone "$flow")" wan
    same "translated destination" "$(field nat_dst "$flow"):$(field nat_dport "$flow")" "$1:$2"
    stays_offloaded
}

test_flows_of_a_port_forward_are_offloaded() {
    add_config firewall <<<"
$WEB_FORWARD"
    from_outside "$(wan_address)" 8080
    goes_to 10.10.20.10 80
    # The WAN address changes with a reconnect; the forward matches only the port.
    pppoe_end TERM
    soon 10 wan_is_down
    soon 30 wan_is_up
    soon 15 internet
    from_outside "$(wan_address)" 8080
}

# upnp_on: serves hosts of lan. WAN addresses of the lab are private, so miniupnpd reports another
# one.
upnp_on() {
    if is_openwrt; then
        package miniupnpd-nftables /etc/init.d/miniupnpd
        at_the_end "upnp_off"
        settings upnpd <<<"
config upnpd 'config'
	option enabled '1'
	option external_iface 'wan'
	option external_ip '9.9.9.9'
	option internal_iface 'lan'
	option port '5000'
	option uuid 'nocli'

config perm_rule
	option action 'allow'"
        gw '/etc/init.d/miniupnpd restart'
        return
    fi
    at_the_end "upnp_off"
    gw 'nft -f -' <<END
table inet e2e {
    chain upnp_forward { }
    chain upnp_prerouting { }
    chain upnp_postrouting { }
    chain dstnat { type nat hook prerouting priority dstnat; jump upnp_prerouting; }
    chain srcnat { type nat hook postrouting priority srcnat; jump upnp_postrouting; }
}
END
    gw 'cat >/run/e2e/miniupnpd.conf' <<END
ext_ifname=pppoe-wan
ext_ip=9.9.9.9
listening_ip=br-lan.10
port=5000
secure_mode=yes
upnp_table_name=e2e
upnp_nat_table_name=e2e
upnp_forward_chain=upnp_forward
upnp_nat_chain=upnp_prerouting
upnp_nat_postrouting_chain=upnp_postrouting
allow 0-65535 0.0.0.0/0 0-65535
END
    run_service miniupnpd miniupnpd -d -f /run/e2e/miniupnpd.conf
}

upnp_off() {
    if is_openwrt; then
        gw '/etc/init.d/miniupnpd stop'
        settings_back upnpd
    else
        stop_service miniupnpd
    fi
}

upnp() { h10 "upnpc -m eth0 $*"; }
# mapped: adds the mapping. Retry it, because WAN events reload fw4, which removes the rule
# unnoticed by miniupnpd.
mapped() {
    upnp -d 8081 tcp >/dev/null
    upnp -a 10.10.10.10 80 8081 tcp >/dev/null
    gw 'nft list ruleset | grep -q "dport 8081 .*dnat"'
}

test_flows_of_a_upnp_mapping_are_offloaded() {
    upnp_on
    begin h10 web "exec lighttpd -D -f /lab/lighttpd.conf"
    soon 30 nothing_reloads
    soon 10 mapped
    has "mappings" "$(upnp -l)" "8081->10.10.10.10:80"
    from_outside "$(wan_address)" 8081
    goes_to 10.10.10.10 80
    upnp -d 8081 tcp
    soon 5 nothing_at isp "$(wan_address)" 8081
}

asked() { h10 "busybox nslookup -type=a $1 10.10.10.1"; }
answered() { asked "$1" | sed '1,/^$/d' | grep -q 'Address.* 203\.0\.113\.1$'; }
blocked() { [[ $(asked "$1" || true) == *NXDOMAIN* ]] || { asked "$1"; return 1; }; }

adblock_on() {
    if is_openwrt; then
        package adblock /etc/init.d/adblock
        at_the_end "adblock_off"
        gw 'cp /etc/adblock/adblock.custom.feeds /run/e2e/feeds.before
            cat >/etc/adblock/adblock.custom.feeds
            uci add_list dhcp.@dnsmasq[0].server=203.0.113.1
            uci add_list dhcp.@dnsmasq[0].rebind_domain=lab.example
            uci commit dhcp
            /etc/init.d/dnsmasq restart' <<<'{"lab": {"url": "http://203.0.113.1/ads.txt",
                "rule": "feed 1", "size": "S", "descr": "of the lab"}}'
        settings adblock <<<"
config adblock 'global'
	option adb_enabled '1'
	option adb_dns 'dnsmasq'
	option adb_dnsdir '$(gw 'ls -d /tmp/dnsmasq.*.d' | head -n 1)'
	option adb_fetchcmd 'uclient-fetch'
	option adb_backup '0'
	list adb_feed 'lab'"
        gw '/etc/init.d/adblock enable; /etc/init.d/adblock start'
        return
    fi
    at_the_end "adblock_off"
    gw 'mkdir -p /run/e2e/dnsmasq.d
        curl -sSf http://203.0.113.1/ads.txt | sed "s,.*,local=/&/," >/run/e2e/dnsmasq.d/ads.conf'
    add_config dhcp <<<"
config dnsmasq
	option confdir '/run/e2e/dnsmasq.d'

config dhcp 'lan'
	option interface 'lan'"
}

adblock_off() {
    if is_openwrt; then
        gw '/etc/init.d/adblock stop; /etc/init.d/adblock disable
            mv /run/e2e/feeds.before /etc/adblock/adblock.custom.feeds'
        settings_back adblock
    fi
    gw 'rm -rf /run/e2e/dnsmasq.d'
    peers rm -f /tmp/www/ads.txt
}

test_adblock_blocks_names_while_flows_are_offloaded() {
    peers 'printf "%s\n" ads.lab.example tracker.lab.example >/tmp/www/ads.txt'
    adblock_on
    soon 20 answered www.lab.example
    soon 30 blocked ads.lab.example
    soon 5 blocked deep.tracker.lab.example
    soon 5 answered www.lab.example
    offloads h10 "$ISP_4"
}

# Second address of the ISP's web server.
BANNED=203.0.113.9
reaches() { h10 "curl -gsf -m $(patient 2) -o /dev/null http://$1/index.html"; }
stopped() { ! reaches "$1"; }

banip_off() {
    gw '/etc/init.d/banip stop; /etc/init.d/banip disable
        cp /run/e2e/blocklist.before /etc/banip/banip.blocklist'
    settings_back banip
    isp ip address delete "$BANNED/32" dev lo
}

# banIP drops in prerouting, before the flowtable.
test_banip_drops_banned_addresses_despite_the_flowtable() {
    package banip /etc/init.d/banip
    at_the_end "banip_off"
    isp ip address add "$BANNED/32" dev lo
    gw "cp /etc/banip/banip.blocklist /run/e2e/blocklist.before
        echo $BANNED >/etc/banip/banip.blocklist"
    soon 5 reaches "$BANNED"
    settings banip <<<"
config banip 'global'
	option ban_enabled '1'
	option ban_autodetect '0'
	option ban_protov4 '1'
	list ban_ifv4 'wan'
	list ban_dev 'pppoe-wan'
	option ban_fetchcmd 'uclient-fetch'
	option ban_autoallowlist '0'
	option ban_autoblocklist '0'"
    gw '/etc/init.d/banip enable; /etc/init.d/banip start'
    soon 60 stopped "$BANNED"
    soon 5 gw nft list table inet banIP
    offloads h10 "$ISP_4"
    pppoe_end TERM
    soon 10 wan_is_down
    soon 30 wan_is_up
    soon 15 internet
    stopped "$BANNED" || fail "$BANNED is reached after a reconnect"
    offloads h10 "$ISP_4"
}

# DDNS provider that logs requests and answers "good".
# shellcheck disable=SC2016 # expanded on the peers
DDNS_SERVER='read -r request; echo "$request" >>/tmp/e2e/ddns.requests
while read -r line && [ "${#line}" -gt 1 ]; do :; done
printf "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\ngood\n"'

ddns_off() {
    gw '/etc/init.d/ddns stop; /etc/init.d/ddns disable'
    settings_back ddns
    peers rm -f /tmp/e2e/ddns.requests /tmp/e2e/provider
}
updated_to() { peers "grep -qF 'myip=$1 ' /tmp/e2e/ddns.requests"; }

test_ddns_updates_the_address_after_a_reconnect() {
    local before
    package ddns-scripts /etc/init.d/ddns
    at_the_end "ddns_off"
    peers 'cat >/tmp/e2e/provider; : >/tmp/e2e/ddns.requests' <<<"$DDNS_SERVER"
    begin isp provider "exec socat TCP4-LISTEN:8053,fork,reuseaddr EXEC:'sh /tmp/e2e/provider'"
    settings ddns <<<"
config ddns 'global'
	option ddns_loglines '250'
	option upd_privateip '1'

config service 'lab'
	option enabled '1'
	option update_url 'http://203.0.113.1:8053/update?name=[DOMAIN]&myip=[IP]'
	option lookup_host 'home.lab.example'
	option domain 'home.lab.example'
	option username 'me'
	option password 'secret'
	option dns_server '203.0.113.1'
	option interface 'wan'
	option ip_source 'network'
	option ip_network 'wan'
	option check_interval '5'
	option check_unit 'minutes'"
    gw '/etc/init.d/ddns enable; /etc/init.d/ddns restart'
    before=$(wan_address)
    soon 20 updated_to "$before"
    # ddns misses interface events while it handles another one, and then checks after five minutes.
    offloads h10 "$ISP_4"
    pppoe_end TERM
    soon 10 wan_is_down
    soon 30 wan_is_up
    soon 15 internet
    [ "$(wan_address)" != "$before" ] || fail "the reconnect brought the same address"
    soon 45 updated_to "$(wan_address)"
    offloads h10 "$ISP_4"
}

excluded() {
    local port
    port=$(fresh_port)
    begin h10 "tcp$port" "exec curl -sSk -o /dev/null --limit-rate 100k --local-port $port" \
        "https://203.0.113.1/256.bin"
    soon 10 on_path slow/excluded --proto tcp --text "$port"
}

# new_system: resets all written files like an upgrade, but keeps the files of the tests.
new_system() {
    local kept
    kept=$(mktemp)
    gw 'tar -cf - -C /run e2e' >"$kept"
    gw ': >/factory-reset; sync'
    cut_power gw || exit
    power_on gw
    gw 'tar -xf - -C /run' <"$kept"
    rm -f "$kept"
    peers '[ -d /tmp/e2e ]' || prepare_peers
    soon 30 engine_is flowtable
    soon 30 wan_is_up
    soon 30 internet
}

# Simulates an upgrade with settings: backup, new system, restored backup, boot.
test_settings_survive_an_upgrade() {
    local backup name
    local own="config fastpath 'main'
	option engine 'flowtable'

config exclude
	option dest '203.0.113.1'
	option dest_port '443'
	option proto 'tcp'"
    need_gateway_disk || exit
    configure <<<"$own"
    add_config firewall <<<"
$WEB_FORWARD"
    excluded
    gw 'mkdir -p /etc/fastpath && echo kept >/etc/fastpath/e2e'
    backup=$(mktemp)
    # shellcheck disable=SC2064 # expanded now
    at_the_end "gw rm -f /etc/fastpath/e2e; rm -f $backup"
    for name in config/fastpath config/network config/firewall fastpath/e2e; do
        has "the files that sysupgrade keeps" "$(gw sysupgrade -l)" "/etc/$name"
    done
    gw 'sysupgrade -b /tmp/backup.tgz && cat /tmp/backup.tgz' >"$backup"
    new_system
    offloads h10 "$ISP_4"
    ! gw '[ -e /etc/fastpath/e2e ]' || fail "the system is not a new one"
    gw 'cat >/tmp/backup.tgz && sysupgrade -r /tmp/backup.tgz' <"$backup"
    keep_over_power
    cycle_power || return
    soon 30 engine_is flowtable
    soon 30 wan_is_up
    soon 30 internet
    same "settings" "$(gw cat /etc/config/fastpath)" "$own"
    same "our file" "$(gw cat /etc/fastpath/e2e)" kept
    excluded
    offloads h10 "$ISP_4"
    from_outside "$(wan_address)" 8080
}
