# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs gateways with a collector and a store, and compares the counts of all three."""

import contextlib
import dataclasses
import pathlib
import shutil
import time

import collector
import gateways
import stores
import usage

STORE = "victoria-metrics"
# Sum of a gateway's byte counters, as in its dashboard.
BYTES = 'sum by (instance, direction) (fastpath_forwarded_bytes_total)'
DIRECTIONS = ("up", "down")
ROWS = 'vm_rows_inserted_total{type="promscrape"}'


@dataclasses.dataclass
class Options:
    """Options of one run."""

    gateways: int
    flows: int
    seconds: float
    # Scrape interval in seconds.
    interval: int
    active_timeout: int
    idle_timeout: int
    copies: int = 1


def own_metrics(store):
    """Returns the store's own metrics, with labels as part of the name."""
    lines = [line.rpartition(" ") for line in store.text("/metrics").splitlines()
             if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def scraped(store, machines, times):
    """Waits until each gateway has been scraped TIMES more."""
    before = [report["scrapes"] for report in machines.reports()]

    def done():
        if store.process.poll() is not None:
            raise usage.Missed(f"{STORE} has ended: {store.log.read_text()[-1000:]}")
        return all(report["scrapes"] >= scrapes + times
                   for report, scrapes in zip(machines.reports(), before))

    usage.until("scrapes", done)


class Meter:
    """Measures CPU time and input of collector and store since it was started."""

    def __init__(self, sink, store, machines):
        self.parts = {"collector": sink.process.pid, "store": store.process.pid}
        self.store = store
        self.machines = machines
        self.began = self.reading()

    def reading(self):
        return {
            "at": time.monotonic(),
            "cpu": {name: usage.cpu_seconds(pid) for name, pid in self.parts.items()},
            "records": sum(report["records"] for report in self.machines.reports()),
            "samples": own_metrics(self.store)[ROWS],
        }

    def figures(self):
        """Returns the differences since the start, and the current memory."""
        now, began = self.reading(), self.began
        seconds = now["at"] - began["at"]
        found = {
            "seconds": seconds,
            "records_s": (now["records"] - began["records"]) / seconds,
            "samples_s": (now["samples"] - began["samples"]) / seconds,
        }
        for name, pid in self.parts.items():
            found[name] = {
                "cpu": (now["cpu"][name] - began["cpu"][name]) / seconds,
                "memory": usage.memory_bytes(pid),
            }
        return found


def stored_sums(store, machines, copies):
    """Returns the bytes of each instance and direction after the last values have been scraped."""
    # The second of two more scrapes proves that the first is stored.
    scraped(store, machines, 2 * copies + 1)
    store.text("/internal/force_flush")
    found = {}
    for one in store.query(BYTES):
        labels = one["metric"]
        found.setdefault(labels["instance"], {})[labels["direction"]] = float(one["value"][1])
    return found


def sizes(store, records, sink):
    """Returns disk bytes per record and per sample, and bytes of the index per series."""
    # Measure the merged size, which the store reaches later.
    store.text("/internal/force_merge")
    usage.until("the store's merge", lambda: own_metrics(store)["vm_active_force_merges"] == 0)
    metrics = own_metrics(store)

    def total(name, kind):
        return sum(value for key, value in metrics.items()
                   if key.startswith(name + "{") and f'type="{kind}' in key)

    series = float(store.query('count({__name__!=""})')[0]["value"][1])
    return {
        "record": usage.folder_bytes(sink.folder) / max(records, 1),
        "sample": total("vm_data_size_bytes", "storage/") / max(total("vm_rows", "storage/"), 1),
        "series": total("vm_data_size_bytes", "indexdb") / series,
        "number_of_series": series,
    }


def differences(reports, records, stored, copies=1):
    """Returns a line for each sum in which records or store differ from the gateways' reports."""
    found = []

    def compare(where, wanted, number):
        if wanted != number:
            found.append(f"{where}: {number:.17g}, the gateway has {wanted}")

    for report in reports:
        name, made = f"gw{report['domain']}", report["made"]
        compare(f"{name}, lost records", 0, report["export"]["lost"])
        sums = records.get(report["domain"], {})
        compare(f"{name}, records of nfdump", report["records"], sums.get("records", 0))
        for field in collector.SUMS:
            compare(f"{name}, {field} of nfdump", made[field], sums.get(field, 0))
        for instance in [name] if copies == 1 else [f"{name}-{n + 1}" for n in range(copies)]:
            for direction in DIRECTIONS:
                value = stored.get(instance, {}).get(direction, 0)
                compare(f"{instance}, {direction}_bytes of the store",
                        made[f"{direction}_bytes"], value)
    return found


def run(options, folder):
    """Returns the figures and the differences of one run."""
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        sink = stack.enter_context(collector.running(folder))
        machines = stack.enter_context(gateways.running(
            options.gateways, options.flows, sink.port, options.active_timeout,
            options.idle_timeout, folder / "gateways.log"))
        targets = machines.targets(options.copies)
        # Limit Go to one thread, as on a machine with one CPU.
        store = stack.enter_context(stores.started(
            STORE, targets, folder, options.interval, {"GOMAXPROCS": "1"}))
        machines.up(options.flows)
        # The store caches for seconds that a series does not exist.
        scraped(store, machines, options.copies)
        meter = Meter(sink, store, machines)
        time.sleep(options.seconds)
        figures = meter.figures()
        reports = machines.stop()
        stored = stored_sums(store, machines, options.copies)
        found = sink.losses()
        sink.end()
        records = sink.sums()
        figures["bytes"] = sizes(store, sum(one["records"] for one in reports), sink)
    found += differences(reports, records, stored, options.copies)
    if sink.faults():
        found.append(f"nfcapd: {sink.faults()} sequence errors and bad packets")
    figures.update(
        gateways=options.gateways, copies=options.copies, flows=options.flows,
        interval=options.interval, differences=found,
        sums={field: sum(report["made"][field] for report in reports)
              for field in collector.SUMS},
        records=sum(report["records"] for report in reports),
    )
    return figures
