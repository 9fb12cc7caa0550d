# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows docs/fleet.md on a gateway's installed files, with uci.

UCI=PROGRAM selects OpenWrt's uci instead of the double of the package tests. Stubs of other
programs record their calls."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import daemon
import series
import test_guide

DOUBLES = series.TOP / "e2e/tests/packages/doubles"
STUNNEL = series.TOP / "docs/fleet/logs/stunnel.conf"
FILES = {
    "stunnel": "config globals 'globals'\n"
               "\toption alt_config_file '/etc/stunnel/stunnel.conf'\n\n"
               "config service 'dummy'\n\toption client '1'\n",
    "prometheus-node-exporter-lua": "config prometheus-node-exporter-lua 'main'\n"
                                    "\toption listen_interface 'loopback'\n"
                                    "\toption listen_port '9100'\n",
    "fastpath": (series.TOP / "feeds/fastpathd/files/fastpath.config").read_text(),
}
PROGRAMS = ["apk", "fastpathctl", "reload_config", "stunnel", "wget"]
STUB = """#!/bin/sh
echo "${0##*/} $*" >>"$CALLS"
case ${0##*/} in wget) echo 'fastpath_build_info 1' ;; esac
"""


def sections(text):
    """Returns package, type, name and options of each section."""
    package = ""
    found = []
    for line in text.splitlines():
        words = re.findall(r"'[^']*'|\S+", line)
        words = [word.strip("'") for word in words]
        if words[:1] == ["package"]:
            package = words[1]
        elif words[:1] == ["config"]:
            found.append((package, words[1], words[2], {}))
        elif words and not words[0].startswith("#"):
            found[-1][3].setdefault(words[1], []).append(words[2])
    return found


class Gateway(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.config = self.root / "config"
        self.config.mkdir()
        for name, text in FILES.items():
            (self.config / name).write_text(text)
        programs = self.root / "bin"
        programs.mkdir()
        for name in PROGRAMS:
            self.program(name, STUB)
        self.program("uci", self.uci())

    def program(self, name, text):
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def uci(self):
        """Returns a script that runs uci on the files of this test."""
        changes = self.root / "changes"
        real = os.environ.get("UCI")
        if real:
            return f'#!/bin/sh\nexec {real} -c {self.config} -t {changes} "$@"\n'
        double = (DOUBLES / "uci.awk").read_text()
        double = double.replace("/etc/config", str(self.config)).replace("/tmp/.uci", str(changes))
        (self.root / "uci.awk").write_text(double)
        return f'#!/bin/sh\nexec awk -f {self.root}/uci.awk -- "$@"\n'

    def follow(self, block):
        """Runs the block and returns the calls of programs."""
        calls = self.root / "calls"
        calls.write_text("")
        environment = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}",
                       "CALLS": str(calls)}
        done = subprocess.run(
            ["sh", "-eu", "-c", block.replace("/etc/init.d/stunnel", f"{self.root}/bin/stunnel")],
            env=environment, text=True, check=False, cwd=self.root,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        self.assertEqual((done.returncode, "uci: " in done.stdout), (0, False),
                         f"{block}\n{done.stdout}")
        changes = self.root / "changes"
        waiting = [path for path in changes.glob("*") if path.read_text()]
        self.assertEqual(waiting, [], "changes that are not committed")
        return calls.read_text().splitlines()

    def sections(self, package):
        """Returns type, name and lists of values, in the order of the file."""
        text = (self.config / package).read_text()
        return [found[1:] for found in sections(f"package {package}\n{text}")]

    def exports(self):
        return {name: {option: values[0] for option, values in options.items()}
                for kind, name, options in self.sections("fastpath") if kind == "export"}

    def blocks(self, *commands):
        """Returns the block that contains each of these parts of commands."""
        found = [block for block in test_guide.blocks("sh gateway")
                 if any(command in block for command in commands)]
        self.assertEqual(len(found), len(commands))
        return found

    def test_the_exporter_answers_on_the_interface(self):
        calls = self.follow(*self.blocks("fastpath-metrics"))
        [(_, name, options)] = self.sections("prometheus-node-exporter-lua")
        self.assertEqual((name, options["listen_interface"]), ("main", ["lan"]))
        self.assertEqual([call.partition(" ")[0] for call in calls],
                         ["apk", "reload_config", "wget"])

    def test_sections_have_options_of_their_kind(self):
        known = daemon.export_options()
        for block in self.blocks("fastpath.store=", "fastpath.soc="):
            self.assertIn("reload_config ", self.follow(block))
        exports = self.exports()
        kinds = {name: options.get("kind", "ipfix") for name, options in exports.items()}
        self.assertEqual(kinds, {"store": "ipfix", "soc": "syslog"})
        for name, options in exports.items():
            self.assertLessEqual(set(options), known[kinds[name]], name)
            self.assertEqual(options["host"], "192.0.2.10")
        before = sections(f"package fastpath\n{FILES['fastpath']}")
        others = [one for one in self.sections("fastpath") if one[0] != "export"]
        self.assertEqual(others, [one[1:] for one in before if one[1] != "export"])

    def test_stunnel_reads_the_file_and_exporters_reach_it(self):
        self.follow(*self.blocks("fastpath.soc="))
        calls = self.follow(*self.blocks("init.d/stunnel"))
        self.assertEqual(calls, ["stunnel restart", "reload_config "])
        # stunnel's init script reads only the first section of this type.
        first = next(options for kind, _, options in self.sections("stunnel") if kind == "globals")
        [file] = first["alt_config_file"]
        page = " ".join(test_guide.GUIDE.read_text().split())
        self.assertIn(f"copy `docs/fleet/logs/stunnel.conf` to `{file}`", page)
        text = STUNNEL.read_text()
        for authority in re.findall(r"^CAfile = (.*)$", text, re.MULTILINE):
            self.assertIn(f"`ca.pem` to `{authority}`", page)
        reached = {f"{one['host']}:{one['port']}" for one in self.exports().values()}
        self.assertEqual(reached, set(re.findall(r"^accept = (.*)$", text, re.MULTILINE)))


if __name__ == "__main__":
    unittest.main()
