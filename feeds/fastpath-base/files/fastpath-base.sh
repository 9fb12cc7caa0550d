#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later

# Adapts a router's configuration to fastpath, and restores the previous values. Reloads no service,
# so that no connection is lost.
# shellcheck disable=SC3043 # ash has local

# One changed option per line: OPTION|value or unset|old value|our value. A change writes its lines
# to ATTEMPT first, so lines found there belong to an interrupted change.
RECORD=/etc/fastpath/base
ATTEMPT=/etc/fastpath/base.new
BOARD=/etc/board.json
# VLAN of lan, untagged on all ports and therefore invisible to hosts. 1 is the default of switches.
VLAN=1
SECTION=lan_vlan

usage() {
	cat <<- END
		usage: fastpath-base status|apply|undo

		  status   show pending and applied changes and their obstacles
		  apply    change the configuration now; reload network and firewall to activate it
		  undo     restore the previous values, except options changed since
	END
}

# logger loses lines until logd has created /dev/log; logd also reads the kernel's log.
say() {
	if [ -S /dev/log ]; then
		logger -t fastpath-base "$1"
	elif [ -n "$QUIET" ]; then
		echo "fastpath-base: $1" > /dev/kmsg
	fi
	[ -n "$QUIET" ] || echo "$1"
}

# board EXPRESSION…: prints values of the board, one per line.
board() {
	local expression
	for expression; do jsonfilter -q -i "$BOARD" -e "$expression" 2> /dev/null; done
}

options() { uci -q show "network.$1" | sed -n "s/^network\.[^.=]*\.\([^.=]*\)=.*/\1/p" | sort; }

sections() { uci -q -X show "$1" | sed -n "s/^$1\.\([^.=]*\)=$2\$/\1/p"; }

# Prints the section of br-lan. Device sections are anonymous.
bridge() {
	local section
	for section in $(sections network device); do
		[ "$(uci -q get "network.$section.name")" != br-lan ] || echo "$section"
	done
}

ports_of_board() {
	local ports
	ports="$(board '@.network.lan.ports[*]')"
	[ -n "$ports" ] || ports="$(board '@.network.lan.device')"
	echo "$ports" | xargs
}

wan_of_board() { board '@.network.wan.ports[*]' '@.network.wan.device' | xargs; }

# subset "WORD…" "WORD…": succeeds if the second list has all words of the first.
subset() {
	local word
	for word in $1; do
		case " $2 " in *" $word "*) ;; *) return 1 ;; esac
	done
}

# Prints why br-lan cannot be made VLAN-aware, if anything prevents it. The configuration must be
# unmodified output of config_generate for this board, of this or the previous release.
obstacle() {
	local bridge ports wan
	if [ -n "$(sections network switch)" ]; then
		echo "swconfig configures the switch (sections switch) and its VLANs"
	elif [ -n "$(sections network bridge-vlan)" ]; then
		echo "a bridge already has VLANs"
	elif [ ! -s "$BOARD" ]; then
		echo "$BOARD is missing, so the ports are unknown"
	else
		bridge="$(bridge)"
		ports="$(uci -q get "network.${bridge:-none}.ports")"
		wan="$(wan_of_board)"
		changed_lan "$bridge" || wrong_ports "$ports" "$wan"
	fi
}

# changed_lan BRIDGE: prints how bridge or lan differ from the defaults. Fails if they do not.
changed_lan() {
	if [ -z "$1" ] || [ "$(echo "$1" | wc -l)" != 1 ]; then
		echo "there is not exactly one bridge br-lan"
	elif ! subset "$(options "$1")" "name ports type" ||
		[ "$(uci -q get "network.$1.type")" != bridge ]; then
		echo "bridge br-lan has custom options"
	elif [ "$(uci -q get network.lan.device)" != br-lan ]; then
		echo "interface lan is not on br-lan"
	elif ! generated_lan; then
		echo "interface lan has been customized"
	elif [ -n "$(other_users)" ]; then
		echo "br-lan is also used by: $(other_users)"
	else
		return 1
	fi
}

generated_lan() {
	local address
	subset "$(options lan)" "device proto ipaddr netmask ip6assign" || return 1
	[ "$(uci -q get network.lan.proto)" = static ] || return 1
	address="$(board '@.network.lan.ipaddr')"
	address="${address:-192.168.1.1}"
	case "$(uci -q get network.lan.ipaddr)" in
	"$address") [ -z "$(board '@.network.lan.netmask')" ] ;;
	"$address"/24) ;;
	"$address"/*) [ -n "$(board '@.network.lan.netmask')" ] ;;
	*) false ;;
	esac
}

# Prints other sections that use br-lan or a VLAN device on it, as old configurations do.
other_users() {
	uci -q show network |
		grep -E "^network\.[^=]*\.(device|ifname)='br-lan(\.[0-9]*)?'$" |
		grep -Ev "^network\.(lan|$SECTION)\.device=" | cut -d = -f 1 | xargs
}

# wrong_ports PORTS WAN: prints what is wrong with the ports, if anything.
wrong_ports() {
	local port count=0
	for port in $1; do
		count=$((count + 1))
		case "$port" in *.*)
			echo "port $port is a VLAN device: legacy VLAN configuration"
			return
			;;
		esac
		case " $2 " in *" $port "*)
			echo "port $port is the WAN port"
			return
			;;
		esac
	done
	if [ "$count" = 0 ] || [ "$1" != "$(ports_of_board)" ]; then
		echo "the ports of br-lan differ from the board's: $1"
	elif [ "$count" = 1 ] && [ -z "$2" ]; then
		echo "the board has one port ($1): configure its VLANs manually"
	fi
}

record() {
	local was
	was="$(uci -q get "$1")" && was="value|$was" || was="unset|"
	echo "$1|$was|$2" >> "$ATTEMPT"
}

recorded() { cut -d '|' -f 1 "$RECORD" 2> /dev/null | grep -qxF "$1"; }

# change OPTION VALUE: records and sets an option. A recorded option is not changed again, because
# the administrator may have changed it.
change() {
	recorded "$1" && return
	record "$1" "$2"
	uci -q set "$1=$2"
}

wanted_ports() { echo "$1" | sed 's/[^ ]*/&:u*/g'; }

apply_bridge() {
	local port
	recorded network.lan.device && return
	echo "network.$SECTION|ports|$(wanted_ports "$1")|$VLAN" >> "$ATTEMPT"
	uci -q batch <<- END
		set network.$SECTION='bridge-vlan'
		set network.$SECTION.device='br-lan'
		set network.$SECTION.vlan='$VLAN'
	END
	for port in $1; do uci -q add_list "network.$SECTION.ports=$port:u*"; done
	change network.lan.device "br-lan.$VLAN"
	say "br-lan is VLAN-aware, lan is VLAN $VLAN on it: $1"
}

apply_options() {
	# fastpath's CPU plan replaces packet steering. fw4's own flowtable would bypass inspection, and
	# flows with a conntrack helper must stay on the slow path; zones name the helpers that they need.
	[ -z "$(uci -q get network.globals)" ] || change network.globals.packet_steering 0
	if [ -n "$(uci -q get firewall.@defaults[0])" ]; then
		change firewall.@defaults[0].flow_offloading 0
		change firewall.@defaults[0].flow_offloading_hw 0
		change firewall.@defaults[0].auto_helper 0
	else
		say "/etc/config/firewall has no section defaults: its options are not changed"
	fi
}

commit() {
	uci -q commit network
	uci -q commit firewall
	sync
}

# Succeeds if uci has uncommitted changes, which must not be committed with ours.
pending() { [ -n "$(uci -q changes network)$(uci -q changes firewall)" ]; }

apply() {
	local why
	begin
	why="$(obstacle)"
	if recorded network.lan.device; then
		say "br-lan is already VLAN-aware"
	elif [ -n "$why" ]; then
		say "br-lan is not changed: $why"
	else
		apply_bridge "$(ports_of_board)"
	fi
	apply_options
	commit
	mv "$ATTEMPT" "$RECORD"
}

begin() {
	mkdir -p "${RECORD%/*}"
	touch "$RECORD"
	grep -vx undone "$RECORD" > "$ATTEMPT"
}

recover() {
	[ -s "$ATTEMPT" ] || return 0
	touch "$RECORD"
	# Not grep -f, because with an empty pattern file BusyBox's matches every line.
	awk 'FILENAME == ARGV[1] { old[$0]; next } !($0 in old)' "$RECORD" "$ATTEMPT" > "$ATTEMPT.rest"
	restore "$ATTEMPT.rest" > /dev/null
	commit
	rm -f "$ATTEMPT" "$ATTEMPT.rest"
}

# bridge_untouched PORTS VLAN: succeeds if our bridge settings are unchanged and only lan uses them.
bridge_untouched() {
	[ "$(uci -q get "network.$SECTION.ports")" = "$1" ] || return 1
	[ "$(sections network bridge-vlan)" = "$SECTION" ] || return 1
	[ "$(options "$SECTION" | xargs)" = "device ports vlan" ] || return 1
	[ "$(uci -q get network.lan.device)" = "br-lan.$2" ] && [ -z "$(other_users)" ]
}

# undo_bridge PORTS VLAN: removes our VLAN, unless it was changed.
undo_bridge() {
	if bridge_untouched "$1" "$2"; then
		uci -q delete "network.$SECTION"
		return
	fi
	say "the VLANs of br-lan are kept: they were changed since"
	false
}

undo_option() {
	local option="$1" kind="$2" was="$3" now="$4"
	if [ "$(uci -q get "$option")" != "$now" ]; then
		say "$option is kept: it was changed since"
	elif [ "$kind" = unset ]; then
		uci -q delete "$option"
	else
		uci -q set "$option=$was"
	fi
}

# restore FILE: restores the recorded values, except of options changed since.
restore() {
	local option kind was now kept_bridge=''
	while IFS='|' read -r option kind was now; do
		case "$option" in
		"" | undone) ;;
		"network.$SECTION") undo_bridge "$was" "$now" || kept_bridge=1 ;;
		network.lan.device) [ -n "$kept_bridge" ] || undo_option "$option" "$kind" "$was" "$now" ;;
		*) undo_option "$option" "$kind" "$was" "$now" ;;
		esac
	done < "$1"
}

undo() {
	[ -s "$RECORD" ] || return 0
	restore "$RECORD"
	commit
	echo undone > "$RECORD"
}

status() {
	local why
	why="$(obstacle)"
	if recorded undone; then
		echo "undone manually: no changes at boot"
	elif recorded network.lan.device; then
		echo "br-lan is VLAN-aware, lan is VLAN $VLAN on it"
	else
		echo "br-lan: ${why:-fastpath-base apply makes it VLAN-aware}"
	fi
	[ ! -f "$RECORD" ] || sed -n 's/^\([^|]*\)|unset||\(.*\)/\1: was not set, changed to \2/p
		s/^\([^|]*\)|value|\([^|]*\)|\(.*\)/\1: was \2, changed to \3/p' "$RECORD"
}

# Succeeds on a running router: uci-defaults run before netifd registers its ubus object.
router_runs() { ubus list network.interface > /dev/null 2>&1; }

first_boot() {
	local why
	QUIET=1
	if router_runs; then
		say "the router is already running: configuration not changed (to change it: fastpath-base apply)"
		return
	fi
	recover
	# The administrator or an earlier first boot has decided already.
	grep -qx undone "$RECORD" 2> /dev/null || recorded network.lan.device && return
	# On a board with one port, only the bridge is not changed.
	why="$(obstacle)"
	case "$why" in
	"" | "the board has one port"*) apply ;;
	*) say "configuration not changed: $why" ;;
	esac
}

run_command() {
	if pending; then
		echo "fastpath-base: $1 of network and firewall: there are uncommitted changes." \
			"Commit or revert them first (uci changes; uci revert network)" >&2
		exit 1
	fi
	recover
	"$1"
	echo "Takes effect at the next boot, or after:" \
		"/etc/init.d/network reload; /etc/init.d/firewall reload"
}

QUIET=
case "${1-}" in
status) status ;;
apply | undo) run_command "$1" ;;
first-boot) first_boot ;;
*)
	usage >&2
	exit 2
	;;
esac
