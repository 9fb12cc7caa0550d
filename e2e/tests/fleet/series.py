# SPDX-License-Identifier: GPL-2.0-or-later
"""Time series of a gateway: the daemon's golden metrics, and values of a healthy gateway."""

import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
DAEMON = TOP / "feeds/fastpathd/src/crates/gateway/src/metrics"
LINE = re.compile(r"^(\w+)(\{.*\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
# Labels added by Prometheus.
TARGET = {"job": "fastpath", "instance": "gw1"}
# Series by the exporter and by Prometheus.
EXPORTER = [
    ("up", {}, 1.0),
    ("node_scrape_collector_success", {"collector": "fastpath"}, 1.0),
]
# Values of a healthy gateway, which override golden.prom. By name and required labels.
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
# Approximate time of golden.prom.
GOLDEN_NOW = 1000
# Counters of failures, constant on a healthy gateway.
STILL = re.compile(
    r"_(refused|resyncs|evicted_flows|reconnects|restarts|(dropped|passed)_packets|unread)_total$"
)


def read(path):
    """Returns the series of a file as name, labels and value."""
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
    """Returns the labels of each metric, including those of the target."""
    labels = {}
    for name, own, _ in every():
        labels.setdefault(name, set(TARGET)).update(own)
    return labels


def healthy():
    """Returns the series of a healthy gateway with their current values."""
    found = []
    for name, labels, value in every():
        for other, wanted, fit in HEALTHY:
            if name == other and wanted.items() <= labels.items():
                value = fit
        found.append((name, labels, value))
    return found


def growth(name):
    """Returns the growth of a series per minute."""
    return 60 if name.endswith("_total") and not STILL.search(name) else 0


def text(name, labels):
    pairs = ",".join(f'{key}="{value}"' for key, value in sorted({**TARGET, **labels}.items()))
    return f"{name}{{{pairs}}}"
