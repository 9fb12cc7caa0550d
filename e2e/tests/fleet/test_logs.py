# SPDX-License-Identifier: GPL-2.0-or-later
"""The files in docs/fleet/logs are consistent; e2e/tests/vm/logs.sh runs rsyslog and stunnel."""

import re
import unittest

import series
import yaml

FILES = series.TOP / "docs/fleet/logs"


def text(name):
    return (FILES / name).read_text()


class Files(unittest.TestCase):
    def test_every_part_of_vector_is_connected(self):
        for name in ("vector-loki.yaml", "vector-elastic.yaml"):
            vector = yaml.safe_load(text(name))
            parts = {*vector["sources"], *vector["transforms"]}
            later = [*vector["transforms"].values(), *vector["sinks"].values()]
            inputs = {one for part in later for one in part["inputs"]}
            self.assertEqual(inputs, parts, name)
            self.assertEqual(vector["sources"]["syslog"]["address"], "0.0.0.0:514")

    def test_stunnel_connects_to_the_tls_port(self):
        found = re.findall(r"^connect = 192\.0\.2\.10:(\d+)$", text("stunnel.conf"), re.MULTILINE)
        [port] = found
        self.assertIn(f'port="{port}" ruleset="fastpath"\n    streamDriver', text("rsyslog.conf"))

    def test_a_relay_times_out_before_events_count_as_sent(self):
        limits = re.findall(r"^TIMEOUT(?:connect|busy) = (\d+)$", text("stunnel.conf"),
                            re.MULTILINE)
        self.assertEqual(len(limits), 2)
        source = series.TOP / "feeds/fastpathd/src/crates/fastpathd/src/export/events.rs"
        after = re.search(r"RELAY_MIN_DURATION: Duration = Duration::from_secs\((\d+)\)",
                          source.read_text())
        self.assertLess(sum(map(int, limits)), int(after[1]))


if __name__ == "__main__":
    unittest.main()
