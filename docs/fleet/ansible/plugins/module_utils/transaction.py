# SPDX-License-Identifier: GPL-2.0-or-later
"""A change through `fastpath.change`: check, apply, confirm once it is in force.

The change is confirmed only if the gateway answers a new connection after it has been applied. If
it does not, nobody confirms, and the gateway restores the old configuration by itself.
"""

from __future__ import annotations

import time

from .edits import configs, lines, plan
from .ubus import Denied, Refused, Unreachable

OBJECT = "fastpath.change"
# Seconds between two questions whether the change is in force.
PAUSE = 1.0
# Seconds after the end of the time to confirm within which the gateway has rolled back and answers.
GRACE = 60.0
# As the page: a change that is not said to be in force is confirmed after so many seconds.
SETTLED = 12.0
LATE = "the change did not come into force in time"
UNREACHABLE = "the gateway could not be reached after the change"
SILENT = (
    "Nobody confirmed it, and the gateway has not answered since: "
    "it restores the old configuration by itself"
)


class Failed(Exception):
    """A change that did not come into force; `facts` are for the caller."""

    def __init__(self, text, **facts):
        self.facts = facts
        super().__init__(text)


def texts(entries):
    return "; ".join(entry["text"] for entry in entries)


def places(problems):
    return "; ".join(
        f"{one['config']}.{one['section']}"
        + (f".{one['option']}" if one["option"] else "")
        + f": {one['text']}"
        for one in problems
    )


class Transaction:
    """One change of one gateway. `later` is where the gateway answers after it, if elsewhere."""

    def __init__(self, gateway, later=None, clock=time.monotonic, sleep=time.sleep):
        self.gateway = gateway
        self.later = later or gateway
        self.clock = clock
        self.sleep = sleep

    def run(self, sections, only=(), apply=True, **options):
        """The result for Ansible. Options: seconds, note, cut_ok, accept_exposure, confirm."""
        wanted = configs(sections, only)
        present = self.gateway.call(OBJECT, "get", {"configs": wanted})["configs"]
        edits = plan(present, sections, only)
        if not edits:
            return {"changed": False, "diff": lines([])}
        checked = self._check(edits, options)
        result = {
            "changed": bool(checked["diff"]),
            "diff": lines(checked["diff"]),
            "cuts": checked["cuts"],
            "exposes": checked["exposes"],
            "access": checked["access"],
        }
        if apply and result["changed"]:
            result.update(self._apply(edits, options))
        return result

    def _check(self, edits, options):
        arguments = {"edits": edits, "via": self.gateway.host}
        checked = self.gateway.call(OBJECT, "check", arguments)
        if checked["problems"]:
            raise Failed(
                f"the gateway refuses this configuration: {places(checked['problems'])}",
                problems=checked["problems"],
            )
        if checked["cuts"] and not options.get("cut_ok"):
            raise Failed(
                f"this may disconnect a client of the page: {texts(checked['cuts'])}; "
                "`cut_ok: true` applies it all the same",
                cuts=checked["cuts"],
            )
        accepted = options.get("accept_exposure") or []
        opened = [one for one in checked["exposes"] if one["zone"] not in accepted]
        if opened:
            raise Failed(
                f"this opens the gateway to the Internet: {texts(opened)}; "
                "`accept_exposure` has to list the zone",
                exposes=opened,
            )
        return checked

    def _apply(self, edits, options):
        seconds = options.get("seconds", 60)
        arguments = {
            "edits": edits,
            "via": self.gateway.host,
            "seconds": seconds,
            "cut_ok": bool(options.get("cut_ok")),
            "accept_exposure": options.get("accept_exposure") or [],
            "note": options.get("note", ""),
        }
        before = self.gateway.call(OBJECT, "pending")["last"]
        begun = self.clock()
        try:
            change = self.gateway.call(OBJECT, "apply", arguments)["id"]
        except Unreachable:
            # The change may have ended the connection before the answer.
            change = self._lost(before["id"] if before else 0, begun + seconds)
        # A session from before may be lost with the services that restart.
        self.later.session = None
        state = self._confirm(change, begun, seconds, options.get("confirm", "in_force"))
        return {"id": change, "state": state}

    def _lost(self, before, until):
        """The number of the change whose answer was lost, while it waits."""
        answer = None
        while self.clock() < until + GRACE:
            answer = self._pending()
            pending = answer and answer["pending"]
            if pending and pending["mine"]:
                return pending["id"]
            last = answer and answer["last"]
            if last and last["id"] > before and last["user"] == self.gateway.username:
                raise self._rolled_back(UNREACHABLE, last)
            # The call may still be at work.
            if answer and self.clock() >= until:
                raise Failed("the gateway did not answer the call, and has not applied the change")
            self.sleep(PAUSE)
        raise Failed(f"{UNREACHABLE}. {SILENT}", state="unknown")

    def _pending(self):
        try:
            return self.later.call(OBJECT, "pending")
        except (Unreachable, Denied, Refused):
            # Services restart while the change comes into force.
            return None

    def _confirm(self, change, begun, seconds, confirm):
        until = begun + seconds
        reachable = True
        # At least once, however slow the controller is.
        while True:
            answer = self._pending()
            pending = answer and answer["pending"]
            # It has ended. After a rollback the gateway answers again, whatever the change did.
            if answer and (pending is None or pending["id"] != change):
                break
            reachable = answer is not None
            if pending and pending["problems"]:
                self._revert(change)
                raise Failed(
                    f"fastpathd refuses the changed values: {places(pending['problems'])}; "
                    "the change was rolled back",
                    problems=pending["problems"],
                    state="reverted",
                )
            if pending and self._ready(pending["in_force"], self.clock() - begun, confirm):
                if self._confirmed(change):
                    return "confirmed"
            if self.clock() >= until:
                break
            self.sleep(PAUSE)
        raise self._ended(change, until, reachable)

    def _ready(self, in_force, elapsed, confirm):
        if in_force is True:
            return True
        if in_force is None:
            return elapsed >= SETTLED
        return confirm == "reachable" and elapsed >= SETTLED

    def _confirmed(self, change):
        try:
            return self.later.call(OBJECT, "confirm", {"id": change})["state"] == "confirmed"
        except Refused as refused:
            # The daemon reads the file a moment later.
            if refused.code == "not-in-force":
                return False
            raise Failed(str(refused), id=change) from refused
        except (Unreachable, Denied):
            return False

    def _revert(self, change):
        try:
            self.later.call(OBJECT, "revert", {"id": change})
        except (Unreachable, Denied, Refused):
            # It expires.
            pass

    def _ended(self, change, until, reachable):
        """Why it failed, once the gateway reports how the change ended."""
        why = LATE if reachable else UNREACHABLE
        self.gateway.session = None
        while self.clock() < until + GRACE:
            try:
                last = self.gateway.call(OBJECT, "pending")["last"]
            except (Unreachable, Denied, Refused):
                last = None
            if last and last["id"] == change:
                return self._rolled_back(why, last)
            self.sleep(PAUSE)
        return Failed(f"{why}. {SILENT}", id=change, state="unknown")

    def _rolled_back(self, why, last):
        return Failed(
            f"{why}, and nobody confirmed it: it has {last['state']}, "
            "and the old configuration is in force",
            id=last["id"],
            state=last["state"],
        )
