# SPDX-License-Identifier: GPL-2.0-or-later
# Creates rules, forwardings and port forwards like fw4: a rule per protocol, family and
# non-contiguous mask, collected in rules[CHAIN]. Reflection is missing, so inner hosts cannot use
# the outer address of a port forward.

function put(chain, text) { rules[chain] = rules[chain] "    " text "\n" }

function joined(a, b) { return a == "" ? b : a ", " b }
function set_of(text) { return text ~ /, / ? "{ " text " }" : text }

# bits_of(MASK): returns the prefix length of an IPv4 netmask, or -1 if it is not contiguous.
function bits_of(mask,    part, i, n, done) {
    split(mask, part, ".")
    n = 0
    for (i = 1; i <= 4; i++) {
        if (done && part[i] > 0) return -1
        if (part[i] < 255) done = 1
        while (part[i] >= 128) {
            part[i] = (part[i] - 128) * 2
            n++
        }
        if (part[i] > 0) return -1
    }
    return n
}

# add_address(SIDE, TEXT): adds an address to pos or neg by family and negation. Addresses with a
# non-contiguous mask go to odd_pos (one per line) or odd_neg.
function add_address(side, text,    of_net, n, i, not, all) {
    text = bare(text)
    not = negated
    if (text in network) {
        n = split(network[text], all, " ")
        for (i = 1; i <= n; i++) add_one(side, all[i], not)
    } else add_one(side, text, not)
}

function add_one(side, text, not,    part, family, at, word) {
    split(text, part, /[-\/]/)
    family = family_of(part[1])
    seen[side, family] = 1
    at = side SUBSEP family
    if (split(text, part, "/") == 2 && family == 4 && is_v4(part[2]) && bits_of(part[2]) >= 0)
        text = part[1] "/" bits_of(part[2])
    else if (split(text, part, "/") == 2 && (family_of(part[2]) || part[2] < 0)) {
        word = (family == 4 ? "ip " : "ip6 ") side "addr & " part[2] (not ? " != " : " == ") \
            part[1] (family_of(part[2]) ? " & " part[2] : "") " "
        if (not) odd_neg[at] = odd_neg[at] word
        else odd_pos[at] = odd_pos[at] word "\n"
        return
    }
    if (not) neg[at] = joined(neg[at], text)
    else pos[at] = joined(pos[at], text)
}

function forget_addresses() {
    delete seen
    delete pos
    delete neg
    delete odd_pos
    delete odd_neg
}

# groups(SIDE, FAMILY, INTO): collects the alternative matches of a side.
function groups(side, family, into,    at, base, n, i, lines) {
    at = side SUBSEP family
    base = neg[at] == "" ? "" : (family == 4 ? "ip " : "ip6 ") side "addr != " set_of(neg[at]) " "
    n = odd_pos[at] == "" ? 0 : split(odd_pos[at], lines, "\n") - 1
    for (i = 1; i <= n; i++) into[i] = base lines[i] odd_neg[at]
    if (pos[at] != "")
        into[++n] = (family == 4 ? "ip " : "ip6 ") side "addr " set_of(pos[at]) " " base odd_neg[at]
    else if (n == 0) into[++n] = base odd_neg[at]
    return n
}

# family_wanted(TEXT): returns 4, 6, 0 for both, or "" without the option.
function family_wanted(text) {
    if (text == "") return ""
    if (text ~ /^(any|all|\*)$/) return 0
    return text == "inet" || text ~ /4/ ? 4 : 6
}

# one_family(I, FAMILY, SIDES, NAMES): returns the family that satisfies option and addresses, or
# "none" if they contradict each other.
function one_family(i, family, sides, names,    side, name, n, j, four, six) {
    n = split(sides, side, " ")
    split(names, name, ",")
    for (j = 1; j <= n; j++) {
        four = seen[side[j], 4]
        six = seen[side[j], 6]
        if (four == six || (four ? 4 : 6) == family) continue
        if (family) {
            warn(i, "is restricted to IPv" family " but referenced " name[j] " IP is IPv" \
                (four ? 4 : 6) " only, skipping")
            return "none"
        }
        family = four ? 4 : 6
    }
    return family
}

function ports(i, key, proto, side,    entry, n, j, text, yes, no) {
    n = words(i, key, entry)
    yes = no = ""
    for (j = 1; j <= n; j++) {
        text = bare(entry[j])
        gsub(/:/, "-", text)
        if (negated) no = joined(no, text)
        else yes = joined(yes, text)
    }
    return (yes == "" ? "" : proto " " side "port " set_of(yes) " ") \
        (no == "" ? "" : proto " " side "port != " set_of(no) " ")
}

function macs(i,    entry, n, j, text, yes, no) {
    n = words(i, "src_mac", entry)
    yes = no = ""
    for (j = 1; j <= n; j++) {
        text = bare(entry[j])
        gsub(/-/, ":", text)
        if (negated) no = joined(no, text)
        else yes = joined(yes, text)
    }
    return (yes == "" ? "" : "ether saddr " set_of(yes) " ") \
        (no == "" ? "" : "ether saddr != " set_of(no) " ")
}

# protocols(I, INTO): collects protocol names. Like fw4, ignores a leading `!`.
function protocols(i, into,    entry, n, j, m, text) {
    n = words(i, "proto", entry)
    if (n == 0) entry[n = 1] = "tcpudp"
    for (j = 1; j <= n; j++) {
        text = tolower(bare(entry[j]))
        if (text == "all" || text == "*") text = "any"
        if (text == "1") text = "icmp"
        if (text ~ /^(58|icmpv6)$/) text = "ipv6-icmp"
        if (text == "6" || text == "tcpudp") into[++m] = "tcp"
        if (text == "17" || text == "tcpudp") into[++m] = "udp"
        if (text !~ /^(6|17|tcpudp)$/) into[++m] = text
    }
    return m
}

function has_icmp(i, family,    entry, n) {
    for (n = words(i, "icmp_type", entry); n > 0; n--)
        if (ICMP[family, entry[n]] != "" || entry[n] ~ /^[0-9]/) return 1
    return 0
}

# icmp(I, FAMILY, INTO): collects ICMP matches: one rule for types, another for types with codes.
function icmp(i, family, into,    entry, n, j, number, type, pairs, word, m) {
    n = words(i, "icmp_type", entry)
    type = pairs = ""
    for (j = 1; j <= n; j++) {
        number = ICMP[family, entry[j]]
        if (number == "" && entry[j] ~ /^[0-9]+(\/[0-9]+)?$/) number = entry[j]
        if (sub(/\//, " . ", number)) pairs = joined(pairs, number)
        else if (number != "") type = joined(type, number)
    }
    word = family == 4 ? "icmp" : "icmpv6"
    if (type != "") into[++m] = word " type " set_of(type) " "
    if (pairs != "") into[++m] = word " type . " word " code { " pairs " } "
    # Like fw4, match all types if none belongs to this family.
    if (m == 0) into[++m] = ""
    return m
}

# conditions(I): returns the matches common to rules and redirects.
function conditions(i,    text, value, limit, rate) {
    value = of(i, "limit", "")
    if (value != "") {
        limit = split(bare(value), rate, "/")
        text = text "limit rate " rate[1] "/" (limit > 1 ? completed(rate[2], UNITS) : "second") " "
        if (of(i, "limit_burst", "") != "") text = text "burst " of(i, "limit_burst") " packets "
    }
    value = bare(of(i, "mark", ""))
    if (value != "") {
        split(value, rate, "/")
        text = text "meta mark " (rate[2] == "" ? "" : "and " rate[2] " ") \
            (negated ? "!= " : "== ") rate[1] " "
    }
    value = bare(of(i, "ipset", ""))
    sub(/[ \t].*/, "", value)
    if (value != "")
        text = text "ip " (set_side[value] == "d" ? "d" : "s") "addr " (negated ? "!= " : "") \
            "@" value " "
    return text
}

function check_known(i, keys,    n, j, key) {
    n = split(keys, key, " ")
    for (j = 1; j <= n; j++) if (of(i, key[j], "") != "") unknown(i, "option '" key[j] "'")
}

function commented(i, text) {
    gsub(/"/, "'", text)
    return "comment \"!fw4: " text "\""
}

function protocol_match(proto, family, has_ports) {
    if (proto == "any" || has_ports) return ""
    if (proto == "icmp" && family == 6) proto = "ipv6-icmp"
    if (proto == "icmp" && !family) proto = "{ icmp, ipv6-icmp }"
    return "meta l4proto " proto " "
}

function addresses(i, key, side,    entry, n, j) {
    n = words(i, key, entry)
    for (j = 1; j <= n; j++) add_address(side, entry[j])
}

function rule(i,    proto, n, j, target) {
    check_known(i, "helper set_helper start_date stop_date start_time stop_time weekdays dscp log")
    target = of(i, "target", "") == "" ? "" : completed(of(i, "target"), TARGETS)
    if (target !~ /^(accept|reject|drop|)$/) {
        unknown(i, "target '" target "'")
        return
    }
    if (of(i, "ipset", "") != "") {
        split(bare(of(i, "ipset")), proto, /[ \t]/)
        if (!(proto[1] in set_side)) {
            warn(i, "references unknown set '" proto[1] "'")
            return
        }
    }
    n = words(i, "icmp_type", proto)
    for (j = 1; j <= n; j++)
        if (ICMP[4, proto[j]] ICMP[6, proto[j]] == "" && proto[j] !~ /^[0-9]+(\/[0-9]+)?$/)
            unknown(i, "icmp_type '" proto[j] "'")
    delete proto
    forget_addresses()
    addresses(i, "src_ip", "s")
    addresses(i, "dest_ip", "d")
    n = protocols(i, proto)
    for (j = 1; j <= n; j++) rule_of(i, proto[j], target)
}

function rule_of(i, proto, target,    family, given, match_ports, four, six) {
    given = family_wanted(of(i, "family", ""))
    if (proto == "ipv6-icmp") given = 6
    if (of(i, "ipset", "") != "" && !given) given = 4
    family = one_family(i, given, "s d", "source,destination")
    if (family == "none") return
    match_ports = proto ~ /^(tcp|udp)$/ ? \
        ports(i, "src_port", proto, "s") ports(i, "dest_port", proto, "d") : ""
    four = seen["s", 4] || seen["d", 4]
    six = seen["s", 6] || seen["d", 6]
    if (proto == "icmp") four = four || has_icmp(i, 4)
    if (proto ~ /icmp/) six = six || has_icmp(i, 6)
    if (family == "" && four != six) family = four ? 4 : 6
    if (!family && !four && !six) {
        put_rule(i, proto, 0, match_ports, "", target)
        return
    }
    if (!family || family == 4) rules_of_family(i, proto, 4, match_ports, target)
    if (!family || family == 6) rules_of_family(i, proto, 6, match_ports, target)
}

function rules_of_family(i, proto, family, match_ports, target, \
    src, dst, type, n, m, t, j, k, l) {
    n = groups("s", family, src)
    m = groups("d", family, dst)
    type[t = 1] = match_ports
    if (proto ~ /icmp/) t = icmp(i, family, type)
    for (j = 1; j <= n; j++) for (k = 1; k <= m; k++) for (l = 1; l <= t; l++)
        put_rule(i, proto, family, type[l], src[j] dst[k], target)
}

# FIELDS matches ports or ICMP types.
function put_rule(i, proto, family, fields, match_addresses, target, \
    src, dest, chain, verdict, text) {
    src = of(i, "src", "")
    dest = of(i, "dest", "")
    text = family && match_addresses == "" ? "meta nfproto ipv" family " " : ""
    text = text protocol_match(proto, family, fields != "")
    if (of(i, "device", "") != "")
        text = text (of(i, "direction", "") ~ /^(out|egress)$/ ? "oifname" : "iifname") " \"" \
            of(i, "device") "\" "
    text = text match_addresses (proto ~ /icmp/ ? macs(i) fields : fields macs(i)) conditions(i)
    if (src == "") chain = dest == "" || dest == "*" ? "output" : "output_" dest
    else chain = (dest == "" ? "input" : "forward") (src == "*" ? "" : "_" src)
    if (target != "" && dest != "" && dest != "*") verdict = "jump " target "_to_" dest " "
    else if (target == "reject") verdict = "jump handle_reject "
    else verdict = target == "" ? "" : target " "
    put(chain, text (is_on(i, "counter", "1") ? "counter " : "") verdict \
        commented(i, of(i, "name", place[i])))
}

function forwarding(i,    src, dest, family, name, text) {
    src = of(i, "src")
    dest = of(i, "dest")
    family = family_wanted(of(i, "family", ""))
    name = of(i, "name", "Accept " (src == "*" ? "any" : src) " to " (dest == "*" ? "any" : dest) \
        (family ? " IPv" family : "") " forwarding")
    text = (family ? "meta nfproto ipv" family " " : "") \
        (dest == "*" ? "accept " : "jump accept_to_" dest " ")
    put(src == "*" ? "forward" : "forward_" src, text commented(i, name))
}

function redirect(i,    proto, n, j, target, src, dest) {
    target = completed(of(i, "target", "dnat"), TARGETS)
    check_known(i, "helper start_date stop_date start_time stop_time weekdays log ipset")
    if (target == "snat") {
        unknown(i, "target 'snat'")
        return
    }
    src = of(i, "src", "")
    dest = of(i, "dest", "")
    if (target != "dnat") warn(i, "has invalid target specified, defaulting to dnat")
    if (src == "" || src == "*") {
        warn(i, src == "" ? "has no source specified" : "must not have source '*' for dnat target")
        return
    }
    bare(of(i, "dest_ip", ""))
    if (negated) {
        warn(i, "must not specify a negated 'dest_ip' value")
        return
    }
    forget_addresses()
    if (of(i, "src_ip", "") != "") add_address("s", of(i, "src_ip"))
    if (of(i, "src_dip", "") != "") add_address("d", of(i, "src_dip"))
    if (of(i, "dest_ip", "") != "") add_address("r", of(i, "dest_ip"))
    if (odd_pos["r", 4] odd_pos["r", 6] != "") {
        warn(i, "must not use non-contiguous masks in 'dest_ip'")
        return
    }
    has_dnat[src] = 1
    if (dest == "") dest = zone_of(of(i, "dest_ip", ""))
    if (dest != "" && of(i, "dest", "") == "")
        warn(i, "does not specify a destination, assuming '" dest "'")
    if (dest != "" && dest != "*" && is_on(i, "reflection", "1") && is_on(zone_named[src], "masq"))
        has_dnat[dest] = 1
    n = protocols(i, proto)
    for (j = 1; j <= n; j++) redirect_of(i, proto[j])
}

function zone_of(text,    i, j, n, net, entry, m, k) {
    if (text == "") return ""
    text = text in network ? network[text] : text
    sub(/^ /, "", text)
    sub(/[-\/ ].*/, "", text)
    for (i = 1; i <= zone_count; i++) {
        n = words(zones[i], "network", entry)
        for (j = 1; j <= n; j++) {
            m = split(network[entry[j]], net, " ")
            for (k = 1; k <= m; k++)
                if (is_inside(text, net[k])) return of(zones[i], "name")
        }
    }
    return ""
}

# is_inside(ADDRESS, SUBNET): compares hexadecimal digits, so IPv6 prefix lengths must be multiples
# of 4.
function is_inside(address, subnet,    part, n) {
    n = split(subnet, part, "/")
    if (family_of(address) != family_of(part[1])) return 0
    if (family_of(address) == 4) {
        if (n == 1) part[2] = 32
        if (is_v4(part[2])) part[2] = bits_of(part[2])
        return host(address "/" part[2]) == host(part[1] "/" part[2])
    }
    if (n == 1) part[2] = 128
    return substr(digits(address), 1, part[2] / 4) == substr(digits(part[1]), 1, part[2] / 4)
}

# digits(ADDRESS): returns the 32 hexadecimal digits of an IPv6 address.
function digits(text,    half, left, right, n, m, i, out) {
    split(text, half, "::")
    n = half[1] == "" ? 0 : split(half[1], left, ":")
    m = half[2] == "" ? 0 : split(half[2], right, ":")
    for (i = 1; i <= n; i++) out = out substr("0000" tolower(left[i]), length(left[i]) + 1)
    for (i = n + m; i < 8; i++) out = out "0000"
    for (i = 1; i <= m; i++) out = out substr("0000" tolower(right[i]), length(right[i]) + 1)
    return out
}

function redirect_of(i, proto,    family, four, six, any) {
    family = one_family(i, proto == "ipv6-icmp" ? 6 : family_wanted(of(i, "family", "")), "s d r",
        "source,destination,rewrite")
    if (family == "none") return
    four = seen["s", 4] || seen["d", 4] || seen["r", 4]
    six = seen["s", 6] || seen["d", 6] || seen["r", 6]
    any = four || six
    if (!any) {
        put_redirect(i, proto, family == "" ? 4 : family, "", "")
        return
    }
    if ((!family || family == 4) && four) redirects_of_family(i, proto, 4)
    if ((!family || family == 6) && six) redirects_of_family(i, proto, 6)
}

function redirects_of_family(i, proto, family,    src, dst, n, m, j, k, to) {
    n = groups("s", family, src)
    m = groups("d", family, dst)
    to = pos["r", family]
    sub(/,.*/, "", to)
    for (j = 1; j <= n; j++) for (k = 1; k <= m; k++)
        put_redirect(i, proto, family, src[j] dst[k], to)
}

function host(text,    part, byte, bits, i, size) {
    if (split(text, part, "/") == 1 || is_v6(part[1])) return part[1]
    bits = part[2]
    split(part[1], byte, ".")
    for (i = 1; i <= 4; i++) {
        # BusyBox's awk may lack the power operator.
        for (size = 1; size < 256 && bits < 8; bits++) size *= 2
        byte[i] -= byte[i] % size
        bits -= 8
    }
    return byte[1] "." byte[2] "." byte[3] "." byte[4]
}

function put_redirect(i, proto, family, match_addresses, to,    match_ports, port, text, goal) {
    match_ports = port = ""
    if (proto ~ /^(tcp|udp)$/) {
        match_ports = ports(i, "src_port", proto, "s") ports(i, "src_dport", proto, "d")
        port = bare(of(i, "dest_port", of(i, "src_dport", "")))
        gsub(/:/, "-", port)
    }
    text = family && match_addresses == "" ? "meta nfproto ipv" family " " : ""
    text = text protocol_match(proto, family, match_ports != "" || port != "")
    if (to == "") goal = "redirect" (port == "" ? "" : " to :" port)
    else if (family == 4) goal = "dnat ip to " host(to) (port == "" ? "" : ":" port)
    else goal = "dnat ip6 to " (port == "" ? host(to) : "[" host(to) "]:" port)
    put("dstnat_" of(i, "src"), text match_addresses match_ports macs(i) conditions(i) \
        (is_on(i, "counter", "1") ? "counter " : "") goal " " \
        commented(i, of(i, "name", place[i])))
}
