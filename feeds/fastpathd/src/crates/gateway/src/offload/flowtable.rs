// SPDX-License-Identifier: GPL-2.0-or-later
//! Our nftables table: brings the wanted plan into force, and renews the table when its flows have
//! passed outdated rules. Crate `fastpathd` runs the jobs and reports their outcome.

use std::collections::BTreeSet;
use std::time::Duration;

use config::Cause;
use ctnetlink::Touch;
use flows::Now;
use model::Engine;
use ruleset::{Applied, ApplyError, Plan};
use serde::Serialize;

use crate::offload::foreign::rule_names;
use crate::offload::hardware::HardwarePorts;
use crate::offload::revocation::RevocationReport;
use crate::reconcile::{self, Outcome, RETRY_INTERVAL, Reconciler};
use crate::sys::error::chain;

/// Minimum interval between renewals because of moving hosts: a host that roams back and forth must
/// not keep all flows on the slow path.
const MIN_RENEWAL_INTERVAL: Duration = Duration::from_secs(4);
/// Rate limit of revocations: each renewal adds this cost to `renewals_until`, which may be ahead
/// of the clock by the burst.
const REVOCATION_COST: Duration = Duration::from_secs(1);
const REVOCATION_BURST: Duration = Duration::from_secs(3);

pub type Job = reconcile::Job<Plan>;

impl reconcile::Plan for Plan {
    /// Returns the plan without hardware offload, which a driver may refuse.
    fn fallback(&self) -> Option<Self> {
        let software = Self { hardware: false, engine: Engine::Flowtable, ..self.clone() };
        self.hardware.then_some(software)
    }

    /// Ignores `unread`, which has no effect on the kernel's refusal.
    fn is_refused_like(&self, other: &Self) -> bool {
        Self { unread: other.unread, ..self.clone() } == *other
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFailure {
    pub(crate) why: String,
    /// nft or the kernel refused the rules; false if nft was too slow or killed.
    pub(crate) is_verdict: bool,
    pub(crate) left: TableState,
}

/// State of the table after a failed job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableState {
    Unread,
    /// The job did not change the table.
    Unchanged,
    /// The table may match neither the previous nor the new plan.
    Unknown,
}

impl JobFailure {
    #[must_use]
    pub fn of(error: &ApplyError) -> Self {
        let left = if matches!(error, ApplyError::ReadBack(_)) {
            TableState::Unread
        } else if matches!(error, ApplyError::Stuck { .. }) {
            TableState::Unknown
        } else {
            TableState::Unchanged
        };
        Self { why: chain(error), is_verdict: error.is_verdict(), left }
    }

    /// Shortens nft's message to its first line; the other lines quote the script.
    pub(crate) fn brief(self) -> Self {
        Self { why: self.why.lines().next().unwrap_or_default().to_owned(), ..self }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Source {
    #[default]
    Config,
    Command,
}

/// The wanted engine and the engine in force (`types.json`, `EngineState`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineReport {
    pub(crate) wanted: &'static str,
    pub(crate) active: &'static str,
    pub(crate) why: String,
    pub(crate) cause: Cause,
    pub(crate) source: Source,
    pub(crate) devices: Vec<String>,
    pub(crate) applied_ms: u64,
    pub(crate) revocation: RevocationReport,
    pub(crate) packet_rules: Vec<String>,
    pub(crate) hardware_unused: bool,
    pub(crate) hardware_ports: Option<HardwarePorts>,
    pub(crate) hardware_full: Option<usize>,
    pub(crate) hardware_counts: Option<bool>,
}

config::coded! {
    /// Why the wanted engine is not in force, or the last change or renewal failed. `said` is the
    /// text of nft or the kernel.
    pub(crate) enum EngineReason {
        Waiting = "waiting", "waiting for the configuration";
        NoDevice = "no-device", "no device that packets are forwarded through was found";
        Applying = "applying", "being applied";
        Gone { devices: String } = "gone", "not there any more: {devices}";
        Refused { said: String } = "refused", "{said}";
        NoProgram { why: String } = "no-program", "{why}";
        Unread { said: String } = "unread",
            "no flow is offloaded: the rules of other programs cannot be read: {said}";
    }
}

/// Reconciles the wanted table with the table in force, and renews it to remove its flows.
#[derive(Debug)]
pub struct Flowtable {
    table: Reconciler<Plan, EngineReason>,
    /// Engine of the last request, even if the plan has no device.
    wanted: Engine,
    source: Source,
    applied: Option<Now>,
    /// Devices with eBPF programs.
    held: BTreeSet<String>,
    /// Why other devices have no program; empty if there is no reason.
    without_program: Cause,
    /// Time to renew the table; `None` if no renewal is due.
    renew_at: Option<Duration>,
    renewed_at: Option<Duration>,
    /// Total cost of revocations, see `REVOCATION_COST`.
    renewals_until: Duration,
}

impl Flowtable {
    pub(crate) fn new() -> Self {
        Self {
            table: Reconciler::new(true),
            wanted: Engine::Off,
            source: Source::default(),
            applied: None,
            held: BTreeSet::new(),
            without_program: Cause::default(),
            renew_at: None,
            renewed_at: None,
            renewals_until: Duration::ZERO,
        }
    }

    /// Requests a plan. A repeated plan has no effect.
    pub(crate) fn request(&mut self, mut plan: Plan, source: Source) -> Option<Job> {
        (self.wanted, self.source) = (plan.engine, source);
        if plan.devices.is_empty() {
            // A flowtable without a device offloads nothing.
            plan.engine = without_flowtable(plan.engine);
            plan.hardware = false;
        }
        self.table.want(plan)
    }

    /// Handles the outcome of a job. Returns the next job, if one is due.
    pub(crate) fn applied(&mut self, result: Result<Applied, JobFailure>, now: Now) -> Option<Job> {
        let job = self.table.job()?;
        let renews = matches!(job, Job::Renew(_));
        let plan = job.plan().clone();
        let in_force = self.table.in_force().cloned();
        let outcome = match result {
            Ok(how) => {
                if how != Applied::Unchanged || self.applied.is_none() {
                    self.applied = Some(now);
                }
                outcome(plan, how)
            }
            Err(JobFailure { why, is_verdict, left }) => {
                if renews || plan.unread {
                    // Flows of the plan in force still have to leave the flowtable.
                    self.renew_at = Some(now.mono + RETRY_INTERVAL);
                }
                let reason = EngineReason::Refused { said: why };
                let left = in_force.filter(|_| !self.is_damaged(left));
                if is_verdict {
                    Outcome::Refused(reason, left)
                } else {
                    Outcome::Failed(reason, left)
                }
            }
        };
        self.table.done(outcome, now.mono).or_else(|| self.renewal(now))
    }

    /// Returns a job that is due. Called once a second.
    pub(crate) fn second(&mut self, now: Now) -> Option<Job> {
        self.table
            .retry_due(now.mono)
            .or_else(|| self.renewal(now))
            .or_else(|| self.table.second(now.mono))
    }

    /// Renews the flowtable because hosts have moved to other ports. Rate-limited.
    pub(crate) fn renew(&mut self, now: Now) -> Option<Job> {
        let at = self.renewed_at.map_or(now.mono, |at| now.mono.max(at + MIN_RENEWAL_INTERVAL));
        self.renew_by(at, now)
    }

    /// Renews the flowtable because its flows have passed outdated rules or routes. Unlike
    /// [`renew`](Self::renew), allows bursts.
    pub(crate) fn revoke(&mut self, now: Now) -> Option<Job> {
        let at = now.mono.max(self.renewals_until.saturating_sub(REVOCATION_BURST));
        self.renew_by(at, now)
    }

    fn renew_by(&mut self, at: Duration, now: Now) -> Option<Job> {
        self.renew_at = Some(self.renew_at.map_or(at, |due| due.min(at)));
        self.renewal(now)
    }

    fn renewal(&mut self, now: Now) -> Option<Job> {
        if self.table.job().is_some() || self.renew_at.is_none_or(|at| now.mono < at) {
            return None;
        }
        let has_flowtable = self.in_force()?.has_flowtable();
        self.renew_at = None;
        if !has_flowtable {
            return None;
        }
        self.renewed_at = Some(now.mono);
        self.renewals_until = self.renewals_until.max(now.mono) + REVOCATION_COST;
        self.table.renew()
    }

    /// Handles a change or removal of our table, by another program or by one of our jobs.
    pub(crate) fn touched(&mut self, touch: Touch, now: Now) -> Option<Job> {
        let has_table = self.in_force().is_some_and(Plan::has_table);
        match touch {
            Touch::None => None,
            Touch::Gone if has_table => self.table.removed(now.mono),
            // The last job removed the table.
            Touch::Gone if self.table.job().is_none() => None,
            Touch::Gone | Touch::Changed => self.table.touched(now.mono),
        }
    }

    /// Verifies the table within a second, because the administrator may have set the same engine
    /// again to restore a missing table.
    pub(crate) fn verify_soon(&mut self) {
        self.table.verify_soon();
    }

    /// Returns true if no plan is being applied or due: the wanted plan is in force or was refused.
    pub(crate) fn is_settled(&self) -> bool {
        self.table.is_settled()
    }

    pub(crate) fn in_force(&self) -> Option<&Plan> {
        self.table.in_force()
    }

    /// Returns the plan that will be in force if the current job succeeds.
    #[must_use]
    pub fn upcoming(&self) -> Option<&Plan> {
        self.table.job().map(Job::plan).or(self.in_force())
    }

    /// Returns true if the table differs from the plan in force after a failure of the current job.
    /// A verification reads the table first, so a later failure means that the table differed.
    pub(crate) fn is_damaged(&self, left: TableState) -> bool {
        match left {
            TableState::Unread => false,
            TableState::Unchanged => self.is_verifying(),
            TableState::Unknown => true,
        }
    }

    /// Returns true if the current job verifies the plan in force.
    pub(crate) fn is_verifying(&self) -> bool {
        match self.table.job() {
            Some(Job::Apply { plan, in_force }) => in_force.as_ref() == Some(plan),
            Some(Job::Renew(_)) | None => false,
        }
    }

    pub(crate) fn set_held(&mut self, held: BTreeSet<String>, without: Cause) {
        self.held = held;
        self.without_program = without;
    }

    pub(crate) fn active(&self) -> Engine {
        match self.in_force() {
            Some(plan) if plan.engine == Engine::Ebpf && self.held.is_empty() => {
                if plan.devices.is_empty() { Engine::Off } else { Engine::Flowtable }
            }
            Some(plan) => plan.engine,
            None => Engine::Off,
        }
    }

    /// Returns the wanted engine and the engine in force, without the last revocation.
    pub(crate) fn report(&self, now: Now) -> EngineReport {
        let devices = match self.in_force() {
            Some(plan) if plan.engine != Engine::Off => {
                let held = self.held.iter().filter(|_| plan.engine == Engine::Ebpf);
                plan.devices.iter().chain(held).cloned().collect()
            }
            Some(_) | None => Vec::new(),
        };
        let cause = self.reason();
        EngineReport {
            wanted: self.wanted.name(),
            active: self.active().name(),
            why: cause.text.clone(),
            cause,
            source: self.source,
            devices,
            applied_ms: self.applied.map_or(0, |applied| now.unix_ms_at(applied)),
            revocation: RevocationReport::default(),
            hardware_unused: false,
            hardware_ports: None,
            hardware_full: None,
            hardware_counts: None,
            packet_rules: self.in_force().map(rule_names).unwrap_or_default(),
        }
    }

    fn reason(&self) -> Cause {
        if let Some(why) = self.table.why() {
            return why.cause();
        }
        let Some(plan) = self.table.wanted() else { return EngineReason::Waiting.cause() };
        let wanted = self.wanted;
        let held = wanted == Engine::Ebpf && !self.held.is_empty();
        if wanted != Engine::Off && plan.devices.is_empty() && !held {
            return EngineReason::NoDevice.cause();
        }
        let without = &self.without_program;
        if wanted == Engine::Ebpf && !held && !without.text.is_empty() {
            let reason = EngineReason::NoProgram { why: without.text.clone() };
            return reason.cause().around(without.clone());
        }
        if self.active() == wanted { Cause::default() } else { EngineReason::Applying.cause() }
    }
}

/// Converts nft's result to the outcome of a plan.
fn outcome(mut plan: Plan, how: Applied) -> Outcome<Plan, EngineReason> {
    match how {
        Applied::Unchanged
        | Applied::Gate
        | Applied::Devices
        | Applied::Replaced
        | Applied::Removed => Outcome::Applied,
        Applied::WithoutFlowtable { why } => {
            plan.engine = without_flowtable(plan.engine);
            plan.devices.clear();
            Outcome::Partly(plan, EngineReason::Refused { said: why })
        }
        Applied::Partly { devices } => {
            let gone: Vec<&str> = plan.devices.difference(&devices).map(String::as_str).collect();
            let why = EngineReason::Gone { devices: gone.join(", ") };
            if devices.is_empty() {
                plan.engine = without_flowtable(plan.engine);
            }
            plan.devices = devices;
            Outcome::Partly(plan, why)
        }
    }
}

fn without_flowtable(engine: Engine) -> Engine {
    if engine == Engine::Ebpf { engine } else { Engine::Off }
}

#[cfg(test)]
mod tests;
