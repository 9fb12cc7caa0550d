# SPDX-License-Identifier: GPL-2.0-or-later
"""Stand-in for a gateway in unit tests: /ubus with fastpath.access and fastpath.change.

Sections are in memory and follow the contract in feeds/fastpathd/src/schema/change.
e2e/tests/vm/fleet-ansible.sh tests the real gateway."""

import copy
import http.server
import json
import threading
import time

MASK = "•••"
SECRETS = {"password", "passphrase", "pppd_options", "Wps_Pin", "url", "feed"}
PASSWORD = "right"
NONCE = "1000.seal"


def shown(value, option):
    return MASK if option in SECRETS and value is not None else value


class State:
    """The sections, the pending change, and the result of the last change."""

    def __init__(self, configs):
        self.configs = configs
        # Files that libuci cannot parse, as in the gateway's answer.
        self.broken = []
        self.lock = threading.Lock()
        self.sessions = set()
        self.pending = None
        self.old = None
        self.last = None
        self.number = 0
        self.calls = []
        self.problems = []
        self.cuts = []
        self.exposes = []
        self.in_force = True
        self.daemon_problems = []
        self.deaf_after_apply = False
        # Methods whose answers are lost.
        self.lose = set()
        # State in which another user ends the change: before `pending` or before `confirm`.
        self.ended_by_user = None
        self.ended_before_confirm = None
        # The gateway's port now and after a change.
        self.port = self.port_after_apply = None
        self.early = 0
        self.deaf = False

    def expire(self):
        if self.pending and time.monotonic() >= self.pending["until"]:
            self.end("expired")

    def end(self, state):
        if state != "confirmed":
            self.configs = self.old
            self.deaf = False
            self.port = None
        self.last = {"id": self.pending["id"], "at_ms": 0, "user": "root",
                     "note": self.pending.get("note", ""), "state": state}
        self.pending = None


def refusal(code, text, **more):
    return {"error": {"code": code, "text": text, "cause": {"code": code, "params": {}}, **more}}


def changed(configs, edits):
    """Returns the configuration after the edits, and the diff."""
    after = copy.deepcopy(configs)
    names = {}
    for edit in edits:
        sections = after.setdefault(edit["config"], [])
        wanted = names.get(edit.get("section"), edit.get("section"))
        found = next((one for one in sections if one["section"] == wanted), None)
        if edit["op"] == "add":
            name = edit.get("section") or f"cfg{len(names):04x}{len(sections)}"
            names[edit.get("id") or name] = name
            sections.append({"section": name, "label": name, "type": edit["type"],
                             "anonymous": not edit.get("section"),
                             "values": dict(edit["values"])})
        elif found is None and edit["op"] != "order":
            raise KeyError(edit)
        elif edit["op"] == "set":
            for option, value in edit["values"].items():
                if value is None:
                    found["values"].pop(option, None)
                elif value != MASK:
                    found["values"][option] = value
        elif edit["op"] == "delete":
            sections.remove(found)
        elif edit["op"] == "order":
            order = [names.get(name, name) for name in edit["sections"]]
            rank = {name: at for at, name in enumerate(order)}
            sections.sort(key=lambda one: rank.get(one["section"], len(rank)))
    return after, difference(configs, after)


def difference(before, after):
    lines = []

    def line(config, section, what, option=None, old=None, new=None):
        lines.append({"config": config, "section": section and section["section"],
                      "label": section and section["label"], "type": section and section["type"],
                      "what": what, "option": option, "from": shown(old, option),
                      "to": shown(new, option)})

    for config in after:
        was = {one["section"]: one for one in before.get(config, [])}
        now = {one["section"]: one for one in after[config]}
        for name, section in now.items():
            if name not in was:
                line(config, section, "add")
            old = was.get(name, {"values": {}})["values"]
            for option in sorted(set(old) | set(section["values"])):
                values = old.get(option), section["values"].get(option)
                if values[0] != values[1]:
                    line(config, section, "set", option, *values)
        for name, section in was.items():
            if name not in now:
                line(config, section, "remove")
        kept = [name for name in was if name in now]
        if kept != [name for name in now if name in was]:
            line(config, None, "order")
    return lines


class Methods:
    """fastpath.change according to its schema."""

    def __init__(self, state):
        self.state = state

    def get(self, arguments):
        configs = copy.deepcopy({name: self.state.configs.get(name, [])
                                 for name in arguments["configs"]})
        for sections in configs.values():
            for section in sections:
                for option, value in section["values"].items():
                    section["values"][option] = shown(value, option)
        return {"configs": configs, "broken": self.state.broken}

    def check(self, arguments):
        state = self.state
        return {"problems": state.problems, "cuts": state.cuts, "exposes": state.exposes,
                "access": [], "diff": changed(state.configs, arguments["edits"])[1]}

    def apply(self, arguments):
        state = self.state
        if state.pending:
            return refusal("pending", "another change is pending", user="root", left_s=20)
        after, diff = changed(state.configs, arguments["edits"])
        if not diff:
            return refusal("unchanged", "nothing would change")
        if state.cuts and not arguments.get("cut_ok"):
            return refusal("cuts", "it would disconnect a client", cuts=state.cuts)
        state.number += 1
        state.old, state.configs = state.configs, after
        seconds = arguments["seconds"]
        state.pending = {"id": state.number, "note": arguments.get("note", ""),
                         "until": time.monotonic() + seconds - state.early}
        state.deaf = state.deaf_after_apply
        state.port = state.port_after_apply
        return {"id": state.number, "seconds": seconds, "until_ms": 0}

    def pending(self, _):
        state, pending = self.state, None
        if state.pending and state.ended_by_user:
            state.end(state.ended_by_user)
        if state.pending:
            pending = {"id": state.pending["id"], "in_force": state.in_force, "mine": True,
                       "problems": state.daemon_problems, "note": state.pending.get("note", "")}
        return {"pending": pending, "last": state.last}

    def confirm(self, arguments):
        if self.state.pending and self.state.ended_before_confirm:
            self.state.end(self.state.ended_before_confirm)
        if not self.state.pending or self.state.pending["id"] != arguments["id"]:
            return refusal("gone", "it is not pending")
        self.state.end("confirmed")
        return {"id": arguments["id"], "state": "confirmed"}

    def revert(self, arguments):
        self.state.end("reverted")
        return {"id": arguments["id"], "state": "reverted"}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state = self.server.state
        with state.lock:
            state.expire()
            if state.deaf or state.port not in (None, self.server.server_address[1]):
                return
            answer = self.answer(state, *request["params"])
            method = request["params"][2]
            if method in state.lose or (state.deaf and method != "apply"):
                return
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self, state, session, name, method, arguments):
        state.calls.append(f"{name} {method}")
        if (name, method) == ("fastpath.access", "begin"):
            return {"result": [0, {"nonce": NONCE, "valid_s": 60}]}
        if (name, method) == ("fastpath.access", "login"):
            if arguments.get("nonce") != NONCE:
                return {"result": [0, refusal("nonce", "call fastpath.access begin")]}
            if arguments["password"] != PASSWORD:
                return {"result": [0, refusal("denied", "wrong name or password", wait_s=0)]}
            new = f"session{len(state.calls)}"
            state.sessions.add(new)
            return {"result": [0, {"ubus_rpc_session": new}]}
        if session not in state.sessions or name != "fastpath.change":
            return {"error": {"code": -32002, "message": "Access denied"}}
        return {"result": [0, getattr(Methods(state), method)(arguments)]}

    def log_message(self, *_):
        pass


class Gateway:
    """Serves `state` at `url` within the `with` statement."""

    def __init__(self, configs, address="127.0.0.1"):
        self.state = State(configs)
        self.server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self.server.state = self.state
        self.url = f"http://{address}:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def section(kind, name, values, anonymous=True):
    return {"section": name, "label": name, "type": kind, "anonymous": anonymous,
            "values": values}


def factory():
    """Returns a router after its first boot, with one VLAN and a WAN by DHCP."""
    zone = {"output": "ACCEPT", "input": "ACCEPT", "forward": "ACCEPT"}
    return {
        "network": [
            section("interface", "loopback", {"device": "lo", "proto": "static"}, False),
            section("device", "cfg030f15",
                    {"name": "br-lan", "type": "bridge", "ports": ["lan1", "lan2", "lan3"]}),
            section("bridge-vlan", "lan_vlan",
                    {"device": "br-lan", "vlan": "1", "ports": ["lan1:u*", "lan2:u*"]}, False),
            section("interface", "lan",
                    {"device": "br-lan.1", "proto": "static", "ipaddr": ["192.168.1.1/24"]},
                    False),
            section("interface", "wan", {"device": "wan", "proto": "dhcp"}, False),
        ],
        "firewall": [
            section("defaults", "cfg01e63d", {"input": "REJECT"}),
            section("zone", "cfg02dc81", {"name": "lan", "network": ["lan"], **zone}),
            section("zone", "cfg03dc81",
                    {"name": "wan", "network": ["wan"], "input": "REJECT", "masq": "1"}),
            section("forwarding", "cfg04ad58", {"src": "lan", "dest": "wan"}),
        ],
        "fastpath": [
            section("fastpath", "main", {"enabled": "1", "engine": "off"}, False),
            section("ips", "ips", {"enabled": "0"}, False),
        ],
        "dhcp": [section("dhcp", "lan", {"interface": "lan", "start": "100"}, False)],
    }
