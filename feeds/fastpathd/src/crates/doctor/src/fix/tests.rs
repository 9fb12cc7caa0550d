// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Map, json};

use super::fix;
use crate::finding::{Finding, Fix, Severity, Step};
use crate::machine::fake::Fake;
use crate::machine::{Ethtool, Feature};

fn with(fix: Fix) -> Finding {
    Finding::new(Severity::Warning).fix(Some(fix))
}

#[test]
fn steps_run_in_order_and_are_reported() {
    let mut port = Ethtool::default();
    port.features.insert("rx-gro".into(), Feature::default());
    let fake = Fake::new().file("/proc/sys/x", "0").port("lan1", port);
    let finding = with(Fix::Steps(vec![
        Step::Write { path: "/proc/sys/x".into(), text: "1".into() },
        Step::Feature { device: "lan1".into(), feature: "rx-gro", on: true },
    ]));
    let answer = fix(&fake, "x", Some(&finding), &Map::new()).unwrap();
    assert_eq!(answer["done"], json!(true));
    assert_eq!(answer["said"], "writing 1 to /proc/sys/x\nturning rx-gro of lan1 on");
    let params = json!({"feature": "rx-gro", "device": "lan1"});
    assert_eq!(answer["steps"][1], json!({"code": "feature-on", "params": params}));
    assert_eq!(fake.done(), ["write /proc/sys/x 1", "feature lan1 rx-gro true"]);
}

#[test]
fn a_failed_step_is_reported_and_ends_the_fix() {
    let step = |path: &str| Step::Write { path: path.into(), text: "1".into() };
    let finding = with(Fix::Steps(vec![step("/proc/sys/none"), step("/proc/sys/x")]));
    let fake = Fake::new().file("/proc/sys/x", "0");
    let error = fix(&fake, "x", Some(&finding), &Map::new()).unwrap_err();
    assert_eq!(error.cause.text, "writing 1 to /proc/sys/none: /proc/sys/none is not there");
    assert_eq!(error.cause.codes(), "step write");
    assert_eq!(error.cause.params["said"], "/proc/sys/none is not there");
    assert!(fake.done().is_empty());
}

#[test]
fn a_change_is_applied_with_the_session_of_the_caller() {
    let fake = Fake::new().answers("fastpath.change apply", json!({"id": "7", "seconds": 30}));
    let finding = with(Fix::Change(vec![json!({"op": "set"})]));
    let request = json!({"id": "x", "seconds": 30, "ubus_rpc_session": "s", "other": 1});
    let answer = fix(&fake, "x", Some(&finding), request.as_object().unwrap()).unwrap();
    assert_eq!(answer["id"], "7");
    let done = fake.done();
    assert!(done[0].starts_with("call fastpath.change apply "), "{done:?}");
    for part in [r#""seconds":30"#, r#""ubus_rpc_session":"s""#, r#""note":"doctor: x""#] {
        assert!(done[0].contains(part), "{done:?}");
    }
    assert!(!done[0].contains("other"), "{done:?}");
}

#[test]
fn distinguishes_a_missing_finding_from_a_missing_fix() {
    let fake = Fake::new();
    assert_eq!(fix(&fake, "x", None, &Map::new()).unwrap_err().code, "nothing");
    let bare = Finding::new(Severity::Advice);
    assert_eq!(fix(&fake, "x", Some(&bare), &Map::new()).unwrap_err().code, "no-fix");
}
