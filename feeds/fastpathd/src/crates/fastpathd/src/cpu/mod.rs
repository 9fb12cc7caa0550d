// SPDX-License-Identifier: GPL-2.0-or-later
//! The CPU plan: made when machine, network or settings change, brought in force, watched, and
//! taken back when it is switched off.
//!
//! The daemon is no root: what differs is left as lines of path and value for a script that
//! writes them, and looked at again a moment later.

use std::collections::BTreeSet;
use std::time::Duration;

use config::{Problem, order};
use cpu::{Attempts, Found, Machine, Plan, Settings, Steering, View};

/// How often the machine is read: somebody else may steer too.
const LOOK: Duration = Duration::from_secs(10);

/// Something to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Read the machine.
    Read,
    /// Keep this file, which says what was found; empty: remove it.
    Keep(String),
    /// Have these lines written.
    Write(String),
}

/// The machine as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) machine: Machine,
    /// Who steers beside us.
    pub(crate) steering: Steering,
    /// What the script could not write.
    pub(crate) refusals: String,
}

/// What is known about the CPUs and what they are to do.
#[derive(Debug)]
pub(crate) struct CpuRoom {
    settings: Settings,
    configured: bool,
    inspection: bool,
    machine: Option<Machine>,
    plan: Plan,
    found: Found,
    attempts: Attempts,
    /// What the script noted.
    refusals: String,
    steering: Steering,
    look_at: Duration,
}

impl Default for CpuRoom {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            configured: false,
            inspection: false,
            machine: None,
            plan: Plan::default(),
            found: Found::default(),
            attempts: Attempts::default(),
            refusals: String::new(),
            steering: Steering { service: false, hook: cpu::Hook::Absent, uci: None },
            look_at: Duration::ZERO,
        }
    }
}

impl CpuRoom {
    /// What the daemon before found, from its file.
    pub(crate) fn remember(&mut self, found: Found) {
        self.found = found;
    }

    pub(crate) fn configure(&mut self, settings: &Settings, inspection: bool) {
        self.settings = settings.clone();
        self.configured = true;
        self.inspection = inspection;
        self.replan();
        self.look_at = Duration::ZERO;
    }

    /// The machine and its steering as they are now.
    pub(crate) fn read(&mut self, seen: Seen, now: Duration) -> Vec<Step> {
        let Seen { machine, steering, refusals } = seen;
        self.machine = Some(machine);
        self.refusals = refusals;
        self.steering = steering;
        self.replan();
        if self.configured { self.steps(now) } else { Vec::new() }
    }

    /// Once a second.
    pub(crate) fn tick(&mut self, now: Duration) -> Option<Step> {
        if now < self.look_at {
            return None;
        }
        self.look_at = now + LOOK;
        Some(Step::Read)
    }

    /// The machine has been read once.
    pub(crate) fn known(&self) -> bool {
        self.machine.is_some()
    }

    /// What of these settings the machine does not have.
    pub(crate) fn check(&self, settings: &Settings, inspection: bool) -> Vec<Problem> {
        let machine = self.machine.as_ref();
        machine.map(|machine| settings.check(machine, inspection)).unwrap_or_default()
    }

    fn replan(&mut self) {
        let Some(machine) = &self.machine else { return };
        match cpu::plan(machine, &self.settings, self.inspection) {
            Ok(plan) => self.plan = plan,
            Err(problems) => {
                for problem in problems {
                    log::error!("CPU plan: {problem}");
                }
            }
        }
    }

    fn steps(&mut self, now: Duration) -> Vec<Step> {
        let Some(machine) = &self.machine else { return Vec::new() };
        let mut steps = Vec::new();
        let remembered = self.found.remember(&self.plan, machine);
        let mut wanted = cpu::differences(&self.plan, machine);
        let due = self.found.due(&self.plan, machine);
        if due.is_empty() {
            let before = self.found.clone();
            self.found.settle(&self.plan);
            if before != self.found || remembered {
                steps.push(Step::Keep(self.file()));
            }
        } else if remembered {
            steps.push(Step::Keep(self.file()));
        }
        wanted.extend(due);
        let due = self.attempts.due(&wanted, now);
        if !due.is_empty() {
            steps.push(Step::Write(cpu::lines(&due)));
        }
        if let Some(next) = self.attempts.next() {
            self.look_at = self.look_at.min(next);
        }
        steps
    }

    fn file(&self) -> String {
        if self.found.is_empty() {
            return String::new();
        }
        serde_json::to_string(&self.found).unwrap_or_default()
    }

    /// Suricata's part of the plan.
    pub(crate) fn threads(&self) -> ips::Threads {
        let suricata = &self.plan.suricata;
        let management: Vec<u32> = suricata.management.iter().collect();
        let workers = if suricata.pinned {
            suricata.workers.clone()
        } else {
            // Only their number counts.
            (0..u32::from(suricata.queues.max(1))).collect()
        };
        ips::Threads {
            affinity: suricata.pinned,
            receive: management.clone(),
            verdict: management.clone(),
            management,
            workers,
        }
    }

    /// The answer of the method `cpu`; none before the machine has been read.
    pub(crate) fn view(&self) -> Option<View> {
        let machine = self.machine.as_ref()?;
        let refused = self.attempts.refused(&self.refusals);
        Some(View::new(&self.plan, machine, &self.steering, &refused))
    }

    /// Devices of which the queues matter.
    pub(crate) fn devices(topology: &topology::Topology) -> BTreeSet<String> {
        let lowest = topology.lowest().into_iter().filter(|device| device.eligible);
        order::set(lowest.map(|device| device.device.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_before_the_settings_are_known() {
        let mut room = CpuRoom::default();
        let seen = Seen {
            machine: Machine::default(),
            steering: room.steering.clone(),
            refusals: String::new(),
        };
        assert!(room.read(seen, Duration::ZERO).is_empty());
        assert!(room.known());
        assert_eq!(room.tick(Duration::ZERO), Some(Step::Read));
        assert_eq!(room.tick(Duration::from_secs(1)), None);
        assert_eq!(room.tick(LOOK), Some(Step::Read));
    }
}
