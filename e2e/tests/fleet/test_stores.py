# SPDX-License-Identifier: GPL-2.0-or-later
"""Prometheus and VictoriaMetrics scrape a gateway as docs/fleet configures them.

Every dashboard has data in both, and no alert fires."""

import subprocess
import tempfile
import unittest

import yaml

import promtool
import series
import stores
import test_dashboards

FLEET = series.TOP / "docs/fleet"


def parsed(path):
    return yaml.safe_load((FLEET / path).read_text())


class Stores(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.exporter = stores.Exporter(stores.growing(series.healthy()))
        self.addCleanup(self.exporter.server_close)
        self.addCleanup(self.exporter.shutdown)

    def dashboards_have_data(self, store):
        for board, title, query, _ in test_dashboards.queries():
            with self.subTest(f"{board}: {title}"):
                self.assertTrue(store.query(query), query)
        self.assertFalse(store.query("fastpath_nothing"))
        found = store.get("/api/v1/label/instance/values", **{"match[]": "fastpath_build_info"})
        self.assertEqual(found["data"], ["gw1"])

    @unittest.skipUnless(stores.program("prometheus"), "this machine has no prometheus")
    def test_prometheus_has_data_for_each_panel_and_no_alert(self):
        with stores.running("prometheus", self.exporter, self.folder) as store:
            self.dashboards_have_data(store)
            rules = [rule for group in store.get("/api/v1/rules")["data"]["groups"]
                     for rule in group["rules"]]
            self.assertGreater(len(rules), 20)
            self.assertEqual({rule["health"] for rule in rules} - {"ok", "unknown"}, set())
            self.assertEqual(store.get("/api/v1/alerts")["data"]["alerts"], [])
        self.assertEqual(self.exporter.queries, {"/metrics?collect[]=fastpath"})

    @unittest.skipUnless(stores.program("victoria-metrics"), "this machine has no victoria-metrics")
    def test_victoria_metrics_has_data_for_each_panel(self):
        with stores.running("victoria-metrics", self.exporter, self.folder) as store:
            self.dashboards_have_data(store)
        self.assertEqual(self.exporter.queries, {"/metrics?collect[]=fastpath"})


class Configurations(unittest.TestCase):
    @unittest.skipUnless(promtool.available(), "this machine has no promtool")
    def test_prometheus_reads_its_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = stores.pathlib.Path(folder)
            path = stores.configuration(folder, "prometheus.yml", {"gw1": "x:1"})
            status, said = promtool.run("check", "config", path)
        self.assertEqual(status, 0, said)

    def test_both_stores_scrape_the_same_targets(self):
        scrapes = [parsed(name)["scrape_configs"] for name in ("prometheus.yml", "victoria.yml")]
        self.assertEqual(scrapes[0], scrapes[1])
        # Alert rules select this job.
        self.assertEqual(scrapes[0][0]["job_name"], series.TARGET["job"])

    @unittest.skipUnless(stores.program("vmalert"), "this machine has no vmalert")
    def test_vmalert_reads_the_rules(self):
        done = subprocess.run(
            [stores.program("vmalert"), "-dryRun", f"-rule={FLEET}/alerts/fastpath.rules.yml"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_grafana_finds_dashboards_and_their_source(self):
        self.assertEqual(parsed("grafana/datasource.yml")["datasources"][0]["type"], "prometheus")
        providers = parsed("grafana/dashboards.yml")["providers"]
        self.assertEqual(providers[0]["options"]["path"], "/etc/fastpath/dashboards")


if __name__ == "__main__":
    unittest.main()
