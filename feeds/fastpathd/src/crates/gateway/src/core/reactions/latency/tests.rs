// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::BTreeSet;
use std::time::Duration;

use ::latency::{IFB, LatencyReason, Plan, Remaining};
use serde_json::{Value, json};
use topology::{Change, QueueingDiscipline};

use super::*;
use crate::fixture::{
    ask, configuration, core, lab_dump, lab_firewall, lab_network, link, running,
};
use crate::latency::{Effect, Job};

fn configured(options: Value) -> Value {
    let mut values = configuration("flowtable");
    values["latency"] = options;
    values
}

fn on() -> Value {
    configured(json!({".type": "latency", ".name": "latency", "enabled": "1",
        "download": "50000", "upload": "10000"}))
}

fn jobs(effects: Vec<AnyEffect>) -> Vec<Job> {
    let job = |effect| match effect {
        AnyEffect::Latency(Effect::Run(job)) => Some(*job),
        _ => None,
    };
    effects.into_iter().filter_map(job).collect()
}

fn removal(before: Option<Plan>) -> Job {
    Job::Apply { plan: None, in_force: before.map(Some) }
}

fn apply(plan: &Plan, before: Option<&Plan>) -> Job {
    Job::Apply { plan: Some(plan.clone()), in_force: Some(before.cloned()) }
}

/// A core that has just started, with the queues of a previous daemon.
fn starting(values: &Value) -> (Core, Vec<Job>) {
    let mut core = core();
    core.firewall_read(&lab_firewall());
    core.interfaces_read(&json!({"interface": []}));
    core.configuration_read(values);
    let cake = QueueingDiscipline { index: 3, kind: "cake".into(), ..Default::default() };
    let mut network = lab_network();
    network.push(Change::Queues(vec![cake]));
    let jobs = jobs(core.network_changed(network));
    (core, jobs)
}

#[test]
fn queues_of_a_previous_daemon_are_removed_within_a_second() {
    let (mut core, found) = starting(&configuration("flowtable"));
    assert_eq!(found, []);
    assert_eq!(after(&mut core, 1), [removal(None)]);
}

#[test]
fn queues_of_a_previous_daemon_stay_until_the_interfaces_are_known() {
    let (mut core, found) = starting(&on());
    assert_eq!(found, [], "there is no WAN yet");
    let found = jobs(core.interfaces_read(&lab_dump()));
    assert!(matches!(&found[..], [Job::Apply { plan: Some(_), in_force: None }]), "{found:?}");
}

#[test]
fn the_default_wan_is_no_tunnel() {
    let (mut core, _) = starting(&on());
    let mut dump = lab_dump();
    let tunnel = json!({"interface": "ds", "up": true, "l3_device": "ds-ds", "proto": "dslite",
        "data": {"zone": "wan"}});
    dump["interface"].as_array_mut().unwrap().insert(0, tunnel);
    let found = jobs(core.interfaces_read(&dump));
    let [Job::Apply { plan: Some(plan), .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!(plan.interface, "wan");
}

/// Returns a core with a latency plan in force, and the plan.
fn in_force() -> (Core, Plan) {
    let mut core = running();
    let found = jobs(core.configuration_read(&on()));
    let [Job::Apply { plan: Some(plan), in_force: Some(None) }] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(jobs(core.latency_done(Ok(Applied::Changed))), []);
    (core, plan.clone())
}

fn state(core: &mut Core) -> Value {
    ask(core, "status", json!({}))["latency"].take()
}

fn after(core: &mut Core, seconds: u64) -> Vec<Job> {
    core.now.mono += Duration::from_secs(seconds);
    jobs(core.latency_second().into_iter().collect())
}

#[test]
fn latency_control_shapes_the_port_below_the_pppoe_session() {
    let (mut core, plan) = in_force();
    assert_eq!((&*plan.port.name, plan.overhead, plan.included), ("wan", 50, 8));
    let expected = json!({"enabled": true, "active": true, "interface": "wan", "port": "wan",
        "ingress": "ifb-fastpath", "hosts": ["lan1", "lan2"], "download_kbps": 50_000,
        "upload_kbps": 10_000, "overhead": 50, "why": "", "cause": {"code": "", "params": {}}});
    assert_eq!(state(&mut core), expected);
}

#[test]
fn latency_control_is_off_by_default_without_a_reason() {
    let mut core = running();
    let state = state(&mut core);
    assert_eq!((&state["enabled"], &state["active"]), (&json!(false), &json!(false)));
    assert_eq!(state["why"], "");
    assert_eq!(after(&mut core, 60), []);
}

#[test]
fn disabling_latency_control_removes_it_at_once() {
    let (mut core, plan) = in_force();
    assert_eq!(jobs(core.configuration_read(&configuration("flowtable"))), [removal(Some(plan))]);
    core.latency_done(Ok(Applied::Changed));
    assert_eq!(state(&mut core)["active"], false);
}

#[test]
fn changed_rates_update_the_plan_in_force() {
    let (mut core, plan) = in_force();
    let mut values = on();
    values["latency"]["upload"] = "12000".into();
    let faster = Plan { upload: 12_000, ..plan.clone() };
    let expected = apply(&faster, Some(&plan));
    assert_eq!(jobs(core.configuration_read(&values)), [expected]);
}

#[test]
fn the_plan_is_verified_every_20_seconds_and_when_a_queue_changes() {
    let (mut core, plan) = in_force();
    let verify = || apply(&plan, Some(&plan));
    assert_eq!(after(&mut core, 19), []);
    assert_eq!(after(&mut core, 1), [verify()]);
    core.latency_done(Ok(Applied::Unchanged));
    let queue =
        QueueingDiscipline { index: 1, incoming: true, kind: "clsact".into(), by_mark: false };
    let effects = core.network_changed(vec![Change::Queues(vec![queue])]);
    assert_eq!(jobs(effects), [verify()]);
}

#[test]
fn the_plan_drops_the_filter_of_a_session_that_has_ended() {
    let (mut core, plan) = in_force();
    let effects = core.network_changed(vec![Change::LinkGone(8)]);
    let found = jobs(effects);
    let [Job::Apply { plan: Some(down), in_force: Some(Some(before)) }] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((before, down.sources.len()), (&plan, 2));
    assert_eq!(down.port, plan.port);
}

#[test]
fn latency_control_yields_to_sqm() {
    let (mut core, plan) = in_force();
    let queue = |enabled| {
        json!({"eth1": {".type": "queue", ".name": "eth1", "enabled": enabled,
        "interface": "pppoe-wan"}})
    };
    assert_eq!(jobs(core.latency_event(Event::Sqm(queue("1")))), [removal(Some(plan))]);
    core.latency_done(Ok(Applied::Changed));
    let found = state(&mut core);
    assert_eq!((&found["active"], &found["cause"]["code"]), (&json!(false), &json!("sqm")));
    assert_eq!(found["cause"]["params"]["device"], "pppoe-wan");
    assert_eq!(jobs(core.latency_event(Event::Sqm(queue("0")))).len(), 1);
    core.latency_done(Ok(Applied::Changed));
    assert_eq!(state(&mut core)["active"], true);
}

/// The plan is removed until another engine is wanted.
#[test]
fn latency_control_is_off_with_hardware_offload() {
    let (mut core, plan) = in_force();
    let mut values = on();
    values["main"]["engine"] = "flowtable-hw".into();
    assert_eq!(jobs(core.configuration_read(&values)), [removal(Some(plan))]);
    core.latency_done(Ok(Applied::Changed));
    assert_eq!(state(&mut core)["cause"]["code"], "hardware");
    assert_eq!(jobs(core.command(Engine::Flowtable)).len(), 1);
}

#[test]
fn a_refused_latency_plan_is_reported_and_retried() {
    let mut core = running();
    core.configuration_read(&on());
    let reason = LatencyReason::NoModule { module: "sch_cake".to_owned() };
    let failure = Failure { reason, remaining: Remaining::Nothing };
    assert_eq!(jobs(core.latency_done(Err(failure))), []);
    let found = state(&mut core);
    assert_eq!((&found["active"], &found["cause"]["code"]), (&json!(false), &json!("no-module")));
    assert_eq!(found["why"], "the kernel has no module sch_cake");
    assert_eq!(after(&mut core, 29), []);
    assert_eq!(after(&mut core, 1).len(), 1);
}

#[test]
fn a_missing_interface_is_reported_by_name() {
    let mut core = running();
    let mut values = on();
    values["latency"]["interface"] = "wan9".into();
    core.configuration_read(&values);
    assert_eq!(state(&mut core)["cause"]["params"], json!({"interface": "wan9"}));
}

/// Packets that TC redirects pass the clsact that feeds CAKE.
#[test]
fn our_cake_filters_do_not_prevent_offloading() {
    let (core, plan) = in_force();
    let hosts: BTreeSet<u32> = plan.hosts.iter().map(|host| host.index).collect();
    assert_eq!(*core.offload.ebpf().feeds_cake(), hosts);
}

#[test]
fn after_a_failure_the_plan_in_force_matches_the_kernel() {
    let foreign = || LatencyReason::Foreign { device: "wan".to_owned(), kind: "htb".to_owned() };
    let failed = |remaining| {
        let (mut core, _) = in_force();
        let mut values = on();
        values["latency"]["upload"] = "12000".into();
        core.configuration_read(&values);
        core.latency_done(Err(Failure { reason: foreign(), remaining }));
        let state = state(&mut core);
        assert_eq!(state["cause"]["code"], "foreign");
        assert_eq!(after(&mut core, 60).len(), 1, "it is retried");
        (state["active"].clone(), core.offload.ebpf().feeds_cake().len())
    };
    assert_eq!(failed(Remaining::Nothing), (json!(false), 0));
    assert_eq!(failed(Remaining::Previous), (json!(true), 2));
    assert_eq!(failed(Remaining::Unknown), (json!(false), 0));
}

/// A redirect to an ifb that is down drops packets.
#[test]
fn the_plan_is_verified_at_once_when_the_ifb_goes_down() {
    let (mut core, plan) = in_force();
    let ifb = |up| {
        let ifb = link(90, IFB, topology::LinkKind::Other("ifb".into()));
        vec![Change::Link(topology::Link { up, ..ifb })]
    };
    let verify = || [apply(&plan, Some(&plan))];
    assert_eq!(jobs(core.network_changed(ifb(true))), verify());
    core.latency_done(Ok(Applied::Unchanged));
    assert_eq!(jobs(core.network_changed(ifb(false))), verify());
    core.latency_done(Ok(Applied::Changed));
    assert_eq!(jobs(core.network_changed(ifb(true))), [], "not twice in two seconds");
    assert_eq!(after(&mut core, 2), verify());
}
