# SPDX-License-Identifier: GPL-2.0-or-later
"""Flow records in ClickHouse: the schema, its views and its retention, tested with chdb.

The lab's exporter has sent records.pcap (NAT, IPv6, eBPF engine); records.jsonl is nfacctd's output
for it."""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import series

FOLDER = series.TOP / "docs/fleet/flows"
RECORDS = series.HERE / "records.jsonl"

try:
    from chdb import session
except ImportError:
    session = None


def statements():
    text = re.sub(r"--.*", "", (FOLDER / "schema.sql").read_text())
    return [one.strip() for one in text.split(";") if one.strip()]


def records():
    return [json.loads(line) for line in RECORDS.read_text().splitlines()]


def plain(record):
    """Returns a record without the times at which nfacctd printed it."""
    return json.dumps({name: value for name, value in record.items() if "stamp_" not in name})


@unittest.skipIf(session is None, "this machine has no chdb")
class Schema(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.session = session.Session(folder.name)
        self.addCleanup(self.session.close)
        for statement in statements():
            self.session.query(statement)

    def rows(self, query):
        text = self.session.query(f"{query} FORMAT JSONCompactEachRow").data()
        return [json.loads(line) for line in text.splitlines()]

    def load(self, rows, token=""):
        text = "\n".join(json.dumps(row) for row in rows)
        settings = re.findall(r"--((?:input|dedup)\w+) (\S+)", (FOLDER / "load").read_text())
        wanted = ", ".join(f"{name} = {value}" for name, value in settings)
        self.session.query(
            f"INSERT INTO fastpath.received SETTINGS {wanted}, "
            f"insert_deduplication_token = '{token}' FORMAT JSONEachRow {text}"
        )

    def totals(self):
        tables = ("flows", "paths", "hosts")
        return [self.rows(f"SELECT sum(up_bytes) FROM fastpath.{name}")[0][0] for name in tables]

    def test_a_file_that_is_loaded_twice_counts_once(self):
        self.load(records(), "one")
        once = self.totals()
        self.load(records(), "one")
        self.assertEqual(self.totals(), once)
        self.load(records(), "two")
        self.assertEqual([int(value) for value in self.totals()],
                         [2 * int(value) for value in once])

    def test_the_schema_can_be_applied_twice(self):
        self.load(records())
        for statement in statements():
            self.session.query(statement)
        found = self.rows("SELECT count() FROM fastpath.flows")
        self.assertEqual(int(found[0][0]), len(records()))

    def test_all_tables_have_the_bytes_of_the_records(self):
        self.load(records())
        up = sum(one["bytes"] for one in records())
        down = sum(int(one["rev_bytes"]) * one["flows"] for one in records())
        offloaded = sum(int(one["offloaded_bytes"]) * one["flows"] for one in records())
        self.assertGreater(offloaded, 0)
        for table in ("flows", "paths", "hosts"):
            found = self.rows(
                f"SELECT sum(up_bytes), sum(down_bytes), sum(offloaded_bytes) FROM fastpath.{table}"
            )
            self.assertEqual([int(value) for value in found[0]], [up, down, offloaded], table)

    def test_aggregated_records_of_nfacctd_count_as_many(self):
        row = {**records()[0], "flows": 3, "bytes": 30, "rev_bytes": "7"}
        self.load([row])
        found = self.rows("SELECT up_bytes, down_bytes FROM fastpath.flows")
        self.assertEqual([int(value) for value in found[0]], [30, 21])
        self.load([{**row, "flow_id": "4", "flows": 2}, {**row, "flow_id": "5", "flows": 1}])
        for table in ("flows", "paths", "hosts"):
            found = self.rows(f"SELECT sum(records) FROM fastpath.{table}")
            self.assertEqual(int(found[0][0]), 6, table)

    def test_times_and_addresses_are_kept(self):
        row = {**records()[0], "ip_src": "2001:db8::1", "ip_dst": "10.1.2.3",
               "timestamp_end": "1795772106.644000"}
        self.load([row])
        found = self.rows(
            "SELECT toString(initiator), toString(responder), toUnixTimestamp64Milli(ended) "
            "FROM fastpath.flows"
        )[0]
        self.assertEqual(found[:2], ["2001:db8::1", "::ffff:10.1.2.3"])
        self.assertEqual(int(found[2]), 1795772106644)

    def test_old_records_are_deleted(self):
        self.load([{**records()[0], "timestamp_end": str(946684800 + at)} for at in range(3)])
        for table in ("flows", "paths", "hosts"):
            self.session.query(f"OPTIMIZE TABLE fastpath.{table} FINAL")
            found = self.rows(f"SELECT count() FROM fastpath.{table}")
            self.assertEqual(int(found[0][0]), 0, table)


class Collector(unittest.TestCase):
    @unittest.skipIf(shutil.which("nfacctd") is None, "this machine has no nfacctd")
    def test_nfacctd_prints_the_records_of_a_gateway(self):
        with tempfile.TemporaryDirectory() as folder:
            text = (FOLDER / "nfacctd.conf").read_text()
            text = text.replace("nfacctd_port: 4739", f"pcap_savefile: {series.HERE}/records.pcap")
            text = text.replace("daemonize: true", "daemonize: false")
            text = text.replace("/etc/fastpath/primitives", str(FOLDER / "primitives"))
            text = text.replace("/var/spool/fastpath/", f"{folder}/")
            text = re.sub(r"^print_trigger_exec.*", "", text, flags=re.MULTILINE)
            path = pathlib.Path(folder) / "nfacctd.conf"
            path.write_text(text)
            done = subprocess.run(["nfacctd", "-f", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
            files = sorted(pathlib.Path(folder).glob("*.json"))
            lines = "".join(file.read_text() for file in files).splitlines()
        self.assertEqual(sorted(plain(json.loads(line)) for line in lines),
                         sorted(plain(record) for record in records()), done.stdout)

    def primitives(self):
        text = (FOLDER / "primitives").read_text()
        return dict(re.findall(r"^name=(\w+) field_type=(\S+)", text, re.MULTILINE))

    def aggregate(self):
        line = re.search(r"^aggregate\[flows\]: (.*)$", (FOLDER / "nfacctd.conf").read_text(),
                         re.MULTILINE)
        return {name.strip() for name in line.group(1).split(",")}

    def test_each_primitive_is_printed_and_has_a_column(self):
        received = statements()[1]
        for name in self.primitives():
            self.assertIn(name, self.aggregate())
            self.assertRegex(received, rf"\n\s+{name} ")

    def test_each_column_is_in_the_records(self):
        columns = re.findall(r"^\s+(\w+) (?:String|UInt|Float)", statements()[1], re.MULTILINE)
        self.assertGreater(len(columns), 20)
        for name in columns:
            self.assertIn(name, records()[0])

    def test_elements_have_the_numbers_of_ipfix_csv(self):
        table = series.TOP / "docs/ipfix.csv"
        with table.open() as file:
            numbers = {row["Name"]: row["ElementID"] for row in csv.DictReader(file)}
        ours = {"offloaded_bytes": "offloadedOctetDeltaCount", "path": "forwardingPath",
                "reason": "offloadReason", "inspection": "inspectionStatus",
                "ingress_zone": "ingressZone", "egress_zone": "egressZone"}
        for name, element in ours.items():
            self.assertEqual(self.primitives()[name], f"32473:{numbers[element]}")


class Load(unittest.TestCase):
    """Tests the script that nfacctd runs, with a stub for clickhouse-client."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.spool = self.folder / "spool"
        self.spool.mkdir()
        self.client = self.folder / "client"

    def run_load(self, client):
        self.client.write_text(f"#!/bin/sh\n{client}\n")
        self.client.chmod(0o755)
        environment = {**os.environ, "SPOOL": str(self.spool), "CLIENT": str(self.client)}
        subprocess.run([FOLDER / "load"], env=environment, check=False)

    def file(self, name, age=60):
        path = self.spool / name
        path.write_text(f"{name}\n")
        os.utime(path, (time.time() - age,) * 2)
        return path

    def test_each_file_is_loaded_once_and_removed(self):
        files = [self.file("2.json"), self.file("1.json")]
        loaded = self.folder / "loaded"
        self.run_load(f'cat >>"{loaded}"; echo "$2" >>"{loaded}"')
        self.assertEqual(loaded.read_text().splitlines()[0::2], ["1.json", "2.json"])
        self.assertIn("fastpath.received", loaded.read_text())
        self.assertFalse(any(path.exists() for path in files))

    def test_a_file_that_fails_to_load_is_kept_and_others_are_loaded(self):
        files = [self.file("1.json"), self.file("2.json")]
        self.run_load("! grep -q 1.json")
        self.assertEqual([path.exists() for path in files], [True, False])

    def test_a_file_that_is_being_written_is_loaded_later_in_the_same_run(self):
        path = self.file("1.json", age=0)
        age = self.folder / "age"
        self.run_load(f'echo $(($(date +%s) - $(stat -L -c %Y /proc/self/fd/0))) >"{age}"')
        self.assertGreaterEqual(int(age.read_text()), 5)
        self.assertFalse(path.exists())


if __name__ == "__main__":
    unittest.main()
