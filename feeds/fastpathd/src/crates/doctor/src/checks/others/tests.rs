// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use crate::facts::{Facts, flowtable, others, uci};
use crate::finding::{Finding, Fix, Severity};
use crate::machine::fake::Fake;
use crate::texts::tests::assert_texts;

const OURS: &str = "table inet fastpath {\n\tflowtable ft {\n\t\thook ingress priority filter\n\
                    \t\tdevices = { lan1, wan }\n\t\tcounter\n\t}\n}\n";

fn router(engine: &str, roaming: &Value) -> Fake {
    Fake::new()
        .answers("fastpath status", json!({"engine": {"wanted": engine, "active": engine}}))
        .answers("fastpath topology", json!({"links": [], "roaming": roaming}))
        .prints("nft list flowtables", OURS)
        .file(
            "/etc/config/fastpath",
            &format!("config fastpath 'main'\n\toption engine '{engine}'\n"),
        )
}

fn found(fake: &Fake) -> Vec<(&'static str, Finding)> {
    let facts = Facts {
        flowtable: flowtable::read(fake),
        others: others::read(fake),
        uci: uci::read(fake),
        ..Facts::default()
    };
    let run = |check: &super::Check| {
        let finding = (check.run)(&facts).unwrap_or_else(|why| panic!("{}: {why}", check.id))?;
        assert_texts(check.id, &finding);
        Some((check.id, finding))
    };
    super::CHECKS.iter().filter_map(run).collect()
}

fn only(fake: &Fake, id: &str) -> Finding {
    let mut found = found(fake);
    let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [id]);
    found.remove(0).1
}

fn host(moves: u64) -> Value {
    json!({
        "mac": "52:54:00:02:00:01",
        "addresses": ["10.10.10.10", "2001:db8:10::10"],
        "kind": "port", "moves": moves, "last_ms": 1, "from": "lan1", "to": "lan3",
    })
}

#[test]
fn reports_roaming_hosts_with_their_ports() {
    let finding = only(&router("flowtable", &json!([host(64), host(11), host(10)])), "hosts-roam");
    assert_eq!(finding.evidence.len(), 2);
    assert_eq!(finding.evidence[0].value, "64: lan1 → lan3");
    assert_eq!(finding.params["hosts"], "10.10.10.10, 10.10.10.10");
    let mut unknown = host(11);
    unknown["addresses"] = json!([]);
    let finding = only(&router("flowtable", &json!([unknown])), "hosts-roam");
    assert_eq!(finding.params["hosts"], "52:54:00:02:00:01", "without an address");
    assert_eq!(found(&router("flowtable", &json!([host(10)]))), [], "through the house and back");
    assert_eq!(found(&router("ebpf", &json!([host(64)]))), [], "it costs the others nothing");
    assert_eq!(found(&router("off", &json!([host(64)]))), []);
}

#[test]
fn reports_a_flowtable_of_another_program() {
    let with = |other: &str| {
        router("flowtable", &json!([])).prints("nft list flowtables", &format!("{OURS}{other}"))
    };
    let table = |name: &str, rest: &str| {
        format!(
            "table inet {name} {{\n\tflowtable f {{\n\t\thook ingress priority 9\n{rest}\t}}\n}}\n"
        )
    };
    let devices = "\t\tdevices = { lan1 }\n";
    let finding = only(&with(&table("t", devices)), "flowtable-foreign");
    assert_eq!((finding.severity, finding.case), (Severity::Warning, ""));
    assert_eq!(finding.params["table"], "inet t");
    assert_eq!(finding.evidence[0].value, "lan1");
    let hardware = format!("{devices}\t\tflags offload\n");
    assert_eq!(only(&with(&table("t", &hardware)), "flowtable-foreign").case, "hardware");
    assert_eq!(found(&with(&table("t", ""))), [], "no device, no flow");
    assert_eq!(found(&with(&table("fw4", devices))), [], "has a check of its own");
    let off = router("off", &json!([])).prints("nft list flowtables", &table("t", devices));
    assert_eq!(found(&off), [], "the owner chose the other one");
}

#[test]
fn reports_shared_bits_of_the_mark() {
    let pbr = |options: &str| {
        router("flowtable", &json!([]))
            .file("/etc/config/pbr", &format!("config pbr 'config'\n{options}"))
            .file("/etc/rc.d/S94pbr", "")
    };
    let ours = |mask: &str| format!("config fastpath 'main'\n\toption mark_mask '{mask}'\n");
    let on = "\toption enabled '1'\n";
    assert_eq!(found(&pbr(on)), [], "its default is other bits");
    let shared = pbr(on).file("/etc/config/fastpath", &ours("0x00f00000"));
    let finding = only(&shared, "marks-shared");
    assert_eq!(finding.params["program"], "pbr");
    let values: Vec<&str> = finding.evidence.iter().map(|seen| seen.value.as_str()).collect();
    assert_eq!(values, ["0x00ff0000", "0x00f00000"]);
    let shared = pbr(&format!("{on}\toption fw_mask 'ff000000'\n"));
    assert_eq!(only(&shared, "marks-shared").evidence[0].value, "0xff000000");
    let off = pbr("\toption enabled '0'\n").file("/etc/config/fastpath", &ours("0x00f00000"));
    assert_eq!(found(&off), []);
    let stopped = shared_mwan3().without("/etc/rc.d/S19mwan3");
    assert_eq!(found(&stopped), [], "it does not start");
    assert_eq!(only(&shared_mwan3(), "marks-shared").params["option"], "mmx_mask");
}

fn shared_mwan3() -> Fake {
    let text = "config globals 'globals'\n\toption mmx_mask '0x7F000000'\n";
    router("flowtable", &json!([])).file("/etc/config/mwan3", text).file("/etc/rc.d/S19mwan3", "")
}

#[test]
fn reports_sqm_that_hardware_bypasses() {
    let with = |engine: &str, on: &str| {
        let text =
            format!("config queue 'eth1'\n\toption enabled '{on}'\n\toption interface 'wan'\n");
        router(engine, &json!([])).file("/etc/config/sqm", &text).file("/etc/rc.d/S50sqm", "")
    };
    let finding = only(&with("flowtable-hw", "1"), "sqm-hardware");
    assert_eq!(finding.params["devices"], "wan");
    assert!(matches!(&finding.fix, Some(Fix::Change(_))));
    assert_eq!(found(&with("flowtable-hw", "0")), []);
    assert_eq!(found(&with("flowtable", "1")), [], "the flowtable respects the port's queue");
}

#[test]
fn an_unreadable_configuration_makes_the_check_unknown() {
    let broken = shared_mwan3().file("/etc/config/mwan3", "config 'globals\n");
    let facts =
        Facts { others: others::read(&broken), uci: uci::read(&broken), ..Facts::default() };
    assert!(super::marks(&facts).is_err());
}
