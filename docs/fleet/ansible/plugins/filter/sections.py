# SPDX-License-Identifier: GPL-2.0-or-later
"""Filter `sections`: converts the role's variables to UCI sections for the module `change`."""

from __future__ import annotations

from ansible.errors import AnsibleFilterError

VLAN = {"vlan", "ports", "interface", "proto", "ipaddr", "ip6addr", "ip6assign", "dhcp"}
WAN = {"interface", "port", "vlan", "proto", "username", "password", "mtu", "ipv6", "values"}
ZONE = {"name", "network", "input", "output", "forward", "masq", "mtu_fix", "forward_to"}
POLICY = {"name", "enabled", "src", "dest", "src_vlan", "dest_vlan", "action"}
EXPORT = {
    "kind", "enabled", "name", "host", "port", "interface",
    "protocol", "active_timeout", "idle_timeout", "template_refresh", "domain", "enterprise",
    "event",
}
DEVICE = {"mac", "name", "kind", "group", "quota_mb", "limit_down", "limit_up", "inspect"}
SCHEDULE = {"name", "enabled", "device", "group", "ssid", "day", "from", "to"}
NOTIFICATION = {"enabled", "name", "url", "mail", "format", "token", "ca", "event"}
# Options of the removed kind `redis`. fastpathd would refuse them in an export of another kind.
REDIS = ("password", "redis_key", "redis_type", "username")


def known(what, entry, names, required):
    """Raises an error for misspelt and missing variables, which would have no effect."""
    for name in required:
        if entry.get(name) in (None, ""):
            # Show only the name, because other values may be secrets.
            which = f" of {entry['name']}" if entry.get("name") else ""
            raise AnsibleFilterError(f"{what}{which}: {name} is missing")
    unknown = set(entry) - names
    if unknown:
        raise AnsibleFilterError(f"{what}: unknown: {', '.join(sorted(unknown))}")


def given(entry, names):
    return {name: entry[name] for name in names if name in entry}


def section(config, kind, name=None, match=None, values=None):
    found = {"config": config, "type": kind}
    if name:
        found["section"] = name
    if match:
        found["match"] = match
    found["values"] = values or {}
    return found


def vlans(entries, bridge):
    """Yields a VLAN-aware bridge, and per VLAN its interface and DHCP pool."""
    ports = []
    for entry in entries:
        known("fastpath_vlans", entry, VLAN, ["vlan", "ports"])
        ports += [port.partition(":")[0] for port in entry["ports"]]
    ports = list(dict.fromkeys(ports))
    yield section("network", "device", None, {"name": bridge}, {"type": "bridge", "ports": ports})
    for entry in entries:
        match = {"device": bridge, "vlan": entry["vlan"]}
        yield section("network", "bridge-vlan", None, match, {"ports": entry["ports"]})
        if entry.get("interface"):
            yield from interface(entry, f"{bridge}.{entry['vlan']}")


def interface(entry, device):
    values = {"device": device, "proto": entry.get("proto", "static")}
    values.update(given(entry, ["ipaddr", "ip6addr", "ip6assign"]))
    yield section("network", "interface", entry["interface"], None, values)
    if entry.get("dhcp"):
        values = {"interface": entry["interface"], **entry["dhcp"]}
        yield section("dhcp", "dhcp", entry["interface"], None, values)


def wan(entry):
    known("fastpath_wan", entry, WAN, ["port", "proto"])
    device = entry["port"]
    if entry.get("vlan"):
        device = f"{entry['port']}.{entry['vlan']}"
        values = {"type": "8021q", "ifname": entry["port"], "vid": entry["vlan"]}
        yield section("network", "device", None, {"name": device}, values)
    values = {"device": device, "proto": entry["proto"]}
    values.update(given(entry, ["username", "password", "mtu", "ipv6"]))
    values.update(entry.get("values", {}))
    yield section("network", "interface", entry.get("interface", "wan"), None, values)


def zones(entries):
    for entry in entries:
        known("fastpath_zones", entry, ZONE, ["name"])
        values = given(entry, ["network", "input", "output", "forward", "masq", "mtu_fix"])
        yield section("firewall", "zone", None, {"name": entry["name"]}, values)
    for entry in entries:
        for dest in entry.get("forward_to", []):
            match = {"src": entry["name"], "dest": dest}
            yield section("firewall", "forwarding", None, match)


def policies(entries):
    for entry in entries:
        known("fastpath_policies", entry, POLICY, ["name", "action"])
        values = {name: value for name, value in entry.items() if name != "name"}
        for name in sorted(POLICY - {"name"}):
            values.setdefault(name, None)
        yield section("fastpath", "policy", None, {"name": entry["name"]}, values)


def exports(entries):
    for name, values in entries.items():
        # Remove options of another kind, which the daemon would refuse.
        values = {**dict.fromkeys([*sorted(EXPORT), *REDIS]), **values}
        yield section("fastpath", "export", name, None, values)


def devices(entries):
    """Yields the devices; pauses, which are the owner's, stay as they are."""
    for entry in entries:
        known("fastpath_devices", entry, DEVICE, ["mac"])
        yield section("fastpath", "device", None, {"mac": entry["mac"]}, given(entry, DEVICE - {"mac"}))


def named(what, kind, entries, options, required):
    """Yields a section per name; missing options get their defaults."""
    for name, values in entries.items():
        known(f"{what}.{name}", values, options, required)
        yield section("fastpath", kind, name, None, {**dict.fromkeys(sorted(options)), **values})


def sections(wanted):
    """Returns `{sections, only}` for the module; parts without a variable stay unchanged."""
    found, only = [], []
    if wanted.get("vlans"):
        bridge = wanted.get("bridge") or "br-lan"
        found += vlans(wanted["vlans"], bridge)
        only.append({"config": "network", "type": "bridge-vlan", "where": {"device": [bridge]}})
    if wanted.get("wan"):
        found += wan(wanted["wan"])
    if wanted.get("zones"):
        found += zones(wanted["zones"])
        names = [zone["name"] for zone in wanted["zones"]]
        only.append({"config": "firewall", "type": "forwarding", "where": {"src": names}})
    for kind, name in (("fastpath", "main"), ("ips", "ips"), ("latency", "latency")):
        if wanted.get(name):
            found.append(section("fastpath", kind, name, None, wanted[name]))
    if wanted.get("policies") is not None:
        found += policies(wanted["policies"])
        only.append({"config": "fastpath", "type": "policy", "ordered": True})
    if wanted.get("exports") is not None:
        found += exports(wanted["exports"])
        only.append({"config": "fastpath", "type": "export"})
    found += devices(wanted.get("devices") or [])
    for kind, options, required in (
        ("schedule", SCHEDULE, ["from", "to"]),
        ("notification", NOTIFICATION, []),
    ):
        entries = wanted.get(f"{kind}s")
        if entries is not None:
            found += named(f"fastpath_{kind}s", kind, entries, options, required)
            only.append({"config": "fastpath", "type": kind})
    return {"sections": found + (wanted.get("sections") or []), "only": only}


class FilterModule:
    def filters(self):
        return {"sections": sections}
