// SPDX-License-Identifier: GPL-2.0-or-later

use model::Engine;
use ruleset::Applied;
use serde_json::json;

use crate::configuration::Configuration;
use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::fixture::{ask, configuration, core, running};
use crate::offload::{self, flowtable::Job};

#[test]
fn a_bad_configuration_changes_nothing_and_is_reported() {
    let mut core = running();
    assert!(core.configuration_read(&configuration("warp")).is_empty());
    let status = ask(&mut core, "status", json!({}));
    assert_eq!(status["engine"]["active"], "flowtable");
    let finding = &status["health"][0];
    assert_eq!(finding["code"], "config-refused");
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("main") && text.contains("engine") && text.contains("warp"), "{text}");
    let problems = &status["problems"];
    let expected = json!([{"config": "fastpath", "section": "main", "option": "engine",
        "value": "warp", "code": "not-listed",
        "params": {"value": "warp", "names": "off, flowtable, flowtable-hw, ebpf"},
        "text": &problems[0]["text"]}]);
    assert_eq!(*problems, expected);
    core.configuration_read(&configuration("flowtable"));
    let status = ask(&mut core, "status", json!({}));
    assert_eq!((&status["health"], &status["problems"]), (&json!([]), &json!([])));
}

#[test]
fn status_shows_the_digest_of_the_configuration_in_use() {
    let mut core = core();
    let digest = |core: &mut Core| ask(core, "status", json!({}))["configuration"]["digest"].take();
    assert_eq!(digest(&mut core), "");
    core.configuration_read(&configuration("flowtable"));
    let used = config::digest(&configuration("flowtable"));
    assert_eq!(digest(&mut core), used);
    core.configuration_read(&configuration("warp"));
    assert_eq!(digest(&mut core), used, "a configuration that is refused is not in use");
    assert_eq!(core.configuration.refused(), config::digest(&configuration("warp")));
    core.configuration_read(&configuration("off"));
    assert_eq!(digest(&mut core), config::digest(&configuration("off")));
}

/// Users with read access see `status` and the log.
#[test]
fn a_refused_url_is_reported_without_its_password() {
    let mut core = running();
    for url in ["htps://ann:geheim@rules.example/x", "ann:geheim@rules.example/x"] {
        let mut values = configuration("flowtable");
        values["et"] = json!({".type": "rules", ".name": "et", ".index": 9, "url": url,
            "unverified": "1"});
        core.configuration_read(&values);
        let status = ask(&mut core, "status", json!({})).to_string();
        assert!(status.contains("config-refused"), "{status}");
        let ips = ask(&mut core, "ips", json!({})).to_string();
        assert!(!status.contains("geheim") && !ips.contains("geheim"), "{status} {ips}");
        assert!(!core.configuration.error().contains("geheim"), "the log has no password");
    }
}

#[test]
fn an_engine_set_by_command_holds_until_the_file_names_another() {
    let mut core = running();
    let effects = core.command(Engine::Off);
    assert!(
        matches!(&effects[..], [AnyEffect::Offload(offload::Effect::Run(Job::Apply { .. }))]),
        "{effects:?}"
    );
    core.applied(Ok(Applied::Removed));
    let engine = ask(&mut core, "status", json!({}))["engine"].take();
    assert_eq!((&engine["active"], &engine["source"]), (&json!("off"), &json!("command")));
    // The unchanged file is read again, as after a change of the network.
    assert!(core.configuration_read(&configuration("flowtable")).is_empty());
    assert_eq!(ask(&mut core, "status", json!({}))["engine"]["wanted"], "off");
    core.configuration_read(&configuration("off"));
    core.configuration_read(&configuration("flowtable"));
    core.applied(Ok(Applied::Replaced));
    let engine = ask(&mut core, "status", json!({}))["engine"].take();
    assert_eq!((&engine["active"], &engine["source"]), (&json!("flowtable"), &json!("config")));
}

/// The installed file documents the defaults, so its values must equal them.
#[test]
fn the_installed_file_has_the_defaults() {
    let file = include_str!("../../../../../../files/fastpath.config");
    let values = config::parse_uci(file).unwrap();
    let (configuration, warnings) = Configuration::read(&values).unwrap();
    assert_eq!(configuration, Configuration::default());
    assert!(warnings.is_empty(), "{warnings:?}");
    for option in ["ipv4", "ipv6", "vlan", "pppoe", "refresh", "mark_mask", "hook"] {
        assert!(!values["main"][option].is_null(), "{option} is not in the file");
    }
}
