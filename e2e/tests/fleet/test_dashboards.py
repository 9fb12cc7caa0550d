# SPDX-License-Identifier: GPL-2.0-or-later
"""Dashboards match their generator, and each query names known metrics and has an answer."""

import json
import pathlib
import tempfile
import unittest

import yaml

import promql
import promtool
import series

FOLDER = series.TOP / "docs/fleet/dashboards"
# Grafana's values for a scrape interval of a minute.
VARIABLES = {"$__rate_interval": "5m", '"$gateway"': '".*"', "$gateway": ".*"}


def boards():
    return sorted(FOLDER.glob("fastpath-*.json"))


def panels(board):
    for panel in json.loads(board.read_text())["panels"]:
        yield panel
        yield from panel.get("panels", [])


def queries():
    """Yields every query as dashboard, panel, expression and legend."""
    for board in boards():
        for panel in panels(board):
            for target in panel.get("targets", []):
                expression = target["expr"]
                for name, value in VARIABLES.items():
                    expression = expression.replace(name, value)
                yield board.stem, panel["title"], expression, target.get("legendFormat", "")


class Dashboards(unittest.TestCase):
    def test_there_are_four_dashboards(self):
        names = [board.stem for board in boards()]
        wanted = ["fleet", "flows", "gateway", "protection"]
        self.assertEqual(names, [f"fastpath-{name}" for name in wanted])
        self.assertGreater(len(list(queries())), 60)

    def test_queries_use_known_metrics_and_labels(self):
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

    def test_columns_of_lists_are_named_and_info_columns_hidden(self):
        lists = 0
        for board in boards():
            for panel in panels(board):
                if panel["type"] != "table":
                    continue
                lists += 1
                columns = panel["transformations"][-1]["options"]
                for target in panel["targets"]:
                    column = f"Value #{target['refId']}"
                    with self.subTest(f"{board.stem}: {panel['title']}: {column}"):
                        # The first metric of a query gives the value; info metrics are always 1.
                        info = next(iter(promql.metrics(target["expr"]))).endswith("_info")
                        self.assertEqual(columns["excludeByName"].get(column, False), info)
                        self.assertEqual(column in columns["renameByName"], not info)
        self.assertGreater(lists, 2)

    def test_the_title_of_a_share_says_that_it_covers_both_ebpf_tables(self):
        found = 0
        for board in boards():
            for panel in panels(board):
                for target in panel.get("targets", []):
                    if {"fastpath_ebpf_flows", "fastpath_ebpf_flows_limit"} <= promql.metrics(
                            target["expr"]).keys():
                        found += 1
                        self.assertIn("both tables", panel["title"])
                        self.assertIn("50 %", panel.get("description", ""))
        self.assertGreater(found, 0)


@unittest.skipUnless(promtool.available(), "this machine has no promtool")
class Answers(unittest.TestCase):
    def holds(self, found, wanted):
        """Tests WANTED, expressions with whether they have an answer at the end."""
        rules, checks = [], []
        for number, (name, expression, answers) in enumerate(wanted):
            rules.append({"alert": f"{name} {number}", "expr": expression})
            checks.append((f"{name} {number}", "60m", [{"exp_labels": {}}] if answers else []))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "queries.yml"
            path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
            status, said = promtool.test([path], found, 60, checks)
        self.assertEqual(status, 0, said)

    def test_each_query_has_an_answer_on_a_gateway(self):
        self.holds(series.healthy(), [(f"{board} {title}", f"count({query}) > 0", True)
                                      for board, title, query, _ in queries()])

    def test_the_sum_of_other_hosts_is_not_listed_as_a_host(self):
        rest = 'fastpath_host_bytes_total{host="other",direction="up"}'
        self.holds(two_gateways(), [
            (f"{board} {title}", f"count(({query}) and on (instance, host) {rest})", False)
            for board, title, query, _ in queries()
        ])

    def test_the_busiest_hosts_of_a_day_are_those_with_most_bytes(self):
        title = "Busiest hosts of a day"
        found = [query for _, panel, query, _ in queries() if panel == title]
        self.assertGreater(len(found), 2)
        up = 'fastpath_host_bytes_total{{direction="up",instance="{}",host=~"10[.]0[.]0[.]({})"}}'
        busiest = " or ".join(up.format(gateway, "|".join(map(str, range(*hosts))))
                              for gateway, hosts in (("gw1", (35, 60)), ("gw2", (0, 25))))
        wanted = []
        for query in found:
            number = 25 if "_info" in query else 50
            wanted += [
                (title, f"count(({query}) and on (instance, host) ({busiest})) == {number}", True),
                (title, f"count(({query}) unless on (instance, host) ({busiest}))", False),
            ]
        self.holds(two_gateways(), wanted)

    def test_gateways_without_inspection_are_not_counted(self):
        titles = {"Gateways with failed updates", "Oldest sources, since they were reached"}
        found = {title: query for _, title, query, _ in queries() if title in titles}
        self.assertEqual(found.keys(), titles)
        failing = [("fastpath_rules_state", {"state": "failed"}, 1),
                   ("fastpath_rules_checked_timestamp_seconds", {}, 0)]
        for off in (0, 1):
            state = ("fastpath_ips_state", {"state": "off"}, off)
            self.holds([*failing, state], [(title, f"count(({query}) > 0)", off == 0)
                                           for title, query in found.items()])


def two_gateways():
    """Returns two gateways with 60 hosts of equal addresses, every second host with a name.

    Together, hosts from 35 of gw1 and below 25 of gw2 have most bytes; hosts that receive most send
    least."""
    found = []
    for gateway in ("gw1", "gw2"):
        growths = {"other": {"up": 10**9, "down": 10**9}}
        for host in range(60):
            rank = 2 * host + 1 if gateway == "gw1" else 2 * (59 - host) + 2
            growths[f"10.0.0.{host}"] = {"up": 6000 - 10 * rank, "down": 6000 * rank}
            if host % 2:
                labels = {"instance": gateway, "host": f"10.0.0.{host}", "name": f"host-{host}"}
                found.append(("fastpath_host_info", labels, 1))
        for host, directions in growths.items():
            for direction, growth in directions.items():
                labels = {"instance": gateway, "host": host, "direction": direction}
                found.append(("fastpath_host_bytes_total", labels, 0, growth))
    return found


class Parser(unittest.TestCase):
    def test_names_of_metrics_labels_and_groups_are_found(self):
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
