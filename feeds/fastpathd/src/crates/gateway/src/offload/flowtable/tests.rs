// SPDX-License-Identifier: GPL-2.0-or-later

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn plan(engine: Engine, devices: &[&str]) -> Plan {
    Plan {
        engine,
        devices: devices.iter().map(|d| (*d).to_owned()).collect::<BTreeSet<_>>(),
        hardware: engine == Engine::FlowtableHw,
        mark_mask: 0x6000_0000,
        left_out: model::TrafficTypes::default(),
        slow_packets: 0,
        shaped: BTreeSet::new(),
        tunnels: BTreeSet::new(),
        encapsulated: BTreeSet::new(),
        unread: false,
        packet_chains: Vec::new(),
        own: BTreeMap::new(),
        roaming: BTreeSet::new(),
        ipsec: false,
        excludes: Vec::new(),
        paused: None,
        hosts: Vec::new(),
        protection: ruleset::Protection::default(),
        decisions: BTreeMap::new(),
    }
}

fn refusal(why: &str) -> JobFailure {
    JobFailure { why: why.to_owned(), is_verdict: true, left: TableState::Unchanged }
}

fn verification(plan: Plan) -> Job {
    Job::Apply { plan: plan.clone(), in_force: Some(plan) }
}

fn is_verification(job: Option<&Job>) -> bool {
    job.is_some_and(|job| *job == verification(job.plan().clone()))
}

fn at(seconds: u64) -> Now {
    Now { mono: Duration::from_secs(seconds), unix_ms: 1_000_000 + seconds * 1000 }
}

fn applied_plan(job: Option<Job>) -> Plan {
    match job {
        Some(Job::Apply { plan, .. }) => plan,
        other => panic!("no apply job: {other:?}"),
    }
}

/// Returns a flowtable with the software plan over `devices` in force.
fn running(devices: &[&str]) -> Flowtable {
    let mut flowtable = Flowtable::new();
    applied_plan(flowtable.request(plan(Engine::Flowtable, devices), Source::Config));
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(1)), None);
    flowtable
}

#[test]
fn the_engine_is_off_before_the_first_configuration() {
    let report = Flowtable::new().report(at(1));
    assert_eq!((report.wanted, report.active), ("off", "off"));
    assert_eq!(report.why, "waiting for the configuration");
}

#[test]
fn a_repeated_plan_starts_no_job() {
    let mut flowtable = running(&["lan1", "wan"]);
    let report = flowtable.report(at(1));
    assert_eq!((report.wanted, report.active), ("flowtable", "flowtable"));
    assert_eq!(report.why, "");
    assert_eq!(report.devices, ["lan1", "wan"]);
    assert_eq!(report.applied_ms, 1_001_000);
    assert_eq!(flowtable.request(plan(Engine::Flowtable, &["lan1", "wan"]), Source::Config), None);
}

#[test]
fn a_change_during_a_job_waits_for_its_end() {
    let mut flowtable = Flowtable::new();
    flowtable.request(plan(Engine::Flowtable, &["lan1"]), Source::Config);
    assert_eq!(flowtable.request(plan(Engine::Flowtable, &["lan1", "lan2"]), Source::Config), None);
    assert_eq!(
        flowtable.upcoming(),
        Some(&plan(Engine::Flowtable, &["lan1"])),
        "before it is in force"
    );
    assert!(!flowtable.is_settled());
    let next = flowtable.applied(Ok(Applied::Replaced), at(1));
    assert_eq!(applied_plan(next), plan(Engine::Flowtable, &["lan1", "lan2"]));
    assert_eq!(flowtable.applied(Ok(Applied::Devices), at(2)), None);
    assert!(flowtable.is_settled());
}

#[test]
fn a_change_during_a_job_is_applied_at_once_if_the_job_failed() {
    for outcome in [
        Err(refusal("no e2e0")),
        Ok(Applied::WithoutFlowtable { why: "no e2e0".into() }),
        Ok(Applied::Partly { devices: BTreeSet::from(["lan1".to_owned()]) }),
    ] {
        let mut flowtable = Flowtable::new();
        flowtable.request(plan(Engine::Flowtable, &["e2e0", "lan1", "lan2"]), Source::Config);
        assert_eq!(
            flowtable.request(plan(Engine::Flowtable, &["lan1", "lan2"]), Source::Config),
            None
        );
        let next = flowtable.applied(outcome, at(1));
        assert_eq!(applied_plan(next), plan(Engine::Flowtable, &["lan1", "lan2"]));
        assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(2)), None);
        assert_eq!(flowtable.report(at(1)).why, "");
    }
}

#[test]
fn a_change_during_a_verification_is_not_settled() {
    let mut flowtable = running(&["lan1"]);
    assert!(is_verification(flowtable.second(at(60)).as_ref()));
    assert!(flowtable.is_settled());
    assert_eq!(flowtable.request(plan(Engine::Off, &["lan1"]), Source::Command), None);
    assert!(!flowtable.is_settled(), "it is due");
    applied_plan(flowtable.applied(Ok(Applied::Unchanged), at(61)));
    assert_eq!(flowtable.applied(Ok(Applied::Removed), at(62)), None);
    assert!(flowtable.is_settled());
}

#[test]
fn a_refused_plan_leaves_the_old_one_in_force_and_is_retried() {
    let mut flowtable = running(&["lan1"]);
    flowtable.request(plan(Engine::Flowtable, &["lan1", "lan9"]), Source::Config);
    assert_eq!(flowtable.applied(Err(refusal("no lan9")), at(10)), None);
    assert_eq!(flowtable.report(at(1)).why, "no lan9");
    assert_eq!(flowtable.report(at(1)).devices, ["lan1"]);
    assert_eq!(flowtable.report(at(1)).active, "flowtable");
    assert!(is_verification(flowtable.second(at(39)).as_ref()));
    assert_eq!(flowtable.applied(Ok(Applied::Unchanged), at(39)), None);
    assert_eq!(applied_plan(flowtable.second(at(40))), plan(Engine::Flowtable, &["lan1", "lan9"]));
}

#[test]
fn a_successful_retry_clears_the_refusal() {
    let mut flowtable = running(&["lan1"]);
    flowtable.touched(Touch::Gone, at(10)).expect("an attempt to restore the table");
    flowtable.applied(Err(refusal("nft: exit status 1")), at(11));
    assert_eq!(flowtable.report(at(1)).why, "nft: exit status 1");
    assert_eq!(flowtable.second(at(20)), None);
    applied_plan(flowtable.second(at(41)));
    flowtable.applied(Ok(Applied::Replaced), at(42));
    assert_eq!(
        (flowtable.report(at(1)).active, flowtable.report(at(1)).why.as_str()),
        ("flowtable", "")
    );
}

#[test]
fn devices_that_are_missing_when_a_plan_is_applied_are_reported() {
    let mut flowtable = Flowtable::new();
    flowtable.request(plan(Engine::Flowtable, &["lan1", "usb0"]), Source::Config);
    let devices = BTreeSet::from(["lan1".to_owned()]);
    assert_eq!(flowtable.applied(Ok(Applied::Partly { devices }), at(1)), None);
    let report = flowtable.report(at(1));
    assert_eq!(report.devices, ["lan1"]);
    assert_eq!(report.why, "not there any more: usb0");
    // The network reports the removal, and the plan without usb0 is already in force.
    assert_eq!(flowtable.request(plan(Engine::Flowtable, &["lan1"]), Source::Config), None);
    assert_eq!(flowtable.report(at(1)).why, "");
    flowtable.request(plan(Engine::Flowtable, &["usb1"]), Source::Config);
    flowtable.applied(Ok(Applied::Partly { devices: BTreeSet::new() }), at(2));
    assert_eq!(
        (flowtable.report(at(1)).active, flowtable.report(at(1)).wanted),
        ("off", "flowtable")
    );
}

#[test]
fn refused_hardware_falls_back_to_software_and_reports_why() {
    let mut flowtable = Flowtable::new();
    flowtable.request(plan(Engine::FlowtableHw, &["lan1"]), Source::Command);
    let next = flowtable.applied(Err(refusal("lan1 cannot")), at(1));
    assert_eq!(applied_plan(next), plan(Engine::Flowtable, &["lan1"]));
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(2)), None);
    let report = flowtable.report(at(1));
    assert_eq!((report.wanted, report.active), ("flowtable-hw", "flowtable"));
    assert_eq!(report.why, "lan1 cannot");
    assert_eq!(report.source, Source::Command);
}

#[test]
fn a_timeout_does_not_fall_back_to_software() {
    let hardware = plan(Engine::FlowtableHw, &["lan1"]);
    let slow = || JobFailure { is_verdict: false, ..refusal("it did not end within 10s") };
    // The first job times out.
    let mut flowtable = Flowtable::new();
    flowtable.request(hardware.clone(), Source::Config);
    assert_eq!(flowtable.applied(Err(slow()), at(1)), None);
    assert_eq!(flowtable.second(at(30)), None);
    assert_eq!(applied_plan(flowtable.second(at(31))), hardware);
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(31)), None);
    // A renewal times out.
    assert_eq!(flowtable.renew(at(35)), Some(Job::Renew(hardware.clone())));
    assert_eq!(flowtable.applied(Err(slow()), at(45)), None);
    assert_eq!(flowtable.report(at(45)).active, "flowtable-hw");
    assert!(is_verification(flowtable.second(at(65)).as_ref()));
    flowtable.applied(Ok(Applied::Unchanged), at(65));
    assert_eq!(flowtable.second(at(75)), Some(Job::Renew(hardware)));
}

#[test]
fn refused_hardware_is_retried_with_backoff() {
    let mut flowtable = Flowtable::new();
    let hardware = plan(Engine::FlowtableHw, &["lan1"]);
    flowtable.request(hardware.clone(), Source::Config);
    let mut now = 1;
    assert!(flowtable.applied(Err(refusal("busy")), at(now)).is_some());
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(now)), None);
    let mut next = |until| {
        for second in now + 1..=until {
            match flowtable.second(at(second)) {
                job if is_verification(job.as_ref()) => {
                    flowtable.applied(Ok(Applied::Unchanged), at(second));
                }
                Some(Job::Apply { plan, .. }) => {
                    assert_eq!(plan, hardware);
                    assert_eq!(flowtable.applied(Err(refusal("busy")), at(second)), None);
                    assert_eq!(flowtable.report(at(second)).active, "flowtable");
                    let pause = second - now;
                    now = second;
                    return Some(pause);
                }
                Some(Job::Renew(_)) => panic!("no renewal is due"),
                None => {}
            }
        }
        None
    };
    let pauses: Vec<_> = (0..5).map(|_| next(2000)).collect();
    assert_eq!(pauses, [30, 60, 120, 240, 240].map(Some));
    // Another plan is tried with hardware at once.
    let more = plan(Engine::FlowtableHw, &["lan1", "lan2"]);
    assert_eq!(applied_plan(flowtable.request(more, Source::Config)).engine, Engine::FlowtableHw);
}

#[test]
fn the_engine_is_off_without_devices_and_reports_why() {
    let mut flowtable = Flowtable::new();
    let job = flowtable.request(plan(Engine::Flowtable, &[]), Source::Config);
    assert_eq!(applied_plan(job).engine, Engine::Off);
    flowtable.applied(Ok(Applied::Removed), at(1));
    let report = flowtable.report(at(1));
    assert_eq!((report.wanted, report.active), ("flowtable", "off"));
    assert!(report.why.starts_with("no device"), "{}", report.why);
}

#[test]
fn a_flushed_table_is_restored_by_a_verification() {
    let mut flowtable = running(&["lan1"]);
    assert_eq!(flowtable.second(at(20)), None);
    assert_eq!(flowtable.second(at(21)), Some(verification(plan(Engine::Flowtable, &["lan1"]))));
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(21)), None);
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(23)), None, "an unsolicited answer");
    assert_eq!(flowtable.second(at(24)), None);
    flowtable.verify_soon();
    assert_eq!(flowtable.second(at(25)), Some(verification(plan(Engine::Flowtable, &["lan1"]))));
}

#[test]
fn a_removed_table_is_reported_and_restored_at_once() {
    let mut flowtable = running(&["lan1"]);
    let next = flowtable.touched(Touch::Gone, at(5));
    assert_eq!(next, Some(Job::Apply { plan: plan(Engine::Flowtable, &["lan1"]), in_force: None }));
    assert_eq!(
        (flowtable.report(at(1)).active, &*flowtable.report(at(1)).why),
        ("off", "being applied")
    );
    flowtable.applied(Ok(Applied::Replaced), at(5));
    assert_eq!(flowtable.report(at(1)).active, "flowtable");
}

#[test]
fn restoring_a_repeatedly_removed_table_is_debounced() {
    let mut flowtable = running(&["lan1"]);
    applied_plan(flowtable.touched(Touch::Gone, at(5)));
    flowtable.applied(Ok(Applied::Replaced), at(5));
    for _ in 0..100 {
        assert_eq!(flowtable.touched(Touch::Gone, at(6)), None);
    }
    assert_eq!(flowtable.report(at(1)).active, "off");
    assert_eq!(flowtable.second(at(6)), None);
    applied_plan(flowtable.second(at(7)));
    flowtable.applied(Ok(Applied::Replaced), at(7));
    applied_plan(flowtable.touched(Touch::Gone, at(8)));
}

#[test]
fn a_changed_table_is_verified_at_once_and_then_debounced() {
    let mut flowtable = running(&["lan1"]);
    let verify = Some(verification(plan(Engine::Flowtable, &["lan1"])));
    assert_eq!(flowtable.touched(Touch::Changed, at(5)), verify);
    flowtable.applied(Ok(Applied::Unchanged), at(5));
    for _ in 0..100 {
        assert_eq!(flowtable.touched(Touch::Changed, at(6)), None);
    }
    assert_eq!(flowtable.second(at(6)), None);
    assert_eq!(flowtable.second(at(7)), verify);
    flowtable.applied(Ok(Applied::Unchanged), at(7));
    assert_eq!(flowtable.second(at(26)), None, "no regular verification is due");
    assert_eq!(flowtable.touched(Touch::None, at(26)), None);
}

#[test]
fn a_table_changed_during_a_job_is_verified_after_it() {
    let mut flowtable = Flowtable::new();
    assert_eq!(flowtable.touched(Touch::Changed, at(0)), None, "nothing is in force");
    flowtable.request(plan(Engine::Flowtable, &["lan1"]), Source::Config);
    assert_eq!(flowtable.touched(Touch::Gone, at(1)), None);
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(1)), None);
    assert!(is_verification(flowtable.second(at(2)).as_ref()));
    flowtable.applied(Ok(Applied::Replaced), at(2));
    assert_eq!(flowtable.second(at(3)), None);
}

#[test]
fn a_refused_plan_is_retried_at_once_when_the_table_is_removed() {
    let mut flowtable = running(&["lan1"]);
    flowtable.request(plan(Engine::Flowtable, &["lan1", "lan9"]), Source::Config);
    flowtable.applied(Err(refusal("no lan9")), at(10));
    let next = flowtable.touched(Touch::Gone, at(11));
    assert_eq!(applied_plan(next), plan(Engine::Flowtable, &["lan1", "lan9"]));
}

#[test]
fn a_removed_table_is_not_restored_while_the_engine_is_off() {
    let mut flowtable = Flowtable::new();
    flowtable.request(plan(Engine::Off, &["lan1"]), Source::Config);
    flowtable.applied(Ok(Applied::Removed), at(1));
    assert_eq!(flowtable.touched(Touch::Gone, at(2)), None);
    assert_eq!(flowtable.report(at(1)).why, "");
}

#[test]
fn a_table_is_renewed_at_once_and_then_rate_limited() {
    let mut flowtable = running(&["lan1"]);
    let renewal = Some(Job::Renew(plan(Engine::Flowtable, &["lan1"])));
    assert_eq!(flowtable.renew(at(5)), renewal);
    assert!(flowtable.is_settled(), "the plan stays in force");
    assert_eq!(flowtable.renew(at(5)), None, "one at a time");
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(5)), None);
    for _ in 0..100 {
        assert_eq!(flowtable.renew(at(6)), None);
    }
    assert_eq!(flowtable.second(at(8)), None);
    assert_eq!(flowtable.second(at(9)), renewal);
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(9)), None);
    assert_eq!(flowtable.second(at(14)), None, "not requested");
    assert_eq!(flowtable.renew(at(14)), renewal);
}

#[test]
fn a_renewal_waits_for_the_current_job() {
    let mut flowtable = running(&["lan1"]);
    flowtable.verify_soon();
    flowtable.second(at(5));
    assert_eq!(flowtable.renew(at(5)), None);
    assert!(matches!(flowtable.applied(Ok(Applied::Unchanged), at(6)), Some(Job::Renew(_))));
    flowtable.applied(Ok(Applied::Replaced), at(6));
    let other = plan(Engine::Flowtable, &["lan1", "lan2"]);
    flowtable.request(other.clone(), Source::Config);
    assert_eq!(flowtable.renew(at(20)), None);
    assert_eq!(flowtable.applied(Ok(Applied::Devices), at(20)), Some(Job::Renew(other)));
}

#[test]
fn nothing_is_renewed_without_a_flowtable() {
    let mut flowtable = Flowtable::new();
    flowtable.request(plan(Engine::Off, &["lan1"]), Source::Config);
    flowtable.applied(Ok(Applied::Removed), at(1));
    assert_eq!(flowtable.renew(at(5)), None);
    flowtable.request(plan(Engine::Flowtable, &["lan1"]), Source::Config);
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(6)), None);
}

#[test]
fn a_refused_flowtable_renewal_is_retried() {
    let mut flowtable = running(&["lan1"]);
    let renewal = Some(Job::Renew(plan(Engine::Flowtable, &["lan1"])));
    assert_eq!(flowtable.renew(at(5)), renewal);
    assert_eq!(flowtable.applied(Err(refusal("busy")), at(5)), None);
    assert_eq!(flowtable.report(at(1)).why, "busy");
    assert!(is_verification(flowtable.second(at(25)).as_ref()));
    assert_eq!(flowtable.applied(Ok(Applied::Unchanged), at(25)), None);
    assert_eq!(flowtable.report(at(25)).why, "busy", "its flows are still offloaded");
    assert_eq!(flowtable.second(at(34)), None);
    assert_eq!(flowtable.second(at(35)), renewal);
    assert_eq!(flowtable.applied(Err(refusal("busy")), at(35)), None);
    assert_eq!(flowtable.renew(at(40)), renewal, "a new request does not wait for the retry");
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(40)), None);
    assert_eq!(flowtable.report(at(1)).why, "");
}

#[test]
fn a_refused_hardware_renewal_is_retried_if_software_is_refused_too() {
    let mut flowtable = Flowtable::new();
    let hardware = plan(Engine::FlowtableHw, &["lan1"]);
    flowtable.request(hardware.clone(), Source::Config);
    flowtable.applied(Ok(Applied::Replaced), at(1));
    assert_eq!(flowtable.renew(at(5)), Some(Job::Renew(hardware.clone())));
    let software = flowtable.applied(Err(refusal("busy")), at(5));
    assert_eq!(applied_plan(software), plan(Engine::Flowtable, &["lan1"]));
    assert_eq!(flowtable.applied(Err(refusal("busy")), at(5)), None);
    assert_eq!(flowtable.second(at(35)), Some(Job::Renew(hardware)), "the plan is in force");
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(35)), None);
    assert_eq!(flowtable.second(at(36)), None);
    assert_eq!(flowtable.report(at(1)).why, "");
}

#[test]
fn a_changed_table_is_restored_at_once_although_a_plan_was_refused() {
    let mut flowtable = running(&["lan1"]);
    flowtable.request(plan(Engine::Flowtable, &["lan1", "lan9"]), Source::Config);
    flowtable.applied(Err(refusal("no lan9")), at(10));
    assert!(is_verification(flowtable.touched(Touch::Changed, at(11)).as_ref()));
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(11)), None);
    assert_eq!(flowtable.report(at(11)).why, "no lan9");
    assert_eq!(flowtable.second(at(30)), None);
    applied_plan(flowtable.second(at(40)));
}

#[test]
fn a_table_that_matches_neither_plan_is_not_in_force() {
    let mut flowtable = running(&["lan1"]);
    flowtable.request(plan(Engine::Flowtable, &["lan1", "lan2"]), Source::Config);
    let stuck =
        JobFailure { is_verdict: false, left: TableState::Unknown, ..refusal("rollback failed") };
    assert_eq!(flowtable.applied(Err(stuck), at(10)), None);
    assert_eq!(flowtable.in_force(), None);
    assert_eq!(flowtable.report(at(10)).why, "rollback failed");
    let again = flowtable.second(at(40));
    assert_eq!(again.as_ref().and_then(Job::before), None);
    assert_eq!(applied_plan(again), plan(Engine::Flowtable, &["lan1", "lan2"]));
}

#[test]
fn a_failed_verification_changes_neither_reason_nor_retry() {
    let mut flowtable = running(&["lan1"]);
    flowtable.request(plan(Engine::Flowtable, &["lan1", "lan9"]), Source::Config);
    flowtable.applied(Err(refusal("no lan9")), at(10));
    assert!(is_verification(flowtable.second(at(30)).as_ref()));
    let unread = JobFailure { is_verdict: false, left: TableState::Unread, ..refusal("killed") };
    assert_eq!(flowtable.applied(Err(unread), at(31)), None);
    assert_eq!(flowtable.report(at(31)).why, "no lan9");
    assert_eq!(flowtable.in_force(), Some(&plan(Engine::Flowtable, &["lan1"])));
    assert_eq!(applied_plan(flowtable.second(at(40))).devices.len(), 2);
}

#[test]
fn constant_renewals_do_not_delay_the_retry_of_a_refused_plan() {
    let mut flowtable = running(&["lan1"]);
    flowtable.request(plan(Engine::Flowtable, &["lan1", "lan9"]), Source::Config);
    flowtable.applied(Err(refusal("no lan9")), at(10));
    for second in 11..40 {
        flowtable.revoke(at(second));
        flowtable.applied(Ok(Applied::Replaced), at(second));
    }
    flowtable.renew_at = Some(at(40).mono);
    assert_eq!(applied_plan(flowtable.second(at(40))).devices.len(), 2);
}

#[test]
fn revocations_are_immediate_up_to_a_burst() {
    let mut flowtable = running(&["lan1"]);
    let renewal = Some(Job::Renew(plan(Engine::Flowtable, &["lan1"])));
    assert_eq!(flowtable.renew(at(5)), renewal, "for a station");
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(5)), None);
    for _ in 0..3 {
        assert_eq!(flowtable.revoke(at(5)), renewal);
        assert_eq!(flowtable.revoke(at(5)), None, "one at a time");
        assert_eq!(
            flowtable.applied(Ok(Applied::Replaced), at(5)),
            renewal,
            "requested during the job"
        );
        assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(5)), None);
        flowtable.renewals_until = at(6).mono;
    }
    for _ in 0..2 {
        assert_eq!(flowtable.revoke(at(5)), renewal);
        assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(5)), None);
    }
    // A script adds a hundred rules.
    for _ in 0..100 {
        flowtable.revoke(at(5));
        flowtable.applied(Ok(Applied::Replaced), at(5));
    }
    assert_eq!(flowtable.second(at(5)), None);
    assert_eq!(flowtable.second(at(6)), renewal, "the last request is kept");
    assert_eq!(flowtable.applied(Ok(Applied::Replaced), at(6)), None);
    assert_eq!(flowtable.second(at(7)), None);
}
