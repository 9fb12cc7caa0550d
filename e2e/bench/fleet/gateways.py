# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs all gateways in one process: crates/fastpathd/examples/fleet.rs."""

import contextlib
import json
import os
import pathlib
import subprocess
import urllib.request

import usage

TOP = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("BUILD", TOP / "build"))


def program():
    """Returns the program named by FLEET_GATEWAYS, or the program built by ./build.sh."""
    built = [BUILD / f"cargo/{kind}/examples/fleet" for kind in ("debug", "release")]
    named = os.environ.get("FLEET_GATEWAYS")
    return named or next((str(path) for path in built if os.access(path, os.X_OK)), None)


class Gateways:
    """Running gateways, each with its own HTTP port."""

    def __init__(self, process, ports):
        self.process = process
        self.ports = ports

    def ask(self, number, path):
        url = f"http://127.0.0.1:{self.ports[number]}{path}"
        with urllib.request.urlopen(url, timeout=usage.TIMEOUT) as answer:
            return answer.read().decode()

    def targets(self, copies=1):
        """Returns scrape targets by instance; each gateway has COPIES instances."""
        return {
            f"gw{number + 1}" if copies == 1 else f"gw{number + 1}-{copy + 1}": f"127.0.0.1:{port}"
            for copy in range(copies)
            for number, port in enumerate(self.ports)
        }

    def reports(self):
        """Returns the sums of each gateway."""
        reports = [json.loads(self.ask(number, "/report")) for number in range(len(self.ports))]
        for report in reports:
            if report["export"] is None:
                raise usage.Missed(f"gateway {report['domain']}: {report['problem']}")
        return reports

    def stop(self):
        """Ends all connections and returns the sums once all records are sent or lost."""
        for number in range(len(self.ports)):
            self.ask(number, "/stop")

        def settled():
            reports = self.reports()
            done = all(report["connections"] == 0 and report["export"]["queued"] == 0
                       and report["export"]["sent"] + report["export"]["lost"] == report["records"]
                       for report in reports)
            return done and reports

        return usage.until("the last records of the gateways", settled)

    def up(self, flows):
        """Waits until all exporters run and each gateway has its connections."""

        def ready():
            return all(report["export"]["state"] == "up" and report["connections"] >= flows
                       for report in self.reports())

        usage.until("the gateways' connections", ready)


@contextlib.contextmanager
def running(number, flows, collector, active, idle, log):
    """Starts NUMBER gateways that send their records to port COLLECTOR."""
    words = [program(), number, flows, f"127.0.0.1:{collector}", active, idle]
    with log.open("w") as errors:
        process = subprocess.Popen([str(word) for word in words], text=True, stderr=errors,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        ports = [int(port) for port in process.stdout.readline().split()]
        if len(ports) != number:
            raise usage.Missed(f"the gateways do not start: {log.read_text()[-1000:]}")
        yield Gateways(process, ports)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
