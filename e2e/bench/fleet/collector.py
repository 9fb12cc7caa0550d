# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs nfcapd and reads the records of its files with nfdump."""

import collections
import contextlib
import pathlib
import re
import shutil
import subprocess

import stores
import usage

EXPORTER = re.compile(r"SysID: *(\d+),.*ID: *(\d+), Sequence failures: *\d+,")
FAULTS = re.compile(r"Sequence Errors: (\d+), Bad Packets: (\d+)")
# Size of the receive buffer in docs/fleet.md, in bytes.
BUFFER = 4 << 20
MOST = pathlib.Path("/proc/sys/net/core/rmem_max")
SUMS = ("up_packets", "up_bytes", "down_packets", "down_bytes")


def available():
    return shutil.which("nfcapd") and shutil.which("nfdump")


class Collector:
    """A running nfcapd that writes its files into a folder."""

    def __init__(self, process, port, folder, log):
        self.process = process
        self.port = port
        self.folder = folder
        self.log = log

    def dropped(self):
        """Returns the number of datagrams that its full socket buffer dropped."""
        wanted = f":{self.port:04X}"
        for line in pathlib.Path("/proc/net/udp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(wanted):
                return int(fields[-1])
        raise usage.Missed(f"nfcapd does not listen:\n{self.log.read_text()[-1000:]}")

    def losses(self):
        """Returns a line for each kind of loss; only while nfcapd runs."""
        dropped = self.dropped()
        if not dropped:
            return []
        most = int(MOST.read_text())
        size = min(BUFFER, most)
        return [f"nfcapd's socket dropped {dropped} datagrams, with a buffer of {size} bytes; "
                f"net.core.rmem_max is {most}"]

    def end(self):
        """Ends nfcapd, which flushes its records first."""
        self.process.terminate()
        self.process.wait(timeout=usage.TIMEOUT)

    def faults(self):
        """Returns the number of sequence errors and bad packets over all files."""
        found = FAULTS.findall(self.log.read_text())
        return sum(int(lost) + int(bad) for lost, bad in found)

    def files(self):
        return sorted(self.folder.glob("nfcapd.2*"))

    def domains(self):
        """Maps nfdump's numbers of exporters to observation domains."""
        found = {}
        for file in self.files():
            done = subprocess.run(["nfdump", "-E", file], stdout=subprocess.PIPE, text=True,
                                  check=True)
            found.update((int(number), int(domain))
                         for number, domain in EXPORTER.findall(done.stdout))
        return found

    def sums(self):
        """Returns the number and the sums of the records of each observation domain."""
        domains = self.domains()
        found = collections.defaultdict(collections.Counter)
        # -N prints exact numbers without units.
        words = ["nfdump", "-R", self.folder, "-N", "-q", "-o",
                 "fmt:%exp %ipkt %ibyt %opkt %obyt"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                fields = line.split()
                if len(fields) != 5 or not fields[0].isdigit():
                    continue
                sums = found[domains[int(fields[0])]]
                sums["records"] += 1
                for name, number in zip(SUMS, fields[1:]):
                    sums[name] += int(number)
        return found


@contextlib.contextmanager
def running(folder, port=None):
    """Starts nfcapd on a free port with the options of docs/fleet.md."""
    files = folder / "flows"
    files.mkdir(parents=True)
    port = port or stores.free_port()
    log = folder / "nfcapd.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            ["nfcapd", "-w", files, "-p", str(port), "-B", str(BUFFER)],
            stdout=output, stderr=subprocess.STDOUT)
    collector = Collector(process, port, files, log)
    try:
        usage.until("nfcapd", lambda: "Startup" in log.read_text() or process.poll() is not None)
        yield collector
    finally:
        process.kill()
        process.wait()
