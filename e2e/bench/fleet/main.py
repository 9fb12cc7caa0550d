# SPDX-License-Identifier: GPL-2.0-or-later
"""main.py REPORT FOLDER: measures 5 to 50 gateways, and more targets; prints a table and goals.

Fails if the sums of the collector or the store differ from the gateways', or if the cost of a
gateway grows with their number."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/fleet"))

import phase
import usage

NUMBERS = tuple(map(int, os.environ.get("FLEET_NUMBERS", "5 10 25 50").split()))
FLOWS = 2000
# Seconds, enough for several records per flow and six scrapes.
SECONDS = 30
INTERVAL = 5
ACTIVE_TIMEOUT, IDLE_TIMEOUT = 10, 5
# Scrape interval in docs/fleet.
DOCUMENTED_INTERVAL = 30
# Instances per gateway in additional runs, which load only the store.
COPIES = (10,)
DAY = 86400
# Limit for the growth of a gateway's cost with their number. Costs vary by a quarter between runs
# on a shared machine; a quadratic cost would grow tenfold.
GROWTH = 1.5


def each(figures, part, what):
    """Returns the part's CPU share or memory per gateway."""
    return figures[part][what] / (figures["gateways"] * figures["copies"])


def growth(runs):
    """Returns goals for the cost of a gateway in the largest run, as a multiple of the smallest."""
    few, many = runs[0], runs[-1]
    goals = []
    for part in ("collector", "store"):
        for what in ("cpu", "memory"):
            ratio = each(many, part, what) / max(each(few, part, what), 1e-9)
            goals.append({
                "what": f"{what} of the {part} for a gateway, {many['gateways']} to "
                        f"{few['gateways']} gateways",
                "most": GROWTH, "is": round(ratio, 3), "met": ratio <= GROWTH,
            })
    return goals


def row(run):
    """Returns a line of the table."""
    targets = run["gateways"] * run["copies"]
    cells = [f"{targets:,}", f"{run['records_s']:,.0f}", f"{run['samples_s']:,.0f}"]
    for part in ("collector", "store"):
        cells += [
            f"{100 * run[part]['cpu']:.2f} %",
            f"{100 * each(run, part, 'cpu'):.3f} %",
            f"{run[part]['memory'] / 1e6:,.1f} MB",
            f"{each(run, part, 'memory') / 1e3:,.0f} kB",
        ]
    return cells


HEAD = ("gateways", "records/s", "samples/s", "nfcapd: CPU", "each", "memory", "each",
        "VictoriaMetrics: CPU", "each", "memory", "each")


def table(runs):
    lines = [HEAD, ["---:"] * len(HEAD), *map(row, runs)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def disk(run):
    """Returns disk bytes per gateway and day: records as measured, samples as documented."""
    of = run["bytes"]
    records = of["record"] * run["records_s"] / run["gateways"] * DAY
    series = of["number_of_series"] / run["gateways"]
    samples = of["sample"] * series * DAY / DOCUMENTED_INTERVAL
    return {"records": records, "samples": samples, "index": of["series"] * series}


def options():
    """Returns the options of all runs, starting with those in the table."""
    few = [phase.Options(number, FLOWS, SECONDS, INTERVAL, ACTIVE_TIMEOUT, IDLE_TIMEOUT)
           for number in NUMBERS]
    return few + [phase.Options(NUMBERS[-1], FLOWS, 3 * DOCUMENTED_INTERVAL, DOCUMENTED_INTERVAL,
                                ACTIVE_TIMEOUT, IDLE_TIMEOUT, copies) for copies in COPIES]


def measure(report, folder):
    """Runs all measurements; writes the report after each."""
    runs, content = [], {}
    for one in options():
        print(f"  … {one.gateways * one.copies} targets", flush=True)
        runs.append(phase.run(one, folder / f"{one.gateways}x{one.copies}"))
        few = runs[:len(NUMBERS)]
        content = {"runs": runs, "goals": growth(few), "disk": disk(few[-1])}
        new = report.with_suffix(".new")
        new.write_text(json.dumps(content, indent=1) + "\n")
        os.replace(new, report)
    return content


def main():
    report, folder = map(pathlib.Path, sys.argv[1:3])
    report.parent.mkdir(parents=True, exist_ok=True)
    try:
        content = measure(report, folder)
    except (usage.Missed, OSError) as failure:
        sys.exit(f"fleet: {failure}; {folder} has the logs, {report} the runs before")
    runs, goals = content["runs"], content["goals"]
    found = [f"{run['gateways'] * run['copies']} targets: {line}"
             for run in runs for line in run["differences"]]
    print(table(runs))
    print("on disk, a gateway and day: "
          + ", ".join(f"{name} {size / 1e6:,.1f} MB" for name, size in content["disk"].items()))
    for goal in goals:
        mark = "✓" if goal["met"] else "✗"
        print(f"  {mark} {goal['what']}: {goal['is']}, at most {goal['most']}")
    for line in found:
        print(f"  ✗ {line}")
    if not found:
        print(f"  ✓ all sums are those of the gateways, in {len(runs)} runs")
    sys.exit(1 if found or not all(goal["met"] for goal in goals) else 0)


if __name__ == "__main__":
    main()
