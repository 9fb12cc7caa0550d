# SPDX-License-Identifier: GPL-2.0-or-later
"""lab.py STORE COMMAND…: a store scrapes the output of a command, and every dashboard has data.

Prints each query without an answer and each alert that fires, and fails then.
"""

import subprocess
import sys
import tempfile

import stores
import test_dashboards

# The command logs in to a machine.
INTERVAL = 5
# Enough for a rate over the shortest interval.
SAMPLES = 4


def exporter(command):
    """An exporter that answers with the command's output, as OpenWrt's does with collectors."""

    def text():
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        success = int(done.returncode == 0)
        line = f'node_scrape_collector_success{{collector="fastpath"}} {success}\n'
        return (done.stdout if success else "") + line

    return stores.Exporter(text)


def wrong(store, alerts):
    found = [
        f"no data: {board}: {title}: {query}"
        for board, title, query, _ in test_dashboards.queries()
        if not store.query(query)
    ]
    if alerts:
        for alert in store.get("/api/v1/alerts")["data"]["alerts"]:
            found.append(f"alert: {alert['labels']} {alert['annotations']}")
    return found


def main():
    name, *command = sys.argv[1:]
    answering = exporter(command)
    with tempfile.TemporaryDirectory() as folder:
        with stores.running(name, answering, folder, SAMPLES, INTERVAL) as store:
            found = wrong(store, alerts=name == "prometheus")
    answering.shutdown()
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
