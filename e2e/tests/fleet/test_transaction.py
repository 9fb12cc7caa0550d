# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes of a stand-in gateway: confirmed, refused, rolled back."""

import unittest
import unittest.mock

import collection

collection.ready()

from ansible_collections.fastpath.gateway.plugins.module_utils import (  # noqa: E402
    transaction,
    ubus,
)

import gateway  # noqa: E402

ENGINE = [{"config": "fastpath", "type": "fastpath", "section": "main",
           "values": {"engine": "ebpf"}}]
PROBLEM = {"config": "fastpath", "section": "main", "option": "engine", "code": "value",
           "params": {}, "text": "not an engine"}


class Transactions(unittest.TestCase):
    def setUp(self):
        self.gateway = gateway.Gateway(gateway.factory())
        self.gateway.__enter__()
        self.addCleanup(self.gateway.__exit__)
        self.state = self.gateway.state

    def account(self, password=gateway.PASSWORD):
        return ubus.Gateway(self.gateway.url, "root", password, timeout=30)

    def run_change(self, sections=None, password=gateway.PASSWORD, **options):
        options.setdefault("seconds", 600)
        change = transaction.Transaction(self.account(password))
        return change.run(ENGINE if sections is None else sections, **options)

    def engine(self):
        return self.state.configs["fastpath"][0]["values"]["engine"]

    def failed(self, expression, **options):
        with self.assertRaisesRegex(transaction.Failed, expression) as raised:
            self.run_change(**options)
        return raised.exception.facts

    def test_a_change_is_confirmed(self):
        result = self.run_change()
        self.assertEqual((result["changed"], result["state"]), (True, "confirmed"))
        self.assertEqual(self.engine(), "ebpf")
        self.assertIn("engine='ebpf'", result["diff"]["after"])
        self.assertEqual(self.state.last["state"], "confirmed")

    def test_the_second_run_changes_nothing(self):
        self.run_change()
        self.state.calls.clear()
        self.assertFalse(self.run_change()["changed"])
        self.assertNotIn("fastpath.change apply", self.state.calls)

    def test_an_unreadable_file_of_the_gateway_is_not_taken_for_empty(self):
        text = "/etc/config/fastpath cannot be read, line 2: a quote is never closed"
        self.state.broken = [{"config": "fastpath", "line": 2, "text": text}]
        gone = [{**ENGINE[0], "state": "absent"}]
        for sections in (ENGINE, gone):
            self.failed(text, sections=sections)
        self.assertNotIn("fastpath.change check", self.state.calls)

    def test_check_mode_changes_nothing(self):
        result = self.run_change(apply=False)
        self.assertTrue(result["changed"])
        self.assertEqual(self.engine(), "off")
        self.assertNotIn("fastpath.change apply", self.state.calls)

    def test_an_equal_secret_changes_nothing(self):
        wan = [{"config": "network", "type": "interface", "section": "wan",
                "values": {"password": "line"}}]
        self.assertTrue(self.run_change(wan)["changed"])
        again = self.run_change(wan)
        self.assertEqual((again["changed"], again["diff"]["after"]), (False, ""))
        wan[0]["values"]["password"] = "other"
        self.assertNotIn("other", str(self.run_change(wan)["diff"]))

    def test_problems_are_reported_with_their_option(self):
        self.state.problems = [PROBLEM]
        facts = self.failed("fastpath.main.engine: not an engine")
        self.assertEqual(facts["problems"], [PROBLEM])
        self.assertEqual(self.engine(), "off")

    def test_a_loss_of_connectivity_needs_consent(self):
        self.state.cuts = [{"code": "interface", "params": {}, "text": "lan is gone"}]
        self.failed("lan is gone")
        self.assertEqual(self.run_change(cut_ok=True)["state"], "confirmed")

    def test_an_exposure_needs_consent(self):
        self.state.exposes = [{"code": "input", "zone": "wan", "to": "", "text": "wan is open"}]
        self.failed("wan is open")
        self.failed("wan is open", accept_exposure=["lan"])
        self.assertTrue(self.run_change(accept_exposure=["wan"])["changed"])

    def test_values_that_the_daemon_refuses_are_rolled_back(self):
        self.state.daemon_problems = [PROBLEM]
        self.assertEqual(self.failed("fastpathd refuses")["state"], "reverted")
        self.assertEqual(self.engine(), "off")

    def test_a_change_that_disconnects_the_controller_is_rolled_back(self):
        self.state.deaf_after_apply = True
        facts = self.failed("could not be reached after the change.*expired", seconds=2)
        self.assertEqual(facts["state"], "expired")
        self.assertEqual((self.engine(), self.state.last["state"]), ("off", "expired"))

    def test_a_change_that_disconnects_the_controller_before_the_answer_is_rolled_back(self):
        self.state.deaf_after_apply = True
        self.state.lose = {"apply"}
        facts = self.failed("could not be reached after the change.*expired", seconds=2)
        self.assertEqual(facts["state"], "expired")

    def test_an_early_rollback_is_reported_as_expired(self):
        self.state.deaf_after_apply = True
        self.state.early = 1
        facts = self.failed("could not be reached after the change.*expired", seconds=4)
        self.assertEqual(facts["state"], "expired")

    def test_a_change_with_a_lost_answer_is_confirmed(self):
        self.state.lose = {"apply"}
        self.assertEqual(self.run_change()["state"], "confirmed")
        self.assertEqual(self.engine(), "ebpf")

    def test_a_confirmation_with_a_lost_answer_counts(self):
        self.state.lose = {"confirm"}
        self.assertEqual(self.run_change()["state"], "confirmed")
        self.assertEqual((self.engine(), self.state.last["state"]), ("ebpf", "confirmed"))

    def test_a_change_that_is_confirmed_on_the_page_is_confirmed(self):
        self.state.in_force = False
        self.state.ended_by_user = "confirmed"
        self.assertEqual(self.run_change()["state"], "confirmed")

    def test_a_change_that_is_confirmed_on_the_page_just_before_is_confirmed(self):
        self.state.ended_before_confirm = "confirmed"
        self.assertEqual(self.run_change()["state"], "confirmed")

    def test_a_change_with_a_lost_answer_may_be_confirmed_on_the_page(self):
        self.state.lose = {"apply"}
        self.state.ended_by_user = "confirmed"
        result = self.run_change(note="from here")
        self.assertEqual((result["id"], result["state"]), (1, "confirmed"))

    def test_another_change_of_the_same_user_is_not_mistaken_for_a_lost_one(self):
        self.state.lose = {"apply"}
        apply = gateway.Methods.apply

        def other(methods, arguments):
            return apply(methods, {**arguments, "note": "from the page"})

        with unittest.mock.patch.object(gateway.Methods, "apply", other):
            for ended in ("confirmed", None):
                self.state.configs = gateway.factory()
                self.state.pending = None
                self.state.ended_by_user = ended
                self.failed("has not applied the change", note="from here", seconds=2)

    def test_a_note_is_shortened_like_the_gateway_does(self):
        self.assertEqual(transaction.one_line("a\nb\t\x9fc"), "abc")
        self.assertEqual(transaction.one_line("x" * 199 + "é"), "x" * 199)
        self.state.lose = {"apply"}
        self.run_change(note="two\nlines " + "é" * 200)
        self.assertEqual(self.state.last["note"], "twolines " + "é" * 95)

    def test_a_rollback_by_a_user_is_reported(self):
        self.state.ended_by_user = "reverted"
        facts = self.failed("a user rolled the change back")
        self.assertEqual((facts["state"], self.engine()), ("reverted", "off"))

    def test_a_power_cut_is_reported(self):
        self.state.ended_by_user = "power-cut"
        facts = self.failed("the gateway restarted before the change was confirmed")
        self.assertEqual((facts["state"], self.engine()), ("power-cut", "off"))

    def moved(self):
        """Makes the gateway move to another port with the change, and back when it rolls back."""
        other = gateway.Gateway({})
        other.server.state = self.state
        other.__enter__()
        self.addCleanup(other.__exit__)
        self.state.port_after_apply = other.server.server_address[1]
        later = ubus.Gateway(other.url, "root", gateway.PASSWORD, timeout=30)
        return transaction.Transaction(self.account(), later)

    def test_a_confirmation_with_a_lost_answer_counts_at_another_address(self):
        change = self.moved()
        self.state.lose = {"confirm"}
        self.assertEqual(change.run(ENGINE, seconds=60)["state"], "confirmed")

    def test_a_rollback_is_detected_at_the_old_address(self):
        change = self.moved()
        self.state.lose = {"apply"}
        self.state.in_force = False
        self.state.early = 1
        with self.assertRaisesRegex(transaction.Failed, "was rolled back .expired") as raised:
            change.run(ENGINE, seconds=2)
        self.assertEqual(raised.exception.facts["state"], "expired")

    def test_a_change_that_does_not_come_into_force_is_rolled_back(self):
        self.state.in_force = False
        facts = self.failed("did not come into force in time", seconds=2)
        self.assertEqual(facts["state"], "expired")
        self.assertEqual(self.engine(), "off")

    def test_an_expired_session_is_renewed(self):
        account = self.account()
        transaction.Transaction(account).run(ENGINE, apply=False)
        self.state.sessions.clear()
        self.assertTrue(transaction.Transaction(account).run(ENGINE)["changed"])

    def test_another_pending_change_is_reported(self):
        self.state.number = 6
        self.state.pending = {"id": 6, "until": float("inf")}
        with self.assertRaisesRegex(ubus.Refused, "another change is pending"):
            self.run_change()

    def test_a_wrong_password_is_reported(self):
        with self.assertRaisesRegex(ubus.Refused, "wrong name or password"):
            self.run_change(password="wrong")

    def test_an_unreachable_gateway_is_reported(self):
        account = ubus.Gateway("http://127.0.0.1:9", "root", "", timeout=1)
        with self.assertRaises(ubus.Unreachable):
            transaction.Transaction(account).run(ENGINE)


if __name__ == "__main__":
    unittest.main()
