# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds UCI values that are hidden in all output, according to the gateway's own list."""

from __future__ import annotations

import re

from ansible_collections.fastpath.gateway.plugins.module_utils.shown import SHOWN

# Scheme, host and port only.
BARE_URL = re.compile(
    r"[A-Za-z0-9.+-]+://(?:[A-Za-z0-9.+-]+|\[[0-9A-Fa-f:.]*\])(?::[0-9]*)?/?", re.ASCII
)
# Hiding a short number would hide it in all other values, too.
SHORT = re.compile(r"[0-9]{1,3}")


def is_shown(kind, option):
    beginning = kind[: kind.find("_") + 1]
    return option in SHOWN.get(kind, ()) or option in SHOWN.get(beginning, ())


def scalars(value):
    """Yields the strings and numbers of a value. Booleans are never secret."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from scalars(each)
    elif value not in (None, "") and not isinstance(value, bool):
        yield str(value)


def is_secret(kind, option, text):
    if "://" in text or option == "url" or option.endswith("_url"):
        return not BARE_URL.fullmatch(text) or not is_shown(kind, option)
    if re.search(r"[:%].*@", text):
        return True
    return not is_shown(kind, option) and not SHORT.fullmatch(text)


def secrets(kind, values):
    """Yields the secret values of options in a section of this type."""
    for option, value in (values or {}).items():
        for text in scalars(value):
            if is_secret(kind, option, text):
                yield text
