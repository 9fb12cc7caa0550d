// SPDX-License-Identifier: GPL-2.0-or-later
//! Which CPU forwards, inspects or is set aside for control: shares of each profile, weak and
//! strong cores, hyperthreads, NUMA nodes, isolated CPUs.
//!
//! * One CPU does everything; nothing is pinned.
//! * **Forwarding and inspection never share a CPU** while there are two. A packet that waits for
//!   a softirq behind a pattern matcher waits for milliseconds; a worker that is interrupted for
//!   every packet of the line loses its caches. Hyperthread siblings share a core's caches and
//!   units, so a core is given away whole, except that a machine of one core is split.
//! * How many: `auto` half of the cores to each, the odd one to inspection, which costs several
//!   times more a packet; `forward` three quarters to forwarding, `inspect` three quarters to
//!   inspection. Each side gets one at least.
//! * **big.LITTLE: the strong cores inspect.** An established flow costs some 1,400 instructions a
//!   packet in the flowtable, much of it waiting for memory; inspection decodes, reassembles and
//!   matches patterns, which is the strength of a big core, and one connection cannot be
//!   inspected by two workers. `auto` therefore cuts between the weak and the strong cores, as long
//!   as each side gets a quarter of them. Weak is below three quarters of the strongest: an A55
//!   next to an A76 (RK3588) and an A53 next to an A72 (RK3399) have half and less, while cores of
//!   one kind differ by a few percent.
//! * **The low numbers forward**: interrupts that cannot be moved arrive on CPU 0.
//! * NUMA: each node that has a network device is shared out by itself, so that a packet can be
//!   forwarded where its device writes it; nodes without one inspect. Where no device reports its
//!   node, or a node with a device has one core only, all cores are shared out as one.
//! * From six cores on one is set aside for control: Suricata's flow manager and its like, which
//!   would stop a worker for milliseconds again and again. It is the last of the weak ones, if
//!   possible on a node without network device. Below, management threads float over the
//!   inspection CPUs.
//! * Isolated CPUs were set aside by the owner for something else: never used unless named.
//! * Without inspection all usable CPUs forward.

use std::collections::{BTreeMap, BTreeSet};

use crate::machine::{Cpu, Machine};
use crate::set::CpuSet;
use crate::settings::{Profile, Settings};

/// From so many cores on one is set aside for control.
const CORES_WITH_CONTROL: usize = 6;

/// The CPUs of each task. The three sets do not overlap unless [`Split::shared`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    /// CPUs that forward.
    pub forwarding: CpuSet,
    /// CPUs that inspect; empty while inspection is not wanted.
    pub inspection: CpuSet,
    /// CPUs set aside for control; empty: management shares with inspection.
    pub control: CpuSet,
    /// There is one CPU to use, and it does everything.
    pub shared: bool,
}

/// A core, or a CPU where there is one core only.
#[derive(Debug, Clone)]
struct Unit {
    cpus: CpuSet,
    weak: bool,
    node: Option<u32>,
    /// Suricata cannot pin threads to it; see [`Settings::check`].
    beyond: bool,
}

/// Shares out the CPUs. The settings must have passed [`Settings::check`].
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

/// Inspection gets the rest, or shares with control if there is no rest.
fn inspect_with(forwarding: CpuSet, rest: CpuSet, control: &CpuSet) -> Split {
    let inspection = if rest.is_empty() { control.difference(&forwarding) } else { rest };
    let control = control.difference(&inspection);
    Split { forwarding, inspection, control, shared: false }
}

/// Nothing is named but perhaps control; at least two CPUs are in `rest`.
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

/// The cores within `cpus` by their lowest CPU; of a single core its CPUs.
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

/// Nodes with both a network device and a core to spare for it.
fn ported_nodes(machine: &Machine, units: &[Unit]) -> BTreeSet<u32> {
    let with_core: BTreeSet<u32> = units.iter().filter_map(|unit| unit.node).collect();
    let with_device = machine.devices.iter().filter_map(|device| device.node);
    with_device.filter(|node| with_core.contains(node)).collect()
}

/// Groups to be shared out each, and cores that inspect all.
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

/// Shares out a group of at least two.
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
    // A stable sort: within its kind the low numbers come first.
    group.sort_by_key(|unit| (!unit.beyond, !unit.weak));
    for (index, unit) in group.into_iter().enumerate() {
        let side =
            if index < all - inspecting { &mut split.forwarding } else { &mut split.inspection };
        *side = side.union(&unit.cpus);
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
