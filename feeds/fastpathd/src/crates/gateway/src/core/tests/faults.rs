// SPDX-License-Identifier: GPL-2.0-or-later
//! Fails each kind of request once. Tests the rules in force, the shown state and the retry.

use super::*;

/// First line of nft's error.
const REFUSED: &str = "nft: refused";

fn excluding(engine: &str) -> Value {
    let mut values = values(engine, false);
    values["slow"] = json!({".type": "exclude", ".name": "slow", ".index": 2, "dest_port": "53"});
    values
}

#[test]
fn a_refused_table_leaves_the_old_one_in_force_and_is_retried() {
    let mut router = Router::running("flowtable");
    let before = router.table.clone();
    router.configure(&excluding("flowtable"));
    router.end_job(JobEnd::Refused);
    assert_eq!(router.table, before);
    router.assert_active(Engine::Flowtable, REFUSED);
    router.pass(29);
    assert_eq!(router.table, before, "too soon");
    router.pass(1);
    assert_ne!(router.table, before);
    router.assert_active(Engine::Flowtable, "");
}

#[test]
fn refused_hardware_offload_falls_back_to_software() {
    let mut router = Router::running("flowtable");
    router.configure(&values("flowtable-hw", false));
    router.end_job(JobEnd::Refused);
    router.drain();
    router.assert_active(Engine::Flowtable, REFUSED);
    router.pass(29);
    router.assert_active(Engine::Flowtable, REFUSED);
    router.pass(1);
    router.assert_active(Engine::FlowtableHw, "");
}

#[test]
fn a_missing_device_is_added_to_the_flowtable_later() {
    let mut router = Router::new();
    router.network(lab_network());
    router.configure(&values("flowtable", false));
    router.drain_attach();
    router.end_job(JobEnd::Partly);
    router.assert_active(Engine::Flowtable, "not there any more: lan1");
    router.pass(30);
    router.assert_active(Engine::Flowtable, "");
    assert!(router.table.contains("lan1"), "{}", router.table);
}

#[test]
fn inspection_is_in_force_without_a_flowtable() {
    let mut router = Router::running("flowtable");
    router.configure(&values("flowtable", true));
    router.end_job(JobEnd::WithoutFlowtable);
    router.assert_active(Engine::Off, "no flowtable");
    assert!(router.core.offload.flowtable().in_force().unwrap().protection.inspection.is_some());
    router.pass(30);
    router.assert_active(Engine::Flowtable, "");
}

#[test]
fn a_refused_flowtable_renewal_is_retried() {
    let mut router = Router::running("flowtable");
    router.call("flush", &json!({}));
    assert!(matches!(router.job, Some(Job::Renew(_))), "{:?}", router.job);
    router.end_job(JobEnd::Refused);
    router.assert_active(Engine::Flowtable, REFUSED);
    for _ in 0..29 {
        router.second();
        assert!(!matches!(router.job, Some(Job::Renew(_))), "too soon");
        router.drain();
    }
    router.second();
    assert!(matches!(router.job, Some(Job::Renew(_))), "flows are still offloaded");
    router.drain();
    router.assert_active(Engine::Flowtable, "");
}

#[test]
fn a_damaged_table_is_restored_at_once_although_a_change_was_refused() {
    let mut router = Router::running("flowtable");
    router.configure(&excluding("flowtable"));
    router.end_job(JobEnd::Refused);
    router.table.clear();
    router.rules_changed(Touch::Changed, false);
    router.end_job(JobEnd::Done);
    assert!(!router.table.is_empty(), "the previous plan is restored");
    router.assert_active(Engine::Flowtable, REFUSED);
    router.pass(31);
    router.assert_active(Engine::Flowtable, "");
}

#[test]
fn a_table_that_cannot_be_read_counts_as_in_force() {
    let mut router = Router::running("flowtable");
    while router.job.is_none() {
        router.second();
    }
    router.end_job(JobEnd::Refused);
    router.assert_active(Engine::Flowtable, "");
    router.table.clear();
    router.pass(30);
    assert!(!router.table.is_empty(), "the next reading finds that it is gone");
    router.assert_active(Engine::Flowtable, "");
}

/// Flows may have passed the changed rules.
#[test]
fn a_table_that_cannot_be_restored_stops_the_offload_until_it_is_restored() {
    let mut router = Router::running("ebpf");
    router.connect(1);
    router.drain();
    router.table.push_str("# by another program\n");
    while router.job.is_none() {
        router.second();
    }
    router.end_job(JobEnd::Refused);
    router.assert_active(Engine::Off, REFUSED);
    assert_ne!(router.flow("path"), "ebpf");
    router.requests.clear();
    while router.job.is_none() {
        router.second();
    }
    router.end_job(JobEnd::Done);
    let clears = |one: &conntrack::Effect| matches!(one, conntrack::Effect::ClearMarks(..));
    assert!(router.requests.iter().any(clears), "{:?}", router.requests);
    router.pass(1);
    router.assert_active(Engine::Ebpf, "");
}

#[test]
fn a_restored_table_revokes_all_flows() {
    let mut router = Router::running("ebpf");
    router.connect(1);
    router.drain();
    assert_eq!(router.flow("path"), "ebpf");
    router.table.push_str("# by another program\n");
    while router.job.is_none() {
        router.second();
    }
    router.end_job(JobEnd::Done);
    assert_ne!(router.flow("path"), "ebpf");
    let clears = |one: &conntrack::Effect| matches!(one, conntrack::Effect::ClearMarks(..));
    assert!(router.requests.iter().any(clears), "{:?}", router.requests);
}

#[test]
fn attaching_programs_is_retried_after_a_failure() {
    let mut router = Router::running("flowtable");
    router.configure(&values("ebpf", false));
    router.end_attach(AttachEnd::Failed);
    router.end_job(JobEnd::Done);
    router.assert_active(Engine::Flowtable, "the package fastpathd-ebpf is not installed");
    router.connect(1);
    router.drain();
    assert_ne!(router.flow("path"), "ebpf");
    router.pass(30);
    router.assert_active(Engine::Ebpf, "");
    router.connect(2);
    router.drain();
    assert_eq!(router.flow("path"), "ebpf");
}

#[test]
fn a_flow_that_conntrack_does_not_confirm_stays_on_the_slow_path_until_the_network_changes() {
    let mut router = Router::running("ebpf");
    router.connect(1);
    assert!(matches!(router.requests[0], conntrack::Effect::Confirm(..)));
    router.end_request(false);
    router.drain();
    assert_eq!([router.flow("path"), router.flow("reason")], ["slow", "not-taken"]);
    let queue =
        topology::QueueingDiscipline { index: 3, kind: "cake".into(), ..Default::default() };
    router.network(vec![Change::Queues(vec![queue])]);
    router.pass(1);
    assert_eq!(router.flow("path"), "ebpf");
}

#[test]
fn a_flow_stays_on_the_slow_path_if_the_kernel_refuses_its_map_entry() {
    let mut router = Router::running("ebpf");
    router.maps.fake.with(|inside| inside.refused = Some(80));
    router.connect(1);
    router.drain();
    assert_eq!([router.flow("path"), router.flow("reason")], ["slow", "not-taken"]);
    assert!(router.maps.fake.with(|inside| inside.flows.is_empty()), "not even one direction");
    router.maps.fake.with(|inside| inside.refused = None);
    router.disconnect(1);
    router.connect(1);
    router.drain();
    assert_eq!(router.flow("path"), "ebpf");
}

#[test]
fn flows_stay_on_the_slow_path_while_their_marks_cannot_be_cleared() {
    let mut router = Router::running("ebpf");
    router.connect(1);
    router.drain();
    router.rules_changed(Touch::None, true);
    assert_ne!(router.flow("path"), "ebpf", "it has not passed the new rules");
    let at = router.requests.iter();
    assert_eq!(at.filter(|one| matches!(one, conntrack::Effect::ClearMarks(..))).count(), 1);
    while !router.requests.is_empty() {
        router.end_request(false);
    }
    router.pass(5);
    assert_ne!(router.flow("path"), "ebpf", "its mark may be of the old rules");
    router.rules_changed(Touch::None, true);
    router.drain();
    router.connect(1);
    router.pass(1);
    assert_eq!(router.flow("path"), "ebpf");
}

#[test]
fn unreadable_maps_are_reported_until_they_are_readable() {
    let mut router = Router::running("ebpf");
    router.maps.unreadable.set(true);
    router.pass(2);
    let why = router.answer("ebpf", &json!({}))["why"].clone();
    assert!(why.as_str().unwrap().contains("heartbeat"), "{why}");
    router.maps.unreadable.set(false);
    router.pass(2);
    assert_eq!(router.answer("ebpf", &json!({}))["why"], "");
}

#[test]
fn an_interrupted_dump_removes_no_flow() {
    let mut router = Router::running("flowtable");
    router.connect(1);
    router.drain();
    router.second();
    assert!(router.requests.contains(&conntrack::Effect::Dump), "{:?}", router.requests);
    while !router.requests.is_empty() {
        router.end_request(false);
    }
    assert_eq!(router.answer("flows", &json!({}))["total"], 1);
    // The connection ends without an event.
    router.connections.clear();
    router.pass(2);
    assert_eq!(router.answer("flows", &json!({}))["total"], 0);
}

#[test]
fn an_unreadable_configuration_leaves_the_old_one_in_use() {
    let mut router = Router::running("flowtable");
    let event = configuration::Event::Unreadable("line 3: no quote".into());
    let effects = router.core.configuration_event(event);
    assert_eq!(effects, []);
    router.assert_active(Engine::Flowtable, "");
    let status = router.answer("status", &json!({}));
    assert_eq!(status["health"][0]["code"], "config-refused");
    router.configure(&values("flowtable", false));
    assert_eq!(router.answer("status", &json!({}))["health"], json!([]));
    assert_eq!(router.job, None, "nothing has changed");
}

#[test]
fn an_unreadable_configuration_keeps_the_engine_set_by_command() {
    let mut router = Router::running("flowtable");
    router.call("engine", &json!({"set": "off"}));
    router.drain();
    let event = configuration::Event::NotYet("not on ubus yet".into());
    let effects = router.core.configuration_event(event);
    assert_eq!(effects, []);
    router.assert_active(Engine::Off, "");
}

#[test]
fn a_failed_reinspect_is_answered_and_changes_nothing() {
    let mut router = Router::running("flowtable");
    let event = crate::ips::Event::Reinspected(Err("conntrack: busy".into()));
    let effects = router.core.ips_event(event);
    let failed = api::Effect::AnswerReinspect(Err("conntrack: busy".into()));
    assert_eq!(effects[0], Effect::Api(failed));
    router.execute(effects);
    router.pass(1);
    router.assert_active(Engine::Flowtable, "");
}

#[test]
fn an_unanswered_request_for_the_interfaces_is_repeated() {
    let mut router = Router::running("flowtable");
    let asks = |router: &Router| {
        let read = Effect::Network(network::Effect::ReadInterfaces);
        router.others.iter().filter(|effect| **effect == read).count()
    };
    router.pass(1);
    let before = asks(&router);
    router.pass(10);
    assert_eq!(asks(&router), before + 1);
}

impl Router {
    /// Completes all requests to attach programs; the first one asks for no device.
    fn drain_attach(&mut self) {
        while !self.attaching.is_empty() {
            self.end_attach(AttachEnd::Done);
        }
    }
}
