// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests applying a plan and restoring the earlier values, on a machine that accepts every line.

use std::fs;

use crate::common::{machine, set};
use cpu::{
    CpuPlan, CpuSet, Damaged, Difference, Found, Hook, Knob, Machine, Settings, Steering,
    differences, lines, plan,
};

const PORTS: &str = "cpus 0-3\ndevice eth0 rx=2 tx=2 irqs=txrx\n\
    device eth1 rx=1 tx=1 irqs=one threads=1";

fn write(machine: &mut Machine, lines: &str) {
    for line in lines.lines() {
        let (path, mask) = line.split_once(' ').expect(line);
        let cpus = CpuSet::from_mask(mask).expect(line);
        let knobs = machine.knobs();
        let knob = knobs.keys().find(|knob| knob.path() == path).expect(path).clone();
        set_knob(machine, &knob, &cpus);
    }
}

fn set_knob(machine: &mut Machine, knob: &Knob, cpus: &CpuSet) {
    for device in &mut machine.devices {
        let irqs = device.irqs.iter_mut().map(|irq| (irq.knob(), &mut irq.affinity));
        let threads = device.threads.iter_mut().map(|task| (task.knob(), &mut task.affinity));
        for (_, have) in irqs.chain(threads).filter(|(of, _)| of == knob) {
            *have = cpus.clone();
        }
        match knob {
            Knob::Rps { device: name, queue } if *name == device.name => {
                device.rx[*queue as usize] = Some(cpus.clone());
            }
            Knob::Xps { device: name, queue } if *name == device.name => {
                device.tx[*queue as usize] = Some(cpus.clone());
            }
            _ => {}
        }
    }
}

fn planned(machine: &Machine, enabled: bool, inspection: bool) -> CpuPlan {
    plan(machine, &Settings { enabled, ..Settings::default() }, inspection).unwrap()
}

fn machine_with_foreign_rps() -> Machine {
    let mut machine = machine(PORTS);
    for device in &mut machine.devices {
        device.rx.fill(Some(set("2")));
    }
    machine
}

#[test]
fn applies_the_plan_and_restores_earlier_values() {
    let before = machine_with_foreign_rps();
    let mut now = before.clone();
    let wanted = planned(&now, true, true);
    let mut found = Found::default();
    assert!(found.remember(&wanted, &now));
    let changes = lines(&differences(&wanted, &now));
    write(&mut now, &changes);
    assert_eq!(differences(&wanted, &now), []);
    assert_ne!(now, before);
    // A restarted daemon reads the values that the first one recorded.
    let written = serde_json::to_vec(&found).unwrap();
    let mut found = Found::read(&written).unwrap();
    assert!(!found.remember(&wanted, &now), "our own plan is not recorded as found");
    assert_eq!(found.due(&wanted, &now), []);

    let off = planned(&now, false, true);
    assert_eq!(differences(&off, &now), []);
    let back = lines(&found.due(&off, &now));
    write(&mut now, &back);
    assert_eq!(now, before);
    assert_eq!(found.due(&off, &now), []);
    found.settle(&off);
    assert!(found.is_empty());
}

#[test]
fn writes_only_values_that_differ() {
    let mut now = machine_with_foreign_rps();
    let wanted = planned(&now, true, true);
    let changes = lines(&differences(&wanted, &now));
    write(&mut now, &changes);
    now.devices[0].rx[1] = Some(set("3"));
    let lines = lines(&differences(&wanted, &now));
    assert_eq!(lines, "/sys/class/net/eth0/queues/rx-1/rps_cpus 0\n");
}

#[test]
fn records_a_port_that_appears_later() {
    let mut now = machine_with_foreign_rps();
    let eth1 = now.devices.pop().unwrap();
    let mut found = Found::default();
    assert!(found.remember(&planned(&now, true, true), &now));
    now.devices.push(eth1);
    let wanted = planned(&now, true, true);
    assert!(found.remember(&wanted, &now));
    assert!(!found.remember(&wanted, &now));
}

#[test]
fn does_not_restore_a_removed_or_renamed_knob() {
    let mut now = machine_with_foreign_rps();
    let wanted = planned(&now, true, true);
    let mut found = Found::default();
    found.remember(&wanted, &now);
    let changes = lines(&differences(&wanted, &now));
    write(&mut now, &changes);
    now.devices[0].irqs[1].name = "ahci[0000:00:17.0]".into();
    now.devices[1].threads[0].name = "kworker/3:1".into();
    now.devices[0].tx.pop();
    let due = found.due(&planned(&now, false, true), &now);
    let knob = |difference: &Difference| difference.knob.to_string();
    let names: Vec<String> = due.iter().map(knob).collect();
    assert!(names.iter().all(|name| !name.contains("ahci") && !name.contains("kworker")));
    assert!(names.contains(&"interrupt 26 (eth0-TxRx-1)".to_owned()), "{names:?}");
}

#[test]
fn the_plan_without_inspection_sets_the_same_knobs() {
    let now = machine_with_foreign_rps();
    let (with, without) = (planned(&now, true, true), planned(&now, true, false));
    assert!(with.active && without.active);
    assert_ne!(with.wants, without.wants);
    assert!(with.wants.keys().eq(without.wants.keys()));
}

#[test]
fn rejects_a_damaged_file() {
    for text in ["", "{}", "[]", r#"{"values":[{"knob":{"irq":{}},"cpus":"0"}]}"#] {
        assert_eq!(Found::read(text.as_bytes()), Err(Damaged), "{text}");
    }
}

#[test]
fn distinguishes_our_hook_from_others() {
    let root = std::env::temp_dir().join(format!("cpu-steering-{}", std::process::id()));
    let hook = root.join("usr/libexec/platform/packet-steering.sh");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::create_dir_all(root.join("etc/init.d")).unwrap();
    let read = || Steering::read(&root, Some("2"));
    assert!(!read().service && read().stays_away());
    assert!(read().reason(false).to_string().contains("is off"));
    fs::write(root.join("etc/init.d/packet_steering"), "").unwrap();
    assert_eq!((read().hook, read().stays_away()), (Hook::Absent, false));
    fs::write(&hook, include_str!("../../../../../files/packet-steering.sh")).unwrap();
    assert_eq!((read().hook, read().stays_away()), (Hook::Ours, true));
    fs::write(&hook, "#!/bin/sh\necho 0 > /sys/class/net/eth0/queues/rx-0/rps_cpus\n").unwrap();
    assert_eq!((read().hook, read().stays_away()), (Hook::Foreign, false));
    assert_eq!(read().uci.as_deref(), Some("2"));
    fs::remove_dir_all(&root).unwrap();
}
