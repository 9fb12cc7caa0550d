# SPDX-License-Identifier: GPL-2.0-or-later
"""The template for OpenWISP renders to UCI that fastpath knows. `--renew` writes gateway.uci."""

import ipaddress
import json
import re
import sys
import unittest

import series
import test_guide
import yaml

try:
    from netjsonconfig import OpenWrt
except ImportError:
    OpenWrt = None

FOLDER = series.TOP / "docs/fleet/netjson"
GOLDEN = series.HERE / "gateway.uci"


def template():
    return json.loads((FOLDER / "gateway.json").read_text())


def rendered():
    context = json.loads((FOLDER / "context.json").read_text())
    backend = OpenWrt(template(), context=context)
    backend.validate()
    return backend.render().rstrip("\n") + "\n"


def sections(text):
    """Package, type, name and options of each section."""
    package = ""
    found = []
    for line in text.splitlines():
        words = re.findall(r"'[^']*'|\S+", line)
        words = [word.strip("'") for word in words]
        if words[:1] == ["package"]:
            package = words[1]
        elif words[:1] == ["config"]:
            found.append((package, words[1], words[2], {}))
        elif words and not words[0].startswith("#"):
            found[-1][3].setdefault(words[1], []).append(words[2])
    return found


@unittest.skipIf(OpenWrt is None, "this machine has no netjsonconfig")
class Template(unittest.TestCase):
    def test_it_renders_as_kept(self):
        self.assertEqual(rendered(), GOLDEN.read_text())

    def test_each_variable_has_an_example(self):
        names = set(re.findall(r"\{\{ (\w+) \}\}", (FOLDER / "gateway.json").read_text()))
        self.assertEqual(names, set(json.loads((FOLDER / "context.json").read_text())))
        self.assertNotIn("{{", rendered())

    def test_options_are_those_of_the_daemon(self):
        page = (series.TOP / "docs/design/configuration.md").read_text()
        kinds, kind = {}, None
        for line in page.splitlines():
            if match := re.match(r"config (\w+)", line):
                kind = kinds.setdefault(match.group(1), {"name", "enabled"})
            elif kind is not None and (match := re.match(r"\s(?:option|list) (\w+)", line)):
                kind.add(match.group(1))
        # Its options are a table of their own.
        table = re.findall(r"^\| `(\w+)` \| `?", (series.TOP / "docs/ipfix.md").read_text(), re.M)
        kinds["export"] = set(table)
        ours = [each for each in sections(rendered()) if each[0] == "fastpath"]
        self.assertGreaterEqual(len(ours), 5)
        for _, kind, name, options in ours:
            self.assertIn(kind, kinds)
            self.assertLessEqual(set(options), kinds[kind], name)

    def test_it_is_the_gateway_of_the_inventory(self):
        variables = yaml.safe_load(test_guide.blocks("yaml")[0])["gateways"]["vars"]
        found = sections(rendered())

        def values(wanted, *options):
            """Of all sections of this type in the template."""
            return [[" ".join(each[3].get(option, [])) for option in options]
                    for each in found if each[1] == wanted]

        vlans = variables["fastpath_vlans"]
        self.assertEqual(values("bridge-vlan", "vlan", "ports"),
                         [[str(one["vlan"]), " ".join(one["ports"])] for one in vlans])
        interfaces = [ipaddress.ip_interface("/".join(each[3][option][0] for option in
                                                      ("ipaddr", "netmask")))
                      for each in found if each[1] == "interface" and "ipaddr" in each[3]]
        self.assertEqual([str(one) for one in interfaces],
                         [one["ipaddr"][0] for one in vlans])
        wan = variables["fastpath_wan"]
        self.assertIn([f"{wan['port']}.{wan['vlan']}", wan["proto"], wan["username"]],
                      values("interface", "device", "proto", "username"))
        rights = ["name", "input", "output", "forward"]
        zones = [each for each in values("zone", *rights) if each[0] != "wan"]
        self.assertEqual(zones, [[one[right] for right in rights]
                                 for one in variables["fastpath_zones"]])
        self.assertEqual(sorted(values("forwarding", "src", "dest")),
                         sorted([one["name"], dest] for one in variables["fastpath_zones"]
                                for dest in one["forward_to"]))
        self.assertEqual(values("fastpath", "engine"), [[variables["fastpath_engine"]]])
        conditions = ["name", "src", "dest", "action"]
        self.assertEqual(values("policy", *conditions),
                         [[one[condition] for condition in conditions]
                          for one in variables["fastpath_policies"]])

    def test_zones_have_networks_that_exist(self):
        found = sections(rendered())
        interfaces = {name for package, kind, name, _ in found if kind == "interface"}
        zones = {options["name"][0] for _, kind, _, options in found if kind == "zone"}
        for _, kind, name, options in found:
            if kind == "zone":
                self.assertLessEqual(set(options["network"]), interfaces, name)
            if kind in ("forwarding", "policy"):
                self.assertLessEqual({*options["src"], *options["dest"]}, zones, name)


if __name__ == "__main__":
    if "--renew" in sys.argv:
        GOLDEN.write_text(rendered())
    else:
        unittest.main()
