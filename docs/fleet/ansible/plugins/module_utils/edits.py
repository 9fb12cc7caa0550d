# SPDX-License-Identifier: GPL-2.0-or-later
"""Computes the edits from the current sections of a gateway to the wanted ones.

A wanted section is found by name, or by type and the options in `match`; other options stay. The
gateway shows secrets as MASK, so a secret always gets an edit, whose value `check` compares."""

from __future__ import annotations

import re

MASK = "•••"
MAC = re.compile(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")


class Ambiguous(Exception):
    """Several sections match a wanted section."""


class Invalid(Exception):
    """UCI cannot hold a value of this type."""


def setting(value):
    """Returns a value as in UCI: a string, a list of strings, or None for no option."""
    if value is None or value == "" or value == []:
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (list, tuple)):
        return [setting(each) for each in value]
    if not isinstance(value, (str, int, float)):
        raise Invalid(f"a {type(value).__name__} is neither a text nor a number")
    return str(value)


def settings(values):
    found = {}
    for option, value in (values or {}).items():
        try:
            found[option] = setting(value)
        except Invalid as error:
            raise Invalid(f"{option}: {error}") from error
    return found


def meaning(option, value):
    """Normalises the notation of MAC addresses and the order of ports."""
    if option == "ports" and value is not None:
        return sorted(value.split() if isinstance(value, str) else value)
    if isinstance(value, list):
        return [meaning(option, each) for each in value]
    if isinstance(value, str):
        return MAC.sub(lambda mac: mac[0].lower().replace("-", ":"), value)
    return value


def same(option, have, want):
    """Compares values as OpenWrt's programs do: a string equals the list of its words."""
    have, want = meaning(option, have), meaning(option, want)
    if have == want or isinstance(have, str) == isinstance(want, str) or None in (have, want):
        return have == want
    text, entries = (have, want) if isinstance(have, str) else (want, have)
    return entries in ([text], text.split())


def fits(section, match):
    return all(same(option, section["values"].get(option), of) for option, of in match.items())


class Plan:
    """Collects edits for one wanted section after another."""

    def __init__(self, present):
        self.present = {config: list(sections) for config, sections in present.items()}
        self.edits = []
        self.kept = {}
        self.new = 0

    def find(self, wanted):
        sections = [
            section
            for section in self.present.get(wanted["config"], [])
            if section["type"] == wanted["type"]
        ]
        match = settings(wanted.get("match"))
        if wanted.get("section"):
            found = [one for one in sections if one["section"] == wanted["section"]]
        elif match:
            found = [one for one in sections if fits(one, match)]
        else:
            found = sections
        if len(found) > 1:
            raise Ambiguous(
                f"{wanted['config']}: {len(found)} sections of type {wanted['type']} fit {match}"
            )
        return found[0] if found else None

    def want(self, wanted):
        found = self.find(wanted)
        config = wanted["config"]
        if wanted.get("state", "present") == "absent":
            if found:
                self._delete(config, found)
            return
        values = settings({**(wanted.get("match") or {}), **(wanted.get("values") or {})})
        if found is None:
            self._keep(config, wanted["type"], self._add(wanted, values))
            return
        self._keep(config, wanted["type"], found["section"])
        changes = {
            option: value
            for option, value in values.items()
            if not same(option, found["values"].get(option), value)
        }
        if changes:
            self.edits.append(
                {"config": config, "op": "set", "section": found["section"], "values": changes}
            )

    def only(self, config, kind, where=None, ordered=False):
        """Deletes other sections of a type that match `where`, which maps options to values."""
        kept = self.kept.get((config, kind), [])
        for section in list(self.present.get(config, [])):
            if section["type"] != kind or section["section"] in kept:
                continue
            if all(
                any(same(option, section["values"].get(option), of) for of in _listed(values))
                for option, values in (where or {}).items()
            ):
                self._delete(config, section)
        if ordered and not self._in_order(config, kind, kept):
            self.edits.append({"config": config, "op": "order", "sections": kept})

    def _in_order(self, config, kind, kept):
        old = [
            section["section"]
            for section in self.present.get(config, [])
            if section["type"] == kind and section["section"] in kept
        ]
        # New sections are appended.
        return [*old, *(name for name in kept if name not in old)] == kept

    def _add(self, wanted, values):
        edit = {"config": wanted["config"], "op": "add", "type": wanted["type"]}
        if wanted.get("section"):
            name = edit["section"] = wanted["section"]
        else:
            self.new += 1
            name = edit["id"] = f"new{self.new}"
        edit["values"] = {option: value for option, value in values.items() if value is not None}
        self.edits.append(edit)
        return name

    def _delete(self, config, section):
        self.edits.append({"config": config, "op": "delete", "section": section["section"]})
        self.present[config].remove(section)

    def _keep(self, config, kind, name):
        self.kept.setdefault((config, kind), []).append(name)


def _listed(values):
    values = setting(values)
    return values if isinstance(values, list) else [values]


def plan(present, sections, only=()):
    """Returns edits that make sections present or absent, and delete others as `only` says."""
    edits = Plan(present)
    for wanted in sections:
        edits.want(wanted)
    for rule in only:
        edits.only(rule["config"], rule["type"], rule.get("where"), rule.get("ordered", False))
    return edits.edits


def configs(sections, only=()):
    return sorted({each["config"] for each in [*sections, *only]})


def lines(diff):
    """Returns the gateway's diff as two texts for Ansible."""
    before, after = [], []
    for line in diff:
        place = f"{line['config']}.{line['label'] or ''}".rstrip(".")
        if line["what"] == "set":
            for text, value in ((before, line["from"]), (after, line["to"])):
                if value is not None:
                    text.append(f"{place}.{line['option']}={_shown(value)}")
        elif line["what"] == "add":
            after.append(f"{place}={line['type']}")
        elif line["what"] == "remove":
            before.append(f"{place}={line['type']}")
        elif line["what"] == "rename":
            before.append(f"{place} is called {line['from']}")
            after.append(f"{place} is called {line['to']}")
        else:
            before.append(f"{place}: order of sections")
            after.append(f"{place}: another order of sections")
    return {"before": _text(before), "after": _text(after)}


def _shown(value):
    return " ".join(f"'{each}'" for each in value) if isinstance(value, list) else f"'{value}'"


def _text(all_lines):
    return "".join(f"{line}\n" for line in all_lines)
