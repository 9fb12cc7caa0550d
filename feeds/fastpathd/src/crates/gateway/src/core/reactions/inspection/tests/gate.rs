// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that the state of inspection follows the gate of the rules in force, not the wanted gate,
//! and that Suricata's files follow settings of devices.

use super::*;

#[test]
fn inspection_is_not_inline_before_the_rules_in_force_queue_packets() {
    let (mut core, _) = reading(&json!({"enabled": "1"}), &[]);
    let state = |core: &mut Core| {
        let answer = ask(core, "ips", json!({}));
        [&answer["state"], &answer["cause"]["code"]].map(|text| text.as_str().unwrap().to_owned())
    };
    core.probed(sample(Vec::new()));
    inline(&mut core);
    assert_eq!(state(&mut core), ["starting", "rules-pass"], "nft has not answered");
    core.applied(Ok(ruleset::Applied::Replaced));
    inline(&mut core);
    assert_eq!(state(&mut core), ["inline", "inline"]);

    // Suricata is killed and restarted.
    for _ in 0..4 {
        later(&mut core);
        core.probed(sample(Vec::new()));
    }
    core.applied(Ok(ruleset::Applied::Gate));
    assert_eq!(state(&mut core), ["failing-open", "crashed"]);
    let effects = inline(&mut core);
    let closed = plan(&effects).protection.inspection.clone().unwrap();
    assert_eq!(closed.gate, model::Gate::Queue);
    assert_eq!(state(&mut core), ["failing-open", "rules-pass"], "nft has not answered");
    core.applied(Ok(ruleset::Applied::Gate));
    inline(&mut core);
    assert_eq!(state(&mut core), ["inline", "inline"]);

    // Inspection is disabled and enabled: the table in force has no queue until it is replaced.
    core.configuration_read(&configuration(&json!({"enabled": "0"}), &[]));
    core.applied(Ok(ruleset::Applied::Replaced));
    core.configuration_read(&configuration(&json!({"enabled": "1"}), &[]));
    inline(&mut core);
    assert_eq!(state(&mut core), ["starting", "rules-pass"]);
    core.applied(Ok(ruleset::Applied::Replaced));
    inline(&mut core);
    assert_eq!(state(&mut core), ["inline", "inline"]);
}

#[test]
fn suricata_inspects_to_the_end_for_a_device_that_is_always_inspected() {
    let yaml = |effects: &[AnyEffect]| {
        let Instruction::Run(overlay) = instruction(effects) else { panic!("{effects:?}") };
        overlay.yaml.clone()
    };
    let (mut core, effects) = reading(&json!({"enabled": "1"}), &[]);
    let (_, always) = reading(&json!({"enabled": "1", "default": "always"}), &[]);
    assert_ne!(yaml(&effects), yaml(&always));
    for (inspect, expected) in [("always", &always), ("never", &effects)] {
        let mut values = configuration(&json!({"enabled": "1"}), &[]);
        let mac = "02:11:22:33:44:55";
        values["phone"] = json!({".type": "device", ".index": 9, "mac": mac, "inspect": inspect});
        let mut changed = core.configuration_read(&values);
        // Devices wait for the first reading of the clock.
        let readings = Readings { tz: "UTC0".to_owned(), ..Readings::default() };
        changed.extend(core.pause_second(&readings));
        assert_eq!(yaml(&changed), yaml(expected), "{inspect}");
    }
}
