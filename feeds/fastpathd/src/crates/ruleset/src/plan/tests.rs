// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

fn plan(candidates: &[Candidate], settings: &Settings) -> Plan {
    super::plan(candidates, settings, &Protection::default())
}

fn candidates() -> Vec<Candidate> {
    [("lan1", true, "a port"), ("wan", true, "below ppp"), ("br-lan", false, "a bridge")]
        .map(|(device, eligible, why)| Candidate {
            device: device.to_owned(),
            eligible,
            why: config::Cause { text: why.to_owned(), ..config::Cause::default() },
        })
        .into()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn why(plan: &Plan) -> Vec<(&str, bool, &str)> {
    plan.decisions
        .iter()
        .map(|(name, decision)| (name.as_str(), decision.included, decision.why.text.as_str()))
        .collect()
}

#[test]
fn includes_every_lowest_device_by_default() {
    let plan = plan(&candidates(), &Settings::default());
    assert_eq!(plan.devices, set(&["lan1", "wan"]));
    assert_eq!(
        why(&plan),
        [("br-lan", false, "a bridge"), ("lan1", true, "a port"), ("wan", true, "below ppp")]
    );
    assert!(plan.has_table() && !plan.hardware);
}

#[test]
fn settings_restrict_devices_but_cannot_add_ineligible_ones() {
    let settings = Settings {
        devices: set(&["br-lan", "gone0", "wan"]),
        ignore_devices: set(&["gone1"]),
        ..Settings::default()
    };
    let plan = plan(&candidates(), &settings);
    assert_eq!(plan.devices, set(&["wan"]));
    assert_eq!(
        why(&plan),
        [
            ("br-lan", false, "named in the settings, but not possible: a bridge"),
            ("gone0", false, "named in the settings, but the device does not exist"),
            ("gone1", false, "named in the settings, but the device does not exist"),
            ("lan1", false, "not among the devices named in the settings"),
            ("wan", true, "below ppp"),
        ]
    );
}

#[test]
fn ignore_device_overrides_device() {
    let settings = Settings {
        devices: set(&["lan1", "wan"]),
        ignore_devices: set(&["wan"]),
        ..Settings::default()
    };
    let plan = plan(&candidates(), &settings);
    assert_eq!(plan.devices, set(&["lan1"]));
    assert_eq!(plan.decisions["wan"].why.text, "excluded by the setting ignore_device");
}

#[test]
fn engine_off_omits_all_devices_with_reasons() {
    let off = Settings { enabled: false, ..Settings::default() };
    let plan = plan(&candidates(), &off);
    assert_eq!((plan.engine, plan.has_table()), (Engine::Off, false));
    assert_eq!(
        why(&plan),
        [
            ("br-lan", false, "a bridge"),
            ("lan1", false, "the engine is off (otherwise: a port)"),
            ("wan", false, "the engine is off (otherwise: below ppp)"),
        ]
    );
}

#[test]
fn engine_flowtable_hw_sets_the_hardware_flag() {
    let settings = Settings { engine: Engine::FlowtableHw, ..Settings::default() };
    assert!(plan(&candidates(), &settings).hardware);
}

#[test]
fn leaves_out_a_device_with_an_unwritable_name() {
    let mut candidates = candidates();
    candidates[0].device = "a\" }".to_owned();
    let plan = plan(&candidates, &Settings::default());
    assert_eq!(plan.devices, set(&["wan"]));
    assert_eq!(plan.decisions["a\" }"].why.text, "its name cannot be written in nft rules");
}

#[test]
fn blocks_or_a_flowtable_alone_need_a_table() {
    let none = Settings { enabled: false, ..Settings::default() };
    assert!(!plan(&candidates(), &none).has_table());
    let blocks = Protection { inspection: None, blocks: Some(1) };
    let alone = super::plan(&candidates(), &none, &blocks);
    assert!(alone.has_table() && !alone.has_flowtable());
    let both = super::plan(&candidates(), &Settings::default(), &blocks);
    assert!(both.has_table() && both.has_flowtable());
    let nowhere = super::plan(&[], &Settings::default(), &blocks);
    assert!(nowhere.has_table() && !nowhere.has_flowtable());
}

#[test]
fn removes_devices_held_by_ebpf_from_the_flowtable() {
    let settings = Settings { engine: Engine::Ebpf, ..Settings::default() };
    let mut held = plan(&candidates(), &settings);
    assert_eq!(held.engine, Engine::Ebpf);
    assert!(!held.hardware);
    let all = held.devices.clone();
    let one = all.first().unwrap().clone();
    held.hold([(one.clone(), "tcx".to_owned()), ("elsewhere".to_owned(), "tcx".to_owned())]);
    assert_eq!(held.devices.len(), all.len() - 1);
    let why = PlanReason::Held { hook: "tcx".to_owned() }.cause();
    assert_eq!(held.decisions[&one], Decision { included: false, why });
    assert!(!held.decisions.contains_key("elsewhere"));
    assert!(held.has_flowtable());
    held.hold(all.into_iter().map(|device| (device, "tcx".to_owned())));
    assert!(!held.has_flowtable());
}
