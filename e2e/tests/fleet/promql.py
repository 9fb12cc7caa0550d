# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the names of metrics and labels in a query; promtool does the parsing."""

import re

SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\s*\{([^}]*)\}")
MATCHER = re.compile(r"\s*(\w+)\s*(?:=~|!~|!=|=)")
LISTED = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
NAME = re.compile(r"(?<![\w:$.])([a-zA-Z_:][\w:]*)(?!\s*\()(?![\w:])")
WORDS = {"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring"}


def metrics(query):
    """Returns the metrics of a query, each with the labels that its matchers use."""
    rest = STRING.sub('""', query)
    found = {}
    for name, matchers in SELECTOR.findall(rest):
        found.setdefault(name, set()).update(
            MATCHER.match(one).group(1) for one in matchers.split(",") if one.strip()
        )
    rest = SELECTOR.sub(" ", LISTED.sub(" ", rest))
    rest = re.sub(r"\[[^\]]*\]|\boffset\s+\w+", " ", rest)
    for name in NAME.findall(rest):
        if name not in WORDS:
            found.setdefault(name, set())
    return found


def grouped(query):
    """Returns the labels by which a query groups or joins."""
    rest = STRING.sub('""', query)
    lists = [labels for _, labels in LISTED.findall(rest)]
    return {one.strip() for labels in lists for one in labels.split(",") if one.strip()}


def legend(text):
    return set(re.findall(r"\{\{\s*(\w+)\s*\}\}", text or ""))
