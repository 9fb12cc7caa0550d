# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/fleet/logs: the files fit each other. e2e/tests/vm/logs.sh runs rsyslog, Redis, stunnel."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import series
import test_guide
import yaml

FILES = series.TOP / "docs/fleet/logs"


def text(name):
    return (FILES / name).read_text()


class Files(unittest.TestCase):
    def test_vector_connects_its_parts(self):
        for name in ("vector-loki.yaml", "vector-elastic.yaml"):
            vector = yaml.safe_load(text(name))
            parts = {*vector["sources"], *vector["transforms"]}
            later = [*vector["transforms"].values(), *vector["sinks"].values()]
            inputs = {one for part in later for one in part["inputs"]}
            self.assertEqual(inputs, parts, name)
            self.assertIn("reader", vector["sources"]["redis"]["url"])
            self.assertEqual(vector["sources"]["syslog"]["address"], "0.0.0.0:514")

    def test_stunnel_connects_to_the_ports_with_tls(self):
        ports = re.findall(r"^connect = 192\.0\.2\.10:(\d+)$", text("stunnel.conf"), re.MULTILINE)
        syslog, redis = ports
        self.assertIn(f'port="{syslog}" ruleset="fastpath"\n    streamDriver', text("rsyslog.conf"))
        self.assertIn(f"tls-port {redis}\n", text("redis.conf"))

    def test_a_relay_ends_before_events_count_as_sent(self):
        limits = re.findall(r"^TIMEOUT(?:connect|busy) = (\d+)$", text("stunnel.conf"),
                            re.MULTILINE)
        self.assertEqual(len(limits), 4)
        source = series.TOP / "feeds/fastpathd/src/crates/fastpathd/src/export/events.rs"
        after = re.search(r"RELAY_CONNECTED_AFTER: Duration = Duration::from_secs\((\d+)\)",
                          source.read_text())
        for at in (0, 2):
            self.assertLess(sum(map(int, limits[at:at + 2])), int(after[1]))


@unittest.skipIf(shutil.which("redis-server") is None, "this machine has no redis-server")
class Access(unittest.TestCase):
    """The users of docs/fleet.md in Redis."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.socket = f"{folder.name}/socket"
        users = [line for line in test_guide.GUIDE.read_text().splitlines()
                 if line.startswith("user ")]
        path = pathlib.Path(folder.name) / "users.acl"
        path.write_text("\n".join(users) + "\n")
        command = ["redis-server", "--port", "0", "--unixsocket", self.socket, "--aclfile", path,
                   "--save", "", "--dir", folder.name]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        until = time.monotonic() + 30
        while "PONG" not in self.reader("ping"):
            self.assertLess(time.monotonic(), until, "Redis does not start")
            time.sleep(0.05)

    def ask(self, user, password, *arguments):
        command = ["redis-cli", "-s", self.socket, "--no-auth-warning", "--user", user,
                   "--pass", password, *arguments]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=30).stdout

    def gateway(self, *arguments):
        return self.ask("gateway", "change-this", *arguments)

    def reader(self, *arguments):
        return self.ask("reader", "change-this-too", *arguments)

    def test_a_gateway_appends_and_a_reader_takes(self):
        for command in (["blpop", "suricata", "1"], ["lpop", "suricata"],
                        ["brpop", "suricata", "1"], ["rpop", "suricata"]):
            self.assertEqual(self.gateway("rpush", "suricata", "alert").strip(), "1")
            self.assertEqual(self.reader("llen", "suricata").strip(), "1")
            self.assertEqual(self.reader("lrange", "suricata", "0", "-1").strip(), "alert")
            self.assertIn("alert", self.reader(*command))
        self.assertEqual(self.gateway("publish", "suricata", "alert").strip(), "0")

    def test_neither_does_more(self):
        commands = ["config get dir", "config set dir /tmp", "acl list", "acl setuser x on",
                    "flushall", "keys *", "info", "client list", "client kill id 1", "save",
                    "shutdown", "replicaof no one", "module list", "eval return 0",
                    "del suricata", "set suricata x", "monitor", "slowlog get"]
        for ask, more in ((self.reader, ["rpush suricata x", "lpop other", "subscribe other",
                                         "publish suricata x"]),
                          (self.gateway, ["lpop suricata", "rpush other x", "publish other x",
                                          "subscribe suricata"])):
            for command in [*commands, *more]:
                self.assertIn("NOPERM", ask(*command.split()), command)


if __name__ == "__main__":
    unittest.main()
