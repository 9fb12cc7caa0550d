// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use crate::facts::{Facts, flowtable, others, uci};
use crate::finding::{Finding, Fix};
use crate::machine::fake::Fake;
use crate::texts::tests::assert_texts;

const QUEUE: &str = "config queue 'eth1'\n\toption enabled '1'\n\toption interface 'pppoe-wan'\n\
                     \toption download '48000'\n\toption upload '9600'\n\
                     \toption qdisc 'cake'\n\toption script 'piece_of_cake.qos'\n";

/// Returns a router with a PPPoE session in VLAN 35 of port wan.
fn router(engine: &str, queues: &str) -> Fake {
    let wan = json!([{"name": "wan", "device": "pppoe-wan", "port": "wan", "proto": "pppoe",
        "vlan": 35}, {"name": "lte", "device": "wwan0", "port": "wwan0", "proto": "dhcp",
        "vlan": 0}]);
    let engine = json!({"wanted": engine, "active": engine});
    Fake::new()
        .answers("fastpath status", json!({"engine": engine, "wan": wan}))
        .answers("fastpath topology", json!({"links": []}))
        .file("/etc/config/network", "config interface 'wan'\n\toption device 'eth1.35'\n")
        .file("/etc/config/fastpath", "config fastpath 'main'\n")
        .file("/etc/config/sqm", queues)
        .file("/etc/rc.d/S50sqm", "")
}

fn found(fake: &Fake) -> Option<Finding> {
    let facts = Facts {
        flowtable: flowtable::read(fake),
        others: others::read(fake),
        uci: uci::read(fake),
        ..Facts::default()
    };
    let finding = super::downloads(&facts).expect("it is known");
    if let Some(finding) = &finding {
        assert_texts("sqm-downloads", finding);
    }
    finding
}

fn edits(fake: &Fake) -> Vec<Value> {
    match found(fake).expect("a finding").fix {
        Some(Fix::Change(edits)) => edits,
        other => panic!("no change: {other:?}"),
    }
}

/// Returns the values of section `latency` for a queue with these options.
fn latency_values(device: &str, options: &str) -> Value {
    let queue = QUEUE.replace("pppoe-wan", device) + options;
    edits(&router("flowtable", &queue)).remove(0)["values"].take()
}

/// Returns the options that section `latency` cannot express.
fn inexpressible(queue: &str) -> String {
    let finding = found(&router("flowtable", queue)).expect("a finding");
    assert_eq!((finding.case, &finding.fix), ("by-hand", &None));
    finding.params["options"].as_str().expect("a text").to_owned()
}

#[test]
fn the_fix_moves_the_rates_and_disables_the_queue() {
    let edits = edits(&router("flowtable", QUEUE));
    let latency = json!({
        "op": "add", "config": "fastpath", "type": "latency", "section": "latency",
        "values": {"enabled": "1", "interface": "wan", "download": "48000", "upload": "9600"},
    });
    let sqm = json!({"op": "set", "config": "sqm", "section": "eth1", "values": {"enabled": "0"}});
    assert_eq!(edits, [latency, sqm]);
}

#[test]
fn the_fix_sets_the_rates_in_an_existing_section() {
    let ours = "config fastpath 'main'\n\nconfig latency 'line'\n\toption overhead '20'\n";
    let edits = edits(&router("ebpf", QUEUE).file("/etc/config/fastpath", ours));
    let values = json!({"enabled": "1", "download": "48000", "upload": "9600",
        "interface": "wan", "overhead": null});
    let expected = json!({"op": "set", "config": "fastpath", "section": "line", "values": values});
    assert_eq!(edits[0], expected);
}

#[test]
fn the_fix_names_the_interface() {
    assert_eq!(latency_values("wwan0", "")["interface"], "lte");
    for device in ["pppoe-wan", "wan", "wan.35", "eth1.35"] {
        assert_eq!(latency_values(device, "")["interface"], "wan", "{device}");
    }
}

#[test]
fn the_fix_converts_the_overhead() {
    let of = |device, more: &str| {
        let options = format!("\toption linklayer 'ethernet'\n{more}");
        latency_values(device, &options)["overhead"].as_str().map(str::to_owned)
    };
    let overhead = "\toption overhead '34'\n";
    assert_eq!(of("pppoe-wan", overhead).as_deref(), Some("34"));
    // Packets of the port already include the PPPoE header.
    assert_eq!(of("wan", overhead).as_deref(), Some("42"));
    assert_eq!(of("wwan0", overhead).as_deref(), Some("34"));
    let mpu = "\toption tcMPU '64'\n";
    assert_eq!(of("pppoe-wan", &format!("{overhead}{mpu}")), None, "ours has a shortest frame");
    assert_eq!(of("wan", &format!("{overhead}{mpu}")).as_deref(), Some("42"));
    assert_eq!(
        latency_values("wan", "\toption linklayer 'none'\n\toption overhead '99'\n")["overhead"],
        Value::Null
    );
}

#[test]
fn accepts_options_that_section_latency_can_express() {
    let options = "\toption iqdisc_opts 'nat dual-dsthost ingress'\n\
                   \toption eqdisc_opts 'nat dual-srchost'\n";
    assert_eq!(latency_values("pppoe-wan", options)["download"], "48000");
}

#[test]
fn names_options_that_section_latency_cannot_express() {
    for (option, value) in [
        ("script", "layer_cake.qos"),
        ("download", "0"),
        ("upload", "0"),
        ("eqdisc_opts", "nat dual-srchost ack-filter"),
        ("iqdisc_opts", "dual-srchost"),
        ("linklayer", "atm"),
    ] {
        let kept = |line: &&str| !line.contains(&format!("option {option} "));
        let queue: Vec<&str> = QUEUE.lines().filter(kept).collect();
        let queue = format!("{}\n\toption {option} '{value}'\n", queue.join("\n"));
        assert_eq!(inexpressible(&queue), format!("{option} '{value}'"));
    }
    let ethernet = format!("{QUEUE}\toption linklayer 'ethernet'\n");
    for (option, value) in [
        ("overhead", "249"),
        ("overhead", "-4"),
        ("tcMPU", "85"),
        ("linklayer_adaptation_mechanism", "tc_stab"),
    ] {
        let queue = format!("{ethernet}\toption {option} '{value}'\n");
        assert_eq!(inexpressible(&queue), format!("{option} '{value}'"));
    }
    let twice = format!("{QUEUE}\n{}", QUEUE.replace("eth1", "two").replace("pppoe-wan", "wan"));
    let finding = found(&router("flowtable", &twice)).expect("a finding");
    assert_eq!((finding.case, &finding.fix), ("several", &None));
    assert_eq!(finding.params["devices"], "pppoe-wan, wan");
}

#[test]
fn a_wan_without_sqm_has_no_finding() {
    let off = QUEUE.replace("enabled '1'", "enabled '0'");
    let lan = QUEUE.replace("pppoe-wan", "br-lan");
    for queue in [&*off, &*lan, ""] {
        assert_eq!(found(&router("flowtable", queue)), None, "{queue}");
    }
    assert_eq!(found(&router("off", QUEUE)), None, "the engine is off");
    // Check `sqm-hardware` reports SQM with hardware offload.
    assert_eq!(found(&router("flowtable-hw", QUEUE)), None);
    let stopped = router("flowtable", QUEUE).without("/etc/rc.d/S50sqm");
    assert_eq!(found(&stopped), None, "it does not start");
}
