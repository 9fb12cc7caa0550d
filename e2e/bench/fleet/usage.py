# SPDX-License-Identifier: GPL-2.0-or-later
"""What a process has used, and waits for a condition."""

import os
import pathlib
import time

# Seconds between two questions.
PAUSE = 0.2
# Seconds until a condition has to hold, on a busy machine.
PATIENCE = float(os.environ.get("FLEET_PATIENCE", "120"))


class Missed(Exception):
    """Something that the bench waits for does not come."""


def until(what, condition):
    """What the condition returns, once that is true."""
    ends = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > ends:
            raise Missed(f"{what}: not within {PATIENCE:g} s")
        time.sleep(PAUSE)


def cpu_seconds(pid):
    """CPU time of a process, in the kernel on its behalf included."""
    # The clock of clock_getcpuclockid(3), which Python lacks. /proc counts ticks of 10 ms.
    return time.clock_gettime((~pid << 3) | 2)


def memory_bytes(pid):
    """Resident memory of a process."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise Missed(f"process {pid} has ended")


def folder_bytes(folder):
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*") if path.is_file())
