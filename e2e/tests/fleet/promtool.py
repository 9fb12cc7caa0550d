# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs promtool on rules and on series of a gateway."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import yaml

import series

PROGRAM = shutil.which("promtool") or str(series.TOP / "build/promtool")


def run(*arguments, folder=None):
    """promtool's status and output."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def available():
    return os.access(PROGRAM, os.X_OK)


def test(rule_files, found, minutes, alerts):
    """`promtool test rules` on series that go on for MINUTES; ALERTS: (name, at, expected).

    A series may have its growth in a minute as a fourth element.
    """
    inputs = []
    for name, labels, value, *own in found:
        (growth,) = own or [series.growth(name)]
        values = f"{value:g}+{growth}x{minutes}"
        inputs.append({"series": series.text(name, labels), "values": values})
    checks = [
        {"eval_time": at, "alertname": name, "exp_alerts": expected}
        for name, at, expected in alerts
    ]
    suite = {
        "rule_files": [str(path) for path in rule_files],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": inputs, "alert_rule_test": checks}],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "suite.yml"
        path.write_text(yaml.safe_dump(suite, sort_keys=False))
        return run("test", "rules", path, folder=folder)
