# SPDX-License-Identifier: GPL-2.0-or-later
"""A minimal Debian 13 root in its own namespaces.

Commands use the host's network to fetch packages; services and their clients use a private network
with the addresses of docs/fleet.md."""

import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import threading

import series

FOLDER = series.TOP / "build/fleet/empty"
SHIMS = series.HERE / "empty"
CLONE_NEWNET = 0x40000000
# Addresses of the machine and of a gateway in docs/fleet.md.
ADDRESSES = ["192.0.2.10", "192.168.1.1"]
# Process 1 of the namespaces: mounts file systems, then waits.
FIRST = """
set -eu
mount --make-rprivate /
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mkdir -p "$1/checkout/docs"
mount --bind "$2/docs" "$1/checkout/docs"
mount -o remount,bind,ro "$1/checkout/docs"
ip link set lo up
shift 2
for address; do ip address add "$address/32" dev lo; done
echo ready
read -r _
"""


def mirror():
    """Returns the archive that this machine's own apt uses."""
    done = subprocess.run(
        ["bash", "-c", f". '{series.TOP}/e2e/lab/images.sh'; debian_mirror"],
        stdout=subprocess.PIPE, text=True, check=True,
    )
    return done.stdout.strip()


def wheels(folder, requirements):
    """Downloads these requirements for Debian 13's Python, so that pip needs no index."""
    subprocess.run(
        [series.TOP / "build/fleet/venv/bin/pip", "download", "-q", "--no-deps",
         "--disable-pip-version-check", "--only-binary", ":all:", "--python-version", "3.13",
         "-d", folder, "-r", requirements],
        check=True,
    )


class Machine:
    """An empty machine, which the `with` statement removes at its end."""

    def __init__(self):
        self.root = FOLDER / "root"
        self.process = None
        self.first = None

    def __enter__(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        sources = f"deb {mirror()} trixie main"
        subprocess.run(["mmdebstrap", "-q", "--variant=apt", "trixie", self.root, sources],
                       check=True)
        self._prepare()
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "bash", "-c", FIRST,
             "first", self.root, series.TOP, *ADDRESSES],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        said = self.process.stdout.readline()
        if said != "ready\n":
            raise RuntimeError(f"no namespaces here: {said}")
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.first = int(children.read_text())
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        shutil.rmtree(FOLDER, ignore_errors=True)

    def _prepare(self):
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", self.root / "etc" / name)
        done = subprocess.run(["apt-config", "dump", "Acquire"], stdout=subprocess.PIPE, check=True)
        (self.root / "etc/apt/apt.conf.d/90acquire").write_bytes(done.stdout)
        # Packages must not start services; `systemctl` does.
        policy = self.root / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        for shim in SHIMS.iterdir():
            shutil.copy(shim, self.root / "usr/local/bin")
        # Debian's installer creates this folder of procps.
        (self.root / "etc/sysctl.d").mkdir(exist_ok=True)
        wheels(self.root / "wheels", series.HERE / "requirements.txt")

    def run(self, script, network=False):
        """Runs a script in the checkout; returns its output or raises it as an error."""
        namespaces = ["--mount", "--pid", *(["--net"] if network else [])]
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "HOME": "/root",
            "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
            "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels",
        }
        done = subprocess.run(
            ["nsenter", "-t", str(self.first), *namespaces, "chroot", self.root,
             "bash", "-euo", "pipefail", "-c", f"cd /checkout\n{script}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False, env=environment,
        )
        if done.returncode != 0:
            raise AssertionError(f"{script}\nended with {done.returncode}:\n{done.stdout[-3000:]}")
        return done.stdout

    def file(self, path):
        return self.root / path.lstrip("/")

    def inside(self, action):
        """Returns the result of ACTION in the machine's network; its sockets stay there."""
        result = []

        def enter():
            with open(f"/proc/{self.first}/ns/net", "rb") as network:
                if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), CLONE_NEWNET) != 0:
                    result.append(OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno())))
                    return
            try:
                result.append(action())
            except Exception as error:  # pylint: disable=broad-except  # for the caller
                result.append(error)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if isinstance(result[0], Exception):
            raise result[0]
        return result[0]


@functools.cache
def why_not():
    """Returns why this host cannot run a machine, or nothing."""
    if os.environ.get("CHOSEN") == "@core":
        return "it fetches 200 MB of packages; `./build.sh test fleet` does"
    if os.geteuid() != 0:
        return "only root has namespaces"
    if shutil.which("mmdebstrap") is None:
        return "this machine has no mmdebstrap"
    done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "true"], check=False)
    return "" if done.returncode == 0 else "this machine has no namespaces"
