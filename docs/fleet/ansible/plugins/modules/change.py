#!/usr/bin/python
# SPDX-License-Identifier: GPL-2.0-or-later
"""Module fastpath.gateway.change."""

from __future__ import annotations

DOCUMENTATION = r"""
module: change
short_description: Changes the configuration of a gateway with fastpath, in one transaction
description:
  - Compares the wanted sections of UCI with those of the gateway, has the gateway check the
    difference, applies it and confirms it once it is in force.
  - The gateway rolls back a change that is not confirmed, for example if it disconnects the
    controller or after a power cut.
  - Runs on the controller (C(connection=local) or C(delegate_to=localhost)), because gateways have
    no Python. Uses JSON-RPC with the gateway's web server.
options:
  url:
    description: Address of the page, such as C(https://192.168.1.1).
    type: str
    required: true
  confirm_url:
    description: Address of the page after the change, if the change moves it. Default is I(url).
    type: str
  username:
    type: str
    default: root
    description: An account with the right to write.
  password:
    type: str
    required: true
    description: Password of the account.
  validate_certs:
    type: bool
    default: true
    description: Verify the gateway's certificate.
  ca_path:
    type: path
    description: File with the certificates that I(validate_certs) accepts.
  timeout:
    type: float
    default: 10
    description: Timeout of one call in seconds.
  sections:
    description:
      - Wanted sections of UCI. The gateway's section is found by I(section), by the options in
        I(match), or as the only one of its type. Options that are not listed stay.
    type: list
    elements: dict
    default: []
    suboptions:
      config:
        description: File of the section.
        type: str
        required: true
        choices:
          [dhcp, fastpath, firewall, https-dns-proxy, igmpproxy, mwan3, network, rpcd, sqm, stubby,
           suricata, system, wireless]
      type:
        description: Type of the section.
        type: str
        required: true
      section:
        description: Name of the section; without a name it is anonymous.
        type: str
      match:
        description: Options by which an anonymous section is found.
        type: dict
      values:
        description: Options of the section. A list is a list of UCI; null removes an option.
        type: dict
      state:
        description: Whether the section must exist.
        type: str
        choices: [present, absent]
        default: present
  only:
    description:
      - Removes all sections of a type except those of I(sections). I(where) limits this to sections
        whose options have one of the values.
    type: list
    elements: dict
    default: []
    suboptions:
      config:
        type: str
        required: true
        description: File of the sections.
      type:
        type: str
        required: true
        description: Type of the sections.
      where:
        type: dict
        description: Options and their values.
      ordered:
        type: bool
        default: false
        description: Put the sections into the order of I(sections).
  seconds:
    description: Seconds until the gateway rolls back an unconfirmed change.
    type: int
    default: 60
  confirm:
    description:
      - C(in_force) confirms when the gateway reports that the change is in force. C(reachable) also
        accepts a change of which a part cannot be in force yet, such as an interface on a port
        without a cable.
    type: str
    choices: [in_force, reachable]
    default: in_force
  cut_ok:
    description: Apply a change that may disconnect a client of the page.
    type: bool
    default: false
  accept_exposure:
    description: Zones that the change may open to the Internet.
    type: list
    elements: str
    default: []
  note:
    description: A note in the gateway's list of changes.
    type: str
    default: Ansible
author: fastpath developers
"""

EXAMPLES = r"""
- name: The engine
  delegate_to: localhost
  fastpath.gateway.change:
    url: https://{{ ansible_host }}
    password: "{{ fastpath_password }}"
    sections:
      - config: fastpath
        type: fastpath
        section: main
        values: {engine: ebpf}
"""

RETURN = r"""
id:
  description: Number of the change, for I(undo) on the page.
  type: int
  returned: when a change was applied
state:
  description: Outcome. C(confirmed), C(reverted), C(expired), C(power-cut), C(unknown).
  type: str
  returned: when a change was applied
access:
  description: Access between zones that the change grants or withdraws.
  type: list
  returned: when there is a difference
exposes:
  description: Zones that the change opens to the Internet.
  type: list
  returned: when there is a difference
cuts:
  description: Clients of the page that the change may disconnect.
  type: list
  returned: when there is a difference
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402
from ansible_collections.fastpath.gateway.plugins.module_utils.edits import (  # noqa: E402
    Ambiguous,
    Invalid,
)
from ansible_collections.fastpath.gateway.plugins.module_utils.transaction import (  # noqa: E402
    Failed,
    Transaction,
)
from ansible_collections.fastpath.gateway.plugins.module_utils.ubus import (  # noqa: E402
    Denied,
    Gateway,
    Refused,
    Unreachable,
    tls,
)

CONFIGS = [
    "dhcp",
    "fastpath",
    "firewall",
    "https-dns-proxy",
    "igmpproxy",
    "mwan3",
    "network",
    "rpcd",
    "sqm",
    "stubby",
    "suricata",
    "system",
    "wireless",
]
SECTION = {
    "config": {"type": "str", "required": True, "choices": CONFIGS},
    "type": {"type": "str", "required": True},
    "section": {"type": "str"},
    "match": {"type": "dict"},
    "values": {"type": "dict"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
ONLY = {
    "config": {"type": "str", "required": True},
    "type": {"type": "str", "required": True},
    "where": {"type": "dict"},
    "ordered": {"type": "bool", "default": False},
}
ARGUMENTS = {
    "url": {"type": "str", "required": True},
    "confirm_url": {"type": "str"},
    "username": {"type": "str", "default": "root"},
    "password": {"type": "str", "required": True, "no_log": True},
    "validate_certs": {"type": "bool", "default": True},
    "ca_path": {"type": "path"},
    "timeout": {"type": "float", "default": 10},
    "sections": {"type": "list", "elements": "dict", "default": [], "options": SECTION},
    "only": {"type": "list", "elements": "dict", "default": [], "options": ONLY},
    "seconds": {"type": "int", "default": 60},
    "confirm": {"type": "str", "choices": ["in_force", "reachable"], "default": "in_force"},
    "cut_ok": {"type": "bool", "default": False},
    "accept_exposure": {"type": "list", "elements": "str", "default": []},
    "note": {"type": "str", "default": "Ansible"},
}

# Arguments whose values the output may show; a URL may hold a password.
SHOWN = {
    "username",
    "validate_certs",
    "ca_path",
    "timeout",
    "seconds",
    "confirm",
    "cut_ok",
    "accept_exposure",
    "note",
}


class QuietModule(AnsibleModule):
    """Keeps values of options, which include passwords, out of the log and the output."""

    def _log_invocation(self):
        pass

    def _return_formatted(self, kwargs):
        kwargs["invocation"] = {"module_args": structure(self.params)}
        super()._return_formatted(kwargs)


def structure(given):
    """Returns arguments with the names of options in place of their values."""
    shown = {name: value for name, value in given.items() if name in SHOWN}
    for argument, fields in (("sections", SECTION), ("only", ONLY)):
        if isinstance(given.get(argument), list):
            shown[argument] = [names(one, fields) for one in given[argument]]
    return shown


def names(section, fields):
    """Returns a section or a rule with the names of its options, or `None` for another type."""
    if not isinstance(section, dict):
        return None
    shown = {}
    for field, value in section.items():
        if isinstance(value, dict):
            shown[field] = [str(option) for option in value]
        elif field in fields and fields[field]["type"] != "dict":
            shown[field] = value
    return shown


def main():
    module = QuietModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    given = module.params
    for name in ("url", "confirm_url"):
        # Messages name the URL.
        if "@" in (given[name] or ""):
            module.fail_json(msg=f"{name} has a name or password: use username and password")
    context = tls(given["validate_certs"], given["ca_path"])

    def at(url):
        return Gateway(url, given["username"], given["password"], given["timeout"], context)

    later = at(given["confirm_url"]) if given["confirm_url"] else None
    now = at(given["url"])
    for gateway in (now, later):
        if gateway and gateway.in_clear:
            module.warn(f"{gateway.url}: the password is sent without encryption; use https")
    change = Transaction(now, later)
    try:
        result = change.run(
            given["sections"],
            given["only"],
            apply=not module.check_mode,
            seconds=given["seconds"],
            confirm=given["confirm"],
            cut_ok=given["cut_ok"],
            accept_exposure=given["accept_exposure"],
            note=given["note"],
        )
    except Failed as failed:
        module.fail_json(msg=str(failed), **failed.facts)
    except Refused as refused:
        module.fail_json(msg=str(refused), refusal=refused.error)
    except (Denied, Unreachable, Ambiguous, Invalid) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
