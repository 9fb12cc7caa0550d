// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use crate::common::machine;
use cpu::{Attempts, Hook, Machine, Settings, Steering, View, differences, plan};
use serde_json::{Value, json};

const FOUR: &str = "cpus 0-3 node=0\nisolated 3\n\
    device eth0 rx=2 tx=2 irqs=txrx node=0 threads=1\ndevice eth1 rx=1 tx=1 irqs=one";

fn steering(hook: Hook) -> Steering {
    Steering { service: true, hook, uci: Some("1".into()) }
}

fn view(machine: &Machine, settings: &Settings, inspection: bool) -> Value {
    let plan = plan(machine, settings, inspection).unwrap();
    serde_json::to_value(View::new(&plan, machine, &steering(Hook::Ours), &[])).unwrap()
}

/// Checks types, enumerations, and required and unknown fields.
fn fits(value: &Value, schema: &Value, path: &str) {
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{path}: {value}");
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = value.as_object().expect(path);
            for (name, value) in fields {
                let other = &schema["additionalProperties"];
                let field = schema["properties"].get(name).unwrap_or(other);
                assert!(field.is_object(), "{path} may not have {name}");
                fits(value, field, &format!("{path}.{name}"));
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(fields.contains_key(name.as_str().unwrap()), "{path} has no {name}");
            }
        }
        Some("array") => {
            for entry in value.as_array().expect(path) {
                fits(entry, &schema["items"], &format!("{path}[]"));
            }
        }
        Some("string") => assert!(value.is_string(), "{path}: {value}"),
        Some("integer") => assert!(value.is_u64(), "{path}: {value}"),
        Some("boolean") => assert!(value.is_boolean(), "{path}: {value}"),
        _ => assert!(schema["enum"].is_array(), "{path}: a schema without a type"),
    }
}

#[test]
fn every_reply_fits_the_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../../../schema/cpu.json")).unwrap();
    let reply = &schema["properties"]["reply"];
    let disabled = Settings { enabled: false, ..Settings::default() };
    for text in [FOUR, "cpus 0\ndevice eth0 rx=1 tx=1 irqs=one", "cpus 0-7"] {
        let machine = machine(text);
        for settings in [&Settings::default(), &disabled] {
            for inspection in [true, false] {
                fits(&view(&machine, settings, inspection), reply, "reply");
            }
        }
    }
}

#[test]
fn reports_roles_queues_and_settings() {
    let view = view(&machine(FOUR), &Settings::default(), true);
    let roles: Vec<&str> =
        view["cpus"].as_array().unwrap().iter().map(|cpu| cpu["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["forwarding", "inspection", "inspection", "unused"]);
    assert_eq!(view["queues"], json!([{ "queue": 0, "cpu": 1 }, { "queue": 1, "cpu": 2 }]));
    let suricata = json!({ "pinned": true, "management": "1-2", "workers": "1-2" });
    assert_eq!(view["suricata"], suricata);
    let irqs = &view["devices"][0]["irqs"];
    assert_eq!(irqs[0], json!({ "irq": 24, "name": "eth0", "have": "0-3" }));
    let first =
        json!({ "irq": 25, "name": "eth0-TxRx-0", "queue": 0, "wanted": "0", "have": "0-3" });
    assert_eq!(irqs[1], first);
    assert_eq!(view["steering"]["taken_over"], true);
}

#[test]
fn reports_a_refusal_with_the_difference() {
    let machine = machine("cpus 0-1\ndevice eth0 rx=1 tx=1 irqs=one");
    let plan = plan(&machine, &Settings::default(), true).unwrap();
    let differences = differences(&plan, &machine);
    let mut attempts = Attempts::default();
    for second in [0, 2] {
        assert_eq!(attempts.due(&differences, Duration::from_secs(second)).len(), 1);
    }
    let refused = attempts.refused("sh: write error: I/O error\n/proc/irq/24/smp_affinity 1\n");
    let view = View::new(&plan, &machine, &steering(Hook::Ours), &refused);
    let difference = &serde_json::to_value(view).unwrap()["differences"][0];
    assert_eq!(difference["where"], "/proc/irq/24/smp_affinity");
    assert_eq!(
        (difference["wanted"].as_str(), difference["have"].as_str()),
        (Some("0"), Some("0-1"))
    );
    let text = difference["text"].as_str().unwrap();
    assert!(
        text.starts_with("interrupt 24 (eth0) may arrive on CPU 0-1, planned is CPU 0; rejected")
    );
    assert!(text.contains("rejected by the kernel: I/O error;"), "{text}");
    let cause = &difference["cause"];
    assert_eq!(
        (&cause["code"], &cause["params"]["inner"]),
        (&"irq-fixed".into(), &"rejected irq".into())
    );
}

#[test]
fn a_foreign_hook_does_not_suspend_packet_steering() {
    let machine = machine("cpus 0-1");
    let plan = plan(&machine, &Settings::default(), true).unwrap();
    for (hook, word, code) in [
        (Hook::Absent, "asks no hook", "no-hook"),
        (Hook::Foreign, "the target's own", "foreign-hook"),
    ] {
        let view = serde_json::to_value(View::new(&plan, &machine, &steering(hook), &[])).unwrap();
        assert_eq!(view["steering"]["taken_over"], false);
        assert!(view["steering"]["text"].as_str().unwrap().contains(word));
        assert_eq!(view["steering"]["cause"]["code"], code);
    }
}
