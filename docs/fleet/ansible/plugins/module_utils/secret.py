# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of UCI that no output shows: the lists are those of the daemon (crate config, secret)."""

from __future__ import annotations

NAMES = (
    "password",
    "password2",
    "passgroup",
    "passwd",
    "pass",
    "passphrase",
    "pincode",
    "pin",
    "key",
    "key1",
    "key2",
    "key3",
    "key4",
    "sae_password",
    "psk",
    "preshared_key",
    "private_key",
    "priv_key_pwd",
    "priv_key2_pwd",
    "auth_secret",
    "acct_secret",
    "auth_pass",
    "secret",
    "token",
    "pppd_options",
    "update_key",
    "updatekey",
    "wps_pin",
    "fixed_key",
)
ENDS = ("_password", "_passwd", "_secret", "_psk", "_token", "_private_key")


def is_secret(option):
    option = option.lower()
    return option in NAMES or option.endswith(ENDS)


def scalars(value):
    """The texts and numbers of a value. A switch is not a secret, whatever its option."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from scalars(each)
    elif value not in (None, "") and not isinstance(value, bool):
        yield str(value)


def has_credentials(text):
    """Whether it is a URL with a password or a code."""
    return "://" in text and ("@" in text or "?" in text)


def secrets(values):
    """Those of some options and their values."""
    for option, value in (values or {}).items():
        for text in scalars(value):
            if is_secret(option) or has_credentials(text):
                yield text
