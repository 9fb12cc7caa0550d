// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::CHECKS;
use crate::facts::ports::{Port, Ports};
use crate::facts::{Facts, Known, uci};
use crate::finding::{Finding, Fix, Step};
use crate::machine::fake::Fake;
use crate::machine::{Channels, Ethtool, Feature, Rings};
use crate::reason::DoctorReason;
use crate::texts::tests::all_found;

/// Parses the output of `ethtool -k` with the kernel's names.
fn recorded(text: &str) -> Ethtool {
    let lines = text.lines().filter_map(|line| line.trim().split_once(": "));
    let feature = |state: &str| Feature {
        on: state.starts_with("on"),
        wanted: state.starts_with("on") || state.ends_with("[requested on]"),
        fixed: state.ends_with("[fixed]"),
    };
    let features = lines.map(|(name, state)| (name.to_owned(), feature(state))).collect();
    Ethtool { features, ..Ethtool::default() }
}

/// Offloads of virtio-net under QEMU, Linux 6.12.
const VIRTIO: &str = "rx-checksum: on [fixed]
    tx-checksum-ip-generic: on
    tx-scatter-gather: on
    tx-tcp-segmentation: on
    tx-tcp6-segmentation: on
    tx-generic-segmentation: on
    rx-gro: on
    rx-lro: off [fixed]
    rx-hashing: off [fixed]
    hw-tc-offload: off [fixed]";
/// Default offloads of a `ConnectX` port (mlx5).
const CONNECTX: &str = "rx-checksum: on
    tx-checksum-ip-generic: on
    tx-scatter-gather: on
    tx-tcp-segmentation: on
    tx-tcp6-segmentation: on
    tx-generic-segmentation: on
    rx-gro: on
    rx-lro: off
    rx-hashing: on
    hw-tc-offload: off";

fn port(name: &str, driver: &str, of: Ethtool) -> Port {
    let (name, driver) = (name.to_owned(), driver.to_owned());
    Port { name, driver, ethtool: of.into(), missed: 0 }
}

fn facts(ports: Vec<Port>, network: &str, engine: &Value) -> Facts {
    let fake = Fake::new().file("/etc/config/network", network);
    let status = json!({"engine": engine, "paths": {"hardware": {"flows": 0}}});
    let mut facts = Facts { uci: uci::read(&fake), ..Facts::default() };
    facts.ports = Ports { all: ports.into(), cpus: 4 };
    facts.flowtable.status = status.into();
    facts.ppe.lost = Vec::new().into();
    facts
}

fn found(facts: &Facts) -> Vec<(&'static str, Finding)> {
    all_found(CHECKS, facts)
}

fn one(port: Port) -> (&'static str, Finding) {
    let mut found = found(&facts(vec![port], "", &json!({})));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn does_not_report_offloads_that_a_driver_lacks() {
    let ports = vec![port("lan1", "virtio_net", recorded(VIRTIO))];
    assert_eq!(found(&facts(ports, "", &json!({"wanted": "flowtable"}))), []);
}

#[test]
fn the_fix_enables_gro_in_uci() {
    let off = || recorded(&VIRTIO.replace("rx-gro: on", "rx-gro: off"));
    let ports = vec![port("lan1", "virtio_net", off()), port("lan2", "virtio_net", off())];
    let network = "config device 'p'\n\toption name 'lan2'\n";
    let (id, finding) = found(&facts(ports, network, &json!({}))).remove(0);
    assert_eq!((id, &finding.params["ports"]), ("gro-off", &json!("lan1, lan2")));
    assert_eq!(finding.evidence[0].source, "ethtool -k lan1 (virtio_net)");
    let Some(Fix::Change(edits)) = finding.fix else { panic!("no change") };
    assert_eq!((&edits[0]["op"], &edits[0]["values"]["name"]), (&json!("add"), &json!("lan1")));
    assert_eq!((&edits[1]["op"], &edits[1]["section"]), (&json!("set"), &json!("p")));
}

#[test]
fn the_fix_switches_offloads_without_an_option_until_the_next_boot() {
    for (id, on, off, to) in [
        ("segmentation-off", "tx-tcp-segmentation: on", "tx-tcp-segmentation: off", true),
        ("checksum-off", "tx-checksum-ip-generic: on", "tx-checksum-ip-generic: off", true),
        ("lro-on", "rx-lro: off [fixed]", "rx-lro: on", false),
        ("rx-hash-off", "rx-hashing: off [fixed]", "rx-hashing: off", true),
    ] {
        let (found, finding) = one(port("lan1", "virtio_net", recorded(&VIRTIO.replace(on, off))));
        assert_eq!(found, id);
        let Some(Fix::Steps(steps)) = finding.fix else { panic!("{id}: no steps") };
        assert!(matches!(&steps[..], [Step::Feature { on, .. }] if *on == to), "{steps:?}");
    }
}

#[test]
fn does_not_report_an_offload_that_depends_on_another_one() {
    let (on, waits) =
        ("tx-generic-segmentation: on", "tx-generic-segmentation: off [requested on]");
    let ports = vec![port("lan1", "virtio_net", recorded(&VIRTIO.replace(on, waits)))];
    assert_eq!(found(&facts(ports, "", &json!({}))), []);
}

#[test]
fn reports_a_small_ring_and_a_ring_with_losses() {
    let with = |rx, missed| {
        let rings = Some(Rings { rx, rx_max: 4096, tx: 256, tx_max: 4096 });
        Port { missed, ..port("eth0", "igc", Ethtool { rings, ..recorded(VIRTIO) }) }
    };
    assert_eq!(found(&facts(vec![with(256, 0)], "", &json!({}))), []);
    assert_eq!(one(with(256, 7)).1.evidence[1].value, "7");
    assert_eq!(one(with(64, 0)).0, "rings-small");
}

#[test]
fn reports_fewer_queues_than_cpus() {
    let with = |rx, rx_max| {
        let channels = Some(Channels { rx, rx_max, tx: rx, tx_max: rx_max });
        port("eth0", "ixgbe", Ethtool { channels, ..recorded(VIRTIO) })
    };
    assert_eq!(found(&facts(vec![with(4, 63), with(1, 1)], "", &json!({}))), []);
    let (id, finding) = one(with(1, 63));
    assert_eq!((id, &finding.params["most"]), ("queues-few", &json!(4)));
}

#[test]
fn reports_disabled_hardware_offload_of_a_connectx() {
    let (id, finding) = one(port("eth0", "mlx5_core", recorded(CONNECTX)));
    assert_eq!(id, "hw-tc-off");
    assert!(finding.gain.is_some() && finding.fix.is_some());
}

#[test]
fn names_ports_that_lack_hardware_offload() {
    let ports = || {
        let on = CONNECTX.replace("hw-tc-offload: off", "hw-tc-offload: on");
        vec![port("lan1", "virtio_net", recorded(VIRTIO)), port("eth0", "mlx5_core", recorded(&on))]
    };
    let why = "lan1: no hardware offload";
    let engine = json!({"wanted": "flowtable-hw", "active": "flowtable", "why": why});
    let (id, finding) = found(&facts(ports(), "", &engine)).remove(0);
    assert_eq!((id, &finding.params["ports"]), ("hardware-refused", &json!("lan1")));
    assert_eq!(finding.evidence[0].value, "off [fixed]");
    let devices = json!(["eth0", "lan1"]);
    let mut engine =
        json!({"wanted": "flowtable-hw", "active": "flowtable-hw", "devices": devices});
    let of = |engine: &Value, ports| {
        let (_, finding) = found(&facts(ports, "", engine)).remove(0);
        (finding.case, finding.params["able"].clone(), finding.params["present"].clone())
    };
    assert_eq!(of(&engine, ports()), ("some", json!(1), json!(2)));
    engine["devices"] = json!(["eth0"]);
    assert_eq!(found(&facts(ports(), "", &engine)), []);
    engine["hardware_unused"] = true.into();
    assert_eq!(of(&engine, ports()), ("unused", json!(1), json!(1)));
    engine["hardware_ports"] = json!({"able": ["eth0"], "present": 4});
    assert_eq!(of(&engine, ports()), ("unused", json!(1), json!(4)), "as the page has it");
    // Virtual ports do not count as ports of the box.
    engine["hardware_unused"] = false.into();
    engine["devices"] = json!(["eth0", "wg0"]);
    engine["hardware_ports"] = json!({"able": ["eth0"], "present": 1});
    assert_eq!(found(&facts(Vec::new(), "", &engine)), [], "a tunnel is no port");
    engine["hardware_ports"] = json!({"able": ["eth0"], "present": 2});
    engine["devices"] = json!(["eth0", "veth0"]);
    let (_, finding) = found(&facts(Vec::new(), "", &engine)).remove(0);
    assert_eq!((finding.case, &finding.params["ports"]), ("some", &json!("veth0")));
}

#[test]
fn reports_what_the_tables_of_the_chip_have() {
    let engine = json!({"wanted": "flowtable-hw", "active": "flowtable-hw",
        "hardware_unused": true});
    let mut facts = facts(Vec::new(), "", &engine);
    facts.ppe.engines = Ok(vec![("0".to_owned(), 12, 3)]);
    facts.ppe.wed = vec![("1".to_owned(), true)];
    let seen = |finding: &Finding| {
        let seen = finding.evidence.iter().map(|of| (of.what, of.of.clone(), of.value.clone()));
        seen.filter(|(what, ..)| *what != "in-hardware").collect::<Vec<_>>()
    };
    let ppe = ("ppe", "0".to_owned(), "12 / 3".to_owned());
    let wed = ("wed", "1".to_owned(), "1".to_owned());
    let (_, unused) = found(&facts).remove(0);
    assert_eq!(seen(&unused), [ppe.clone(), wed.clone()]);
    assert_eq!(unused.about(), [""; 0], "numbers of engines do not identify a finding");

    facts.flowtable.status = json!({"engine": {"wanted": "flowtable-hw"}}).into();
    facts.ppe.engines = Err(DoctorReason::NoTable.into());
    let (_, refused) = found(&facts).remove(0);
    let of = refused.evidence.iter().find(|of| of.what == "no-ppe").unwrap();
    let cause = json!({"kind": "refusal", "code": "no-table", "params": {}});
    assert_eq!(of.cause, Some(cause));

    facts.flowtable.status = json!({"engine": {}}).into();
    facts.ppe.engines = Ok(vec![("0".to_owned(), 12, 3)]);
    let flows = || (1..=7).map(|port| format!("tcp 10.0.0.1:{port} → 10.0.0.2:80"));
    facts.ppe.lost = flows().collect::<Vec<_>>().into();
    let (id, lost) = found(&facts).remove(0);
    assert_eq!((id, &lost.params["flows"]), ("hardware-unbound", &json!(7)));
    let mut expected: Vec<_> =
        flows().take(5).map(|flow| ("unbound-flow", String::new(), flow)).collect();
    expected.extend([ppe, wed]);
    assert_eq!(seen(&lost), expected);
    facts.ppe.lost = Known::new(Err("debugfs is not mounted"));
    let check = CHECKS.iter().find(|check| check.id == "hardware-unbound").unwrap();
    assert_eq!((check.run)(&facts).unwrap_err().to_string(), "debugfs is not mounted");
}

#[test]
fn an_unreadable_port_makes_the_check_unknown() {
    let mut unreadable = port("lan1", "virtio_net", Ethtool::default());
    unreadable.ethtool = Known::new(Err("offloads of lan1: not permitted"));
    let facts = facts(vec![unreadable], "", &json!({}));
    assert!((CHECKS[0].run)(&facts).unwrap_err().to_string().contains("lan1"));
}
