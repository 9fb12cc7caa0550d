# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds UCI options of the daemon in its sources."""

import re

import series

CRATES = series.TOP / "feeds/fastpathd/src/crates"


def _read(name):
    return (CRATES / name).read_text().partition("#[cfg(test)]")[0]


def _options(source):
    return set(re.findall(r'(?:value|list|seconds)\((?:section, )?"(\w+)"', source))


def export_options():
    """Returns the options of an `export` section by kind."""
    both = _options(_read("config/src/value.rs") + _read("gateway/src/export/settings.rs"))
    return {
        "ipfix": both | _options(_read("ipfix/src/settings.rs")),
        "syslog": both | _options(_read("logs/src/settings.rs")),
    }
