# SPDX-License-Identifier: GPL-2.0-or-later
"""Edits from the current sections to the wanted ones, and the role's variables as sections."""

import unittest

import collection

collection.ready()

from ansible.errors import AnsibleFilterError  # noqa: E402
from ansible_collections.fastpath.gateway.plugins.filter import sections as role  # noqa: E402
from ansible_collections.fastpath.gateway.plugins.module_utils import edits  # noqa: E402

import daemon  # noqa: E402
import gateway  # noqa: E402


def planned(*sections, only=(), present=None):
    return edits.plan(present or gateway.factory(), sections, only)


def wanted(kind, config="network", **more):
    return {"config": config, "type": kind, **more}


class Edits(unittest.TestCase):
    def test_an_equal_section_needs_no_edit(self):
        lan = wanted("interface", section="lan", values={"ipaddr": ["192.168.1.1/24"]})
        self.assertEqual(planned(lan), [])

    def test_only_different_values_are_set(self):
        lan = wanted("interface", section="lan", values={"device": "br-lan.10", "proto": "static"})
        edit = {"config": "network", "op": "set", "section": "lan",
                "values": {"device": "br-lan.10"}}
        self.assertEqual(planned(lan), [edit])

    def test_numbers_and_booleans_become_strings(self):
        main = wanted("fastpath", "fastpath", section="main", values={"enabled": True})
        self.assertEqual(planned(main), [])
        main["values"] = {"slow_packets": 5, "enabled": False, "slow_tunnel": ["sit"]}
        self.assertEqual(planned(main)[0]["values"],
                         {"slow_packets": "5", "enabled": "0", "slow_tunnel": ["sit"]})

    def test_null_removes_a_present_option(self):
        main = wanted("fastpath", "fastpath", section="main", values={"enabled": None})
        self.assertEqual(planned(main)[0]["values"], {"enabled": None})
        main["values"] = {"hook": None, "device": []}
        self.assertEqual(planned(main), [])

    def test_a_mac_is_compared_by_value(self):
        host = {"section": "cfg01", "type": "host", "values": {"mac": "aa:bb:cc:00:11:22"}}
        for mac in ("AA:BB:CC:00:11:22", "aa-bb-cc-00-11-22", ["AA:BB:CC:00:11:22"]):
            lease = wanted("host", "dhcp", match={"mac": mac}, values={"ip": "10.0.0.2"})
            edit = planned(lease, present={"dhcp": [host]})
            self.assertEqual([(each["op"], each["values"]) for each in edit],
                             [("set", {"ip": "10.0.0.2"})], mac)
        other = wanted("host", "dhcp", match={"mac": "AA:BB:CC:00:11:23"})
        self.assertEqual(planned(other, present={"dhcp": [host]})[0]["op"], "add")
        rule = {"config": "dhcp", "type": "host", "where": {"mac": "AA:BB:CC:00:11:22"}}
        self.assertEqual(planned(only=[rule], present={"dhcp": [host]})[0]["op"], "delete")

    def test_the_order_of_ports_is_no_difference(self):
        for ports in (["lan1", "lan2:t", "lan3"], "lan1 lan2:t lan3"):
            bridge = {"section": "br", "type": "device", "values": {"ports": ports}}
            present = {"network": [bridge]}
            same = wanted("device", section="br", values={"ports": ["lan3", "lan1", "lan2:t"]})
            self.assertEqual(planned(same, present=present), [])
            fewer = wanted("device", section="br", values={"ports": ["lan3", "lan1"]})
            self.assertEqual(len(planned(fewer, present=present)), 1)
        dns = {"section": "lan", "type": "interface", "values": {"dns": ["192.0.2.1", "192.0.2.2"]}}
        other = wanted("interface", section="lan", values={"dns": ["192.0.2.2", "192.0.2.1"]})
        self.assertEqual(len(planned(other, present={"network": [dns]})), 1)

    def test_lists_and_strings_with_equal_words_are_equal(self):
        forms = {
            "name": [("guest", ["guest"]), ("two words", ["two words"])],
            "network": [("lan iot", ["lan", "iot"]), (["lan"], "lan")],
            "proto": [(["tcp", "udp"], "tcp udp")],
        }
        for option, pairs in forms.items():
            for have, want in [*pairs, *[pair[::-1] for pair in pairs]]:
                present = {"firewall": [
                    {"section": "cfg01", "type": "zone", "values": {option: have}}
                ]}
                zone = wanted("zone", "firewall", match={option: want})
                self.assertEqual(planned(zone, present=present), [], (have, want))
        present["firewall"][0]["values"] = {"network": ["lan", "iot"]}
        for other in ("lan", "lan iot cams", ["lan iot"], ["iot", "lan"], None):
            zone = wanted("zone", "firewall", section="cfg01", values={"network": other})
            self.assertEqual(len(planned(zone, present=present)), 1, other)

    def test_an_anonymous_section_is_matched_by_its_options(self):
        match = {"name": "lan"}
        zone = wanted("zone", "firewall", match=match, values={"input": "REJECT"})
        self.assertEqual(planned(zone)[0]["section"], "cfg02dc81")

    def test_a_new_section_has_its_match_and_its_values(self):
        vlan = wanted("bridge-vlan", match={"device": "br-lan", "vlan": 20},
                      values={"ports": ["lan3:t"], "local": None})
        self.assertEqual(planned(vlan), [
            {"config": "network", "op": "add", "type": "bridge-vlan", "id": "new1",
             "values": {"device": "br-lan", "vlan": "20", "ports": ["lan3:t"]}},
        ])

    def test_an_ambiguous_match_is_refused(self):
        present = gateway.factory()
        present["firewall"].append(dict(present["firewall"][1], section="cfg09"))
        with self.assertRaisesRegex(edits.Ambiguous, "2 sections of type zone"):
            planned(wanted("zone", "firewall", match={"name": "lan"}), present=present)

    def test_absent_deletes_a_section_once(self):
        gone = wanted("interface", section="wan", state="absent")
        self.assertEqual(planned(gone), [{"config": "network", "op": "delete", "section": "wan"}])
        gone["section"] = "wan9"
        self.assertEqual(planned(gone), [])

    def test_only_removes_other_sections_of_the_kind(self):
        vlan = wanted("bridge-vlan", match={"device": "br-lan", "vlan": "20"})
        rule = {"config": "network", "type": "bridge-vlan", "where": {"device": ["br-lan"]}}
        self.assertEqual([edit["op"] for edit in planned(vlan, only=[rule])], ["add", "delete"])
        rule["where"] = {"device": ["br-other"]}
        self.assertEqual([edit["op"] for edit in planned(vlan, only=[rule])], ["add"])

    def test_order_matters_if_requested(self):
        present = gateway.factory()
        present["fastpath"] += [
            gateway.section("policy", name, {"name": name}) for name in ("one", "two")
        ]
        policies = [wanted("policy", "fastpath", match={"name": name})
                    for name in ("two", "new", "one")]
        rule = {"config": "fastpath", "type": "policy", "ordered": True}
        found = planned(*policies, only=[rule], present=present)
        self.assertEqual(found[-1],
                         {"config": "fastpath", "op": "order", "sections": ["two", "new1", "one"]})
        after, _ = gateway.changed(present, found)
        self.assertEqual(edits.plan(after, policies, [rule]), [])

    def test_a_masked_secret_is_always_sent(self):
        present = gateway.factory()
        present["network"][-1]["values"]["password"] = edits.MASK
        wan = wanted("interface", section="wan", values={"password": "secret"})
        self.assertEqual(planned(wan, present=present)[0]["values"], {"password": "secret"})

    def test_a_diff_has_lines_before_and_after(self):
        line = {"config": "network", "section": "lan", "label": "lan", "type": "interface",
                "what": "set", "option": "ipaddr", "from": None, "to": ["a", "b"]}
        gone = dict(line, what="remove", option=None, to=None)
        self.assertEqual(edits.lines([line, gone]), {
            "before": "network.lan=interface\n", "after": "network.lan.ipaddr='a' 'b'\n"})


class Role(unittest.TestCase):
    def test_nothing_is_wanted_without_variables(self):
        empty = {"vlans": None, "wan": None, "main": {}, "policies": None, "exports": None}
        self.assertEqual(role.sections(empty), {"sections": [], "only": []})

    def test_vlans_share_a_bridge(self):
        vlans = [{"vlan": 10, "ports": ["lan1:u*", "lan3:u*"], "interface": "lan"},
                 {"vlan": 20, "ports": ["lan2:t", "lan1:t"]}]
        found = role.sections({"vlans": vlans})["sections"]
        self.assertEqual(found[0]["values"]["ports"], ["lan1", "lan3", "lan2"])
        self.assertEqual([one["type"] for one in found],
                         ["device", "bridge-vlan", "interface", "bridge-vlan"])
        self.assertEqual(found[2]["values"]["device"], "br-lan.10")

    def test_a_misspelt_variable_is_refused(self):
        for wanted_ in ({"vlans": [{"vlan": 1, "ports": [], "prots": []}]},
                        {"policies": [{"name": "x"}]},
                        {"wan": {"port": "wan", "proto": "dhcp", "vid": 7}},
                        {"zones": [{"nam": "lan"}]}):
            with self.assertRaises(AnsibleFilterError, msg=wanted_):
                role.sections(wanted_)

    def test_a_policy_loses_conditions_that_are_not_wanted(self):
        policy = {"name": "guests", "src": "guest", "action": "always"}
        found = role.sections({"policies": [policy]})["sections"][0]
        self.assertIsNone(found["values"]["dest"])
        self.assertEqual(found["values"]["src"], "guest")

    def test_a_missing_variable_is_reported_without_other_values(self):
        wan = {"proto": "pppoe", "password": "the-secret"}
        with self.assertRaisesRegex(AnsibleFilterError, "port is missing") as raised:
            role.sections({"wan": wan})
        self.assertNotIn("the-secret", str(raised.exception))
        with self.assertRaisesRegex(AnsibleFilterError, "of iot: action is missing"):
            role.sections({"policies": [{"name": "iot"}]})

    def test_an_export_loses_options_that_are_not_wanted(self):
        present = gateway.factory()
        had = {"kind": "redis", "host": "192.0.2.10", "password": edits.MASK, "event": ["alert"],
               "enabled": "0"}
        present["fastpath"].append(gateway.section("export", "queue", had, False))
        found = role.sections({"exports": {"queue": {"host": "192.0.2.10"}}})
        change = edits.plan(present, found["sections"], found["only"])
        gone = dict.fromkeys(["kind", "password", "event", "enabled"])
        self.assertEqual([edit["values"] for edit in change], [gone])
        after, _ = gateway.changed(present, change)
        self.assertEqual(edits.plan(after, found["sections"], found["only"]), [])

    def test_devices_are_found_by_mac_and_schedules_and_notifications_by_name(self):
        wanted = {
            "devices": [{"mac": "02:00:00:00:00:01", "quota_mb": 5, "limit_down": 5000,
                         "limit_up": 1000, "inspect": "never"}],
            "schedules": {"bedtime": {"group": ["kids"], "ssid": ["Kids"], "from": "21:00",
                                      "to": "07:00"}},
            "notifications": {"phone": {"url": "https://ntfy.example/x", "token": "t"}},
        }
        found = role.sections(wanted)
        present = gateway.factory()
        had = {"mac": "02:00:00:00:00:01", "paused": "1"}
        present["fastpath"].append(gateway.section("device", "cfg1", had, True))
        had = {"url": "https://old.example", "event": ["line"]}
        present["fastpath"].append(gateway.section("notification", "old", had, False))
        after, _ = gateway.changed(present, edits.plan(present, found["sections"], found["only"]))
        last = {each["section"]: each["values"] for each in after["fastpath"][-3:]}
        self.assertEqual(last["cfg1"], {"mac": "02:00:00:00:00:01", "paused": "1", "quota_mb": "5",
                                        "limit_down": "5000", "limit_up": "1000",
                                        "inspect": "never"})
        self.assertEqual(last["bedtime"], {"group": ["kids"], "ssid": ["Kids"], "from": "21:00",
                                           "to": "07:00"})
        self.assertEqual(last["phone"]["url"], "https://ntfy.example/x")
        self.assertNotIn("old", last)
        with self.assertRaises(AnsibleFilterError):
            role.sections({"schedules": {"bedtime": {"from": "21:00"}}})

    def test_the_options_of_exports_are_those_that_the_daemon_reads(self):
        read = set().union(*daemon.export_options().values())
        self.assertEqual(read, role.EXPORT)


if __name__ == "__main__":
    unittest.main()
