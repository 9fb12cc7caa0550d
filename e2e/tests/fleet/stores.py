# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs real Prometheus and VictoriaMetrics, which scrape an exporter here."""

import contextlib
import http.server
import itertools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import series

PROGRAMS = series.TOP / "build/fleet/programs/usr/bin"
# Maximum seconds until a store has started and scraped on a busy machine.
START_TIMEOUT = 120


def program(name):
    found = PROGRAMS / name
    return str(found) if os.access(found, os.X_OK) else shutil.which(name)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Exporter(http.server.ThreadingHTTPServer):
    """Answers like a gateway's exporter; calls TEXT for each scrape."""

    def __init__(self, text, address=("127.0.0.1", 0)):
        self.text = text
        self.queries = set()
        super().__init__(address, Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def target(self):
        return f"127.0.0.1:{self.server_address[1]}"


def growing(found):
    """Returns a function that prints these series, with counters that grow per call."""
    calls = itertools.count(1)

    def text():
        number = next(calls)
        lines = []
        for name, labels, value in found:
            if name == "up":
                continue
            value += number * series.growth(name)
            if name.endswith("_timestamp_seconds"):
                value += time.time() - series.GOLDEN_NOW
            pairs = ",".join(f'{label}="{text}"' for label, text in labels.items())
            lines.append(f"{name}{{{pairs}}} {value:.15g}\n")
        return "".join(lines)

    return text


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.queries.add(urllib.parse.unquote(self.path))
        body = self.server.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Store:
    """A store's HTTP interface, and its process if it was started here."""

    def __init__(self, port, process=None, log=None):
        self.url = f"http://127.0.0.1:{port}"
        self.process = process
        self.log = log

    def text(self, path, **arguments):
        query = urllib.parse.urlencode(arguments)
        with urllib.request.urlopen(f"{self.url}{path}?{query}", timeout=30) as answer:
            return answer.read().decode()

    def get(self, path, **arguments):
        return json.loads(self.text(path, **arguments))

    def query(self, expression):
        return self.get("/api/v1/query", query=expression)["data"]["result"]

    def ready(self, least):
        """Reports whether it answers and a counter has at least this many samples."""
        with contextlib.suppress(OSError, ValueError):
            found = self.query("count_over_time(fastpath_cpu_seconds_total[10m])")
            return bool(found) and float(found[0]["value"][1]) >= least
        return False


def configuration(folder, name, targets, interval=1):
    """Returns a copy of docs/fleet/NAME for these targets (by instance) and interval in seconds."""
    text = (series.TOP / "docs/fleet" / name).read_text()
    text = text.replace("/etc/fastpath/gateways", str(folder / "gateways"))
    rules = series.TOP / "docs/fleet/alerts/fastpath.rules.yml"
    text = text.replace("/etc/fastpath/fastpath.rules.yml", str(rules))
    text = text.replace(": 30s", f": {interval}s")
    (folder / "gateways").mkdir(exist_ok=True)
    gateways = [{"targets": [target], "labels": {"instance": instance}}
                for instance, target in targets.items()]
    (folder / "gateways/site.yml").write_text(json.dumps(gateways))
    path = folder / name
    path.write_text(text)
    return path


def arguments(name, folder, path, port):
    if name == "prometheus":
        return [f"--config.file={path}", f"--storage.tsdb.path={folder}/tsdb",
                f"--web.listen-address=127.0.0.1:{port}"]
    return [f"-promscrape.config={path}", f"-storageDataPath={folder}/store",
            f"-httpListenAddr=127.0.0.1:{port}",
            # By default, queries return samples with a delay of half a minute.
            "-search.latencyOffset=1s"]


CONFIGURATIONS = {"prometheus": "prometheus.yml", "victoria-metrics": "victoria.yml"}


@contextlib.contextmanager
def started(name, targets, folder, interval=1, environment=None, further=()):
    """Starts the store of this name, which may not answer yet. FURTHER are more arguments."""
    folder = pathlib.Path(folder)
    path = configuration(folder, CONFIGURATIONS[name], targets, interval)
    port = free_port()
    log = folder / f"{name}.log"
    with log.open("w") as output:
        process = subprocess.Popen([program(name), *arguments(name, folder, path, port), *further],
                                   stdout=output, stderr=subprocess.STDOUT,
                                   env={**os.environ, **(environment or {})})
    try:
        yield Store(port, process, log)
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def running(name, exporter, folder, samples=5, interval=1):
    """Starts the store of this name and waits for this many samples."""
    few = ["-memory.allowedBytes=200MB"] if name == "victoria-metrics" else []
    with started(name, {"gw1": exporter.target}, folder, interval, further=few) as store:
        until = time.monotonic() + START_TIMEOUT
        while not store.ready(samples):
            if store.process.poll() is not None or time.monotonic() > until:
                said = store.log.read_text()[-3000:]
                raise AssertionError(f"{name} does not scrape:\n{said}")
            time.sleep(0.2)
        yield store
