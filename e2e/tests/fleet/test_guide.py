# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the commands of docs/fleet.md in order; its inventory configures a gateway."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import collection
import gateway
import series
import test_alerts

GUIDE = series.TOP / "docs/fleet.md"
PROGRAMS = ["apt-get", "clickhouse-client", "python3", "sysctl", "systemctl"]
BIN = pathlib.Path(sys.executable).parent
UNITS = list((series.TOP / "docs/fleet").glob("*/*.service"))


def blocks(language):
    """Returns the page's fenced blocks with this text after the fence."""
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    return [text for kind, text in found if kind == language]


def namespaces():
    """Reports whether this machine can mount overlays on its own files."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "script"
        script.write_text("true\n")
        (pathlib.Path(folder) / "files").mkdir()
        command = ["unshare", "--mount", series.HERE / "guide/run", script, f"{folder}/files"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Machine(unittest.TestCase):
    def follow(self):
        """Runs the machine's commands in one shell; returns files, calls and the schema."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        folder = pathlib.Path(folder.name)
        (folder / "bin").mkdir()
        (folder / "files").mkdir()
        for name in PROGRAMS:
            (folder / "bin" / name).symlink_to(series.HERE / "guide/stub")
        script = folder / "script"
        script.write_text("\n".join(blocks("sh machine")))
        (folder / "home").mkdir()
        for name in ("ca.pem", "logs.pem"):
            (folder / "home" / name).touch()
        promtool = series.TOP / "build"
        environment = {
            **os.environ,
            "PATH": f"{folder}/bin:{promtool}:{os.environ['PATH']}",
            "CALLS": str(folder / "calls"),
            "HOME": str(folder / "home"),
            "VENV": str(BIN.parent),
            "ANSIBLE_HOME": str(folder / "home"),
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            ["unshare", "--mount", series.HERE / "guide/run", script, folder / "files"],
            cwd=series.TOP, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        with tarfile.open(folder / "files.tar") as files:
            names = {name.removeprefix("./") for name in files.getnames()}
        calls = (folder / "calls").read_text().splitlines()
        return names, calls, (folder / "calls.schema").read_text()

    @unittest.skipUnless(os.geteuid() == 0, "only root has a mount namespace")
    def test_the_commands_of_the_guide_run_in_order(self):
        if not namespaces():
            self.skipTest("this machine mounts no overlay")
        names, calls, schema = self.follow()
        for name in ("etc/fastpath/prometheus.yml", "etc/fastpath/fastpath.rules.yml",
                     "etc/fastpath/gateways/site.yml", "etc/fastpath/victoria.yml",
                     "etc/fastpath/load", "etc/default/nfacctd",
                     "etc/fastpath/ca.pem", "etc/fastpath/logs.pem",
                     "etc/grafana/provisioning/dashboards/fastpath.yml",
                     "etc/fastpath/dashboards/fastpath-fleet.json"):
            self.assertIn(name, names)
        roles = [name for name in names if name.endswith("roles/gateway/tasks/main.yml")]
        self.assertIn("opt/fastpath/collections/ansible_collections/fastpath/gateway/", roles[0])
        self.assertEqual(schema, (series.TOP / "docs/fleet/flows/schema.sql").read_text())
        self.assertIn("systemctl restart prometheus prometheus-alertmanager", calls)
        units = {name.rpartition("/")[2] for name in names if name.endswith(".service")}
        self.assertEqual(units, {path.name for path in UNITS})
        for unit in units:
            self.assertIn(f"systemctl enable --now {unit.removesuffix('.service')}", calls)

    def test_each_service_starts_at_boot(self):
        self.assertEqual(len(UNITS), 3)
        self.assertNotIn("systemd-run", GUIDE.read_text())
        for path in UNITS:
            self.assertIn("\n[Install]\nWantedBy=multi-user.target\n", path.read_text(), path.name)
            if shutil.which("systemd-analyze") is None:
                continue
            done = subprocess.run(["systemd-analyze", "verify", path], text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            said = [line for line in done.stdout.splitlines()
                    if path.name in line and "is not executable" not in line]
            self.assertEqual(said, [])

    def test_services_use_the_paths_of_installed_files(self):
        text = "\n".join(blocks("sh machine"))
        for path in ("prometheus.yml", "victoria.yml"):
            named = (series.TOP / "docs/fleet" / path).read_text()
            self.assertIn("/etc/fastpath/gateways/*.yml", named)
            self.assertIn(f"/etc/fastpath/{path}", text)
        nfacctd = (series.TOP / "docs/fleet/flows/nfacctd.conf").read_text()
        for path in re.findall(r"/etc/fastpath/\w+", nfacctd):
            self.assertIn(f"docs/fleet/flows/{path.rpartition('/')[2]}", text)


class Page(unittest.TestCase):
    def test_commands_are_bash(self):
        for text in [*blocks("sh machine"), *blocks("sh gateway"), *blocks("")]:
            done = subprocess.run(["bash", "-n"], input=text, text=True, check=False,
                                  stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(blocks("sh machine")), 5)

    def test_files_named_by_the_guide_exist(self):
        names = set(re.findall(r"\bdocs/fleet/[\w./*-]*[\w/]", GUIDE.read_text()))
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertTrue(list(series.TOP.glob(name)), name)

    def test_the_guide_lists_each_alert(self):
        listed = set(re.findall(r"`(Fastpath\w+)`", GUIDE.read_text()))
        self.assertEqual(listed, {rule["alert"] for rule in test_alerts.rules() if "alert" in rule})

    def test_the_inventory_of_the_guide_configures_a_gateway(self):
        with gateway.Gateway(gateway.factory()) as small, tempfile.TemporaryDirectory() as folder:
            inventory = pathlib.Path(folder) / "gateways.yml"
            inventory.write_text(blocks("yaml")[0])
            environment = {
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(collection.ready()),
                "ANSIBLE_HOME": f"{folder}/home",
                "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
                "LC_ALL": "C.UTF-8",
            }
            command = [BIN / "ansible-playbook", "-i", inventory, "-e",
                       f"fastpath_url={small.url} vault_wan=x "
                       f"vault_fastpath_password={gateway.PASSWORD}", "fastpath.gateway.gateways"]
            done = subprocess.run(command, env=environment, text=True, check=False, cwd=folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertRegex(done.stdout, r"gw1 +: ok=1 +changed=1 ")
            zones = [one["values"]["name"] for one in small.state.configs["firewall"]
                     if one["type"] == "zone"]
            self.assertEqual(zones, ["lan", "wan", "iot"])

    def test_the_query_of_flow_records_has_an_answer(self):
        try:
            from chdb import session
        except ImportError:
            self.skipTest("this machine has no chdb")
        import test_flows

        with tempfile.TemporaryDirectory() as folder:
            database = session.Session(folder)
            for statement in test_flows.statements():
                database.query(statement)
            database.query(
                "INSERT INTO fastpath.paths (gateway, minute, reason, up_bytes) "
                "VALUES ('gw1', yesterday(), 'idle', 5)"
            )
            answer = database.query(f"{blocks('sql')[0]} FORMAT CSV").data()
            database.close()
        self.assertEqual(answer.strip(), '"gw1","idle",5')


if __name__ == "__main__":
    unittest.main()
