// SPDX-License-Identifier: GPL-2.0-or-later
//! Assigns CPUs to forwarding, inspection and control.
//!
//! * One CPU does everything; nothing is pinned.
//! * **Forwarding and inspection never share a CPU** if there are two. A packet that waits for a
//!   softirq behind a pattern matcher waits for milliseconds, and a worker that every packet
//!   interrupts loses its caches. Hyperthread siblings share a core's caches and units, so they
//!   have the same role, except on a machine with a single core.
//! * Shares: `auto` gives half of the cores to each side, the odd one to inspection, which costs
//!   several times more per packet; `forward` gives three quarters to forwarding, `inspect` three
//!   quarters to inspection. Each side gets at least one.
//! * **big.LITTLE: the strong cores inspect.** An established flow costs some 1,400 instructions
//!   per packet in the flowtable, much of it waiting for memory. Inspection decodes, reassembles
//!   and matches patterns, which suits a big core, and two workers cannot inspect one connection.
//!   `auto` therefore divides between weak and strong cores, but gives each side at least a
//!   quarter. Weak is below three quarters of the strongest: an A55 next to an A76 (RK3588) and an
//!   A53 next to an A72 (RK3399) have half or less, while cores of one kind differ by a few
//!   percent.
//! * **Low CPU numbers forward**, because interrupts that cannot be moved arrive on CPU 0.
//! * NUMA: each node with a network device is divided separately, so that packets can be forwarded
//!   where their device writes them; nodes without a device inspect. All cores are divided together
//!   if no device reports a node, or if a node with a device has a single core.
//! * From six cores on, one is reserved for control: Suricata's flow manager and similar threads
//!   would stop a worker for milliseconds again and again. It is the last weak core, if possible on
//!   a node without a network device. With fewer cores, management threads share the inspection
//!   CPUs.
//! * Isolated CPUs are reserved for other work and never used unless named.
//! * Without inspection all usable CPUs forward.

use std::collections::{BTreeMap, BTreeSet};

use crate::machine::{Cpu, Machine};
use crate::set::CpuSet;
use crate::settings::{Profile, Settings};

/// Number of cores from which on one is reserved for control.
const CORES_WITH_CONTROL: usize = 6;

/// CPUs of each role. The three sets do not overlap unless [`Split::shared`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    pub forwarding: CpuSet,
    /// Empty while inspection is not wanted.
    pub inspection: CpuSet,
    /// Empty if management shares the inspection CPUs.
    pub control: CpuSet,
    /// Only one CPU is usable, and it does everything.
    pub shared: bool,
}

/// A core, or a CPU on a machine with a single core.
#[derive(Debug, Clone)]
struct Unit {
    cpus: CpuSet,
    weak: bool,
    node: Option<u32>,
    /// Suricata cannot pin threads to it, see [`Settings::check`].
    beyond: bool,
}

/// Assigns the CPUs. The settings must have passed [`Settings::check`].
#[must_use]
pub(crate) fn split(machine: &Machine, settings: &Settings, inspection: bool) -> Split {
    let pool = settings.pool(machine);
    if pool.len() < 2 || machine.usable().is_empty() {
        let inspection = if inspection { pool.clone() } else { CpuSet::new() };
        return Split { forwarding: pool, inspection, control: CpuSet::new(), shared: true };
    }
    let control = settings.control.clone().unwrap_or_default();
    if !inspection {
        let rest = || at_least_one(machine.usable().difference(&control), &pool);
        let forwarding = settings.forwarding.clone().unwrap_or_else(rest);
        let control = control.difference(&forwarding);
        return Split { forwarding, inspection: CpuSet::new(), control, shared: false };
    }
    let taken = [&settings.forwarding, &settings.inspection]
        .into_iter()
        .flatten()
        .fold(control.clone(), |all, list| all.union(list));
    let rest = machine.usable().difference(&taken);
    match (&settings.forwarding, &settings.inspection) {
        (Some(forwarding), Some(inspection)) => Split {
            forwarding: forwarding.clone(),
            inspection: inspection.clone(),
            control: control.difference(inspection),
            shared: false,
        },
        (Some(forwarding), None) => inspect_with(forwarding.clone(), rest, &control),
        (None, Some(inspection)) => Split {
            forwarding: rest,
            inspection: inspection.clone(),
            control: control.difference(inspection),
            shared: false,
        },
        (None, None) if rest.len() == 1 => inspect_with(rest, CpuSet::new(), &control),
        (None, None) => planned(machine, settings.profile, &rest, control),
    }
}

fn at_least_one(wanted: CpuSet, otherwise: &CpuSet) -> CpuSet {
    if wanted.is_empty() { otherwise.clone() } else { wanted }
}

/// Assigns the rest to inspection, or the CPUs of control if there is no rest.
fn inspect_with(forwarding: CpuSet, rest: CpuSet, control: &CpuSet) -> Split {
    let inspection = if rest.is_empty() { control.difference(&forwarding) } else { rest };
    let control = control.difference(&inspection);
    Split { forwarding, inspection, control, shared: false }
}

/// Plans without lists, except perhaps for control; `rest` has at least two CPUs.
fn planned(machine: &Machine, profile: Profile, rest: &CpuSet, control: CpuSet) -> Split {
    let mut units = units(machine, rest);
    let ported = ported_nodes(machine, &units);
    let mut split = Split { control, ..Split::default() };
    if split.control.is_empty() && units.len() >= CORES_WITH_CONTROL {
        let aside = units.iter().enumerate().max_by_key(|(index, unit)| {
            (unit.weak, !unit.node.is_some_and(|node| ported.contains(&node)), *index)
        });
        if let Some((index, _)) = aside {
            split.control = units.remove(index).cpus;
        }
    }
    let (groups, others) = by_node(units, &ported);
    for group in groups {
        share(&mut split, group, profile);
    }
    for unit in others {
        split.inspection = split.inspection.union(&unit.cpus);
    }
    split
}

/// Returns the cores within `cpus`, by their lowest CPU; a single core is split into its CPUs.
fn units(machine: &Machine, cpus: &CpuSet) -> Vec<Unit> {
    let members: Vec<&Cpu> = machine.cpus.iter().filter(|cpu| cpus.contains(cpu.cpu)).collect();
    let one_core = members.iter().map(|cpu| cpu.core).collect::<BTreeSet<_>>().len() == 1;
    let strongest = members.iter().map(|cpu| cpu.capacity).max().unwrap_or_default();
    let online = machine.online().len();
    let mut units: BTreeMap<u32, Unit> = BTreeMap::new();
    for cpu in members {
        let key = if one_core { cpu.cpu } else { cpu.core };
        let weak = u64::from(cpu.capacity) * 4 < u64::from(strongest) * 3;
        let unit = units.entry(key).or_insert_with(|| Unit {
            cpus: CpuSet::new(),
            weak,
            node: cpu.node,
            beyond: false,
        });
        unit.cpus.insert(cpu.cpu);
        unit.beyond |= cpu.cpu as usize >= online;
    }
    units.into_values().collect()
}

/// Returns the nodes that have both a network device and a core.
fn ported_nodes(machine: &Machine, units: &[Unit]) -> BTreeSet<u32> {
    let with_core: BTreeSet<u32> = units.iter().filter_map(|unit| unit.node).collect();
    let with_device = machine.devices.iter().filter_map(|device| device.node);
    with_device.filter(|node| with_core.contains(node)).collect()
}

/// Returns groups that are divided separately, and cores that all inspect.
fn by_node(units: Vec<Unit>, ported: &BTreeSet<u32>) -> (Vec<Vec<Unit>>, Vec<Unit>) {
    let of = |node: u32| {
        units.iter().filter(|unit| unit.node == Some(node)).cloned().collect::<Vec<_>>()
    };
    let groups: Vec<Vec<Unit>> = ported.iter().map(|node| of(*node)).collect();
    if groups.is_empty() || groups.iter().any(|group| group.len() < 2) {
        return (vec![units], Vec::new());
    }
    let elsewhere = |unit: &Unit| !unit.node.is_some_and(|node| ported.contains(&node));
    let others = units.into_iter().filter(elsewhere).collect();
    (groups, others)
}

/// Divides a group of at least two.
fn share(split: &mut Split, mut group: Vec<Unit>, profile: Profile) {
    let all = group.len();
    let quarter = ((all + 2) / 4).max(1);
    let strong = group.iter().filter(|unit| !unit.weak).count();
    let inspecting = match profile {
        Profile::Forward => quarter,
        Profile::Inspect => all - quarter,
        Profile::Auto if strong < all => strong.clamp(quarter, all - quarter),
        Profile::Auto => all.div_ceil(2),
    };
    // The stable sort keeps low numbers first within each kind.
    group.sort_by_key(|unit| (!unit.beyond, !unit.weak));
    for (index, unit) in group.into_iter().enumerate() {
        let side =
            if index < all - inspecting { &mut split.forwarding } else { &mut split.inspection };
        *side = side.union(&unit.cpus);
    }
}

#[cfg(test)]
mod tests;
