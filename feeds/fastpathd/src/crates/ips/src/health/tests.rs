// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::BTreeSet;

use super::fixture::{Watch, ms};
use super::*;
use crate::queues::Queue;

const OPEN: FailPolicy = FailPolicy::Open;
const CLOSED: FailPolicy = FailPolicy::Closed;

#[test]
fn disabled_inspection_is_off() {
    let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
    watch.seen.enabled = false;
    let condition = watch.becomes(State::Off);
    assert_eq!(condition.gate, Gate::Queue);
}

#[test]
fn a_start_leads_to_inline() {
    for fail in [OPEN, CLOSED] {
        let mut watch = Watch::starting(InspectionMode::Nfq, fail);
        assert_eq!(watch.step().state, State::Starting);
        watch.seen.running = true;
        let condition = watch.becomes(State::Starting);
        let gate = if fail == OPEN { Gate::Open } else { Gate::Queue };
        assert_eq!(condition.gate, gate, "{fail}");
        watch.appears();
        let condition = watch.becomes(State::Inline);
        assert_eq!(condition.gate, Gate::Queue);
    }
}

#[test]
fn is_inline_after_the_rules_queue_packets() {
    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    watch.seen.gate = Gate::Open;
    watch.appears();
    let condition = watch.becomes(State::Starting);
    assert_eq!(condition.gate, Gate::Queue, "an open gate would keep the rules unchanged");
    assert_eq!(condition.why.code, "rules-pass");
    assert!(condition.why.text.ends_with("Connections pass uninspected."), "{}", condition.why);
    watch.seen.gate = Gate::Queue;
    assert_eq!(watch.step().state, State::Inline, "at once");

    watch.dies();
    watch.becomes(State::FailingOpen);
    watch.seen.gate = Gate::Open;
    watch.appears();
    let condition = watch.becomes(State::FailingOpen);
    assert_eq!((condition.why.code, condition.gate), ("rules-pass", Gate::Queue));
    watch.seen.gate = Gate::Queue;
    assert_eq!(watch.step().state, State::Inline, "at once");
}

/// procd restarts Suricata only after its configuration has been repaired.
#[test]
fn a_late_process_has_the_full_start_timeout() {
    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    assert_eq!(watch.steps(2 * 400).state, State::FailingOpen);
    watch.seen.running = true;
    assert_eq!(watch.becomes(State::Starting).why.code, "loading");
    watch.steps(2 * 300);
    assert_eq!(watch.becomes(State::FailingOpen).why.code, "never-ready");
}

#[test]
fn modes_without_queues_ignore_the_gate_in_force() {
    for mode in [InspectionMode::Ids, InspectionMode::Inline] {
        let mut watch = Watch::starting(mode, OPEN);
        watch.seen.gate = Gate::Open;
        watch.appears();
        assert!(watch.steps(4).state.works(), "{mode}");
    }
}

#[test]
fn a_killed_or_missing_suricata_fails_open_or_closed_as_configured() {
    for (fail, state, gate) in
        [(OPEN, State::FailingOpen, Gate::Open), (CLOSED, State::FailingClosed, Gate::Queue)]
    {
        let mut killed = Watch::working(InspectionMode::Nfq, fail);
        assert_eq!(killed.health.condition().state, State::Inline);
        killed.dies();
        assert_eq!(killed.step().state, state, "at once");
        assert_eq!(killed.becomes(state).gate, gate);
        killed.appears();
        assert_eq!(killed.becomes(State::Inline).gate, Gate::Queue);

        let mut missing = Watch::starting(InspectionMode::Nfq, fail);
        assert_eq!(missing.becomes(state).gate, gate);
    }
}

#[test]
fn a_crash_loop_stays_failing() {
    for ready in [false, true] {
        let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
        watch.dies();
        watch.step();
        let since = watch.health.condition().since;
        for _ in 0..10 {
            watch.seen.running = true;
            if ready {
                watch.seen.queues[0] = Some(Queue {
                    number: 0,
                    listener: 2,
                    depth: 0,
                    handled: 0,
                    full: 0,
                    unread: 0,
                });
            }
            watch.steps(3);
            watch.dies();
            let condition = watch.steps(5);
            assert_eq!((condition.state, condition.since), (State::FailingOpen, since));
        }
    }
    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    for _ in 0..5 {
        watch.seen.running = true;
        watch.steps(2);
        watch.dies();
        watch.step();
    }
    assert_eq!(watch.health.condition().state, State::FailingOpen);
    watch.seen.running = true;
    assert_eq!(watch.step().state, State::FailingOpen, "no second start without a request");
}

#[test]
fn a_stopped_suricata_hangs_with_and_without_traffic() {
    for (fail, state, gate) in
        [(OPEN, State::FailingOpen, Gate::Open), (CLOSED, State::FailingClosed, Gate::Queue)]
    {
        for waiting in [0, 3] {
            let mut watch = Watch::working(InspectionMode::Nfq, fail);
            watch.hangs(waiting);
            let condition = watch.becomes(state);
            assert_eq!(condition.gate, gate);
            assert!(condition.why.text.contains("is running but hangs"), "{}", condition.why);
            watch.resumes();
            assert_eq!(watch.step().state, state, "the recovery time has not passed");
            assert_eq!(watch.becomes(State::Inline).gate, Gate::Queue);
        }
    }
}

#[test]
fn a_hang_ends_after_suricata_answers_and_drains_its_queues() {
    let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
    watch.hangs(3);
    watch.becomes(State::FailingOpen);
    watch.resumes();
    watch.depth(3);
    watch.becomes(State::FailingOpen);
    watch.depth(0);
    watch.answers = false;
    watch.becomes(State::FailingOpen);
    watch.answers = true;
    watch.becomes(State::Inline);
}

#[test]
fn a_busy_suricata_is_only_degraded() {
    let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
    watch.answers = false;
    watch.depth(3000);
    for _ in 0..60 {
        let condition = watch.step();
        assert!(condition.state.works(), "{}", condition.why);
        assert_eq!(condition.gate, Gate::Queue);
    }
    let condition = watch.becomes(State::InlineDegraded);
    assert!(condition.why.text.contains("lags"), "{}", condition.why);
    watch.depth(0);
    let condition = watch.steps(22);
    assert!(condition.why.text.contains("answers commands late"), "{}", condition.why);
    watch.resumes();
    assert_eq!(watch.steps(22).state, State::Inline);
}

#[test]
fn each_defect_is_reported() {
    type Spoil = fn(&mut Watch);
    let spoil: [(&str, Spoil); 6] = [
        ("are dropped in its queues", |watch| {
            watch.seen.queues[1].as_mut().unwrap().unread += 1;
        }),
        ("bound 1 of 2 queues: connections in the others pass", |watch| {
            watch.seen.queues[1] = None;
        }),
        ("7 rules failed to load", |watch| watch.seen.rules.as_mut().unwrap().failed = 7),
        ("1 rule failed to load", |watch| watch.seen.rules.as_mut().unwrap().failed = 1),
        ("no rules loaded", |watch| watch.seen.rules = Some(RuleCounts::default())),
        ("previous configuration; the new one failed: line 7", |watch| {
            watch.seen.refused = Some("line 7".into());
        }),
    ];
    for (text, spoil) in spoil {
        let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
        spoil(&mut watch);
        let condition = watch.step();
        assert_eq!((condition.state, condition.gate), (State::InlineDegraded, Gate::Queue));
        assert!(condition.why.text.contains(text), "{}", condition.why);
    }
    let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
    watch.seen.events = false;
    assert_eq!(watch.steps(30).state, State::Inline, "there may have been no events");
    assert_eq!(watch.steps(20).state, State::InlineDegraded);
    watch.seen.events = true;
    assert_eq!(watch.step().state, State::Inline);
}

#[test]
fn reports_a_lost_packet_for_ten_seconds() {
    let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
    watch.seen.queues[0].as_mut().unwrap().full += 1;
    assert_eq!(watch.steps(20).state, State::InlineDegraded);
    assert_eq!(watch.step().state, State::Inline);
}

/// Packets that passed a full queue are counted, and take precedence over other problems.
#[test]
fn packets_that_passed_a_full_queue_are_reported() {
    let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
    watch.seen.overflow = 900;
    watch.seen.queues[0].as_mut().unwrap().full += 1;
    let condition = watch.step();
    assert_eq!((condition.state, condition.why.code), (State::InlineDegraded, "queue-full-open"));
    assert!(condition.why.text.ends_with(": 900."), "{}", condition.why);
    watch.seen.overflow = 1000;
    assert!(watch.steps(20).why.text.ends_with(": 1000."));
    assert_eq!(watch.step().state, State::Inline);
    watch.seen.overflow = 1007;
    assert!(watch.step().why.text.ends_with(": 7."), "a new problem starts from 0");
}

#[test]
fn a_short_peak_does_not_count_as_lag() {
    let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
    for _ in 0..10 {
        watch.depth(4000);
        assert_eq!(watch.steps(4).state, State::Inline);
        watch.depth(0);
        assert_eq!(watch.step().state, State::Inline);
    }
}

#[test]
fn refused_rules_are_reported_with_suricatas_message() {
    for (fail, gate) in [(OPEN, Gate::Open), (CLOSED, Gate::Queue)] {
        let mut watch = Watch::starting(InspectionMode::Nfq, fail);
        watch.seen.refused = Some("fastpath.rules:7: no sid.".into());
        let condition = watch.becomes(State::RulesRejected);
        assert!(condition.why.text.contains("fastpath.rules:7"), "{}", condition.why);
        assert_eq!(condition.gate, gate);
    }
}

#[test]
fn a_start_after_a_refusal_is_not_a_crash() {
    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    watch.seen.refused = Some("fastpath.rules:7: no sid.".into());
    // `suricata -T` runs several times until it accepts the rules.
    for tries in (0..3).rev() {
        watch.seen.running = true;
        watch.steps(2);
        watch.seen.running = false;
        if tries == 0 {
            watch.seen.refused = None;
        }
        let state = watch.step().state;
        assert_eq!(state, if tries == 0 { State::Starting } else { State::RulesRejected });
    }
    watch.appears();
    watch.becomes(State::Inline);
}

#[test]
fn reports_failures_of_the_daemon() {
    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    watch.seen.trouble = Some("no space left on device.".into());
    let condition = watch.becomes(State::FailingOpen);
    assert!(condition.why.text.contains("no space left"), "{}", condition.why);
}

#[test]
fn mode_ids_has_separate_reasons() {
    let mut watch = Watch::working(InspectionMode::Ids, CLOSED);
    assert_eq!(watch.health.condition().state, State::Watching);
    watch.seen.capture_drops += 1;
    let condition = watch.step();
    assert_eq!(condition.state, State::Watching);
    assert!(condition.why.text.contains("are not inspected"), "{}", condition.why);
    watch.hangs(0);
    let condition = watch.becomes(State::FailingOpen);
    assert!(condition.why.text.ends_with("Nothing is monitored."), "{}", condition.why);
    assert_eq!(condition.gate, Gate::Queue);
}

#[test]
fn a_bridge_fails_closed_regardless_of_the_policy() {
    let mut watch = Watch::working(InspectionMode::Inline, OPEN);
    assert_eq!(watch.health.condition().state, State::Inline);
    watch.dies();
    let condition = watch.becomes(State::FailingClosed);
    assert!(condition.why.text.contains("between the two ports"), "{}", condition.why);
}

#[test]
fn a_requested_restart_is_not_a_crash() {
    let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
    watch.seen.asked = Some(ms(watch.now));
    assert_eq!(watch.steps(20).state, State::Inline, "while suricata -T checks it");
    watch.dies();
    assert_eq!(watch.step().state, State::Starting);
    watch.seen.running = true;
    watch.becomes(State::Starting);
    watch.appears();
    watch.becomes(State::Inline);
    watch.dies();
    assert_eq!(watch.step().state, State::FailingOpen, "a request excuses one end");
}

/// The first request of a restarted daemon replaces the process that it finds.
#[test]
fn a_restart_requested_by_a_new_daemon_is_not_a_crash() {
    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    watch.appears();
    watch.seen.running = false;
    watch.step();
    watch.seen.running = true;
    assert_eq!(watch.steps(8).state, State::Inline, "while suricata -T checks it");
    watch.dies();
    assert_eq!(watch.step().state, State::Starting);
    watch.appears();
    watch.becomes(State::Inline);
    watch.dies();
    assert_eq!(watch.step().state, State::FailingOpen, "a request excuses one end");
}

#[test]
fn a_suricata_that_never_gets_ready_or_binds_no_queue_fails() {
    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    watch.seen.running = true;
    watch.becomes(State::Starting);
    let condition = watch.steps(600);
    assert_eq!(condition.state, State::FailingOpen);
    assert!(condition.why.text.contains("for minutes"), "{}", condition.why);

    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    (watch.seen.running, watch.answers) = (true, true);
    let condition = watch.steps(20);
    assert_eq!(condition.state, State::FailingOpen);
    assert!(condition.why.text.contains("has not bound any queue"), "{}", condition.why);
}

#[test]
fn answers_of_a_previous_process_do_not_count() {
    let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
    watch.dies();
    watch.steps(3);
    watch.appears();
    (watch.answers, watch.works) = (false, 0);
    assert_eq!(watch.step().state, State::FailingOpen);
}

#[test]
fn a_restarted_daemon_leaves_the_gate_unchanged() {
    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    watch.appears();
    watch.answers = false;
    let condition = watch.steps(6);
    assert_eq!((condition.state, condition.gate), (State::Starting, Gate::Queue));
    watch.answers = true;
    assert_eq!(watch.step().state, State::Inline);

    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    watch.appears();
    watch.hangs(3);
    assert_eq!(watch.steps(2).gate, Gate::Queue);
    assert_eq!(watch.step().gate, Gate::Open, "packets wait");
}

#[test]
fn a_configuration_test_is_not_a_crash() {
    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    watch.seen.running = true;
    watch.steps(9);
    watch.dies();
    assert_eq!(watch.step().state, State::Starting);
    watch.seen.running = true;
    assert_eq!(watch.steps(9).state, State::Starting);
    watch.dies();
    assert_eq!(watch.step().state, State::FailingOpen, "only the first was a test");
}

#[test]
fn a_message_of_suricata_becomes_one_bounded_line() {
    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    watch.seen.refused = Some("E: one\n\tE: two\n".into());
    let why = watch.step().why.text;
    assert_eq!(
        why,
        "Suricata rejected its configuration or rules: E: one E: two. Connections pass uninspected."
    );
    watch.seen.refused = Some("x ".repeat(99_999));
    assert!(watch.step().why.text.len() < 600);
}

#[test]
fn a_suspended_daemon_reports_no_hang() {
    let mut watch = Watch::working(InspectionMode::Nfq, OPEN);
    watch.works = 0;
    watch.now += 60_000;
    watch.answers = false;
    assert_eq!(watch.step().state, State::Inline);
    watch.answers = true;
    watch.becomes(State::Inline);
}

#[test]
fn every_state_is_reached_and_has_a_unique_name() {
    let names: BTreeSet<&str> = State::ALL.into_iter().map(State::name).collect();
    assert_eq!(names.len(), State::ALL.len());
    let mut reached = BTreeSet::new();
    let mut note = |watch: &Watch| reached.insert(watch.health.condition().state.name());
    let mut watch = Watch::working(InspectionMode::Nfq, CLOSED);
    note(&watch);
    watch.seen.rules = None;
    watch.seen.queues[0] = None;
    watch.step();
    note(&watch);
    watch.dies();
    watch.step();
    note(&watch);
    watch.seen.refused = Some("no".into());
    watch.step();
    note(&watch);
    watch.seen.enabled = false;
    watch.step();
    note(&watch);
    note(&Watch::working(InspectionMode::Ids, OPEN));
    let mut watch = Watch::starting(InspectionMode::Nfq, OPEN);
    watch.step();
    note(&watch);
    watch.steps(9);
    note(&watch);
    assert_eq!(reached, names);
}
