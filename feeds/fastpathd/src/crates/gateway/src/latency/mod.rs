// SPDX-License-Identifier: GPL-2.0-or-later
//! "Keep latency low": chooses the WAN interface to shape, and applies, verifies and retries its
//! plan. SQM takes precedence. Crate `latency` makes the plans.

use config::sort::Collect;
use std::collections::BTreeSet;

use ::latency::{Applied, Failure, IFB, LatencyReason, Plan, Remaining, Settings, Wan, plan};
use flows::Now;
use serde_json::Value;
use topology::{QueueingDiscipline, Topology};
use uci::Package;

use crate::network::interfaces::{Firewall, Interface};
use crate::reconcile::{self, Outcome, Reconciler};

pub(crate) mod answer;
#[cfg(test)]
mod tests;

#[derive(Debug)]
pub enum Event {
    /// Values of UCI package sqm; null if there is none.
    Sqm(Value),
    Done(Result<Applied, Failure>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Run(Box<Job>),
}

impl From<Job> for Effect {
    fn from(job: Job) -> Self {
        Self::Run(Box::new(job))
    }
}

/// Work for traffic control: a plan, or `None` to remove all of our queues and filters.
pub type Job = reconcile::Job<Option<Plan>>;

impl reconcile::Plan for Option<Plan> {
    fn is_nothing(&self) -> bool {
        self.is_none()
    }
}

#[derive(Debug)]
pub(crate) struct State {
    /// `None` before the first configuration.
    settings: Option<Settings>,
    /// Devices that SQM shapes.
    sqm: BTreeSet<String>,
    /// Why no plan is wanted although latency control is enabled.
    unplanned: Option<LatencyReason>,
    /// Wanted plan and plan in force. A previous daemon may have left a plan in force.
    queues: Reconciler<Option<Plan>, LatencyReason>,
    /// Queueing disciplines at the last change, and true if the ifb was up.
    seen: (Vec<QueueingDiscipline>, bool),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanInputs<'a> {
    pub(crate) firewall: &'a Firewall,
    pub(crate) interfaces: &'a [Interface],
    pub(crate) topology: &'a Topology,
    /// The engine offloads to hardware, which bypasses all queues.
    pub(crate) hardware: bool,
}

impl State {
    pub(crate) fn new() -> Self {
        Self {
            settings: None,
            sqm: BTreeSet::new(),
            unplanned: None,
            queues: Reconciler::new(true),
            seen: (Vec::new(), false),
        }
    }

    pub(crate) fn configure(&mut self, settings: &Settings) {
        self.settings = Some(settings.clone());
    }

    /// Sets the wanted plan, or the reason for having none. Returns the next job.
    fn want(&mut self, wanted: Result<Option<Plan>, LatencyReason>) -> Option<Job> {
        let (plan, unplanned) = match wanted {
            Ok(plan) => (plan, None),
            Err(reason) => (None, Some(reason)),
        };
        self.unplanned = unplanned;
        self.queues.want(plan)
    }

    /// Records the queueing disciplines and the state of the ifb. A change triggers a retry or a
    /// verification, at most every two seconds.
    fn observe(&mut self, queues: &[QueueingDiscipline], is_up: bool, now: Now) -> Option<Job> {
        if self.seen.0 == queues && self.seen.1 == is_up {
            return None;
        }
        let is_shut = self.seen.1 && !is_up;
        self.seen = (queues.to_vec(), is_up);
        if is_shut {
            // Until the ifb is up again, packets that filters redirect to it are dropped.
            self.queues.verify_soon();
            return self.queues.second(now.mono);
        }
        // Another program may have released a device.
        self.queues.retry(now.mono).or_else(|| self.queues.touched(now.mono))
    }

    pub(crate) fn set_sqm(&mut self, values: &Value) {
        self.sqm = sqm_devices(values);
    }

    pub(crate) fn done(&mut self, result: Result<Applied, Failure>, now: Now) -> Option<Effect> {
        let outcome = match result {
            Ok(applied) => {
                if applied == Applied::Changed {
                    log::info!("queues of the WAN: changed");
                }
                Outcome::Applied
            }
            Err(Failure { reason, remaining }) => {
                if self.queues.why() != Some(&reason) {
                    log::error!("queues of the WAN: {reason}");
                }
                let left = match remaining {
                    Remaining::Nothing => Some(None),
                    Remaining::Previous => self.queues.in_force().cloned(),
                    Remaining::Unknown => None,
                };
                Outcome::Refused(reason, left)
            }
        };
        self.queues.done(outcome, now.mono).map(Effect::from)
    }

    /// Returns the devices with filters of the plan in force.
    pub(crate) fn hosts(&self) -> BTreeSet<u32> {
        let hosts = self.in_force().into_iter().flat_map(|plan| &plan.hosts);
        hosts.map(|host| host.index).into_set()
    }

    pub(crate) fn plan(&mut self, inputs: PlanInputs<'_>, now: Now) -> Option<Effect> {
        let wanted = self.wanted(inputs)?;
        let is_up = inputs.topology.link_named(IFB).is_some_and(|ifb| ifb.up);
        let next = self.want(wanted);
        let next = next.or_else(|| self.observe(inputs.topology.queues(), is_up, now));
        next.map(Effect::from)
    }

    /// Returns true if a plan was made, or it is known that none is wanted.
    pub(crate) fn is_planned(&self) -> bool {
        self.queues.wanted().is_some()
    }

    /// Returns the next job. Called once a second.
    pub(crate) fn second(&mut self, now: Now) -> Option<Effect> {
        self.queues.second(now.mono).map(Effect::from)
    }

    /// Returns the wanted plan; `None` before the first configuration.
    fn wanted(&self, inputs: PlanInputs<'_>) -> Option<Result<Option<Plan>, LatencyReason>> {
        let settings = self.settings.as_ref()?;
        if !settings.enabled {
            return Some(Ok(None));
        }
        Some(self.plan_for(settings, inputs).map(Some))
    }

    fn plan_for(
        &self,
        settings: &Settings,
        PlanInputs { firewall, interfaces, topology, hardware }: PlanInputs<'_>,
    ) -> Result<Plan, LatencyReason> {
        let wans = || interfaces.iter().filter(|interface| firewall.is_wan(&interface.zone));
        let chosen: Option<&Interface> = match &settings.interface {
            Some(name) => Some(
                interfaces
                    .iter()
                    .find(|interface| interface.name == *name)
                    .ok_or(LatencyReason::NoInterface { interface: name.clone() })?,
            ),
            // netifd sorts interfaces by name. Tunnels such as DS-Lite have no lower device.
            None => wans().find(|wan| !wan.lower.is_empty()).or_else(|| wans().next()),
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

    pub(crate) fn in_force(&self) -> Option<&Plan> {
        self.queues.in_force()?.as_ref()
    }

    /// Returns true if latency control is wanted but not in force.
    pub(crate) fn is_missing(&self) -> bool {
        self.in_force().is_none() && self.reason().is_some()
    }

    /// Returns why the kernel's queues differ from the configuration; `None` if they do not.
    fn reason(&self) -> Option<LatencyReason> {
        if let Some(why) = self.queues.why() {
            return Some(why.clone());
        }
        if !self.settings.as_ref().is_some_and(|settings| settings.enabled) {
            return None;
        }
        if let Some(unplanned) = &self.unplanned {
            return Some(unplanned.clone());
        }
        match self.queues.wanted() {
            None | Some(None) => Some(LatencyReason::Waiting),
            wanted if self.queues.in_force() == wanted => None,
            Some(Some(_)) => Some(LatencyReason::Applying),
        }
    }
}

/// Returns the devices of SQM's enabled queues.
fn sqm_devices(values: &Value) -> BTreeSet<String> {
    let package = values.as_object().map(Package::read).unwrap_or_default();
    let enabled = package
        .of("queue")
        .filter(|queue| queue.text("enabled").and_then(uci::switch).unwrap_or_default());
    enabled.filter_map(|queue| queue.text("interface")).map(str::to_owned).into_set()
}
