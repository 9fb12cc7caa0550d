# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The gateway: queries, and the initial state of every test.

ask() { gw "fastpathctl --json $*"; }

# said FILTER COMMAND…: prints a value of the answer.
said() {
    local filter=$1
    shift
    ask "$@" | jq -r "$filter"
}

# says FILTER COMMAND…: succeeds if the jq FILTER is true for the answer; else prints the answer.
says() {
    local filter=$1 answer
    shift
    answer=$(ask "$@") || return 1
    jq -e "$filter" <<<"$answer" >/dev/null || { jq -c . <<<"$answer" | head -c 2000; return 1; }
}

# flows FILTER…: prints the flows, one JSON object per line.
flows() {
    ask flows --limit 500 "$@" |
        jq -c '.cols as $c | .rows[] | [$c, .] | transpose | map({(.[0]): .[1]}) | add'
}

newest() {
    ask flows --limit 1 --sort age_s --ascending "$@" |
        jq -c '.cols as $c | .rows[] | [$c, .] | transpose | map({(.[0]): .[1]}) | add'
}

# on_path PATH[/REASON] FILTER…: succeeds if the youngest flow has that path; else prints it.
on_path() {
    local wanted=$1 flow
    shift
    flow=$(newest "$@") || return 1
    [ "$(jq -r 'if .reason == "" then .path else .path + "/" + .reason end' <<<"$flow")" = \
        "$wanted" ] || { echo "$flow"; return 1; }
}

field() { jq -r ".$1" <<<"$2"; }

conntrack_of() {
    gw "{ conntrack -L -f ipv4; conntrack -L -f ipv6; } 2>/dev/null" |
        grep -m 1 -E "^[a-z].* sport=$1 .* sport="
}

offloaded() { [[ $(conntrack_of "$1") == *'[OFFLOAD]'* ]]; }

conntrack_bytes() { conntrack_of "$1" | grep -oE 'bytes=[0-9]+' | cut -d = -f 2 | xargs; }

bytes_grow() {
    local now
    now=$(conntrack_bytes "$1")
    [ "${now#* }" -gt "$2" ]
}

# cpus: prints the number of CPUs; OpenWrt's BusyBox lacks nproc.
cpus() { gw grep -c ^processor /proc/cpuinfo; }

# gw_during SECONDS COMMAND: prints the output of COMMAND, which is killed after SECONDS.
# @sleep: how long a program runs whose output is read; OpenWrt's BusyBox lacks timeout
gw_during() { gw "$2 & sleep $1; kill \$! 2>/dev/null || true"; }

daemon_pid() { instance pid fastpathd; }

engine_is() { says ".engine.active == \"$1\" and .engine.wanted == \"$1\"" status; }
use() {
    gw fastpathctl engine "$1" >/dev/null
    soon 10 engine_is "$1"
}
wan_says() { says ".wan[] | select(.name == \"wan\") | $1" status; }
wan_is_up() { wan_says '.up and .session > 0 and (.addresses | length > 0)'; }
wan_is_down() { wan_says '.up | not'; }
# wan_address: prints the WAN address, which changes with each reconnect.
wan_address() { said '.wan[0].addresses[0] | sub("/.*"; "")' status; }
internet() { h10 ping -c 1 -W 2 203.0.113.1; }

# good_state: establishes the initial state of every test: engine in force, WAN up, Internet
# reachable. Inspection is off unless CONFIG is `inspect`, because starting Suricata takes ten
# seconds.
good_state() {
    if is_good >/dev/null 2>&1; then return 0; fi
    gw cmp -s "/run/e2e/$CONFIG" /etc/config/fastpath || restore_state
    soon 30 engine_is flowtable
    # A failed test may have left the WAN down. The lab's gateway has no ifup.
    gw ubus call network.interface.wan status | jq -e '.autostart != false' >/dev/null ||
        gw ubus call network.interface.wan up
    soon 30 wan_is_up
    soon 10 internet
    case $CONFIG in
        inspect)
            # A restart of Suricata with another configuration may be pending.
            soon 60 taken
            soon 60 working
            soon 60 own_rules_only
            ;;
        # A failed test may have left Suricata running.
        *) soon 30 no_pids Suricata-Main ;;
    esac
    same "flowtable's devices" "$(said '.engine.devices - ["mgmt"] | join(" ")' status)" \
        "$(lab_port DEVICES)"
}

# is_good: checks the same in one call, because shells on an emulated machine start slowly.
is_good() {
    local answers protection='! cat /proc/[0-9]*/comm 2>/dev/null | grep -qx Suricata-Main'
    [ "$CONFIG" != inspect ] || protection="fastpathctl --json ips && $TAKEN"
    answers=$(gw "cmp -s /run/e2e/$CONFIG /etc/config/fastpath && fastpathctl --json status &&
        $protection") || return 1
    jq -es --arg devices "$(lab_port DEVICES)" '.[0] as $status | .[1] as $ips |
        ($status.engine | .active == "flowtable" and .wanted == "flowtable" and
            .devices - ["mgmt"] == ($devices | split(" "))) and
        ($status.wan[] | select(.name == "wan") |
            .up and .session > 0 and (.addresses | length > 0)) and
        ($ips == null or ($ips | .enabled and .state == "inline" and
            (.queues | length > 0 and all(.bound)) and
            .rules.state != "updating" and .rules.next_ms == 0))' <<<"$answers" && internet
}

# nothing_reloads: succeeds if no reload runs or is due. procd starts reloads a second after an
# event, and later on a slow machine. The brackets keep pgrep from matching its own shell.
# shellcheck disable=SC2016 # expanded on the gateway
nothing_reloads() {
    gw '! pgrep -f "^/bin/sh (/usr/libexec/lab/[c]onfig_change|/etc/[r]c.common .* reload)" &&
        [ $(($(date +%s) - $(date -r /var/run/fw4.state +%s))) -ge '"$((3 * $(pace) / 100)) ]"
}

# Initial configuration of a test: /run/e2e/config or /run/e2e/inspect.
CONFIG=${CONFIG:-config}

# Lists files that a test could leave behind. Excludes files that programs keep: change records,
# fetched rules, passwd's backups, and temporary files that a power cut may leave (libuci's
# .network.uci-XXXXXX).
FILES='find /etc /usr/sbin /usr/libexec /usr/share/rpcd /var/lib ! -type d ! -path "/etc/*-" |
    grep -vE -e "^/etc/fastpath/(changes/[^p]|history/|access[.]key$)" -e "^/etc/config/[.]" \
        -e "^/var/lib/fastpath/rules/"'

left_behind() { gw "{ $FILES; } | grep -vxFf /run/e2e/files" | xargs; }

leaves_no_files() {
    local left
    left=$(left_behind)
    [ -z "$left" ] || fail "it leaves files behind: $left"
}

# shellcheck disable=SC2016 # expanded on the gateway
prepare() {
    # Keep the files of an earlier run; its last test may have changed the configuration.
    gw '[ -e /run/e2e/config ] || {
            mkdir -p /run/e2e/etc && cp /etc/config/fastpath /run/e2e/config &&
                ls /sys/module >/run/e2e/modules &&
                for name in network firewall dhcp wireless; do
                    [ ! -e "/etc/config/$name" ] || cp "/etc/config/$name" /run/e2e/etc/
                done
        }'
    protection | gw 'cat >/run/e2e/inspect'
    gw "[ -e /run/e2e/files ] || { $FILES; } >/run/e2e/files"
    prepare_peers
    (good_state)
}

# Shell function for the gateway: `reload CONFIG…` reloads the services of these configurations in
# procd's order and waits for them. `reload_config` has no arguments and does not wait.
# shellcheck disable=SC2016 # expanded on the gateway
RELOAD='
reload() {
    concerned=
    for config; do
        case $config in
            network | wireless)
                concerned="$concerned network firewall dnsmasq packet_steering fastpathd " ;;
            firewall) concerned="$concerned firewall packet_steering fastpathd " ;;
            dhcp) concerned="$concerned dnsmasq fastpathd " ;;
            *) echo "no service is known for $config" >&2; return 1 ;;
        esac
    done
    set --
    for service in network firewall dnsmasq packet_steering fastpathd; do
        case $concerned in *" $service "*) "/etc/init.d/$service" reload || set -- failed ;; esac
    done
    [ $# = 0 ]
}
'

edit_config() {
    local name=$1
    shift
    gw "$RELOAD sed -i $(printf ' -e %q' "$@") /etc/config/$name && reload $name"
}

# Port forward from the WAN's port 8080 to h20's web server.
# shellcheck disable=SC2034 # the tests use it
WEB_FORWARD="config redirect
	option name 'web'
	option src 'wan'
	option src_dport '8080'
	option dest 'iot'
	option dest_ip '10.10.20.10'
	option dest_port '80'
	option proto 'tcp'"

add_config() { gw "$RELOAD cat >>/etc/config/$1 && reload $1"; }

# Shell code that restores the initial network, firewall and DHCP configuration.
# shellcheck disable=SC2016 # expanded on the gateway
CONFIGURATION_BACK=$RELOAD'
for file in /run/e2e/etc/*; do
    cmp -s "$file" "/etc/config/${file##*/}" && continue
    cp "$file" /etc/config/
    set -- "$@" "${file##*/}"
done
[ ! -e /etc/config/wireless ] || [ -e /run/e2e/etc/wireless ] || {
    rm /etc/config/wireless
    [ ! -e /run/e2e/wpa.pid ] || kill "$(cat /run/e2e/wpa.pid)"
    [ ! -e /run/netns/station ] || ip netns delete station
    set -- "$@" wireless
}
for file in /run/lab/down/*; do
    [ ! -e "$file" ] || { rm "$file"; set -- "$@" network; }
done
[ $# = 0 ] || reload "$@"
'
configuration_back() { gw "$CONFIGURATION_BACK"; }

# Unloads helpers unless the router loads them at boot. Reloading the firewall attaches loaded
# helpers to every zone. OpenWrt's modprobe lacks -r.
# shellcheck disable=SC2016 # expanded on the gateway
HELPERS_BACK='
unload_helpers() {
    for name in ftp h323 pptp sip tftp; do
        for module in nf_nat_$name nf_conntrack_$name; do
            [ ! -d /sys/module/$module ] || grep -qx $module /run/e2e/modules ||
                rmmod $module || return
        done
    done
}
if ! unload_helpers 2>/dev/null; then
    fw4 stop
    unload_helpers
    /etc/init.d/firewall restart
fi
'

# restore_state: cleans up after a test. One shell per machine, and only changed settings, because
# each process takes tens of milliseconds.
restore_state() {
    end_traffic
    cables_on
    gw "$IPS_BACK$HELPERS_BACK$CONFIGURATION_BACK
        nft delete table inet e2e 2>/dev/null
        echo 7440 >/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established
        rm -f /etc/fastpath/changes/pending.broken
        [ ! -e /sys/class/net/e2e0 ] || ip link delete e2e0
        cmp -s /run/e2e/$CONFIG /etc/config/fastpath || {
            cp /run/e2e/$CONFIG /etc/config/fastpath
            /etc/init.d/fastpathd reload
        }
        # A failed test may still hold the supervisor.
        /usr/libexec/lab/instance release fastpathd >/dev/null
        cat /proc/[0-9]*/comm 2>/dev/null | grep -qx fastpathd || /etc/init.d/fastpathd start
        fastpathctl engine flowtable
        find /run/e2e -mindepth 1 -maxdepth 1 ! -name config ! -name etc ! -name files \
            ! -name inspect ! -name modules -exec rm -rf {} +" 2>&1
    return 0
}

# keep_over_power: saves /run/e2e on the disk before a power cut.
keep_over_power() {
    need_gateway_disk || exit
    gw 'cp -a /run/e2e /etc/e2e.kept && sync'
}

# cycle_power: cuts the power and boots. In a user-mode lab the peers restart, too.
cycle_power() {
    cut_power gw || return
    power_on gw
    gw 'mv /etc/e2e.kept /run/e2e'
    peers '[ -d /tmp/e2e ]' || prepare_peers
}

configure() {
    gw 'cat >/etc/config/fastpath && /etc/init.d/fastpathd reload'
}

# change_rules: loads nft rules from stdin and waits until the daemon has read them.
change_rules() {
    local before
    before=$(our_table </dev/null)
    gw nft -f -
    soon 20 rules_are_read "$before"
}

cp_config_back() { gw 'cp /run/e2e/config /etc/config/fastpath; /etc/init.d/fastpathd reload'; }

# daemon_log: prints the daemon's log after mark_log. Warnings are in logd, other lines in files.
# shellcheck disable=SC2016 # expanded on the gateway
mark_log() {
    gw 'for file in /var/log/fastpathd.*; do wc -l <"$file" >"/run/e2e/${file##*/}"; done'
    LOG_MARK=$(logged | jq .id | sort -n | tail -1)
}
# shellcheck disable=SC2016 # expanded on the gateway
daemon_log() {
    gw 'for file in /var/log/fastpathd.*; do
            mark=$(cat "/run/e2e/${file##*/}" 2>/dev/null)
            tail -n "+$((${mark:-0} + 1))" "$file"
        done'
    logged | jq -r --argjson mark "${LOG_MARK:--1}" \
        'select(.priority == 28 and .id > $mark) | .msg | select(startswith("fastpathd["))'
}
logged() {
    gw ubus call log read "'{\"lines\": 1500, \"stream\": false, \"oneshot\": true}'" |
        jq -c '.log[]'
}

# refusal_names PART…: succeeds if health and log contain every PART. Retry it: health shows the
# previous refusal until the daemon has read the new configuration.
refusal_names() {
    local text log part
    text=$(said '.health[] | select(.code == "config-refused") | .text' status)
    log=$(daemon_log)
    [ -n "$text" ] || { echo "nothing is refused" && return 1; }
    for part; do
        [[ $text == *"$part"* ]] || { echo "the finding has no '$part': $text" && return 1; }
        [[ $log == *"$part"* ]] || { echo "the log has no '$part': $log" && return 1; }
    done
}

# refused TEXT PART…: fails unless TEXT is refused as configuration, with every PART in log and
# health, and the running configuration stays in force.
refused() {
    local text=$1 before
    shift
    before=$(said .engine status)
    mark_log
    configure <<<"$text"
    soon 5 refusal_names "$@"
    same "the engine's state" "$(said .engine status)" "$before"
    internet || fail "no Internet access any more"
}

healthy() { says '[.health[] | select(.code == "config-refused")] | length == 0' status; }
