# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the actual state in the format of `wanted`. Input: `ip -o -d link`, `bridge vlan`, `ip -o
# addr`, `ip route`, `ip -6 route` and disable_ipv6, each after a line `== NAME`. `link N` names
# every device; `gro` is omitted.

function after(word,    i) {
    for (i = 1; i < NF; i++) if ($i == word) return $(i + 1)
    return ""
}

function default_for(value, otherwise) { return value == "" ? otherwise : value }

$1 == "==" {
    part = $2
    next
}

part == "link" {
    name = $2
    sub(/:$/, "", name)
    parent = name
    if (sub(/@.*/, "", name)) sub(/.*@/, "", parent)
    print "link " name
    if ($3 ~ /[<,]UP[,>]/) print "up " name
    print "mtu " name " " after("mtu")
    print "mac " name " " after("link/ether")
    if (after("master") != "") print "port " name " " after("master")
    if (after("vlan_filtering") != "") {
        print "bridge " name
        print "filtering " name " " after("vlan_filtering")
        print "stp " name " " (after("stp_state") != 0)
    }
    if (after("vlan") == "protocol") {
        print "vdev " name " " parent " " after("id") " " after("protocol")
    }
    if ($0 ~ / bridge forward_delay /) is_bridge[name] = 1
}

part == "vlan" && $0 ~ /[0-9]/ {
    port = $0 ~ /^[^ \t]/ ? $1 : port
    vid = $0 ~ /^[^ \t]/ ? $2 : $1
    if (vid !~ /^[0-9]+$/) next
    if (port in is_bridge) print "bvlan " port " " vid
    else print "pvlan " port " " vid " " (/Untagged/ ? "u" : "t") (/PVID/ ? "p" : "")
}

part == "addr" && ($3 == "inet" || $3 == "inet6") && !/ scope link / {
    print "addr " $2 " " $4
}

(part == "route4" || part == "route6") && after("dev") != "" {
    metric = after("metric")
    # 1024 is the kernel's default metric for IPv6.
    if (part == "route6" && metric == 1024) metric = ""
    print "route", substr(part, 6), $1, default_for(after("via"), "-"), after("dev"), \
        default_for(metric, "-")
}

part == "ipv6" {
    split($0, path, "/")
    print "ipv6 " path[7] " " 1 - substr($0, length($0))
}
