// SPDX-License-Identifier: GPL-2.0-or-later
//! The CPU plan: roles (`split.rs`), interrupts and queues (`steer.rs`), and Suricata's CPU sets.

use std::collections::BTreeMap;

use config::{Cause, Problem};
use serde::Serialize;

use crate::machine::{Knob, Machine};
use crate::set::CpuSet;
use crate::settings::{Profile, Settings};
use crate::split::{Split, split};
use crate::steer::steer;

config::coded! {
    pub enum PlanReason {
        Disabled = "disabled", "disabled in the configuration";
        OneCpu = "one-cpu",
            "One CPU forwards and inspects; nothing is pinned.";
    }
}

/// Planned state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuPlan {
    pub enabled: bool,
    /// Interrupts, queues and threads are pinned.
    pub active: bool,
    /// Why nothing is pinned. Empty for an active plan.
    pub why: Cause,
    pub profile: Profile,
    pub split: Split,
    pub suricata: Suricata,
    /// CPUs of every interrupt, queue and polling thread. Empty for an inactive plan.
    pub wants: BTreeMap<Knob, CpuSet>,
}

/// Suricata's part of the plan.
///
/// Queue *i* belongs to `workers[i]`: Suricata 8 in run mode `workers` starts the thread of each
/// queue in order, and with `mode: exclusive` each thread takes the next higher CPU of
/// `worker-cpu-set`. The list must therefore be ascending, without `threads:` in the set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Suricata {
    /// `threading.set-cpu-affinity`. If false, the sets below must not be written.
    pub pinned: bool,
    /// Number of NFQUEUEs and workers; 0 without inspection.
    pub queues: u16,
    /// `worker-cpu-set`, mode exclusive: the CPU of each queue's worker, in queue order. If nothing
    /// is pinned, only the length matters.
    pub workers: Vec<u32>,
    /// `management-cpu-set`, mode balanced: flow manager, recycler, counters, command socket. The
    /// receive and verdict sets get the same CPUs, so that a later Suricata with such threads does
    /// not use a forwarding CPU.
    pub management: CpuSet,
}

/// Plans a machine. Without `inspection` (IPS off), all CPUs forward.
pub fn plan(
    machine: &Machine,
    settings: &Settings,
    inspection: bool,
) -> Result<CpuPlan, Vec<Problem>> {
    let problems = settings.check(machine, inspection);
    if !problems.is_empty() {
        return Err(problems);
    }
    // A disabled plan still needs the number of queues.
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
    let shares_inspection = split.control.is_empty();
    let management = if shares_inspection { &split.inspection } else { &split.control };
    Suricata {
        pinned: active && queues > 0,
        queues,
        workers: split.inspection.iter().collect(),
        management: management.clone(),
    }
}
