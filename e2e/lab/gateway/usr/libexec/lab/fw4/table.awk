# SPDX-License-Identifier: GPL-2.0-or-later
# Prints table inet fw4 for /etc/config/firewall with firewall4's chain names and order:
# awk -v quote="'" -v config=FOLDER -v sys=/sys -v has_flowtable=0|1 -f …
# Devices and addresses of networks come from the network's configuration.

function interface(i,    name, proto, device, entry, n, j, mask) {
    name = id[i]
    proto = of(i, "proto", "")
    device = of(i, "device", "")
    # netifd names tunnel devices after their interfaces.
    if (proto == "pppoe") device = "pppoe-" name
    if (proto == "wireguard") device = name
    if (device ~ /^@/) device = l3[substr(device, 2)]
    l3[name] = device
    physical[name] = of(i, "device", "") ~ /^(@|lo$)/ ? "" : of(i, "device", "")
    network[name] = ""
    mask = of(i, "netmask", "")
    n = words(i, "ipaddr", entry)
    for (j = 1; j <= n; j++)
        network[name] = network[name] " " entry[j] (entry[j] ~ /\// || mask == "" ? "" : "/" mask)
    n = words(i, "ip6addr", entry)
    for (j = 1; j <= n; j++) network[name] = network[name] " " entry[j]
}

function defaults(i,    j, key) {
    split("input output forward", key, " ")
    for (j = 1; j <= 3; j++) policy[key[j]] = completed(of(i, key[j], "drop"), "accept reject drop")
    offloading = is_on(i, "flow_offloading")
    without_helpers = !is_on(i, "auto_helper", "1")
}

# zone(I): collects the devices that fw4 matches for the zone.
function zone(i,    entry, n, j, known, all) {
    zone_named[of(i, "name")] = i
    zones[++zone_count] = i
    n = words(i, "network", entry)
    for (j = 1; j <= n; j++) all = all " " l3[entry[j]]
    n = words(i, "device", entry)
    for (j = 1; j <= n; j++) {
        sub(/\+$/, "*", entry[j])
        all = all " " entry[j]
    }
    n = split(all, entry, " ")
    for (j = 1; j <= n; j++) {
        if (entry[j] in known) continue
        known[entry[j]] = 1
        devices[i] = joined(devices[i], "\"" entry[j] "\"")
    }
    devices[i] = set_of(devices[i])
}

function address_set(i,    entry, n, j, elements, line, path) {
    set_side[of(i, "name")] = of(i, "match", "") ~ /^d/ ? "d" : "s"
    n = words(i, "entry", entry)
    for (j = 1; j <= n; j++) elements = joined(elements, entry[j])
    path = of(i, "loadfile", "")
    # Addresses are not checked here, because nft reports invalid ones.
    while (path != "" && (getline line < path) > 0)
        if (line !~ /^#/ && line != "") elements = joined(elements, line)
    sets = sets "  set " of(i, "name") " { type ipv4_addr; flags interval; auto-merge\n" \
        (elements == "" ? "" : "    elements = { " elements " }\n") "  }\n"
}

function include(i,    path, position) {
    position = of(i, "position", "table-append")
    path = of(i, "path")
    gsub(quote, quote "\\" quote quote, path)
    if (of(i, "type", "script") == "nftables" && !system("test -r " quote path quote))
        included[position] = included[position] "include \"" of(i, "path") "\"\n"
}

function each(type,    i) {
    for (i = first; i <= sections; i++) {
        if (kind[i] != type || !is_good(i)) continue
        if (type == "defaults") defaults(i)
        else if (type == "ipset") address_set(i)
        else if (type == "zone") zone(i)
        else if (type == "rule") rule(i)
        else if (type == "forwarding") forwarding(i)
        else if (type == "redirect") redirect(i)
        else if (type == "include") include(i)
    }
}

function port_list(i,    entry, n, j, m, k, port, base) {
    n = words(i, "network", entry)
    for (j = 1; j <= n; j++) {
        base = physical[entry[j]]
        sub(/\..*/, "", base)
        m = split(base in members ? members[base] : base, port, /[ \n]+/)
        for (k = 1; k <= m; k++) {
            sub(/\..*/, "", port[k])
            if (port[k] == "" || port[k] in offloaded) continue
            offloaded[port[k]] = 1
            ports_offloaded = joined(ports_offloaded, port[k])
        }
    }
}

# Conntrack helpers whose modules are loaded. Zones without masquerading use all of them unless
# `auto_helper` is off in them or in the defaults; `helper` selects them explicitly.
function helper_chains(    name, part, n, j, i, k, loaded, line, chain, jumps) {
    # NAME PROTOCOL PORT MODULE, limited to helpers of the lab's kernels.
    n = split("ftp tcp 21 ftp,RAS udp 1719 h323,Q.931 tcp 1720 h323,pptp tcp 1723 pptp," \
        "sip udp 5060 sip,tftp udp 69 tftp", name, ",")
    for (j = 1; j <= n; j++) {
        split(name[j], part, " ")
        if (system("test -e " sys "/module/nf_conntrack_" part[4])) continue
        loaded[++k] = name[j]
        print "  ct helper " part[1] " { type \"" part[1] "\" protocol " part[2] "; }"
    }
    for (i = 1; i <= zone_count; i++) {
        chain = ""
        for (j = 1; j <= k; j++) {
            split(loaded[j], part, " ")
            if (!gets_helper(zones[i], part[1])) continue
            chain = chain "    " part[2] " dport " part[3] " ct helper set \"" part[1] \
                "\" comment \"!fw4: " part[1] " connection tracking\"\n"
        }
        if (chain == "") continue
        assigned = assigned "  chain helper_" of(zones[i], "name") " {\n" chain "  }\n"
        jumps = jumps zone_jump(zones[i], "helper", "iifname")
    }
    if (assigned != "")
        assigned = assigned "  chain prerouting {\n" \
            "    type filter hook prerouting priority filter; policy accept;\n" jumps "  }\n"
}

function gets_helper(i, name,    named) {
    named = of(i, "helper", "")
    gsub(/\n/, " ", named)
    if (named != "") return index(" " named " ", " " name " ") > 0
    if (without_helpers || is_on(i, "masq") || is_on(i, "masq6")) return 0
    return is_on(i, "auto_helper", "1")
}

function zone_jump(i, chain, direction) {
    if (devices[i] == "") return ""
    return "    " direction " " devices[i] " jump " chain "_" of(i, "name") \
        " comment \"!fw4: Handle " of(i, "name") " " chain " traffic\"\n"
}

function policy_of(i, hook) { return completed(of(i, hook, policy[hook]), "accept reject drop") }

# zone_chains(I): defines chains for all verdicts, since any rule may jump to them.
function zone_chains(i,    name, hook, j, verdict, k, side, statement) {
    name = of(i, "name")
    split("input forward output", hook, " ")
    split("accept reject drop", verdict, " ")
    for (j = 1; j <= 3; j++) {
        print "  chain " hook[j] "_" name " {"
        printf "%s", rules[hook[j] "_" name]
        if (hook[j] != "output" && name in has_dnat)
            print "    ct status dnat accept comment \"!fw4: Accept port " \
                (hook[j] == "input" ? "redirections" : "forwards") "\""
        print "    jump " policy_of(i, hook[j]) (hook[j] == "input" ? "_from_" : "_to_") name
        print "  }"
    }
    split("from iifname to oifname", side, " ")
    for (k = 1; k <= 3; k += 2) for (j = 1; j <= 3; j++) {
        statement = verdict[j] == "reject" ? "jump handle_reject" : verdict[j]
        print "  chain " verdict[j] "_" side[k] "_" name " { " \
            (devices[i] == "" ? "" : side[k + 1] " " devices[i] " counter " statement ";") " }"
    }
}

function base_chain(hook, direction,    i) {
    print "  chain " hook " {"
    print "    type filter hook " hook " priority filter; policy " \
        (policy[hook] == "accept" ? "accept" : "drop") ";"
    if (hook == "forward" && ports_offloaded != "")
        print "    meta l4proto { tcp, udp } flow offload @ft"
    if (hook != "forward")
        print "    " direction " lo accept comment \"!fw4: Accept local traffic\""
    print "    ct state vmap { established : accept, related : accept }"
    printf "%s", rules[hook]
    for (i = 1; i <= zone_count; i++) printf "%s", zone_jump(zones[i], hook, direction)
    if (policy[hook] == "reject") print "    jump handle_reject"
    print "  }"
}

function nat_chains(    i, name, jumps, masquerade, fix) {
    for (i = 1; i <= zone_count; i++) {
        name = of(zones[i], "name")
        if (devices[zones[i]] == "") continue
        if (("dstnat_" name) in rules) {
            printf "  chain dstnat_%s {\n%s  }\n", name, rules["dstnat_" name]
            jumps = jumps zone_jump(zones[i], "dstnat", "iifname")
        }
        if (is_on(zones[i], "masq"))
            masquerade = masquerade "    oifname " devices[zones[i]] " meta nfproto ipv4 " \
                "masquerade comment \"!fw4: Masquerade IPv4 traffic\"\n"
        if (is_on(zones[i], "masq6"))
            masquerade = masquerade "    oifname " devices[zones[i]] " meta nfproto ipv6 " \
                "masquerade comment \"!fw4: Masquerade IPv6 traffic\"\n"
        if (is_on(zones[i], "mtu_fix"))
            fix = fix mss("iifname", zones[i]) mss("oifname", zones[i])
    }
    hooked("dstnat", "nat hook prerouting priority dstnat", jumps)
    hooked("srcnat", "nat hook postrouting priority srcnat", masquerade)
    hooked("mangle_forward", "filter hook forward priority mangle", fix)
}

function hooked(chain, hook, text) {
    printf "  chain %s {\n    type %s; policy accept;\n%s  }\n", chain, hook, text
}

function mss(direction, i) {
    return "    " direction " " devices[i] \
        " tcp flags syn / fin,syn,rst tcp option maxseg size set rt mtu\n"
}

# Like fw4, flush the table: sets and empty chains of removed zones stay.
function print_table(    i, names) {
    print "table inet fw4\nflush table inet fw4"
    if (has_flowtable) print "delete flowtable inet fw4 ft"
    printf "%s", included["ruleset-prepend"]
    print "table inet fw4 {"
    printf "%s%s", included["table-prepend"], sets
    # Definitions for included files. They make nft reject two zones with the same name.
    for (i = 1; i <= zone_count; i++) {
        names = devices[zones[i]]
        if (substr(names, 1, 1) != "{") names = "{ " names " }"
        print "  define " of(zones[i], "name") "_devices = " names
    }
    if (offloading) for (i = 1; i <= zone_count; i++) port_list(zones[i])
    if (ports_offloaded != "")
        print "  flowtable ft { hook ingress priority filter; devices = { " ports_offloaded \
            " }; counter; }"
    helper_chains()
    print "  chain handle_reject {"
    print "    meta l4proto tcp reject with tcp reset"
    print "    reject with icmpx type port-unreachable"
    print "  }"
    for (i = 1; i <= zone_count; i++) zone_chains(zones[i])
    base_chain("input", "iifname")
    base_chain("forward", "iifname")
    base_chain("output", "oifname")
    printf "%s", assigned
    nat_chains()
    printf "%s}\n%s", included["table-append"], included["ruleset-append"]
}

# Name, IPv4 type/code, IPv6 type/code. fw4 uses only the first code of IPv6-only types.
function icmp_types(    known, n, j, part) {
    n = split("ping 8 128,echo-request 8 128,pong 0 129,echo-reply 0 129," \
        "destination-unreachable 3 1,time-exceeded 11 3,parameter-problem 12 4," \
        "fragmentation-needed 3/4 -,packet-too-big - 2/0,bad-header - 4/0," \
        "unknown-header-type - 4/1,router-solicitation 10 133,router-advertisement 9 134," \
        "neighbour-solicitation - 135/0,neighbor-solicitation - 135/0," \
        "neighbour-advertisement - 136/0,neighbor-advertisement - 136/0", known, ",")
    for (j = 1; j <= n; j++) {
        split(known[j], part, " ")
        if (part[2] != "-") ICMP[4, part[1]] = part[2]
        if (part[3] != "-") ICMP[6, part[1]] = part[3]
    }
}

BEGIN {
    specify()
    icmp_types()
    load(config "/network")
    for (i = 1; i <= sections; i++) {
        if (kind[i] == "interface") interface(i)
        if (kind[i] == "device" && of(i, "type", "") == "bridge")
            members[of(i, "name")] = of(i, "ports", "")
    }
    load(config "/firewall")
    policy["input"] = policy["output"] = policy["forward"] = "drop"
    n = split("defaults ipset zone rule forwarding redirect include", types, " ")
    for (j = 1; j <= n; j++) each(types[j])
    if (!failed) print_table()
    close("cat >&2")
    exit failed
}
