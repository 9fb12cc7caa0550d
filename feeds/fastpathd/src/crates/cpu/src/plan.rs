// SPDX-License-Identifier: GPL-2.0-or-later
//! The whole CPU plan: roles of CPUs (`split.rs`), interrupts and queues (`steer.rs`), and
//! Suricata's queues and CPU sets.

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

/// Planned state, made by [`plan()`] and applied by [`crate::lines()`] and, for Suricata's part, by
/// its configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuPlan {
    /// Enabled in the configuration.
    pub enabled: bool,
    /// Something is pinned.
    pub active: bool,
    /// Why nothing is pinned; empty while active.
    pub why: Cause,
    /// How the CPUs were divided.
    pub profile: Profile,
    /// CPUs of each role.
    pub split: Split,
    /// Queues and threads of Suricata.
    pub suricata: Suricata,
    /// CPUs of every interrupt, queue and polling thread; empty while inactive.
    pub wants: BTreeMap<Knob, CpuSet>,
}

/// Suricata's part of the plan.
///
/// Queue *i* belongs to `workers[i]` because of how Suricata 8 assigns CPUs: with run mode
/// `workers` it starts the thread of each queue in the order of the queues and waits for it, and
/// with `mode: exclusive` each thread takes the next higher CPU of `worker-cpu-set`. The list is
/// therefore ascending, and `threads:` of the set must not be given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Suricata {
    /// `threading.set-cpu-affinity`; if false, the sets below must not be written.
    pub pinned: bool,
    /// Number of NFQUEUEs and of workers; 0 while inspection is not wanted.
    pub queues: u16,
    /// `worker-cpu-set`, mode exclusive: the CPU of each queue's worker, in queue order. While
    /// nothing is pinned, only their number counts.
    pub workers: Vec<u32>,
    /// `management-cpu-set`, mode balanced: flow manager and recycler, counters, the command
    /// socket. The sets for receive and verdict get these CPUs, too. They have no threads in run
    /// mode `workers`, but a thread of a later Suricata must not run on a forwarding CPU.
    pub management: CpuSet,
}

/// Returns the plan for a machine. Without `inspection` (IPS off), all CPUs forward.
///
/// # Errors
/// Fails if the settings do not fit the machine, see [`Settings::check`].
pub fn plan(
    machine: &Machine,
    settings: &Settings,
    inspection: bool,
) -> Result<CpuPlan, Vec<Problem>> {
    let problems = settings.check(machine, inspection);
    if !problems.is_empty() {
        return Err(problems);
    }
    // A disabled plan still has the number of queues.
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
