# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the role with ansible-playbook on a small gateway, and the collection as an archive."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import collection
import gateway
import series

BIN = pathlib.Path(sys.executable).parent
SECRET = "the-line-s-own"
VARIABLES = {
    "fastpath_password": gateway.PASSWORD,
    "fastpath_seconds": 600,
    "fastpath_vlans": [
        {"vlan": 10, "ports": ["lan1:u*", "lan3:u*"], "interface": "lan",
         "ipaddr": ["10.10.10.1/24"], "dhcp": {"start": 100, "limit": 50}},
        {"vlan": 20, "ports": ["lan2:t"], "interface": "iot", "ipaddr": ["10.10.20.1/24"]},
    ],
    "fastpath_wan": {"port": "wan", "vlan": 35, "proto": "pppoe", "username": "subscriber",
                     "password": SECRET},
    "fastpath_zones": [
        {"name": "lan", "network": ["lan"], "input": "ACCEPT", "forward_to": ["wan", "iot"]},
        {"name": "iot", "network": ["iot"], "input": "REJECT", "forward_to": ["wan"]},
    ],
    "fastpath_engine": "ebpf",
    "fastpath_ips": {"enabled": True, "fail": "closed"},
    "fastpath_policies": [
        {"name": "iot", "src": "iot", "dest": "wan", "action": "always"},
        {"name": "rest", "action": "inspect"},
    ],
    "fastpath_exports": {"store": {"host": "192.0.2.10", "port": 4739}},
}


class Play(unittest.TestCase):
    def setUp(self):
        self.gateway = gateway.Gateway(gateway.factory())
        self.gateway.__enter__()
        self.addCleanup(self.gateway.__exit__)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def play(self, *arguments, **variables):
        """Returns the run's status, its output, and the counts for the gateway."""
        given = self.folder / "variables.json"
        given.write_text(json.dumps({**VARIABLES, "fastpath_url": self.gateway.url, **variables}))
        playbook = self.folder / "play.yml"
        play = [{"hosts": "all", "gather_facts": False, "roles": ["fastpath.gateway.gateway"]}]
        playbook.write_text(json.dumps(play))
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(collection.ready()),
            "ANSIBLE_HOME": str(self.folder / "home"),
            "ANSIBLE_LOCALHOST_WARNING": "0",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            [BIN / "ansible-playbook", "-i", "gw1,", "-e", f"@{given}", *arguments, playbook],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            env=environment, cwd=self.folder,
        )
        return done.returncode, done.stdout

    def played(self, changed, *arguments, **variables):
        status, said = self.play(*arguments, **variables)
        self.assertEqual(status, 0, said)
        self.assertRegex(said, rf"gw1 +: ok=1 +changed={changed} ")
        self.assertNotIn(SECRET, said)
        return said

    def values(self, config, kind):
        sections = self.gateway.state.configs[config]
        return [one["values"] for one in sections if one["type"] == kind]

    def test_a_factory_gateway_is_configured_and_a_second_run_changes_nothing(self):
        said = self.played(1, "--diff", "-vvv")
        self.assertIn("+network.iot=interface", said)
        vlans = self.values("network", "bridge-vlan")
        self.assertEqual([one["vlan"] for one in vlans], ["10", "20"])
        self.assertEqual(self.values("fastpath", "fastpath")[0]["engine"], "ebpf")
        self.assertEqual([one["name"] for one in self.values("fastpath", "policy")],
                         ["iot", "rest"])
        wan = next(one for one in self.values("network", "interface") if one.get("username"))
        self.assertEqual((wan["device"], wan["password"]), ("wan.35", SECRET))
        self.assertEqual(sorted((one["src"], one["dest"])
                                for one in self.values("firewall", "forwarding")),
                         [("iot", "wan"), ("lan", "iot"), ("lan", "wan")])
        before = self.gateway.state.configs
        self.gateway.state.calls.clear()
        self.played(0, "--diff")
        self.assertIs(self.gateway.state.configs, before)
        self.assertNotIn("fastpath.change apply", self.gateway.state.calls)

    def test_check_mode_changes_nothing(self):
        before = json.dumps(self.gateway.state.configs)
        said = self.played(1, "--check", "--diff")
        self.assertIn("+fastpath.main.engine='ebpf'", said)
        self.assertEqual(json.dumps(self.gateway.state.configs), before)
        self.assertNotIn("fastpath.change apply", self.gateway.state.calls)

    def test_engine_off_is_accepted_although_yaml_reads_it_as_false(self):
        self.played(1)
        self.played(1, fastpath_engine=False)
        self.assertEqual(self.values("fastpath", "fastpath")[0]["engine"], "off")

    def test_a_failure_reports_its_reason_without_secrets(self):
        self.gateway.state.in_force = False
        status, said = self.play("-vvv", fastpath_seconds=2)
        self.assertEqual(status, 2, said)
        self.assertIn("did not come into force in time", said)
        self.assertNotIn(SECRET, said)
        self.assertEqual(self.gateway.state.last["state"], "expired")

    def test_secrets_of_every_type_and_option_are_hidden(self):
        secrets = ["8675309", "an-old-pass-phrase", "first-of-two", "other-of-two", "4929",
                   "in-the-url", "in-the-query"]
        values = {"password": 8675309, "passphrase": "an-old-pass-phrase",
                  "pppd_options": ["first-of-two", "other-of-two"], "Wps_Pin": 4929,
                  "url": "https://ann:in-the-url@rules.example/x",
                  "feed": ["https://rules.example/x?code=in-the-query"]}
        said = self.played(1, "-vvv", fastpath_sections=[
            {"config": "network", "type": "interface", "section": "lte", "values": values}])
        self.assertIn("pppd_options", said)
        for secret in secrets:
            self.assertNotIn(secret, said)

    def test_an_invalid_section_is_reported_without_its_values(self):
        section = {"config": "network", "type": "interface", "section": "lte"}
        for wrong in ({"config": "netwrok", "values": {"password": "geheim"}},
                      {"config": "network", "vlaues": {"password": "geheim"}},
                      {"config": "network", "vlaues": "geheim"},
                      {"config": "network", "values": ["geheim"]},
                      {"config": "network", "values": {"username": {"geheim": 1}}},
                      {"config": "network", "values": {"username": [{"geheim": 1}]}},
                      {"config": "network", "match": {"apn": "geheim"}, "state": "gone"}):
            status, said = self.play("-vvv", fastpath_sections=[{**section, **wrong}])
            self.assertNotEqual(status, 0, wrong)
            self.assertIn('"section": "lte"', said)
            self.assertNotIn("geheim", said, wrong)

    def test_a_url_with_a_password_is_refused_without_showing_it(self):
        status, said = self.play("-vvv", fastpath_url="https://root:geheim@192.0.2.1")
        self.assertEqual(status, 2, said)
        self.assertIn("url has a name or password", said)
        self.assertNotIn("geheim", said)

    def test_a_misspelt_variable_is_refused(self):
        status, said = self.play(fastpath_wan={"port": "wan", "proto": "dhcp", "vid": 7})
        self.assertNotEqual(status, 0, said)
        self.assertIn("unknown: vid", said)


class Clear(unittest.TestCase):
    def test_a_password_over_plain_http_is_detected(self):
        collection.ready()
        from ansible_collections.fastpath.gateway.plugins.module_utils import ubus

        for url, clear in (("http://192.0.2.1", True), ("http://gw.example/ubus", True),
                           ("https://gw.example", False), ("http://127.0.0.1:80", False)):
            self.assertEqual(ubus.Gateway(url, "root", "right").in_clear, clear, url)


class Collection(unittest.TestCase):
    def run_program(self, name, *arguments):
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collection.ready()),
                       "LC_ALL": "C.UTF-8"}
        return subprocess.run([BIN / name, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, env=environment)

    def test_an_archive_is_built(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_program("ansible-galaxy", "collection", "build",
                                    series.TOP / "docs/fleet/ansible", "--output-path", folder)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(len(list(pathlib.Path(folder).glob("*.tar.gz"))), 1)

    def test_the_documentation_lists_the_module_s_arguments(self):
        done = self.run_program("ansible-doc", "--json", "fastpath.gateway.change")
        self.assertEqual(done.returncode, 0, done.stdout)
        text = done.stdout[done.stdout.index("{"):]
        documented = json.loads(text)["fastpath.gateway.change"]["doc"]["options"]
        from ansible_collections.fastpath.gateway.plugins.modules import change

        self.assertEqual(set(documented), set(change.ARGUMENTS))
        for name, argument in change.ARGUMENTS.items():
            for field in ("type", "default", "required", "choices", "elements"):
                wanted = argument.get(field, False if field == "required" else None)
                have = documented[name].get(field, False if field == "required" else None)
                self.assertEqual(have, wanted, f"{name}: {field}")
            self.assertEqual(set(documented[name].get("suboptions", {})),
                             set(argument.get("options", {})), name)


if __name__ == "__main__":
    unittest.main()
