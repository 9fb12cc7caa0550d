// SPDX-License-Identifier: GPL-2.0-or-later
//! The CPU plan as a whole: why nothing is pinned, the number of NFQUEUEs, Suricata's worker and
//! management CPUs. Roles of CPUs are decided in `split.rs`, interrupts and queues in `steer.rs`.

use std::collections::BTreeMap;

use config::{Cause, Problem};
use serde::Serialize;

use crate::machine::{Knob, Machine};
use crate::set::CpuSet;
use crate::settings::{Profile, Settings};
use crate::split::{Split, split};
use crate::steer::steer;

config::coded! {
    /// Why nothing is pinned.
    pub enum PlanReason {
        Disabled = "disabled", "disabled in the configuration";
        OneCpu = "one-cpu",
            "One CPU forwards and inspects; nothing is pinned.";
    }
}

/// The planned state: made by [`plan()`], applied by [`crate::lines()`] and, for Suricata's part,
/// by its configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuPlan {
    /// Switched on in the configuration.
    pub enabled: bool,
    /// Anything is pinned at all.
    pub active: bool,
    /// The reason why nothing is pinned; empty while active.
    pub why: Cause,
    /// How CPUs were shared out.
    pub profile: Profile,
    /// The CPUs of each task.
    pub split: Split,
    /// Queues and threads of Suricata.
    pub suricata: Suricata,
    /// CPUs of every interrupt, queue and polling thread; empty while not active.
    pub wants: BTreeMap<Knob, CpuSet>,
}

/// The part of the plan that Suricata's configuration carries.
///
/// Queue *i* belongs to `workers[i]` because of how Suricata 8 hands out CPUs: with run mode
/// `workers` it starts the thread of each queue in the order of the queues and waits for it, and
/// with `mode: exclusive` each thread takes the next higher CPU of `worker-cpu-set`. So the list
/// is ascending; another order would not be obeyed. `threads:` of the set is not to be given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Suricata {
    /// `threading.set-cpu-affinity`; if not, the sets below are not to be written.
    pub pinned: bool,
    /// Number of NFQUEUEs, which is the number of workers; 0 while inspection is not wanted.
    pub queues: u16,
    /// `worker-cpu-set`, mode exclusive: the CPU of the worker of each queue, in queue order. While
    /// nothing is pinned only their number counts.
    pub workers: Vec<u32>,
    /// `management-cpu-set`, mode balanced: flow manager and recycler, counters, the command
    /// socket. With run mode `workers` the sets for receive and verdict have no threads; they
    /// get this set too, so that a thread of a later Suricata does not land on a
    /// forwarding CPU.
    pub management: CpuSet,
}

/// The plan for a machine. With `inspection` not wanted (IPS off) all CPUs forward.
///
/// # Errors
/// The settings do not fit the machine: see [`Settings::check`].
pub fn plan(
    machine: &Machine,
    settings: &Settings,
    inspection: bool,
) -> Result<CpuPlan, Vec<Problem>> {
    let problems = settings.check(machine, inspection);
    if !problems.is_empty() {
        return Err(problems);
    }
    // Switched off, the plan still says how many queues there are.
    let defaults = Settings::default();
    let split = split(machine, if settings.enabled { settings } else { &defaults }, inspection);
    let active = settings.enabled && !split.shared;
    let why = match (settings.enabled, split.shared) {
        (false, _) => PlanReason::Disabled.cause(),
        (true, true) => PlanReason::OneCpu.cause(),
        (true, false) => Cause::default(),
    };
    let wants = if active { steer(machine, &split.forwarding) } else { BTreeMap::new() };
    Ok(CpuPlan {
        enabled: settings.enabled,
        active,
        why,
        profile: settings.profile,
        suricata: suricata(&split, active),
        split,
        wants,
    })
}

fn suricata(split: &Split, active: bool) -> Suricata {
    let queues = u16::try_from(split.inspection.len()).unwrap_or(u16::MAX);
    let shares = split.control.is_empty();
    let management = if shares { &split.inspection } else { &split.control };
    Suricata {
        pinned: active && queues > 0,
        queues,
        workers: split.inspection.iter().collect(),
        management: management.clone(),
    }
}
