# SPDX-License-Identifier: GPL-2.0-or-later
"""Dashboards: generated as committed; each query names metrics of the gateway and has an answer."""

import json
import pathlib
import tempfile
import unittest

import yaml

import promql
import promtool
import series

FOLDER = series.TOP / "docs/fleet/dashboards"
# Grafana's, for an interval of a minute.
VARIABLES = {"$__rate_interval": "5m", '"$gateway"': '".*"', "$gateway": ".*"}


def boards():
    return sorted(FOLDER.glob("fastpath-*.json"))


def panels(board):
    for panel in json.loads(board.read_text())["panels"]:
        yield panel
        yield from panel.get("panels", [])


def queries():
    """Every query: dashboard, panel, expression, legend."""
    for board in boards():
        for panel in panels(board):
            for target in panel.get("targets", []):
                expression = target["expr"]
                for name, value in VARIABLES.items():
                    expression = expression.replace(name, value)
                yield board.stem, panel["title"], expression, target.get("legendFormat", "")


class Dashboards(unittest.TestCase):
    def test_there_are_four(self):
        names = [board.stem for board in boards()]
        wanted = ["fleet", "flows", "gateway", "protection"]
        self.assertEqual(names, [f"fastpath-{name}" for name in wanted])
        self.assertGreater(len(list(queries())), 60)

    def test_queries_name_metrics_and_labels_of_the_gateway(self):
        known = series.labels_by_name()
        for board, title, query, legend in queries():
            with self.subTest(f"{board}: {title}"):
                found = promql.metrics(query)
                self.assertTrue(found, "no metric was found")
                own = set()
                for name, labels in found.items():
                    self.assertIn(name, known)
                    self.assertLessEqual(labels, known[name])
                    own |= known[name]
                self.assertLessEqual(promql.grouped(query), own)
                self.assertLessEqual(promql.legend(legend), own)
                by = promql.grouped(query)
                if by and legend:
                    self.assertLessEqual(promql.legend(legend), by, "a label that is summed up")

    def test_each_panel_has_a_source_and_a_title(self):
        for board in boards():
            numbers = [panel["id"] for panel in panels(board)]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
            for panel in panels(board):
                with self.subTest(f"{board.stem}: {panel['title']}"):
                    self.assertTrue(panel["title"])
                    if panel["type"] != "row":
                        self.assertEqual(panel["datasource"]["uid"], "${datasource}")
                        self.assertTrue(panel["targets"])

    @unittest.skipUnless(promtool.available(), "this machine has no promtool")
    def test_each_query_has_an_answer_on_a_gateway(self):
        rules, checks = [], []
        for number, (board, title, query, _) in enumerate(queries()):
            name = f"{board} {title} {number}"
            rules.append({"alert": name, "expr": f"count({query}) > 0"})
            checks.append((name, "60m", [{"exp_labels": {}}]))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "queries.yml"
            path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
            status, said = promtool.test([path], series.healthy(), 60, checks)
        self.assertEqual(status, 0, said)


class Parser(unittest.TestCase):
    def test_metrics_labels_and_groups(self):
        query = (
            'sum by (a, b) (rate(x_total{instance=~"y{z}",c!="d"}[5m] offset 1h)) '
            "/ on (a) (w > 1.5e6) unless time() - v"
        )
        self.assertEqual(
            promql.metrics(query), {"x_total": {"instance", "c"}, "w": set(), "v": set()}
        )
        self.assertEqual(promql.grouped(query), {"a", "b"})
        self.assertEqual(promql.legend("{{a}} in {{ b }}"), {"a", "b"})


if __name__ == "__main__":
    unittest.main()
