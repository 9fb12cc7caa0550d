# SPDX-License-Identifier: GPL-2.0-or-later
"""Each alert fires in its own test, and none fires on a healthy gateway."""

import unittest

import yaml

import promql
import promtool
import series

FOLDER = series.TOP / "docs/fleet/alerts"
RULES = FOLDER / "fastpath.rules.yml"
SUITE = FOLDER / "fastpath.test.yml"


def rules():
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@unittest.skipUnless(promtool.available(), "this machine has no promtool")
class Alerts(unittest.TestCase):
    def test_each_alert_fires_after_its_wait(self):
        status, said = promtool.run("test", "rules", SUITE.name, folder=FOLDER)
        self.assertEqual(status, 0, said)

    def test_each_alert_has_a_firing_and_a_silent_test(self):
        wanted = {rule["alert"] for rule in rules() if "alert" in rule}
        fires, silent = set(), set()
        for each in yaml.safe_load(SUITE.read_text())["tests"]:
            for check in each["alert_rule_test"]:
                (fires if check["exp_alerts"] else silent).add(check["alertname"])
        self.assertEqual(fires, wanted)
        self.assertEqual(silent, wanted)

    def test_a_healthy_gateway_has_no_alert(self):
        # Longer than the `for` of every alert except the one on stale rules.
        minutes = 180
        names = [rule["alert"] for rule in rules() if "alert" in rule]
        checks = [(name, f"{at}m", []) for name in names for at in (10, 60, minutes)]
        status, said = promtool.test([RULES], series.healthy(), minutes, checks)
        self.assertEqual(status, 0, said)

    def test_a_gateway_without_wan_has_an_alert(self):
        found = [
            (name, labels, 0.0 if name == "fastpath_wan_up" else value)
            for name, labels, value in series.healthy()
        ]
        status, said = promtool.test([RULES], found, 30, [("FastpathWanDown", "10m", [])])
        self.assertNotEqual(status, 0, said)


class Names(unittest.TestCase):
    def test_rules_use_known_metrics_and_labels(self):
        known = series.labels_by_name()
        known.update({rule["record"]: {"instance"} for rule in rules() if "record" in rule})
        for rule in rules():
            with self.subTest(rule.get("alert") or rule["record"]):
                for name, labels in promql.metrics(rule["expr"]).items():
                    self.assertIn(name, known)
                    self.assertLessEqual(labels, known[name])
                texts = " ".join(rule.get("annotations", {}).values())
                self.assertTrue(promql.metrics(rule["expr"]), "no metric was found")
                self.assertLessEqual(promql.grouped(rule["expr"]), set().union(*known.values()))
                self.assertNotIn("{{$", texts)


if __name__ == "__main__":
    unittest.main()
