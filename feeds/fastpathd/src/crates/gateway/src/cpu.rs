// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies the plan of crate `cpu`: replans when machine, network or settings change, checks the
//! machine regularly, and reverts its values when the plan is switched off.
//!
//! The daemon does not run as root. It writes values that differ to a file, as lines of path and
//! value, a script applies them, and the next reading checks them.

use std::collections::BTreeSet;
use std::time::Duration;

use config::Problem;
use cpu::{Attempts, CpuPlan, Found, Machine, Settings, Steering, View};

/// Interval between readings of the machine, because other programs may change affinities.
const READ_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub enum Event {
    Read(Box<Sample>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read CPUs, and queues of these devices.
    Read(BTreeSet<String>),
    /// Save this text, the machine's original values. An empty text removes the file.
    Save(String),
    /// Let the script write these lines of path and value to sysfs and procfs.
    Write(String),
}

#[derive(Debug, Clone)]
pub struct Sample {
    pub machine: Machine,
    pub steering: Steering,
    /// Lines that the script could not write.
    pub refusals: String,
}

#[derive(Debug, Default)]
pub struct State {
    settings: Settings,
    configured: bool,
    inspection: bool,
    machine: Option<Machine>,
    plan: CpuPlan,
    found: Found,
    attempts: Attempts,
    refusals: String,
    steering: Steering,
    read_at: Duration,
}

impl State {
    pub fn restore(&mut self, found: Found) {
        self.found = found;
    }

    pub(crate) fn configure(&mut self, settings: &Settings, inspection: bool) {
        self.settings = settings.clone();
        self.configured = true;
        self.inspection = inspection;
        self.replan();
        self.read_at = Duration::ZERO;
    }

    pub(crate) fn read(&mut self, sample: Sample, now: Duration) -> Vec<Effect> {
        let Sample { machine, steering, refusals } = sample;
        self.machine = Some(machine);
        self.refusals = refusals;
        self.steering = steering;
        self.replan();
        if self.configured { self.effects(now) } else { Vec::new() }
    }

    /// Returns true if a reading is due. Called once a second.
    pub(crate) fn second(&mut self, now: Duration) -> bool {
        let due = now >= self.read_at;
        if due {
            self.read_at = now + READ_INTERVAL;
        }
        due
    }

    pub(crate) fn is_known(&self) -> bool {
        self.machine.is_some()
    }

    /// Returns the problems of settings that this machine cannot fulfil.
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

    fn effects(&mut self, now: Duration) -> Vec<Effect> {
        let Some(machine) = &self.machine else { return Vec::new() };
        let mut effects = Vec::new();
        let remembered = self.found.remember(&self.plan, machine);
        let mut wanted = cpu::differences(&self.plan, machine);
        let due = self.found.due(&self.plan, machine);
        if due.is_empty() {
            let before = self.found.clone();
            self.found.settle(&self.plan);
            if before != self.found || remembered {
                effects.push(Effect::Save(self.file()));
            }
        } else if remembered {
            effects.push(Effect::Save(self.file()));
        }
        wanted.extend(due);
        let due = self.attempts.due(&wanted, now);
        if !due.is_empty() {
            effects.push(Effect::Write(cpu::lines(&due)));
        }
        if let Some(next) = self.attempts.next() {
            self.read_at = self.read_at.min(next);
        }
        effects
    }

    fn file(&self) -> String {
        if self.found.is_empty() {
            return String::new();
        }
        serde_json::to_string(&self.found).unwrap_or_default()
    }

    pub(crate) fn threads(&self) -> ips::Threads {
        let suricata = &self.plan.suricata;
        let management: Vec<u32> = suricata.management.iter().collect();
        let workers = if suricata.pinned {
            suricata.workers.clone()
        } else {
            // Without pinning, only the number of workers matters.
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

    /// Returns the answer of method `cpu`; `None` before the machine has been read.
    pub(crate) fn view(&self) -> Option<View> {
        let machine = self.machine.as_ref()?;
        let refused = self.attempts.refused(&self.refusals);
        Some(View::new(&self.plan, machine, &self.steering, &refused))
    }

    /// Returns the number of values that differ from the plan.
    pub(crate) fn deviations(&self) -> Option<usize> {
        let machine = self.machine.as_ref()?;
        Some(cpu::differences(&self.plan, machine).len())
    }

    /// Requests a reading of the CPUs, and of the queues of eligible ports that are not tunnels.
    pub(crate) fn reading(topology: &topology::Topology) -> Effect {
        let tunnels = topology.tunnels(true);
        let is_port =
            |device: &topology::LowestDevice| device.eligible && !tunnels.contains(&device.device);
        let lowest = topology.lowest().into_iter().filter(is_port);
        Effect::Read(lowest.map(|device| device.device.to_string()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_before_the_settings_are_known() {
        let mut state = State::default();
        let sample = Sample {
            machine: Machine::default(),
            steering: state.steering.clone(),
            refusals: String::new(),
        };
        assert!(state.read(sample, Duration::ZERO).is_empty());
        assert!(state.is_known());
        assert!(state.second(Duration::ZERO));
        assert!(!state.second(Duration::from_secs(1)));
        assert!(state.second(READ_INTERVAL));
    }
}
