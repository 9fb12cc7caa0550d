// SPDX-License-Identifier: GPL-2.0-or-later
//! Assigns CPUs to forwarding, inspection and control.
//!
//! * A single CPU does everything; nothing is pinned.
//! * **Forwarding and inspection never share a CPU.** A softirq delayed by pattern matching adds
//!   milliseconds of latency, and an interrupted worker loses its caches. Hyperthread siblings
//!   share caches and units, so they get the same role, except on a machine with a single core.
//! * Shares: `auto` gives half of the cores to each side and an odd core to inspection, which costs
//!   several times more per packet. `forward` gives three quarters to forwarding, `inspect` three
//!   quarters to inspection.
//! * **big.LITTLE: the strong cores inspect.** The flowtable needs some 1,400 instructions per
//!   packet and mostly waits for memory; inspection is compute-bound, and only one worker can
//!   inspect a connection. `auto` therefore divides by strength, but gives each side at least a
//!   quarter. A weak core has less than three quarters of the strongest core's capacity: an A55
//!   next to an A76 (RK3588) or an A53 next to an A72 (RK3399) has at most half.
//! * **Low CPU numbers forward**, because interrupts that cannot be moved arrive on CPU 0.
//! * NUMA: each node with a network device is divided separately, and nodes without a device
//!   inspect. All cores are divided together if no device reports a node, or if a node with a
//!   device has a single core.
//! * With six or more cores, one is reserved for control, because Suricata's management threads
//!   would interrupt workers for milliseconds. The planner prefers a weak core on a node without a
//!   network device. With fewer cores, management threads share the inspection CPUs.
//! * Isolated CPUs are used only if the configuration names them.
//! * Without inspection, all usable CPUs forward.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};

use crate::machine::{Cpu, Machine};
use crate::set::CpuSet;
use crate::settings::{Profile, Settings};

const CORES_WITH_CONTROL: usize = 6;

/// CPUs of each role, disjoint unless [`Split::shared`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    pub forwarding: CpuSet,
    /// Empty without inspection.
    pub inspection: CpuSet,
    /// Empty if management threads share the inspection CPUs.
    pub control: CpuSet,
    pub shared: bool,
}

#[derive(Debug, Clone)]
struct Unit {
    cpus: CpuSet,
    weak: bool,
    node: Option<u32>,
    /// Suricata cannot pin threads to this core, see [`Settings::check`].
    unpinnable: bool,
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
    let named = [&settings.forwarding, &settings.inspection]
        .into_iter()
        .flatten()
        .fold(control.clone(), |all, list| all.union(list));
    let rest = machine.usable().difference(&named);
    match (&settings.forwarding, &settings.inspection) {
        (Some(forwarding), Some(inspection)) => Split {
            forwarding: forwarding.clone(),
            inspection: inspection.clone(),
            control: control.difference(inspection),
            shared: false,
        },
        (Some(forwarding), None) => inspect_with_rest(forwarding.clone(), rest, &control),
        (None, Some(inspection)) => Split {
            forwarding: rest,
            inspection: inspection.clone(),
            control: control.difference(inspection),
            shared: false,
        },
        (None, None) if rest.len() == 1 => inspect_with_rest(rest, CpuSet::new(), &control),
        (None, None) => divide_rest(machine, settings.profile, &rest, control),
    }
}

fn at_least_one(wanted: CpuSet, otherwise: &CpuSet) -> CpuSet {
    if wanted.is_empty() { otherwise.clone() } else { wanted }
}

/// Lets the remaining CPUs inspect, or the control CPUs if no others remain.
fn inspect_with_rest(forwarding: CpuSet, rest: CpuSet, control: &CpuSet) -> Split {
    let inspection = if rest.is_empty() { control.difference(&forwarding) } else { rest };
    let control = control.difference(&inspection);
    Split { forwarding, inspection, control, shared: false }
}

/// Divides `rest`, at least two CPUs, according to the profile.
fn divide_rest(machine: &Machine, profile: Profile, rest: &CpuSet, control: CpuSet) -> Split {
    let mut units = units(machine, rest);
    let device_nodes = device_nodes(machine, &units);
    let mut split = Split { control, ..Split::default() };
    if split.control.is_empty() && units.len() >= CORES_WITH_CONTROL {
        let reserved = units.iter().enumerate().max_by_key(|(index, unit)| {
            (unit.weak, !unit.node.is_some_and(|node| device_nodes.contains(&node)), *index)
        });
        if let Some((index, _)) = reserved {
            split.control = units.remove(index).cpus;
        }
    }
    let (groups, others) = by_node(units, &device_nodes);
    for group in groups {
        divide(&mut split, group, profile);
    }
    for unit in others {
        split.inspection = split.inspection.union(&unit.cpus);
    }
    split
}

/// Returns the cores within `cpus`, by their lowest CPU. A single core is split into its CPUs.
fn units(machine: &Machine, cpus: &CpuSet) -> Vec<Unit> {
    let members: Vec<&Cpu> = machine.cpus.iter().filter(|cpu| cpus.contains(cpu.cpu)).collect();
    let one_core = members.iter().map(|cpu| cpu.core).into_set().len() == 1;
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
            unpinnable: false,
        });
        unit.cpus.insert(cpu.cpu);
        unit.unpinnable |= cpu.cpu as usize >= online;
    }
    units.into_values().collect()
}

fn device_nodes(machine: &Machine, units: &[Unit]) -> BTreeSet<u32> {
    let with_core: BTreeSet<u32> = units.iter().filter_map(|unit| unit.node).into_set();
    let with_device = machine.devices.iter().filter_map(|device| device.node);
    with_device.filter(|node| with_core.contains(node)).into_set()
}

/// Returns the groups to divide separately, and the cores that only inspect.
fn by_node(units: Vec<Unit>, device_nodes: &BTreeSet<u32>) -> (Vec<Vec<Unit>>, Vec<Unit>) {
    let of = |node: u32| {
        units.iter().filter(|unit| unit.node == Some(node)).cloned().collect::<Vec<_>>()
    };
    let groups: Vec<Vec<Unit>> = device_nodes.iter().map(|node| of(*node)).collect();
    if groups.is_empty() || groups.iter().any(|group| group.len() < 2) {
        return (vec![units], Vec::new());
    }
    let without_device = |unit: &Unit| !unit.node.is_some_and(|node| device_nodes.contains(&node));
    let others = units.into_iter().filter(without_device).collect();
    (groups, others)
}

/// Divides a group of at least two cores between forwarding and inspection.
fn divide(split: &mut Split, mut group: Vec<Unit>, profile: Profile) {
    let all = group.len();
    let quarter = ((all + 2) / 4).max(1);
    let strong = group.iter().filter(|unit| !unit.weak).count();
    let inspecting = match profile {
        Profile::Forward => quarter,
        Profile::Inspect => all - quarter,
        Profile::Auto if strong < all => strong.clamp(quarter, all - quarter),
        Profile::Auto => all.div_ceil(2),
    };
    // The sort is stable, so low CPU numbers forward.
    config::sort::by_key(&mut group, |unit| (!unit.unpinnable, !unit.weak));
    for (index, unit) in group.into_iter().enumerate() {
        let side =
            if index < all - inspecting { &mut split.forwarding } else { &mut split.inspection };
        *side = side.union(&unit.cpus);
    }
}

#[cfg(test)]
mod tests;
