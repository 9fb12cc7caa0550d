# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a change through `fastpath.change`: check, apply, confirm once it is in force.

Confirms only if the gateway answers a new connection after the change. Otherwise the gateway rolls
the change back."""

from __future__ import annotations

import time
import unicodedata

from .edits import configs, lines, plan
from .ubus import Denied, Refused, Unreachable

OBJECT = "fastpath.change"
# Seconds between polls of a pending change.
PAUSE = 1.0
# Seconds after the deadline, for the gateway to roll back and answer.
GRACE = 60.0
# Seconds until a change is confirmed if the gateway cannot report whether it is in force, as in
# the page.
SETTLED = 12.0
# Maximum length of a note in bytes.
LONGEST_NOTE = 200
LATE = "the change did not come into force in time"
UNREACHABLE = "the gateway could not be reached after the change"
SILENT = (
    "It was not confirmed, and the gateway has not answered since: "
    "it restores the old configuration by itself"
)
# Causes of a rollback by state; for an expired change the caller knows the cause.
CAUSES = {
    "reverted": "a user rolled the change back",
    "power-cut": "the gateway restarted before the change was confirmed",
}


class Failed(Exception):
    """A change that did not come into force; `facts` are returned to Ansible."""

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


def one_line(note):
    """Returns a note as the gateway stores it."""
    note = "".join(each for each in note if unicodedata.category(each) != "Cc")
    return note.encode()[:LONGEST_NOTE].decode(errors="ignore")


class Transaction:
    """One change of a gateway, which may answer at `later` afterwards."""

    def __init__(self, gateway, later=None, clock=time.monotonic, sleep=time.sleep):
        self.gateway = gateway
        self.later = later or gateway
        self.clock = clock
        self.sleep = sleep

    def run(self, sections, only=(), apply=True, **options):
        """Returns Ansible's result. Options: seconds, note, cut_ok, accept_exposure, confirm."""
        wanted = configs(sections, only)
        answer = self.gateway.call(OBJECT, "get", {"configs": wanted})
        # Gateways without `broken` refuse the call instead.
        broken = answer.get("broken", [])
        if broken:
            raise Failed(texts(broken), broken=broken)
        edits = plan(answer["configs"], sections, only)
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
            "note": one_line(options.get("note", "")),
        }
        before = self.gateway.call(OBJECT, "pending")["last"]
        begun = self.clock()
        try:
            change = self.gateway.call(OBJECT, "apply", arguments)["id"]
        except Unreachable:
            # The change may break the connection before the answer arrives.
            newer = before["id"] if before else 0
            change = self._lost(newer, arguments["note"], begun + seconds)
        # A restart of services may have ended the session.
        self.later.session = None
        state = self._confirm(change, begun, seconds, options.get("confirm", "in_force"))
        return {"id": change, "state": state}

    def _lost(self, before, note, until):
        """Returns the number of the change with the lost answer, pending or ended."""
        while self.clock() < until + GRACE:
            answer = self._anywhere()
            pending = answer and answer["pending"]
            if pending and pending["mine"] and pending["note"] == note:
                return pending["id"]
            last = answer and answer["last"]
            if last and last["id"] > before and self._is_ours(last, note):
                if last["state"] == "confirmed":
                    return last["id"]
                raise self._rolled_back(UNREACHABLE, last)
            # The call may still be running.
            if answer and self.clock() >= until:
                raise Failed("the gateway did not answer the call, and has not applied the change")
            self.sleep(PAUSE)
        raise Failed(f"{UNREACHABLE}. {SILENT}", state="unknown")

    def _is_ours(self, last, note):
        return (last["user"], last["note"]) == (self.gateway.username, note)

    def _anywhere(self):
        """Returns the `pending` answer; after a rollback the gateway has its old address."""
        return self._pending(self.later, self.gateway)

    def _pending(self, *gateways):
        for gateway in dict.fromkeys(gateways):
            try:
                return gateway.call(OBJECT, "pending")
            except (Unreachable, Denied, Refused):
                # Services restart while the change comes into force.
                pass
        return None

    def _confirm(self, change, begun, seconds, confirm):
        until = begun + seconds
        reachable = True
        # Poll at least once, even if the controller is slow.
        while True:
            answer = self._pending(self.later)
            pending = answer and answer["pending"]
            # The change has ended; after a rollback the gateway is reachable again.
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
        return self._ended(change, until, reachable)

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
            # The daemon has not read the file yet, or a user has just ended the change.
            if refused.code in ("not-in-force", "gone"):
                return False
            raise Failed(str(refused), id=change) from refused
        except (Unreachable, Denied):
            return False

    def _revert(self, change):
        try:
            self.later.call(OBJECT, "revert", {"id": change})
        except (Unreachable, Denied, Refused):
            # Without the revert the change expires.
            pass

    def _ended(self, change, until, reachable):
        """Returns `confirmed` if a lost answer confirmed the change; else raises the cause."""
        why = LATE if reachable else UNREACHABLE
        self.gateway.session = None
        while self.clock() < until + GRACE:
            answer = self._anywhere()
            last = answer and answer["last"]
            if last and last["id"] == change:
                if last["state"] == "confirmed":
                    return "confirmed"
                raise self._rolled_back(why, last)
            self.sleep(PAUSE)
        raise Failed(f"{why}. {SILENT}", id=change, state="unknown")

    def _rolled_back(self, why, last):
        state = last["state"]
        return Failed(
            f"{CAUSES.get(state, why)}: it was rolled back ({state}), "
            "and the old configuration is in force",
            id=last["id"],
            state=state,
        )
