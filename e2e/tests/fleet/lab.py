# SPDX-License-Identifier: GPL-2.0-or-later
"""lab.py STORE COMMAND…: scrapes the command's output into a store and runs all queries.

Prints each query without an answer and each firing alert; fails if there are any."""

import subprocess
import sys
import tempfile

import stores
import test_dashboards

# Seconds; the command needs some to log in to the machine.
INTERVAL = 5
# Minimum for a rate over the shortest interval.
SAMPLES = 4


def exporter(command):
    """Returns an exporter of the command's output, in the format of OpenWrt's exporter."""

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
