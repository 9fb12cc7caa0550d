# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows docs/fleet.md on an empty Debian machine.

Omits Grafana and ClickHouse, which are not in Debian."""

import json
import pathlib
import re
import socket
import struct
import time
import unittest

import empty_machine
import gateway
import series
import stores
import test_guide

PCAP = series.HERE / "records.pcap"
RECORDS = 4
ALERT = b'{"event_type":"alert","host":"gw1"}'
# Maximum seconds per step; nfacctd exports once per minute.
STEP_TIMEOUT = 300


def chapters():
    """Returns the blocks for the machine by the heading above them."""
    found = {}
    for part in test_guide.GUIDE.read_text().split("\n## ")[1:]:
        blocks = re.findall(r"^```sh machine\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
        if blocks:
            found[part.partition("\n")[0]] = blocks
    return found


def datagrams():
    """Returns the UDP payloads of the recorded frames (Ethernet, IPv4, UDP)."""
    data = PCAP.read_bytes()
    at, found = 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frame = data[at + 16 : at + 16 + length]
        found.append(frame[14 + 20 + 8 :])
        at += 16 + length
    return found


def soon(condition, what):
    """Returns the first true answer of CONDITION."""
    until = time.monotonic() + STEP_TIMEOUT
    while True:
        try:
            answer = condition()
        except OSError as error:
            answer = None
            what = f"{what}: {error}" if str(error) not in what else what
        if answer:
            return answer
        if time.monotonic() > until:
            raise AssertionError(what)
        time.sleep(0.5)


def waiting(machine, port):
    """Returns the unread bytes of this UDP port's socket, or None if no socket is bound."""
    for table in ("udp", "udp6"):
        for line in pathlib.Path(f"/proc/{machine.first}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(f":{port:04X}"):
                return int(fields[4].partition(":")[2], 16)
    return None


@unittest.skipIf(empty_machine.why_not(), empty_machine.why_not())
class Empty(unittest.TestCase):
    def asked(self, port, path, **arguments):
        return self.machine.inside(lambda: stores.Store(port).get(path, **arguments))

    def names(self, port):
        """Returns the gateways in a store."""
        answer = self.asked(port, "/api/v1/query", query="fastpath_build_info")
        return [one["metric"]["instance"] for one in answer["data"]["result"]]

    def rules(self, port):
        groups = self.asked(port, "/api/v1/rules")["data"]["groups"]
        return [rule["name"] for group in groups for rule in group["rules"]]

    def send(self):
        """Sends the records of a gateway to the collector."""

        def action():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for datagram in datagrams():
                    sender.sendto(datagram, ("192.0.2.10", 4739))

        soon(lambda: waiting(self.machine, 4739) is not None, "no collector on port 4739")
        self.machine.inside(action)
        soon(lambda: waiting(self.machine, 4739) == 0, "the collector does not read")

    def follow(self, block):
        self.machine.run(block)

    def metrics(self, blocks):
        for block in blocks:
            self.follow(block)
        soon(lambda: self.names(9090) == ["gw1"], "Prometheus has no gateway")
        said = self.machine.run("promtool query instant http://localhost:9090 fastpath_build_info",
                                network=True)
        self.assertIn('instance="gw1"', said)
        self.assertIn("FastpathGatewayDown", self.rules(9090))
        found = self.asked(9090, "/api/v1/alertmanagers")["data"]["activeAlertmanagers"]
        self.assertEqual(len(found), 1)
        soon(lambda: self.asked(9093, "/api/v2/status"), "Alertmanager does not answer")

    def dashboards(self, blocks):
        # Grafana's package creates these folders.
        self.machine.run("mkdir -p /etc/grafana/provisioning/datasources "
                         "/etc/grafana/provisioning/dashboards")
        for block in blocks:
            self.follow(block)
        self.assertEqual(self.machine.file("/run/absent").read_text(), "grafana-server\n")
        boards = list(self.machine.file("/etc/fastpath/dashboards").glob("*.json"))
        self.assertEqual(len(boards), 4)

    def flow_records(self, blocks):
        files, database = blocks
        self.follow(files)
        self.send()
        # nfcapd writes its file on exit.
        self.machine.run("systemctl disable --now fastpath-nfcapd")
        said = self.machine.run("nfdump -R /var/lib/fastpath/flows -s ip/bytes")
        self.assertRegex(said, rf"total flows: ({RECORDS}|{2 * RECORDS})\b")
        self.assertIn("10.10.10.10", said)
        self.follow(database)
        schema = self.machine.file("/run/clickhouse.schema").read_text()
        self.assertIn("fastpath.received", schema)
        self.send()
        rows = self.machine.file("/run/clickhouse.rows")
        soon(lambda: rows.exists() and len(rows.read_text().splitlines()) == RECORDS,
             "nfacctd and `load` have loaded no records")
        paths = {json.loads(row)["path"] for row in rows.read_text().splitlines()}
        self.assertEqual(paths, {"ebpf", "slow"})
        self.assertEqual(list(self.machine.file("/var/spool/fastpath").glob("*.json")), [])

    def certificates(self):
        """Makes an authority, and a certificate with its key, in root's home folder."""
        self.machine.run(
            "cd /tmp; "
            "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=test -keyout ca.key -out ca.pem; "
            "openssl req -newkey rsa:2048 -nodes -subj /CN=logs.example -keyout key -out request; "
            "openssl x509 -req -in request -CA ca.pem -CAkey ca.key -out cert; "
            "cat cert key >/root/logs.pem; cp ca.pem /root"
        )

    def exchange(self, port, sent):
        """Returns what the service at this port answers within a second."""

        def action():
            with socket.create_connection(("192.0.2.10", port), 10) as stream:
                stream.settimeout(1)
                stream.sendall(sent)
                try:
                    return stream.recv(4096)
                except TimeoutError:
                    return b""

        return soon(lambda: (self.machine.inside(action),), f"nothing listens on port {port}")[0]

    def has_tls(self, port):
        """Checks that the authority signed the service's certificate for its name."""
        said = self.machine.run(
            f"openssl s_client -connect 192.0.2.10:{port} -CAfile /root/ca.pem "
            "-verify_return_error -verify_hostname logs.example </dev/null 2>&1",
            network=True,
        )
        self.assertIn("Verify return code: 0 (ok)", said)

    def alerts_and_logs(self, blocks):
        files, syslog = blocks
        self.certificates()
        self.follow(files)
        self.follow(syslog)
        message = b"<28>1 2026-11-27T12:00:00.000000Z gw1 suricata - alert - " + ALERT
        self.exchange(514, b"%d %s" % (len(message), message))
        folder = self.machine.file("/var/log/fastpath")
        written = soon(lambda: list(folder.glob("gw1-*.json")), "rsyslog has written no file")
        soon(lambda: written[0].read_bytes() == ALERT + b"\n", "rsyslog has not the alert")
        self.has_tls(6514)

    def configuration(self, blocks):
        for block in blocks:
            self.follow(block)
        inventory = self.machine.file("/root/gateways.yml")
        inventory.write_text(test_guide.blocks("yaml")[0])
        commands = [block for block in test_guide.blocks("") if "ansible-playbook" in block]
        extra = (f"-e 'fastpath_url={self.small.url} vault_wan=x "
                 f"vault_fastpath_password={gateway.PASSWORD}'")
        script = commands[0].replace("-i gateways.yml", f"-i /root/gateways.yml {extra}")
        before = json.dumps(self.small.state.configs)
        lines = script.splitlines()
        check = next(at for at, line in enumerate(lines) if "--check" in line)
        said = self.machine.run("\n".join(lines[: check + 1]), network=True)
        self.assertRegex(said, r"gw1 +: ok=1 +changed=1 ")
        self.assertEqual(json.dumps(self.small.state.configs), before)
        said = self.machine.run("\n".join(lines[:check] + lines[check + 1 :]), network=True)
        self.assertRegex(said, r"gw1 +: ok=1 +changed=1 ")
        self.assertNotEqual(json.dumps(self.small.state.configs), before)

    def growth(self, blocks):
        for block in blocks:
            self.follow(block)
        soon(lambda: self.names(8428) == ["gw1"], "VictoriaMetrics has no gateway")
        soon(lambda: "FastpathGatewayDown" in self.rules(8880), "vmalert has no rules")

    def test_each_command_of_the_guide_works_on_an_empty_machine(self):
        with empty_machine.Machine() as self.machine:
            text = stores.growing(series.healthy())
            exporter = self.machine.inside(
                lambda: stores.Exporter(text, ("192.168.1.1", 9100))
            )
            self.addCleanup(exporter.server_close)
            self.addCleanup(exporter.shutdown)
            steps = {"Metrics": self.metrics, "Dashboards": self.dashboards,
                     "Flow records": self.flow_records, "Alerts and logs": self.alerts_and_logs,
                     "Configuration": self.configuration, "Growth": self.growth}
            self.assertEqual(list(chapters()), list(steps))
            with self.machine.inside(
                lambda: gateway.Gateway(gateway.factory(), "192.168.1.1")
            ) as self.small:
                for name, blocks in chapters().items():
                    steps[name](blocks)


if __name__ == "__main__":
    unittest.main()
