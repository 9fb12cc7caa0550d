# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs `./build.sh bench fleet` with two gateways, and tests the comparison of sums."""

import copy
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import series
import stores

sys.path.insert(0, str(series.TOP / "e2e/bench/fleet"))

import collector
import gateways
import main
import phase
import usage

COLLECTOR = series.TOP / "feeds/fastpath-metrics/files/fastpath.lua"
DOUBLES = series.TOP / "e2e/tests/packages/doubles"
# Metrics that change between two scrapes.
CLOCKS = {"fastpath_cpu_seconds_total", "fastpath_wan_uptime_seconds"}
SMALL = phase.Options(gateways=2, flows=50, seconds=4, interval=1, active_timeout=3,
                      idle_timeout=2)


def built():
    return gateways.program() and os.access(gateways.program(), os.X_OK)


@unittest.skipUnless(built(), "the bench's gateways are not built")
@unittest.skipUnless(collector.available(), "this machine has no nfdump")
class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    @unittest.skipUnless(stores.program(phase.STORE), "this machine has no victoria-metrics")
    def test_collector_and_store_agree_with_the_gateways(self):
        figures = phase.run(SMALL, self.folder / "run")
        self.assertEqual(figures["differences"], [])
        self.assertGreater(figures["records"], SMALL.gateways * SMALL.flows)
        self.assertGreater(min(figures["sums"].values()), 0)
        self.assertGreater(figures["store"]["memory"], 0)
        self.assertGreater(figures["bytes"]["record"], 50)
        self.assertEqual(len(main.row(figures)), len(main.HEAD))

    def test_lost_datagrams_are_reported(self):
        with collector.running(self.folder / "first") as sink:
            log = self.folder / "gateways.log"
            with gateways.running(1, 20, sink.port, 3, 2, log) as machines:
                machines.up(20)
                # No program reads the bound port, so the kernel drops datagrams.
                sink.end()
                with stores.socket.socket(type=stores.socket.SOCK_DGRAM) as deaf:
                    deaf.bind(("127.0.0.1", sink.port))
                    reports = machines.stop()
            found = phase.differences(reports, sink.sums(), {})
        self.assertTrue(any("records of nfdump" in line for line in found), found)

    @unittest.skipUnless(shutil.which("lua5.1") and shutil.which("jq"), "no lua5.1 or jq")
    def test_a_scrape_equals_the_output_of_the_collector(self):
        port = stores.free_port()
        with gateways.running(1, 20, port, 3, 2, self.folder / "log") as machines:

            def connections():
                return machines.reports()[0]["connections"]

            usage.until("connections", connections)
            machines.ask(0, "/stop")
            # Without connections, only CLOCKS change.
            usage.until("their end", lambda: connections() == 0)
            answer = machines.ask(0, "/answer")
            text = machines.ask(0, "/metrics?collect[]=fastpath")
        self.assertEqual(lines_of(text), lines_of(self.printed(answer)))
        self.assertGreater(len(lines_of(text)), 100)

    def printed(self, answer):
        """Returns what the real collector prints for this answer of the daemon."""
        (self.folder / "answer").write_text(answer)
        lua = subprocess.run(["jq", "-r", "-f", DOUBLES / "lua.jq", self.folder / "answer"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
        (self.folder / "answer.lua").write_text(lua)
        return subprocess.run(
            ["lua5.1", DOUBLES / "exporter.lua", COLLECTOR, self.folder / "answer.lua"],
            stdout=subprocess.PIPE, text=True, check=True).stdout


def lines_of(text):
    """Returns the lines of a scrape with sorted labels."""
    found = []
    for line in text.splitlines():
        match = series.LINE.match(line)
        if match and not line.startswith("#"):
            name, labels, value = match.groups()
            if name.startswith("node_scrape"):
                continue
            value = "" if name in CLOCKS else value
            line = name, sorted(series.LABEL.findall(labels or "")), value
        found.append(line)
    return found


def counted():
    """Returns a gateway's report, and matching records and samples."""
    made = {"up_bytes": 10, "up_packets": 1, "down_bytes": 2**53, "down_packets": 4}
    report = {"domain": 1, "made": made, "records": 3, "export": {"lost": 0}}
    stored = {"gw1": {"up": 10.0, "down": float(2**53)}}
    return [report], {1: {"records": 3, **made}}, stored


class Differences(unittest.TestCase):
    def test_equal_sums_are_no_difference(self):
        self.assertEqual(phase.differences(*counted()), [])

    def test_each_difference_is_reported(self):
        reports, records, stored = counted()
        reports[0]["export"]["lost"] = 1
        records[1].update(records=2, down_bytes=2**53 - 1)
        stored["gw1"]["up"] = 9.0
        self.assertEqual(phase.differences(reports, records, stored), [
            "gw1, lost records: 1, the gateway has 0",
            "gw1, records of nfdump: 2, the gateway has 3",
            "gw1, down_bytes of nfdump: 9007199254740991, the gateway has 9007199254740992",
            "gw1, up_bytes of the store: 9, the gateway has 10",
        ])

    def test_a_gateway_without_records_or_samples_is_reported(self):
        reports, _, _ = counted()
        self.assertEqual(len(phase.differences(reports, {}, {})), 7)


class Buffer(unittest.TestCase):
    def test_documents_and_bench_use_the_same_buffer(self):
        size = collector.BUFFER
        page = (series.TOP / "docs/fleet.md").read_text()
        unit = (series.TOP / "docs/fleet/flows/fastpath-nfcapd.service").read_text()
        self.assertIn(f"-p 4739 -B {size}\n", unit)
        # Both collectors need the kernel's limit for socket buffers.
        self.assertEqual(page.count(f"net.core.rmem_max={size} >/etc/sysctl.d/fastpath.conf"), 2)
        nfacctd = (series.TOP / "docs/fleet/flows/nfacctd.conf").read_text()
        self.assertIn(f"\nnfacctd_pipe_size: {size}\n", nfacctd)


class Growth(unittest.TestCase):
    def goals(self, factor):
        few = {"gateways": 5, "copies": 1, "collector": {"cpu": 0.01, "memory": 1e6},
               "store": {"cpu": 0.02, "memory": 1e8}}
        many = copy.deepcopy(few)
        many["gateways"] = 50
        for part in ("collector", "store"):
            for what in many[part]:
                many[part][what] *= factor
        return [goal["met"] for goal in main.growth([few, many])]

    def test_a_linear_cost_meets_the_goals(self):
        self.assertEqual(self.goals(10), [True] * 4)

    def test_a_quadratic_cost_misses_the_goals(self):
        self.assertEqual(self.goals(100), [False] * 4)


if __name__ == "__main__":
    unittest.main()
