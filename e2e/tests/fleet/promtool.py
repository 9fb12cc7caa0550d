# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs promtool on rules and on a gateway's series."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import yaml

import series

PROGRAM = shutil.which("promtool") or str(series.TOP / "build/promtool")


def run(*arguments, folder=None):
    """Returns promtool's status and output."""
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
    """Runs `promtool test rules` on series that last MINUTES; ALERTS are (name, at, expected).

    A fourth element of a series overrides its growth per minute."""
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
