# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures processes and waits for conditions."""

import os
import pathlib
import time

# Poll interval in seconds.
PAUSE = 0.2
# Maximum wait for a condition in seconds.
TIMEOUT = float(os.environ.get("FLEET_PATIENCE", "120"))


class Missed(Exception):
    """A condition that the bench waits for did not become true."""


def until(what, condition):
    """Polls the condition and returns its first true result."""
    ends = time.monotonic() + TIMEOUT
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > ends:
            raise Missed(f"{what}: not within {TIMEOUT:g} s")
        time.sleep(PAUSE)


def cpu_seconds(pid):
    """Returns the CPU time of a process, including the kernel's work for it."""
    # Python lacks clock_getcpuclockid(3); /proc has only ticks of 10 ms.
    return time.clock_gettime((~pid << 3) | 2)


def memory_bytes(pid):
    """Returns the resident memory of a process."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise Missed(f"process {pid} has ended")


def folder_bytes(folder):
    """Returns the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*") if path.is_file())
