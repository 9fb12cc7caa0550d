// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use serde_json::{Value, json};

use super::{Ppe, read};
use crate::facts::Known;
use crate::machine::fake::Fake;
use crate::ppe::tests::{MEDIATEK, flow};

const FOLDER: &str = "/sys/kernel/debug/ppe0";

fn table(fake: Fake, text: &str) -> Fake {
    fake.file(&format!("{FOLDER}/entries"), text).file(&format!("{FOLDER}/bind"), text)
}

/// Answers for a flow in hardware with so many bytes.
fn counted(fake: Fake, bytes: u64, hardware: &str) -> Fake {
    let mut row = flow();
    row["id"] = 7.into();
    row["up_bytes"] = bytes.into();
    row["down_bytes"] = 0.into();
    let names: Vec<&String> = row.as_object().unwrap().keys().collect();
    let cells: Vec<&Value> = row.as_object().unwrap().values().collect();
    let page = json!({"cols": names, "rows": [cells]});
    fake.answers("fastpath flows", page)
        .answers("fastpath flow", json!({"flow": row, "hardware": hardware}))
}

fn gather(fake: &Fake, active: &str) -> Ppe {
    let status = json!({"engine": {"wanted": "flowtable-hw", "active": active}});
    read(fake, &Known::from(status), Duration::from_secs(1))
}

fn lost(fake: &Fake) -> Vec<String> {
    gather(fake, "flowtable-hw").lost.get().unwrap().clone()
}

#[test]
fn counts_the_entries_of_each_engine_and_the_wifi_devices() {
    let fake = table(Fake::new(), MEDIATEK)
        .file("/sys/kernel/debug/ppe1/entries", "")
        .file("/sys/kernel/debug/wed0/txinfo", "======== WED TX:\nWED_TX_MIB(0)  00000000\n")
        .file("/sys/kernel/debug/wed1/txinfo", "");
    let ppe = gather(&fake, "flowtable");
    assert_eq!(ppe.engines.unwrap(), [("0".to_owned(), 3, 2), ("1".to_owned(), 0, 0)]);
    assert_eq!(ppe.wed, [("0".to_owned(), true), ("1".to_owned(), false)]);
    assert_eq!(ppe.lost, Vec::new().into(), "no flow is in hardware");
}

#[test]
fn reads_no_table_without_hardware_offload() {
    let status = json!({"engine": {"wanted": "flowtable", "active": "flowtable"}});
    let ppe = read(&table(Fake::new(), MEDIATEK), &status.into(), Duration::from_secs(1));
    assert_eq!(ppe.engines, Ok(Vec::new()));
    assert_eq!(ppe.lost, Vec::new().into());
}

#[test]
fn a_missing_table_has_a_reason() {
    let ppe = gather(&Fake::new(), "flowtable-hw");
    assert_eq!(ppe.engines.unwrap_err().code, "no-debugfs");
    assert_eq!(ppe.lost.get().unwrap_err().to_string(), "debugfs is not mounted");
}

#[test]
fn reports_an_active_flow_that_no_table_holds_in_three_readings() {
    let grows = || {
        let later = |bytes| counted(Fake::new(), bytes, "both");
        counted(table(Fake::new(), ""), 100, "both").later(later(200)).later(later(300))
    };
    let fake = grows();
    assert_eq!(lost(&fake), ["tcp 192.168.1.20:50000 → 198.51.100.7:443"]);
    let pauses = fake.done().iter().filter(|line| *line == "pause 5000 ms").count();
    assert_eq!(pauses, 2);
    let status = json!({"engine": {"wanted": "flowtable-hw", "active": "flowtable-hw"}});
    let once = read(&grows(), &status.into(), Duration::ZERO);
    assert!(once.lost.get().is_err(), "not read again");
}

#[test]
fn does_not_report_a_flow_that_a_later_reading_explains() {
    let first = || counted(table(Fake::new(), ""), 100, "both");
    let grown = |bytes| counted(Fake::new(), bytes, "both");
    let held = || table(Fake::new(), MEDIATEK);
    for (why, fake) in [
        ("bound meanwhile", first().later(counted(held(), 200, "both"))),
        ("bound later", first().later(grown(200)).later(counted(held(), 300, "both"))),
        ("idle", first()),
        ("late bytes of an idle flow", first().later(grown(200))),
        ("the CPU receives packets", first().later(counted(Fake::new(), 200, "up"))),
        ("ended", first().later(Fake::new().answers("fastpath flow", Value::Null))),
    ] {
        assert_eq!(lost(&fake), [""; 0], "{why}");
    }
    let fake = counted(held(), 100, "both");
    assert_eq!(lost(&fake), [""; 0]);
    assert!(!fake.done().iter().any(|line| line.starts_with("pause")), "{:?}", fake.done());
}
