// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;

use super::*;
use crate::machine::Device;
use crate::plan::plan;

fn set(text: &str) -> CpuSet {
    text.parse().expect(text)
}

fn ports() -> impl Strategy<Value = (usize, usize, Option<u32>)> {
    (0_usize..20, 0_usize..20, prop::option::of(0_u32..5))
}

prop_compose! {
    /// Generates a machine: cores of one or two threads, one to four nodes, weak and strong cores,
    /// offline and isolated CPUs, and ports with any number of queues.
    fn machines()(
        cores in 1_u32..80,
        threads in 1_u32..3,
        nodes in 1_u32..5,
        weak in 0_u32..80,
        offline in prop::collection::btree_set(1_u32..160, 0..4),
        isolated in prop::collection::btree_set(1_u32..160, 0..4),
        ports in prop::collection::vec(ports(), 0..5),
    ) -> Machine {
        let cpu = |cpu: u32| {
            let core = cpu % cores;
            Cpu {
                cpu,
                online: !offline.contains(&cpu),
                isolated: isolated.contains(&cpu),
                capacity: if core < weak { 400 } else { 1024 },
                core,
                node: Some(core * nodes / cores),
            }
        };
        let port = |(index, (rx, tx, node)): (usize, (usize, usize, Option<u32>))| Device {
            name: format!("eth{index}"),
            hardware: format!("pci{index}"),
            node,
            rx: vec![Some(CpuSet::new()); rx],
            tx: vec![(tx > 1).then(CpuSet::new); tx],
            ..Device::default()
        };
        Machine {
            cpus: (0..cores * threads).map(cpu).collect(),
            devices: ports.into_iter().enumerate().map(port).collect(),
        }
    }
}

fn profiles() -> impl Strategy<Value = Profile> {
    prop_oneof![Just(Profile::Auto), Just(Profile::Forward), Just(Profile::Inspect)]
}

proptest! {
    #[test]
    fn no_cpu_has_two_roles(machine in machines(), profile in profiles()) {
        let settings = Settings { profile, ..Settings::default() };
        let Split { forwarding, inspection, control, shared } = split(&machine, &settings, true);
        prop_assert!(!forwarding.is_empty() && !inspection.is_empty());
        prop_assert_eq!(shared, machine.usable().len() < 2);
        let all = forwarding.union(&inspection).union(&control);
        if shared {
            return Ok(());
        }
        prop_assert!(forwarding.intersection(&inspection).is_empty());
        prop_assert!(control.intersection(&forwarding.union(&inspection)).is_empty());
        prop_assert_eq!(all, machine.usable(), "each usable CPU, and no isolated one");
    }

    #[test]
    fn siblings_have_the_same_role(machine in machines(), profile in profiles()) {
        let settings = Settings { profile, ..Settings::default() };
        let split = split(&machine, &settings, true);
        let usable = machine.usable();
        let members = machine.cpus.iter().filter(|cpu| usable.contains(cpu.cpu));
        let cores: BTreeSet<u32> = members.map(|cpu| cpu.core).collect();
        for core in cores.iter().filter(|_| cores.len() > 1) {
            let of_core = machine.cpus.iter().filter(|cpu| cpu.core == *core);
            let of_core: CpuSet = of_core.map(|cpu| cpu.cpu).collect();
            let of_core = of_core.intersection(&usable);
            let sides = [&split.forwarding, &split.inspection, &split.control];
            let sides = sides.iter().filter(|side| !side.intersection(&of_core).is_empty()).count();
            prop_assert_eq!(sides, 1, "core {}", of_core);
        }
    }

    #[test]
    fn every_receive_queue_has_a_forwarding_cpu(machine in machines(), profile in profiles()) {
        let settings = Settings { profile, ..Settings::default() };
        let plan = plan(&machine, &settings, true).expect("nothing is named");
        prop_assert_eq!(plan.active, machine.usable().len() > 1);
        prop_assert_eq!(usize::from(plan.suricata.queues), plan.suricata.workers.len());
        prop_assert!(plan.suricata.workers.is_sorted());
        for (knob, wanted) in &plan.wants {
            match knob {
                crate::Knob::Xps { .. } => prop_assert!(!wanted.is_empty()),
                _ => prop_assert!(wanted.difference(&plan.split.forwarding).is_empty(), "{}", knob),
            }
        }
        // On a port with several transmit queues, each CPU must have one.
        for device in machine.devices.iter().filter(|device| device.tx.len() > 1 && plan.active) {
            let maps = (0..).take(device.tx.len()).map(|queue| &plan.wants[&device.xps(queue)]);
            let all = maps.fold(CpuSet::new(), |all, map| all.union(map));
            prop_assert_eq!(all, machine.online());
        }
    }

    #[test]
    fn configured_lists_are_used_unchanged(
        machine in machines(),
        profile in profiles(),
        roles in prop::collection::vec(0_u32..8, 160),
        listed: [bool; 3],
        inspection: bool,
    ) {
        let list = |role: u32| {
            let usable = machine.usable();
            let list: CpuSet = usable.iter().filter(|cpu| roles[*cpu as usize] == role).collect();
            (listed[role as usize] && !list.is_empty()).then_some(list)
        };
        let settings = Settings {
            enabled: true,
            forwarding: list(0),
            inspection: list(1),
            control: list(2),
            profile,
            ..Settings::default()
        };
        prop_assume!(machine.usable().len() > 1);
        prop_assume!(settings.check(&machine, inspection).is_empty());
        let split = split(&machine, &settings, inspection);
        if let Some(forwarding) = settings.forwarding {
            prop_assert_eq!(split.forwarding, forwarding);
        }
        if let Some(control) = settings.control {
            prop_assert!(split.control.difference(&control).is_empty(), "{}", split.control);
        }
        match settings.inspection {
            Some(list) if inspection => prop_assert_eq!(split.inspection, list),
            _ => prop_assert_eq!(split.inspection.is_empty(), !inspection),
        }
    }

    #[test]
    fn all_cpus_forward_without_inspection(machine in machines(), profile in profiles()) {
        let settings = Settings { profile, ..Settings::default() };
        let split = split(&machine, &settings, false);
        prop_assert!(split.inspection.is_empty() && split.control.is_empty());
        if machine.usable().len() > 1 {
            prop_assert_eq!(split.forwarding, machine.usable());
        }
    }
}

#[test]
fn nodes_of_one_core_each_are_divided_together() {
    let cpu = |cpu: u32| Cpu {
        cpu,
        online: true,
        isolated: false,
        capacity: 1024,
        core: cpu,
        node: Some(cpu),
    };
    let port = |node| Device { node: Some(node), ..Device::default() };
    let machine = Machine { cpus: vec![cpu(0), cpu(1)], devices: vec![port(0), port(1)] };
    let split = split(&machine, &Settings::default(), true);
    assert_eq!((split.forwarding, split.inspection), (set("0"), set("1")));
}
