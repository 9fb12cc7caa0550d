// SPDX-License-Identifier: GPL-2.0-or-later
//! The methods of object `fastpath`, and their answers.

use std::time::Duration;

use flows::Now;

use crate::{
    configuration, conntrack, cpu, devices, doctor, ips, latency, network, offload, rules, sys,
};

pub mod health;
pub mod methods;
pub mod status;
#[cfg(test)]
mod tests;

/// Read access to the state of all subsystems.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subsystems<'a> {
    pub(crate) now: Now,
    pub(crate) cpu_time: Duration,
    pub(crate) sys: &'a sys::State,
    pub(crate) configuration: &'a configuration::State,
    pub(crate) network: &'a network::State,
    pub(crate) conntrack: &'a conntrack::State,
    pub(crate) devices: &'a devices::State,
    pub(crate) offload: &'a offload::State,
    pub(crate) ips: &'a ips::State,
    pub(crate) latency: &'a latency::State,
    pub(crate) rules: &'a rules::Updates,
    pub(crate) cpu: &'a cpu::State,
    pub(crate) doctor: &'a doctor::State,
}

impl Subsystems<'_> {
    pub(crate) fn conntrack_total(&self) -> u64 {
        self.conntrack.total(self.sys.facts().conntrack_count)
    }
}

/// Answers to deferred requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    AnswerEngine,
    /// Answer `reinspect` with the number of connections returned to inspection.
    AnswerReinspect(Result<usize, String>),
}
