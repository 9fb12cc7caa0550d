# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the previous wanted state, the new wanted state and the actual state:
# awk -f plan.awk pass=last FILE pass=want FILE pass=have FILE
# Prints lines of a stage (1 ip, 2 bridge, 3 ip, 4 bridge, 5 ip, 6 sh) and a command. Creates
# missing objects, removes those that were wanted only previously, and ignores others.

pass == "last" {
    last[++lasts] = $0
    next
}

pass == "want" && !($0 in want) {
    want[$0] = 1
    wants[++count] = $0
    # Indexed by subject, because a recreated device loses its settings.
    if ($1 == "vdev" || $1 == "bridge" || $1 == "port") wanted_as[$1, $2] = $0
    if ($1 == "mtu" || $1 == "up" || $1 == "stp" || $1 == "mac") keyed[$1, $2] = 1
    if ($1 == "pvlan") keyed[$1, $2, $3] = 1
    if ($1 == "port") ports_of[$2] = $3
    next
}

pass == "have" {
    have[$0] = 1
    if ($1 == "vdev" || $1 == "bridge" || $1 == "port") is_as[$1, $2] = $0
    if ($1 == "vdev") parent[$2] = $3
    if ($1 == "link") exists[$2] = 1
}

function say(stage, command) { print stage " " command }

# drop(NAME): marks the device and all devices above it as removed.
function drop(name,    child) {
    if (name in gone) return
    gone[name] = 1
    for (child in parent) if (parent[child] == name) drop(child)
    delete exists[name]
}

# there(FACT): returns whether the fact is still true after the removals.
function there(fact,    f) {
    if (!(fact in have)) return 0
    split(fact, f, " ")
    if (f[1] == "route") return !(f[5] in gone)
    if (f[2] in gone) return 0
    if (f[1] == "port") return !(f[3] in gone)
    if (f[1] == "pvlan") return !(f[2] in moved)
    return 1
}

function undo(fact,    f) {
    if (fact in want || !there(fact)) return
    # netifd sets GRO once the device is up and never reverts it (cbb83a1,
    # system_if_apply_settings_after_up).
    split(fact, f, " ")
    if (f[1] == "route") say(1, "route del " route(f))
    else if (f[1] == "addr") say(1, "addr del " f[3] " dev " f[2])
    else if (f[1] == "port" && !(f[2] in ports_of)) say(1, "link set " f[2] " nomaster")
    else if (f[1] == "bvlan") say(2, "vlan del dev " f[2] " vid " f[3] " self")
    else if (f[1] == "pvlan" && !((f[1], f[2], f[3]) in keyed) && (f[2] in ports_of))
        say(2, "vlan del dev " f[2] " vid " f[3])
    else if (f[1] == "up") say(5, "link set " f[2] " down")
    else if (f[1] == "mtu" && !((f[1], f[2]) in keyed)) say(5, "link set " f[2] " mtu 1500")
    else if (f[1] == "ipv6" && f[2] in exists) say(6, ipv6(f[2], 1))
}

function route(f,    text) {
    # `default` does not imply a family.
    text = f[2] == 6 && f[3] == "default" ? "::/0" : f[3]
    if (f[4] != "-") text = text " via " f[4]
    text = text " dev " f[5]
    return f[6] == "-" ? text : text " metric " f[6]
}

function ipv6(name, on) {
    return "echo " (1 - on) " >/proc/sys/net/ipv6/conf/" name "/disable_ipv6"
}

function address(f) {
    if (f[3] ~ /:/) return "addr add " f[3] " dev " f[2] " nodad"
    return "addr add " f[3] " brd + dev " f[2]
}

# make_device(FACT): runs first, because other settings need the devices.
function make_device(fact,    f) {
    split(fact, f, " ")
    if (f[1] == "bridge" && !there(fact))
        say(3, "link add " f[2] " type bridge vlan_default_pvid 0")
    else if (f[1] == "vdev" && !there(fact))
        say(3, "link add link " f[3] " name " f[2] " type vlan protocol " f[5] " id " f[4])
    else return
    exists[f[2]] = 1
}

function make(fact,    f) {
    # `state` omits GRO; setting it again has no effect.
    split(fact, f, " ")
    if (f[1] == "gro") say(6, "ethtool -K " f[2] " gro " f[3])
    if (there(fact)) return
    if (f[1] == "filtering") say(3, "link set " f[2] " type bridge vlan_filtering " f[3])
    else if (f[1] == "stp") say(3, "link set " f[2] " type bridge stp_state " f[3])
    else if (f[1] == "port") say(3, "link set " f[2] " master " f[3])
    else if (f[1] == "bvlan") say(4, "vlan add dev " f[2] " vid " f[3] " self")
    else if (f[1] == "pvlan")
        say(4, "vlan add dev " f[2] " vid " f[3] (f[4] ~ /u/ ? " untagged" : "") \
            (f[4] ~ /p/ ? " pvid" : ""))
    else if (f[1] == "mac") say(5, "link set " f[2] " address " f[3])
    else if (f[1] == "mtu") say(5, "link set " f[2] " mtu " f[3])
    else if (f[1] == "up") say(5, "link set " f[2] " up")
    else if (f[1] == "ipv6") say(6, ipv6(f[2], f[3]))
    # Addresses of a session are added when it comes up.
    else if (f[1] == "addr" && f[2] in exists) say(5, address(f))
    else if (f[1] == "route" && f[5] in exists) say(5, "route replace " route(f))
}

END {
    for (i = lasts; i > 0; i--) {
        split(last[i], f, " ")
        if (f[1] != "bridge" && f[1] != "vdev") continue
        if (last[i] in have && !((f[1], f[2]) in wanted_as)) {
            drop(f[2])
            say(1, "link del " f[2])
        }
    }
    # Recreate devices with a wanted name but another parent or VLAN.
    for (i = 1; i <= count; i++) {
        split(wants[i], f, " ")
        if (f[1] == "vdev" && f[2] in exists && !(wants[i] in have)) {
            drop(f[2])
            say(1, "link del " f[2])
        }
        if (f[1] == "port" && !(wants[i] in have)) moved[f[2]] = 1
    }
    for (i = lasts; i > 0; i--) undo(last[i])
    for (i = 1; i <= count; i++) make_device(wants[i])
    # Parents first: a VLAN device's MTU cannot exceed its parent's.
    for (i = 1; i <= count; i++) {
        split(wants[i], f, " ")
        if (f[1] != "mtu" || ("vdev", f[2]) in wanted_as) continue
        make(wants[i])
        have[wants[i]] = 1
    }
    for (i = 1; i <= count; i++) make(wants[i])
}
