# SPDX-License-Identifier: GPL-2.0-or-later
# Reads UCI files and checks sections of `firewall` like firewall4. A file that libuci rejects has
# no sections. Invalid sections, and lists instead of values, are skipped with a warning on stderr.
# Needs words.awk.

# Section i is kind[i], id[i] and option[i, NAME]. For lists, option has a line per entry, and
# list[i, NAME] is set.
function refill() {
    if ((getline rest < file) > 0) return 1
    rest = ""
    return 0
}

function load(path,    keyword, key, value) {
    file = path
    delete count_of
    first = sections + 1
    while (refill()) {
        keyword = take()
        if (keyword == "config") {
            kind[++sections] = take()
            if (!found) unreadable = 1
            id[sections] = take()
            place[sections] = id[sections]
            if (id[sections] == "")
                place[sections] = "@" kind[sections] "[" (count_of[kind[sections]] + 0) "]"
            count_of[kind[sections]]++
        } else if (keyword == "option" || keyword == "list") {
            key = take()
            if (!found) unreadable = 1
            value = take()
            if (keyword == "list" && (sections, key) in option)
                value = option[sections, key] "\n" value
            if (keyword == "option" && value == "") continue
            if (!((sections, key) in option)) keys[sections] = keys[sections] " " key
            option[sections, key] = value
            if (keyword == "list") list[sections, key] = 1
            else delete list[sections, key]
        } else if (keyword != "" && keyword != "package") unreadable = 1
    }
    close(path)
    if (unreadable) sections = first - 1
    unreadable = 0
}

function of(i, key, otherwise) { return (i, key) in option ? option[i, key] : otherwise }
function is_on(i, key, otherwise) { return of(i, key, otherwise) ~ /^(1|on|true|yes)$/ }

function words(i, key, into,    text) {
    delete into
    text = of(i, key, "")
    if (text == "") return 0
    if (list[i, key]) return split(text, into, "\n")
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text == "" ? 0 : split(text, into, /[ \t]+/)
}

function warn(i, text,    name) {
    name = of(i, "name", "")
    if (list[i, "name"]) {
        gsub(/\n/, "\", \"", name)
        name = "[ \"" name "\" ]"
    }
    print "[!] Section " place[i] (name == "" ? "" : " (" name ")") " " text | "cat >&2"
}

function unknown(i, text) {
    print "fw4 of the lab: section " place[i] ": " text " is not known here" | "cat >&2"
    failed = 1
}

# bare(TEXT): removes a leading `!` and records it in `negated`.
function bare(text) {
    negated = sub(/^[ \t]*!/, "", text)
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}

# completed(TEXT, CHOICES): returns the first choice with the prefix TEXT.
function completed(text, choices,    n, i, choice) {
    n = split(choices, choice, " ")
    text = tolower(text)
    for (i = 1; i <= n; i++) if (substr(choice[i], 1, length(text)) == text) return choice[i]
    return ""
}

function is_v4(text,    part, n, i) {
    n = split(text, part, ".")
    if (n != 4) return 0
    for (i = 1; i <= 4; i++) if (part[i] !~ /^[0-9]+$/ || part[i] > 255) return 0
    return 1
}

function is_v6(text,    part, n, i, count, last) {
    if (text !~ /:/ || text ~ /:::|::.*::/ || text ~ /^:[^:]|[^:]:$/) return 0
    n = split(text, part, ":")
    count = 0
    for (i = 1; i <= n; i++) {
        if (part[i] == "") continue
        last = i == n && part[i] ~ /\./
        if (last ? !is_v4(part[i]) : part[i] !~ /^[0-9a-fA-F][0-9a-fA-F]?[0-9a-fA-F]?[0-9a-fA-F]?$/)
            return 0
        count += last ? 2 : 1
    }
    return text ~ /::/ ? count < 8 : count == 8
}

function family_of(text) { return is_v4(text) ? 4 : is_v6(text) ? 6 : 0 }

# is_subnet(TEXT): returns whether TEXT is an address or a configured network; sets `part`.
function is_subnet(text,    n, bits) {
    n = split(text, part, "/")
    if (n == 2) {
        if (!family_of(part[1])) return 0
        if (family_of(part[2])) return family_of(part[1]) == family_of(part[2])
        return part[2] ~ /^-?[0-9]+$/
    }
    if (n != 1) return 0
    if (split(text, part, "-") == 2)
        return family_of(part[1]) && family_of(part[1]) == family_of(part[2])
    return family_of(text) || text in network
}

function is_port(text,    part, n) {
    if (text !~ /^[0-9]+([-:][0-9]+)?$/) return 0
    n = split(text, part, /[-:]/)
    if (length(part[1]) > 5 || length(part[n]) > 5) return 0
    return part[1] + 0 <= part[n] + 0 && part[n] + 0 <= 65535
}

function is_value(type, text) {
    if (type == "string" || type == "includetype" || type == "position" || type == "time") return 1
    if (type == "int") return text ~ /^-?[0-9]+$/
    if (type == "bool") return text ~ /^(1|on|true|yes|0|off|false|no)$/
    if (type == "identifier") return text ~ /^[a-zA-Z_.][a-zA-Z0-9\/_.-]*$/
    if (type == "family") return text ~ /^(any|all|\*|inet)$/ || text ~ /[46]/
    if (type == "policy") return completed(text, "accept reject drop") != ""
    if (type == "target") return completed(text, TARGETS) != ""
    if (type == "direction") return text ~ /^(in|ingress|out|egress)$/
    if (type == "zone") return text == "*" || text in zone_named
    text = bare(text)
    if (text == "") return 0
    if (type == "network") return is_subnet(text)
    if (type == "port") return is_port(text)
    if (type == "mac")
        return text ~ /^[0-9a-fA-F][0-9a-fA-F]?([:-][0-9a-fA-F][0-9a-fA-F]?)+$/ &&
            split(text, part, /[:-]/) == 6
    if (type == "limit") return text ~ /^[0-9]+(\/[a-z]+)?$/ &&
        (text !~ /\// || completed(substr(text, index(text, "/") + 1), UNITS) != "")
    if (type == "mark") return text ~ /^(0x)?[0-9a-fA-F]+(\/(0x)?[0-9a-fA-F]+)?$/
    # device, protocol, set, helper and icmptype are not checked.
    return 1
}

# Options by section type, as NAME:TYPE. Suffix `*` allows a list, `!` requires the option, `-`
# forbids negation.
function specify() {
    TARGETS = "accept reject drop notrack helper mark dscp dnat snat masquerade"
    UNITS = "second minute hour day"
    SPEC["defaults"] = "input:policy output:policy forward:policy drop_invalid:bool " \
        "synflood_protect:bool syn_flood:bool flow_offloading:bool flow_offloading_hw:bool " \
        "tcp_syncookies:bool auto_helper:bool"
    SPEC["zone"] = "enabled:bool name:identifier! family:family network:device* device:device* " \
        "subnet:network* input:policy output:policy forward:policy masq:bool masq_src:network* " \
        "masq_dest:network* masq6:bool masq_allow_invalid:bool mtu_fix:bool log:int " \
        "log_limit:limit auto_helper:bool helper:helper* counter:bool"
    SPEC["forwarding"] = "enabled:bool name:string family:family src:zone! dest:zone!"
    SPEC["rule"] = "enabled:bool name:string family:family src:zone dest:zone device:device- " \
        "direction:direction ipset:set helper:helper set_helper:helper- proto:protocol* " \
        "src_ip:network* src_mac:mac* src_port:port* dest_ip:network* dest_port:port* " \
        "icmp_type:icmptype* limit:limit limit_burst:int utc_time:bool start_date:time " \
        "stop_date:time start_time:time stop_time:time weekdays:time mark:mark set_mark:mark- " \
        "set_xmark:mark- dscp:string set_dscp:string counter:bool log:string log_limit:limit " \
        "target:target"
    SPEC["redirect"] = "enabled:bool name:string family:family src:zone dest:zone ipset:set " \
        "helper:helper- proto:protocol* src_ip:network src_mac:mac* src_port:port " \
        "src_dip:network src_dport:port dest_ip:network dest_port:port limit:limit " \
        "limit_burst:int utc_time:bool start_date:time stop_date:time start_time:time " \
        "stop_time:time weekdays:time mark:mark reflection:bool reflection_src:string " \
        "reflection_zone:zone* counter:bool log:string log_limit:limit target:target"
    SPEC["ipset"] = "enabled:bool name:identifier! family:family match:string* entry:string* " \
        "loadfile:string timeout:int maxelem:int comment:string counters:bool reload_set:bool"
    SPEC["include"] = "enabled:bool path:string! type:includetype position:position " \
        "chain:identifier fw4_compatible:bool"
}

function is_good(i,    all, n, j, spec, key, type) {
    n = split(SPEC[kind[i]], all, " ")
    for (j = 1; j <= n; j++) {
        split(all[j], spec, ":")
        key = spec[1]
        type = spec[2]
        gsub(/[*!-]/, "", type)
        if (!is_option_good(i, key, type, spec[2])) {
            warn(i, "skipped due to invalid options")
            return 0
        }
    }
    if (is_on(i, "enabled", "1")) return 1
    warn(i, "is disabled, ignoring section")
    return 0
}

function is_option_good(i, key, type, flags,    entry, n, j) {
    if (!((i, key) in option)) {
        if (flags !~ /!/) return 1
        warn(i, "option '" key "' is mandatory but not set")
        return 0
    }
    if (list[i, key] && flags !~ /\*/) {
        warn(i, "option '" key "' must not be a list")
        return 0
    }
    if (flags ~ /\*/) n = words(i, key, entry)
    else n = 1
    if (flags !~ /\*/) entry[1] = of(i, key)
    for (j = 1; j <= n; j++) {
        if (!is_value(type, entry[j])) {
            warn(i, "option '" key "' specifies invalid value '" entry[j] "'")
            return 0
        }
        bare(entry[j])
        if (flags ~ /-/ && negated) {
            warn(i, "option '" key "' must not be negated")
            return 0
        }
    }
    return 1
}
