// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use model::Engine;

use crate::fake::FakeNft;
use crate::fixture::inspection;
use crate::inspection::InspectionRules;
use crate::plan::{Candidate, Protection, plan as make};
use crate::settings::Settings;

fn plan(engine: Engine, devices: &[&str]) -> Plan {
    let candidate = |device: &&str| Candidate {
        device: (*device).to_owned(),
        eligible: true,
        why: config::Cause::default(),
    };
    let candidates: Vec<_> = devices.iter().map(candidate).collect();
    let settings = Settings { engine, ..Settings::default() };
    make(&candidates, &settings, &Protection::default())
}

fn partly(devices: &[&str]) -> Applied {
    Applied::Partly { devices: devices.iter().map(|d| (*d).to_owned()).collect() }
}

fn flowtable(devices: &[&str]) -> Plan {
    plan(Engine::Flowtable, devices)
}

#[tokio::test]
async fn applies_a_plan_only_once() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let plan = flowtable(&["lan1", "wan"]);
    assert_eq!(apply(&nft, &plan, None, &[]).await, Ok(Applied::Replaced));
    assert_eq!(nft.devices().unwrap(), ["lan1", "wan"]);
    assert_eq!(apply(&nft, &plan, Some(&plan), &[]).await, Ok(Applied::Unchanged));
    assert_eq!(nft.ran.borrow().len(), 1, "nothing was run for rules in force");
}

#[tokio::test]
async fn keeps_a_matching_table_after_a_restart() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let plan = flowtable(&["lan1", "wan"]);
    apply(&nft, &plan, None, &[]).await.unwrap();
    assert_eq!(apply(&nft, &plan, None, &[]).await, Ok(Applied::Unchanged));
}

#[tokio::test]
async fn changes_devices_without_a_new_table() {
    let nft = FakeNft::with(&["lan1", "lan2", "wan"]);
    let first = flowtable(&["lan1", "wan"]);
    apply(&nft, &first, None, &[]).await.unwrap();
    let second = flowtable(&["lan1", "lan2"]);
    assert_eq!(apply(&nft, &second, Some(&first), &[]).await, Ok(Applied::Devices));
    assert_eq!(nft.devices().unwrap(), ["lan1", "lan2"]);
    assert!(!nft.ran.borrow()[1].contains("table inet fastpath {"));
}

/// Returns a plan with a MAC address of the router behind each device except `wg0`.
fn guarded(devices: &[&str]) -> Plan {
    let mut plan = flowtable(devices);
    let own = devices.iter().filter(|name| **name != "wg0");
    let mac = |name: &&str| (name.to_string(), [format!("02:00:00:00:00:0{}", name.len())].into());
    plan.address(own.map(mac));
    plan
}

#[tokio::test]
async fn changes_ingress_chains_with_the_devices() {
    let nft = FakeNft::with(&["lan1", "lan2", "wan", "wg0"]);
    let hooked =
        |devices: &[&str]| vec![devices.iter().map(|d| (*d).to_owned()).collect::<Vec<_>>(); 2];
    let first = guarded(&["lan1", "wan", "wg0"]);
    apply(&nft, &first, None, &[]).await.unwrap();
    assert_eq!(nft.own().1, hooked(&["lan1", "wan"]));
    let second = guarded(&["lan1", "lan2", "wg0"]);
    assert_eq!(apply(&nft, &second, Some(&first), &[]).await, Ok(Applied::Devices));
    let own = ["lan1 02:00:00:00:00:04", "lan2 02:00:00:00:00:04"].map(str::to_owned).into();
    assert_eq!(nft.own(), (own, hooked(&["lan1", "lan2"])));
    let mut third = second.clone();
    third.own.insert("lan1".to_owned(), ["02:00:00:00:00:77".to_owned()].into());
    assert_eq!(apply(&nft, &third, Some(&second), &[]).await, Ok(Applied::Devices));
    let own = ["lan1 02:00:00:00:00:77", "lan2 02:00:00:00:00:04"].map(str::to_owned).into();
    assert_eq!(nft.own(), (own, hooked(&["lan1", "lan2"])));
    // The kernel removes a device from the flowtable and from both chains.
    nft.unplug("lan2");
    nft.machine.borrow_mut().insert("lan2".to_owned());
    assert_eq!(apply(&nft, &third, Some(&third), &[]).await, Ok(Applied::Devices));
    assert_eq!(nft.own().1, hooked(&["lan1", "lan2"]));
}

#[tokio::test]
async fn changed_rules_replace_the_table() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let first = flowtable(&["lan1", "wan"]);
    apply(&nft, &first, None, &[]).await.unwrap();
    for change in [
        Plan { mark_mask: 1, ..first.clone() },
        plan(Engine::FlowtableHw, &["lan1", "wan"]),
        Plan { excludes: vec![model::Exclude::default()], ..first.clone() },
    ] {
        assert_eq!(apply(&nft, &change, Some(&first), &[]).await, Ok(Applied::Replaced));
        apply(&nft, &first, None, &[]).await.unwrap();
    }
}

#[tokio::test]
async fn engine_off_removes_the_table() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let on = flowtable(&["lan1", "wan"]);
    let off = plan(Engine::Off, &["lan1", "wan"]);
    assert_eq!(apply(&nft, &off, None, &[]).await, Ok(Applied::Unchanged), "no table");
    apply(&nft, &on, None, &[]).await.unwrap();
    assert_eq!(apply(&nft, &off, Some(&on), &[]).await, Ok(Applied::Removed));
    assert_eq!(nft.devices(), None);
}

#[tokio::test]
async fn restores_a_flushed_table() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let plan = flowtable(&["lan1", "wan"]);
    apply(&nft, &plan, None, &[]).await.unwrap();
    assert!(read_back(&nft).await.unwrap().unwrap().matches(&plan));
    nft.flush();
    assert_eq!(read_back(&nft).await, Ok(None));
    assert_eq!(apply(&nft, &plan, Some(&plan), &[]).await, Ok(Applied::Replaced));
}

#[tokio::test]
async fn the_kernel_is_asked_for_flowtables_of_bridges() {
    let nft = FakeNft::with(&[]);
    assert_eq!(has_bridge_flowtable(&nft).await, Some(false));
    nft.has_bridge_flowtables.set(true);
    assert_eq!(has_bridge_flowtable(&nft).await, Some(true));
    nft.has_bridge_flowtables.set(false);
    nft.without_flowtables.set(true);
    assert_eq!(has_bridge_flowtable(&nft).await, None, "a missing module may be the reason");
    nft.broken.set(true);
    assert_eq!(has_bridge_flowtable(&nft).await, None);
    assert!(nft.ran.borrow().is_empty());
}

#[tokio::test]
async fn a_missing_device_is_left_out() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let plan = flowtable(&["lan1", "lan2", "wan"]);
    assert_eq!(apply(&nft, &plan, None, &[]).await, Ok(partly(&["lan1", "wan"])));
    assert_eq!(nft.devices().unwrap(), ["lan1", "wan"]);
    nft.machine.borrow_mut().insert("lan2".to_owned());
    assert_eq!(apply(&nft, &plan, Some(&plan), &[]).await, Ok(Applied::Devices));
    assert_eq!(nft.devices().unwrap(), ["lan1", "lan2", "wan"]);
}

#[tokio::test]
async fn a_device_that_comes_back_before_its_probe_is_not_left_out() {
    let nft = FakeNft::with(&["lan1"]);
    nft.comes_back.set(Some("gre1"));
    let plan = flowtable(&["gre1", "lan1"]);
    assert_eq!(apply(&nft, &plan, None, &[]).await, Ok(Applied::Replaced));
    assert_eq!(nft.devices().unwrap(), ["gre1", "lan1"]);
}

#[tokio::test]
async fn removes_no_device_that_the_kernel_has_removed() {
    let nft = FakeNft::with(&["lan1", "lan2", "wan"]);
    let before = flowtable(&["lan1", "lan2", "wan"]);
    apply(&nft, &before, None, &[]).await.unwrap();
    nft.unplug("lan2");
    let after = flowtable(&["lan1", "wan"]);
    assert_eq!(apply(&nft, &after, Some(&before), &[]).await, Ok(Applied::Unchanged));
    // The plan still contains the device, because its removal was not reported yet.
    assert_eq!(apply(&nft, &before, Some(&before), &[]).await, Ok(partly(&["lan1", "wan"])));
    assert_eq!(nft.devices().unwrap(), ["lan1", "wan"]);
}

#[tokio::test]
async fn removes_the_table_if_all_devices_are_missing() {
    let nft = FakeNft::with(&[]);
    let plan = flowtable(&["lan1", "wan"]);
    assert_eq!(apply(&nft, &plan, None, &[]).await, Ok(partly(&[])));
    assert_eq!(nft.devices(), None);
}

#[tokio::test]
async fn distinguishes_missing_flowtables_from_missing_devices() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    nft.without_flowtables.set(true);
    let error = apply(&nft, &flowtable(&["lan1", "wan"]), None, &[]).await.unwrap_err();
    assert_eq!(error.to_string(), "nft rejected the rules: Error: No such file or directory");
    assert!(nft.ran.borrow().is_empty());
}

#[tokio::test]
async fn refused_rules_keep_the_old_table() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let old = flowtable(&["lan1", "wan"]);
    apply(&nft, &old, None, &[]).await.unwrap();
    nft.refuse_runs.set(1);
    let new = Plan { mark_mask: 1, ..old.clone() };
    let error = apply(&nft, &new, Some(&old), &[]).await.unwrap_err();
    assert_eq!(error.to_string(), "nft rejected the rules: Error: Device or resource busy");
    assert!(read_back(&nft).await.unwrap().unwrap().matches(&old));
}

#[tokio::test]
async fn replaces_the_table_if_a_change_of_devices_is_refused() {
    let nft = FakeNft::with(&["lan1", "lan2", "wan"]);
    let old = flowtable(&["lan1", "wan"]);
    apply(&nft, &old, None, &[]).await.unwrap();
    nft.refuse_runs.set(1);
    let new = flowtable(&["lan1", "lan2", "wan"]);
    assert_eq!(apply(&nft, &new, Some(&old), &[]).await, Ok(Applied::Replaced));
}

#[tokio::test]
async fn a_table_that_differs_is_rolled_back() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let old = flowtable(&["lan1", "wan"]);
    apply(&nft, &old, None, &[]).await.unwrap();
    nft.lose_a_rule.set(1);
    let new = Plan { mark_mask: 1, ..old.clone() };
    let error = apply(&nft, &new, Some(&old), &[]).await.unwrap_err();
    assert!(
        matches!(&error, ApplyError::Mismatch(what) if what.contains("the rules of fastpath are"))
    );
    assert!(read_back(&nft).await.unwrap().unwrap().matches(&old));
    // Without a plan to restore, the table is removed.
    nft.flush();
    nft.lose_a_rule.set(1);
    assert!(apply(&nft, &new, None, &[]).await.is_err());
    assert_eq!(read_back(&nft).await, Ok(None));
}

#[tokio::test]
async fn keeps_a_table_that_cannot_be_listed() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let plan = inspecting(Engine::Flowtable, &["lan1", "wan"], Gate::Closed);
    nft.loses_listing.set(true);
    let error = apply(&nft, &plan, None, &[]).await.unwrap_err();
    assert!(matches!(error, ApplyError::ReadBack(NftError::Killed(_))), "{error}");
    assert!(read_back(&nft).await.unwrap().unwrap().matches(&plan));
}

#[tokio::test]
async fn reports_an_nft_that_cannot_be_run() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    nft.broken.set(true);
    let error = apply(&nft, &flowtable(&["lan1"]), None, &[]).await.unwrap_err();
    assert_eq!(error.to_string(), "reading back table inet fastpath: running nft: no such program");
    assert!(remove(&nft).await.is_err());
}

#[tokio::test]
async fn compares_flags_if_nft_prints_them() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    nft.prints_flags.set(true);
    let hardware = plan(Engine::FlowtableHw, &["lan1", "wan"]);
    assert_eq!(apply(&nft, &hardware, None, &[]).await, Ok(Applied::Replaced));
    let have = read_back(&nft).await.unwrap().unwrap();
    assert_eq!(have.hardware, Some(true));
    assert!(have.matches(&hardware) && !have.matches(&flowtable(&["lan1", "wan"])));
}

fn inspecting(engine: Engine, devices: &[&str], gate: Gate) -> Plan {
    let inspection = InspectionRules { gate, ..inspection() };
    let protection = Protection { inspection: Some(inspection), blocks: Some(3) };
    Plan { protection, ..plan(engine, devices) }
}

#[tokio::test]
async fn changes_the_gate_without_a_new_table() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let of = |gate| inspecting(Engine::Flowtable, &["lan1", "wan"], gate);
    apply(&nft, &of(Gate::Queue), None, &[]).await.unwrap();
    for gate in [Gate::Open, Gate::Closed, Gate::Queue] {
        assert_eq!(apply(&nft, &of(gate), None, &[]).await, Ok(Applied::Gate));
        assert_eq!(apply(&nft, &of(gate), None, &[]).await, Ok(Applied::Unchanged));
    }
    let mut other = of(Gate::Queue);
    let inspection = other.protection.inspection.as_mut().unwrap();
    inspection.queues.count = 4;
    inspection.fail_open = false;
    assert_eq!(
        apply(&nft, &other, None, &[]).await,
        Ok(Applied::Gate),
        "queues are part of the gate"
    );
    let ran = nft.ran.borrow();
    assert_eq!(ran.iter().filter(|script| script.contains("\ntable inet fastpath {")).count(), 1);
    assert_eq!(
        ran.last().unwrap(),
        "flush chain inet fastpath ips_queue\n\
         add rule inet fastpath ips_queue counter name \"inspected\" queue to 0-3 \
         comment \"!fastpath: to Suricata, queues 0-3 by hash, fail closed\"\n\
         flush chain inet fastpath ips_excess\n\
         add rule inet fastpath ips_excess counter name \"inspected\" queue to 4 \
         comment \"!fastpath: to Suricata, queue 4, fail closed\"\n\
         flush chain inet fastpath ips_names\n\
         add rule inet fastpath ips_names counter name \"inspected\" queue flags bypass to 0-3 \
         comment \"!fastpath: to Suricata, queues 0-3 by hash, fail open\"\n"
    );
}

#[tokio::test]
async fn changes_gate_and_devices_together() {
    let nft = FakeNft::with(&["lan1", "lan2", "wan"]);
    let before = inspecting(Engine::Flowtable, &["lan1", "wan"], Gate::Queue);
    apply(&nft, &before, None, &[]).await.unwrap();
    let after = inspecting(Engine::Flowtable, &["lan1", "lan2", "wan"], Gate::Open);
    assert_eq!(apply(&nft, &after, Some(&before), &[]).await, Ok(Applied::Devices));
    assert!(read_back(&nft).await.unwrap().unwrap().matches(&after));
    nft.refuse_runs.set(1);
    assert_eq!(apply(&nft, &before, Some(&after), &[]).await, Ok(Applied::Replaced));
    assert!(read_back(&nft).await.unwrap().unwrap().matches(&before));
}

#[tokio::test]
async fn inspection_needs_no_flowtable() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    nft.without_flowtables.set(true);
    let off = inspecting(Engine::Off, &["lan1", "wan"], Gate::Queue);
    assert_eq!(apply(&nft, &off, None, &[]).await, Ok(Applied::Replaced));
    assert_eq!(apply(&nft, &off, Some(&off), &[]).await, Ok(Applied::Unchanged));
    let none = inspecting(Engine::Flowtable, &[], Gate::Queue);
    assert_eq!(apply(&nft, &none, Some(&off), &[]).await, Ok(Applied::Unchanged));

    let wanted = inspecting(Engine::Flowtable, &["lan1", "wan"], Gate::Open);
    let why = "Error: No such file or directory".to_owned();
    let without = Ok(Applied::WithoutFlowtable { why });
    assert_eq!(apply(&nft, &wanted, Some(&off), &[]).await, without);
    let scripts = nft.ran.borrow().len();
    assert_eq!(apply(&nft, &wanted, Some(&off), &[]).await, without);
    assert_eq!(nft.ran.borrow().len(), scripts, "the same plan is not applied again");
    nft.without_flowtables.set(false);
    assert_eq!(apply(&nft, &wanted, Some(&off), &[]).await, Ok(Applied::Replaced));
    nft.machine.borrow_mut().clear();
    assert_eq!(renew(&nft, &wanted, &[]).await, Ok(partly(&[])));
    assert_eq!(read_back(&nft).await.unwrap().unwrap().rules["ips_queue"].len(), 1);
}

#[tokio::test]
async fn reports_missing_queue_support() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let old = flowtable(&["lan1", "wan"]);
    apply(&nft, &old, None, &[]).await.unwrap();
    nft.without_queues.set(true);
    let new = inspecting(Engine::Flowtable, &["lan1", "wan"], Gate::Queue);
    assert_eq!(
        apply(&nft, &new, Some(&old), &[]).await.unwrap_err().to_string(),
        "the kernel cannot queue packets for inspection (module nft_queue, package \
         kmod-nft-queue, is missing): Error: No such file or directory"
    );
    assert!(read_back(&nft).await.unwrap().unwrap().matches(&old));
    nft.without_flowtables.set(true);
    let open = inspecting(Engine::Flowtable, &["lan1", "wan"], Gate::Open);
    let applied = apply(&nft, &open, Some(&old), &[]).await;
    assert!(matches!(applied, Ok(Applied::WithoutFlowtable { .. })), "an open gate needs no queue");
}

fn block() -> BlockElement {
    BlockElement {
        source: config::Network::host([192, 0, 2, 1].into()),
        seconds: 600,
        left: 321,
        comment: "sid 8100001".to_owned(),
    }
}

#[tokio::test]
async fn a_rollback_keeps_blocks() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let plan = inspecting(Engine::Flowtable, &["lan1", "wan"], Gate::Queue);
    apply(&nft, &plan, None, &[block()]).await.unwrap();
    nft.lose_a_rule.set(1);
    let other = Plan { mark_mask: 0x3, ..plan.clone() };
    let error = apply(&nft, &other, Some(&plan), &[block()]).await.unwrap_err();
    assert!(matches!(error, ApplyError::Mismatch(_)), "{error:?}");
    let back = read_back(&nft).await.unwrap().unwrap();
    assert!(back.matches(&plan));
    assert_eq!(back.blocks, Some(vec![block()]));
}

/// A source may be blocked while the table has no sets for blocks.
#[tokio::test]
async fn a_new_table_contains_given_blocks() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let without = plan(Engine::Flowtable, &["lan1", "wan"]);
    let protection = Protection { inspection: None, blocks: Some(3) };
    let with = Plan { protection, ..without.clone() };
    let blocks = async |nft: &FakeNft| read_back(nft).await.unwrap().unwrap().blocks;
    apply(&nft, &without, None, &[block()]).await.unwrap();
    assert_eq!(blocks(&nft).await, None);
    apply(&nft, &with, Some(&without), &[block()]).await.unwrap();
    assert_eq!(blocks(&nft).await, Some(vec![block()]));
    let other = Plan { mark_mask: 0x3, ..with.clone() };
    apply(&nft, &other, Some(&with), &[]).await.unwrap();
    assert_eq!(blocks(&nft).await, Some(vec![block()]), "the kernel's blocks take precedence");
}

#[tokio::test]
async fn renew_replaces_a_matching_table() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let plan = inspecting(Engine::Flowtable, &["lan1", "wan"], Gate::Queue);
    let block = block();
    assert_eq!(renew(&nft, &plan, std::slice::from_ref(&block)).await, Ok(Applied::Replaced));
    assert_eq!(renew(&nft, &plan, &[]).await, Ok(Applied::Replaced));
    assert_eq!(read_back(&nft).await.unwrap().unwrap().blocks, Some(vec![block]));
    let off = self::plan(Engine::Off, &[]);
    assert_eq!(renew(&nft, &off, &[]).await, Ok(Applied::Removed));
    assert_eq!(renew(&nft, &off, &[]).await, Ok(Applied::Unchanged));
}

#[tokio::test]
async fn enabling_or_disabling_inspection_replaces_the_table() {
    let nft = FakeNft::with(&["lan1", "wan"]);
    let with = inspecting(Engine::Flowtable, &["lan1", "wan"], Gate::Queue);
    let without = flowtable(&["lan1", "wan"]);
    assert_eq!(apply(&nft, &with, None, &[]).await, Ok(Applied::Replaced));
    assert_eq!(apply(&nft, &without, Some(&with), &[]).await, Ok(Applied::Replaced));
    assert_eq!(apply(&nft, &with, Some(&without), &[]).await, Ok(Applied::Replaced));
    nft.lose_a_rule.set(1);
    let other = Plan { mark_mask: 0x3, ..with.clone() };
    let error = apply(&nft, &other, Some(&with), &[]).await.unwrap_err();
    assert!(matches!(error, ApplyError::Mismatch(_)));
    assert!(read_back(&nft).await.unwrap().unwrap().matches(&with));
}
