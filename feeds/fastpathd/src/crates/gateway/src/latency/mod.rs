// SPDX-License-Identifier: GPL-2.0-or-later
//! "Keep latency low": chooses the WAN interface to shape, and applies, verifies and retries its
//! plan. SQM takes precedence. Crate `latency` makes the plans.

use std::collections::BTreeSet;
use std::time::Duration;

use ::latency::{Applied, Failure, IFB, LatencyReason, Left, Plan, Settings, Wan, plan};
use flows::Now;
use serde_json::Value;
use topology::{QueueingDiscipline, Topology};
use uci::Package;

use crate::network::interfaces::{Firewall, Interface};

pub(crate) mod answer;
#[cfg(test)]
mod tests;

/// Retry interval after a refusal; the missing module may have been installed meanwhile.
const RETRY: Duration = Duration::from_secs(30);
/// Interval of verifications: the kernel reports changes of queueing disciplines, but not of
/// filters.
const VERIFY_EVERY: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub enum Event {
    /// Values of UCI package sqm; null if there is none.
    Sqm(Value),
    /// Outcome of a job.
    Done(Result<Applied, Failure>),
}

/// A request to traffic control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Run(Box<Job>),
}

impl From<Job> for Effect {
    fn from(job: Job) -> Self {
        Self::Run(Box::new(job))
    }
}

/// Work for traffic control.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one job at a time")]
pub enum Job {
    /// Bring `plan` into force, or verify it. `before` was in force.
    Apply { plan: Plan, before: Option<Plan> },
    /// Remove all of our queues and filters.
    Remove,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// `None` before the first configuration.
    settings: Option<Settings>,
    /// Devices that SQM shapes.
    sqm: BTreeSet<String>,
    /// The wanted plan, or why there is none; `None` if that is not known yet.
    wanted: Option<Result<Option<Plan>, LatencyReason>>,
    pub(crate) in_force: Option<Plan>,
    /// A plan, or a part of one, may be in force.
    pub(crate) is_dirty: bool,
    /// A job has ended. Until then, a plan of a previous daemon may be in force.
    is_known: bool,
    job: Option<Job>,
    /// Why the last job failed.
    refused: Option<LatencyReason>,
    pub(crate) retry_at: Option<Duration>,
    verify_at: Duration,
    /// Queueing disciplines at the last verification, and true if the ifb was up.
    seen: (Vec<QueueingDiscipline>, bool),
}

/// The network that a plan is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) firewall: &'a Firewall,
    pub(crate) interfaces: &'a [Interface],
    pub(crate) topology: &'a Topology,
    /// Hardware forwards flows past all queues.
    pub(crate) hardware: bool,
}

impl State {
    pub(crate) fn configure(&mut self, settings: &Settings) {
        if self.settings.as_ref() != Some(settings) {
            self.settings = Some(settings.clone());
        }
    }

    /// Sets the wanted plan, or why there is none. Returns the next job.
    fn want(&mut self, wanted: Result<Option<Plan>, LatencyReason>, now: Now) -> Option<Job> {
        if self.wanted.as_ref() != Some(&wanted) {
            self.wanted = Some(wanted);
            self.refused = None;
            self.retry_at = None;
            self.verify_at = now.mono;
        }
        self.next_job(now)
    }

    /// Notes queueing disciplines and the state of the ifb. A change, perhaps by another program,
    /// triggers a verification at once.
    fn see(&mut self, queues: &[QueueingDiscipline], is_up: bool, now: Now) {
        if self.seen.0 != queues || self.seen.1 != is_up {
            self.seen = (queues.to_vec(), is_up);
            self.verify_at = now.mono;
            // Another program may have left a device to us, so retry at once.
            self.retry_at = None;
        }
    }

    fn next_job(&mut self, now: Now) -> Option<Job> {
        if self.job.is_some() || self.retry_at.is_some_and(|at| now.mono < at) {
            return None;
        }
        let job = match self.wanted.as_ref()? {
            Ok(Some(plan)) => {
                let due = now.mono >= self.verify_at || self.in_force.as_ref() != Some(plan);
                let before = self.in_force.clone();
                due.then(|| Job::Apply { plan: plan.clone(), before })?
            }
            // A plan in force is not wanted any more, or shapes the wrong device.
            Ok(None) | Err(_) => self.is_dirty.then_some(Job::Remove)?,
        };
        self.retry_at = None;
        self.job = Some(job.clone());
        Some(job)
    }

    fn done(&mut self, result: Result<Applied, Failure>, now: Now) -> Option<Job> {
        let job = self.job.take()?;
        self.is_known = true;
        self.verify_at = now.mono + VERIFY_EVERY;
        match (job, result) {
            (Job::Apply { plan, .. }, Ok(_)) => {
                self.refused = None;
                self.is_dirty = true;
                self.in_force = Some(plan);
            }
            (Job::Remove, Ok(_)) => {
                self.refused = None;
                self.is_dirty = false;
                self.in_force = None;
            }
            (job, Err(Failure { reason, left })) => {
                // Another plan may have been requested meanwhile.
                let is_wanted = match (&job, &self.wanted) {
                    (Job::Apply { plan, .. }, Some(Ok(Some(wanted)))) => plan == wanted,
                    (Job::Remove, Some(Ok(None) | Err(_))) => true,
                    (Job::Apply { .. } | Job::Remove, _) => false,
                };
                self.refused = is_wanted.then_some(reason);
                self.retry_at = is_wanted.then_some(now.mono + RETRY);
                self.is_dirty = left != Left::Nothing;
                self.in_force = match (left, job) {
                    (Left::Before, Job::Apply { before, .. }) => before,
                    (Left::Before | Left::Nothing | Left::Unknown, _) => None,
                };
            }
        }
        self.next_job(now)
    }

    /// Sets the `values` of UCI package sqm.
    pub(crate) fn set_sqm(&mut self, values: &Value) {
        self.sqm = sqm_devices(values);
    }

    /// Handles the outcome of a job. Returns the next job.
    pub(crate) fn job_done(
        &mut self,
        result: Result<Applied, Failure>,
        now: Now,
    ) -> Option<Effect> {
        match &result {
            Ok(Applied::Changed) => log::info!("queues of the WAN: changed"),
            Ok(Applied::Unchanged) => {}
            Err(failure) if self.refused.as_ref() == Some(&failure.reason) => {}
            Err(failure) => log::error!("queues of the WAN: {}", failure.reason),
        }
        self.done(result, now).map(Effect::from)
    }

    /// Returns the devices with filters of the plan in force.
    pub(crate) fn hosts(&self) -> BTreeSet<u32> {
        let hosts = self.in_force.iter().flat_map(|plan| &plan.hosts);
        hosts.map(|host| host.index).collect()
    }

    /// Plans for this network. Returns the next job.
    pub(crate) fn plan(&mut self, around: Surroundings<'_>, now: Now) -> Option<Effect> {
        let wanted = self.wanted(around)?;
        let is_up = around.topology.link_named(IFB).is_some_and(|ifb| ifb.up);
        self.see(around.topology.queues(), is_up, now);
        self.want(wanted, now).map(Effect::from)
    }

    /// Returns true if a plan was made, or it is known that none is wanted.
    pub(crate) fn is_planned(&self) -> bool {
        self.wanted.is_some()
    }

    /// Returns the next job. Called once a second.
    pub(crate) fn second(&mut self, now: Now) -> Option<Effect> {
        // A previous daemon may have left a plan in force.
        self.is_dirty |= !self.is_known;
        self.next_job(now).map(Effect::from)
    }

    /// Returns the wanted plan; `None` before the first configuration.
    fn wanted(&self, around: Surroundings<'_>) -> Option<Result<Option<Plan>, LatencyReason>> {
        let settings = self.settings.as_ref()?;
        if !settings.enabled {
            return Some(Ok(None));
        }
        Some(self.plan_for(settings, around).map(Some))
    }

    fn plan_for(
        &self,
        settings: &Settings,
        Surroundings { firewall, interfaces, topology, hardware }: Surroundings<'_>,
    ) -> Result<Plan, LatencyReason> {
        let chosen: Option<&Interface> = match &settings.interface {
            Some(name) => Some(
                interfaces
                    .iter()
                    .find(|interface| interface.name == *name)
                    .ok_or(LatencyReason::NoInterface { interface: name.clone() })?,
            ),
            None => interfaces.iter().find(|interface| firewall.is_wan(&interface.zone)),
        };
        let Interface { name, device, lower, proto, .. } = chosen.ok_or(LatencyReason::NoWan)?;
        let wan = Wan { name, device, lower, proto };
        let is_inner = |device: &str| {
            let mut on = interfaces.iter().filter(|interface| interface.device == device);
            on.any(|interface| !firewall.is_wan(&interface.zone))
        };
        let plan = plan(topology, wan, settings, is_inner)?;
        if hardware {
            return Err(LatencyReason::Hardware);
        }
        let limited = |device: &&String| plan.sources.iter().any(|own| *own.name == ***device);
        match self.sqm.iter().find(limited) {
            Some(device) => Err(LatencyReason::Sqm { device: device.clone() }),
            None => Ok(plan),
        }
    }

    /// Returns the plan in force, if any.
    pub(crate) fn in_force(&self) -> Option<&Plan> {
        self.in_force.as_ref()
    }

    /// Returns true if latency control is wanted but not in force.
    pub(crate) fn is_missing(&self) -> bool {
        self.in_force.is_none() && self.reason().is_some()
    }

    /// Returns why the kernel's queues differ from the configuration; `None` if they do not.
    fn reason(&self) -> Option<LatencyReason> {
        if let Some(refused) = &self.refused {
            return Some(refused.clone());
        }
        if !self.settings.as_ref().is_some_and(|settings| settings.enabled) {
            return None;
        }
        match &self.wanted {
            None | Some(Ok(None)) => Some(LatencyReason::Waiting),
            Some(Err(reason)) => Some(reason.clone()),
            Some(Ok(Some(plan))) if self.in_force.as_ref() == Some(plan) => None,
            Some(Ok(Some(_))) => Some(LatencyReason::Applying),
        }
    }
}

/// Returns the devices of SQM's enabled queues.
fn sqm_devices(values: &Value) -> BTreeSet<String> {
    let package = values.as_object().map(Package::read).unwrap_or_default();
    let enabled = package
        .of("queue")
        .filter(|queue| queue.text("enabled").and_then(uci::switch).unwrap_or_default());
    enabled.filter_map(|queue| queue.text("interface")).map(str::to_owned).collect()
}
