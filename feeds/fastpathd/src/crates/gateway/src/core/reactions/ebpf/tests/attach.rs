// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests which devices have a program, and the path of flows over the other devices.

use super::*;

#[test]
fn a_device_without_a_program_stays_in_the_flowtable() {
    let (mut core, maps) = (asking(), Fake::default());
    let effects = core.attached(Ok(outcome(&maps, &["lan1", "lan2"], &["wan"])));
    let [AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. }))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(plan.devices, names(&["wan"]));
    let decisions = &core.offload.planned().unwrap().decisions;
    assert_eq!(decisions["lan1"].why.text, "held by eBPF (tcx)");
    core.applied(Ok(Applied::Replaced));
    assert_eq!(engine(&mut core)["active"], "ebpf");
    let status = ask(&mut core, "status", json!({}));
    let partly = &status["health"][0];
    assert_eq!((&partly["code"], &partly["level"]), (&json!("ebpf-partly"), &json!("warning")));
    let why = "wan: the driver of wan does not support XDP";
    assert!(partly["text"].as_str().is_some_and(|text| text.ends_with(why)));
    let params = json!({"inner": "device no-xdp", "device": "wan", "why": why});
    assert_eq!(partly["params"], params);
    update(&mut core, established(7, false));
    assert_eq!(offloaded(&maps), 0);
    assert_eq!(flow(&mut core, 7)["reason"], "no-device");
}

#[test]
fn ports_of_a_switch_have_programs_and_its_conduit_has_none() {
    let mut core = Core::new(Machine::default(), Now { mono: Duration::ZERO, unix_ms: 1_000_000 });
    core.configuration_read(&configuration("ebpf"));
    let [Change::Full(network)] = &mut lab_network()[..] else { panic!("a full reading") };
    for change in network.iter_mut() {
        if let Change::Link(link) = change
            && link.kind == LinkKind::Ethernet
        {
            (link.kind, link.lower) = (LinkKind::Other("dsa".into()), Some(60));
        }
    }
    network.push(Change::Link(crate::fixture::link(60, "eth0", LinkKind::Ethernet)));
    network.push(crate::fixture::route("10.9.0.0", 24, 60, None));
    assert_eq!(core.network_changed(network.clone()), [attach(&["lan1", "lan2", "wan"])]);
    let topology = ask(&mut core, "topology", json!({}));
    let conduit = topology["links"].as_array().unwrap().iter().find(|l| l["name"] == "eth0");
    assert_eq!(conduit.unwrap()["cause"]["code"], "conduit");
}

#[test]
fn the_flowtable_is_in_force_without_any_program() {
    for result in [
        Err(ProgramsReason::NotLoaded),
        Ok(outcome(&Fake::default(), &[], &["lan1", "lan2", "wan"])),
    ] {
        let mut core = asking();
        let (why, inner) = match &result {
            Err(reason) => (reason.to_string(), "not-loaded"),
            Ok(_) => ("lan1: the driver of lan1 does not support XDP".to_owned(), "device no-xdp"),
        };
        core.attached(result);
        core.applied(Ok(Applied::Replaced));
        let engine = engine(&mut core);
        assert_eq!((&engine["wanted"], &engine["active"]), (&json!("ebpf"), &json!("flowtable")));
        assert_eq!(engine["why"], why);
        assert_eq!(engine["cause"]["code"], "no-program");
        assert_eq!(engine["cause"]["params"]["inner"], inner);
    }
}

#[test]
fn a_request_for_the_engine_is_answered_when_programs_and_rules_are_in_place() {
    let mut core = asking();
    let answers =
        |effects: &[AnyEffect]| effects.contains(&AnyEffect::Api(api::Effect::AnswerEngine));
    core.configuration_read(&configuration("flowtable"));
    core.applied(Ok(Applied::Replaced));
    assert!(!answers(&core.command(Engine::Ebpf)));
    let maps = Fake::default();
    assert!(!answers(&core.attached(Ok(outcome(&maps, &["lan1", "lan2", "wan"], &[])))));
    assert!(answers(&core.applied(Ok(Applied::Removed))));
    assert_eq!(engine(&mut core)["active"], "ebpf");
    assert!(answers(&core.command(Engine::Ebpf)), "no request is pending");
}

#[test]
fn the_reason_for_missing_programs_stays_while_earlier_maps_are_open() {
    let (mut core, _) = running();
    core.attached(Err(ProgramsReason::Missing));
    core.ebpf_second();
    assert_eq!(core.offload.ebpf().why(), ProgramsReason::Missing.cause());
}

#[test]
fn the_hook_can_be_configured() {
    let (mut core, _) = running();
    let mut values = configuration("ebpf");
    values["main"]["hook"] = json!("xdp-generic");
    let devices = names(&["lan1", "lan2", "wan"]);
    let wanted = AnyEffect::Offload(offload::Effect::Attach(AttachRequest {
        devices,
        hook: Some("xdp-generic"),
    }));
    assert_eq!(core.configuration_read(&values), [wanted]);
}

#[test]
fn a_failed_request_to_attach_programs_is_retried() {
    let mut core = asking();
    core.attached(Err(ProgramsReason::NotLoaded));
    core.applied(Ok(Applied::Replaced));
    let asks = |effects: &[AnyEffect]| {
        effects
            .iter()
            .filter(|effect| matches!(effect, AnyEffect::Offload(offload::Effect::Attach(_))))
            .count()
    };
    core.now.mono += Duration::from_secs(29);
    assert_eq!(asks(&core.second(&Readings::default())), 0);
    core.now.mono += Duration::from_secs(1);
    assert_eq!(asks(&core.second(&Readings::default())), 1);
    assert_eq!(asks(&core.second(&Readings::default())), 0);
    core.attached(Ok(outcome(&Fake::default(), &["lan1", "lan2", "wan"], &[])));
    core.now.mono += Duration::from_secs(60);
    assert_eq!(asks(&core.second(&Readings::default())), 0);
}

#[test]
fn another_engine_detaches_the_programs() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    let effects = core.command(Engine::Flowtable);
    assert!(effects.contains(&attach(&[])), "{effects:?}");
    let plans: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. })) => {
                Some(plan.devices.clone())
            }
            _ => None,
        })
        .collect();
    assert_eq!(plans, [names(&["lan1", "lan2", "wan"])]);
    core.applied(Ok(Applied::Replaced));
    assert_eq!(offloaded(&maps), 0);
    core.attached(Ok(outcome(&maps, &[], &[])));
    assert_eq!(flow(&mut core, 7)["path"], "slow");
    assert!(core.command(Engine::Ebpf).contains(&attach(&["lan1", "lan2", "wan"])));
}
