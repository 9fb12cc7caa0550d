# SPDX-License-Identifier: GPL-2.0-or-later
"""The series of a gateway: as the daemon's golden output has them, and of a healthy gateway."""

import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
DAEMON = TOP / "feeds/fastpathd/src/crates/fastpathd/src/metrics"
LINE = re.compile(r"^(\w+)(\{.*\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
# Prometheus adds them to each series.
TARGET = {"job": "fastpath", "instance": "gw1"}
# Of the exporter, and of Prometheus itself.
EXPORTER = [
    ("up", {}, 1.0),
    ("node_scrape_collector_success", {"collector": "fastpath"}, 1.0),
]
# Of a healthy gateway, where those of golden.prom are of another one: values by name, and by
# labels that a series has to have.
HEALTHY = [
    ("fastpath_conntrack_entries", {}, 1000),
    ("fastpath_conntrack_entries_limit", {}, 262144),
    ("fastpath_ebpf_flows", {}, 1000),
    ("fastpath_ebpf_flows_limit", {}, 65536),
    ("fastpath_ips_state", {"state": "starting"}, 0),
    ("fastpath_ips_state", {"state": "inline"}, 1),
    ("fastpath_doctor_findings", {"severity": "error"}, 0),
    ("fastpath_flow_reasons", {"reason": "first-packets"}, 3),
]
# About the time of golden.prom.
GOLDEN_NOW = 1000
# Counters of defects: they stand still on a healthy gateway.
STILL = re.compile(
    r"_(refused|resyncs|evicted_flows|reconnects|restarts|(dropped|passed)_packets|unread)_total$"
)


def read(path):
    """The series of a file: name, labels, value."""
    found = []
    for line in path.read_text().splitlines():
        match = LINE.match(line)
        if match and not line.startswith("#"):
            name, labels, value = match.groups()
            found.append((name, dict(LABEL.findall(labels or "")), float(value)))
    return found


def golden():
    return read(DAEMON / "golden.prom")


def every():
    return golden() + EXPORTER


def labels_by_name():
    """The labels of each metric, those of the target included."""
    labels = {}
    for name, own, _ in every():
        labels.setdefault(name, set(TARGET)).update(own)
    return labels


def healthy():
    """Series of a healthy gateway, with their values now."""
    found = []
    for name, labels, value in every():
        for other, wanted, fit in HEALTHY:
            if name == other and wanted.items() <= labels.items():
                value = fit
        found.append((name, labels, value))
    return found


def growth(name):
    """How much a series grows in a minute."""
    return 60 if name.endswith("_total") and not STILL.search(name) else 0


def text(name, labels):
    pairs = ",".join(f'{key}="{value}"' for key, value in sorted({**TARGET, **labels}.items()))
    return f"{name}{{{pairs}}}"
