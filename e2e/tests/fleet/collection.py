# SPDX-License-Identifier: GPL-2.0-or-later
"""Installs the Ansible collection as a link for Ansible and Python."""

import os
import pathlib
import sys

import series

ROOT = series.TOP / "build/fleet/collections"


def ready():
    """Returns a folder with ansible_collections/fastpath/gateway, also added to sys.path."""
    link = ROOT / "ansible_collections/fastpath/gateway"
    link.parent.mkdir(parents=True, exist_ok=True)
    target = series.TOP / "docs/fleet/ansible"
    if not link.is_symlink() or pathlib.Path(os.readlink(link)) != target:
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return ROOT
