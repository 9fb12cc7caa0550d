// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::*;
use crate::facts::cpu::{Clock, Cpu, Load};
use crate::texts::tests::found_by;

fn healthy() -> Value {
    json!({
        "enabled": true, "active": true, "why": "",
        "cpus": [
            {"cpu": 0, "role": "forwarding"}, {"cpu": 1, "role": "inspection"},
            {"cpu": 2, "role": "unused"},
        ],
        "steering": {"uci": "2", "hook": "ours", "taken_over": true, "text": ""},
        "differences": [],
    })
}

fn load(cpu: u32, softirq: u64, idle: u64) -> Load {
    Load { cpu, softirq, idle }
}

/// Returns the facts of a healthy router with this value of `field` in its plan.
fn facts(field: &str, value: Value) -> Facts {
    let mut plan = healthy();
    plan[field] = value;
    let loads = vec![load(0, 40, 55), load(1, 1, 90)];
    let cpu = Cpu { plan: plan.into(), loads: loads.into(), ..Cpu::default() };
    Facts { cpu, ..Facts::default() }
}

fn found(id: &str, facts: &Facts) -> Finding {
    found_by(CHECKS, id, facts)
}

#[test]
fn a_healthy_router_has_no_finding() {
    for check in CHECKS {
        let verdict = (check.run)(&facts("why", json!("")));
        assert_eq!(verdict, Ok(None), "{}", check.id);
    }
}

#[test]
fn checks_of_the_plan_are_unknown_without_a_daemon() {
    for check in [plan_off, masks, steering] {
        assert!(check(&Facts::default()).is_err());
    }
}

#[test]
fn reports_a_saturated_cpu_only_while_another_is_idle() {
    let mut facts = facts("enabled", json!(false));
    facts.cpu.loads = vec![load(0, 97, 0), load(1, 0, 99)].into();
    let finding = found("cpu-saturated", &facts);
    assert_eq!(finding.severity, Severity::Warning);
    assert!(matches!(finding.fix, Some(Fix::Change(_))));
    // Steering does not help if all CPUs are busy or the load has another cause.
    facts.cpu.loads = vec![load(0, 97, 0), load(1, 90, 5)].into();
    assert_eq!(saturated(&facts), Ok(None));
    facts.cpu.loads = vec![load(0, 30, 0), load(1, 0, 99)].into();
    assert_eq!(saturated(&facts), Ok(None));
    facts.cpu.loads = vec![load(0, 97, 3)].into();
    assert_eq!(saturated(&facts), Ok(None));
}

#[test]
fn the_fix_enables_a_disabled_plan() {
    let finding = found("cpu-plan-off", &facts("enabled", json!(false)));
    let edits = json!({"config": "fastpath", "op": "set", "section": "cpu",
        "values": {"enabled": "1"}});
    assert_eq!(finding.fix, Some(Fix::Change(vec![edits])));
    let mut single = facts("enabled", json!(false));
    let one = json!([{"cpu": 0, "role": "shared"}]);
    single.cpu.plan = json!({"enabled": false, "cpus": one}).into();
    assert_eq!(plan_off(&single), Ok(None));
}

#[test]
fn names_differences_from_the_plan() {
    let differing = json!([{"where": "/proc/irq/7/smp_affinity", "wanted": "1", "have": "3",
        "text": "interrupt 7 (eth0)"}]);
    let finding = found("cpu-masks", &facts("differences", differing));
    assert_eq!(finding.evidence[0].value, "3 → 1");
    assert_eq!(finding.evidence[0].source, "/proc/irq/7/smp_affinity");
}

#[test]
fn reports_packet_steering_of_other_programs() {
    let foreign = json!({"uci": "2", "hook": "foreign", "taken_over": false, "text": ""});
    assert!(found("cpu-steering", &facts("steering", foreign)).fix.is_some());
    let off = json!({"uci": "0", "hook": "foreign", "taken_over": false, "text": ""});
    assert_eq!(steering(&facts("steering", off)), Ok(None));
}

#[test]
fn reports_isolated_cpus_that_are_unused() {
    let mut facts = facts("why", json!(""));
    facts.cpu.isolated = "1-2".into();
    assert_eq!(found("cpu-isolated", &facts).evidence[1].value, "2");
    facts.cpu.isolated = "1".into();
    assert_eq!(isolated(&facts), Ok(None));
}

#[test]
fn reports_powersave_only_if_it_does_not_follow_the_load() {
    let clock = |driver: &str, governor: &str| Clock {
        path: "/sys/devices/system/cpu/cpufreq/policy0".into(),
        cpus: "0 1".into(),
        driver: driver.into(),
        governor: governor.into(),
        available: "performance schedutil powersave".into(),
    };
    let mut facts = facts("why", json!(""));
    facts.cpu.clocks = vec![clock("intel_pstate", "powersave"), clock("x", "schedutil")];
    assert_eq!(governor(&facts), Ok(None));
    facts.cpu.clocks = vec![clock("acpi-cpufreq", "powersave")];
    let finding = found("cpu-governor", &facts);
    let path = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor".to_owned();
    let step = Step::Write { path, text: "schedutil".into() };
    assert_eq!(finding.fix, Some(Fix::Steps(vec![step])));
}
