// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies the wanted plan, one job at a time: retries it after a refusal, falls back to software,
//! and verifies and renews the table. Crate `fastpathd` runs the jobs and reports their outcome.

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
use crate::sys::error::chain;

/// Retry interval after a refusal; the missing module may have been loaded meanwhile.
const RETRY: Duration = Duration::from_secs(30);
/// Longest retry interval of hardware offload that is refused repeatedly.
const MAX_HARDWARE_RETRY: Duration = Duration::from_secs(240);
/// Interval between verifications of our table, in case the report of a change was lost.
const VERIFY_EVERY: Duration = Duration::from_secs(20);
/// Debounce for foreign changes to our table, so that a program that keeps changing it does not
/// keep us busy.
const FOREIGN_DEBOUNCE: Duration = Duration::from_secs(2);
/// Shortest interval between renewals because of moving hosts: a host that roams back and forth
/// must not keep all flows on the slow path.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(4);
/// Rate limit of revocations: each renewal adds this cost to an account, which may be ahead of the
/// clock by the burst.
const REVOCATION: Duration = Duration::from_secs(1);
const REVOCATION_BURST: Duration = Duration::from_secs(3);

/// Work for nft.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one job at a time")]
pub enum Job {
    /// Apply `plan`, after `in_force` was applied last.
    Apply { plan: Plan, in_force: Option<Plan> },
    /// Reload the table in force, so that each flow leaves the fast path until its next packet.
    Renew(Plan),
    /// Verify that the plan is still in force.
    Verify(Plan),
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFailure {
    pub(crate) why: String,
    /// nft or the kernel refused the rules; false if nft was too slow or killed.
    pub(crate) is_verdict: bool,
}

impl JobFailure {
    #[must_use]
    pub fn of(error: &ApplyError) -> Self {
        Self { why: chain(error), is_verdict: error.is_verdict() }
    }

    /// Shortens nft's message to its first line; the rest points into a script that the
    /// administrator does not see.
    pub(crate) fn brief(self) -> Self {
        Self { why: self.why.lines().next().unwrap_or_default().to_owned(), ..self }
    }
}

/// Origin of the wanted engine.
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
}

config::coded! {
    /// Why the wanted engine is not in force, or the last change was refused. `said` is the text of
    /// nft or the kernel.
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

/// The wanted table, and the table in force. One job runs at a time.
///
/// ```text
/// idle ── request, retry_at, hardware_at ──▶ Apply ── done or refused ──▶ idle
/// idle ── renew_at ──▶ Renew ── done or refused ──▶ idle
/// idle ── verify_at, changed ──▶ Verify ── intact ──▶ idle
///                                       └─ damaged ──▶ Apply
/// ```
#[derive(Debug, Default)]
pub struct Flowtable {
    /// The wanted plan; `None` before the first configuration and topology.
    wanted: Option<Plan>,
    source: Source,
    in_force: Option<Plan>,
    applied: Option<Now>,
    /// The job under way.
    job: Option<Job>,
    /// Why the last plan was refused; `None` if it was not.
    refused: Option<EngineReason>,
    /// Time to retry a refused plan.
    retry_at: Option<Duration>,
    /// Devices with eBPF programs.
    held: BTreeSet<String>,
    /// Why other devices have no program; empty if there is no reason.
    without_program: Cause,
    /// Hardware offload was refused, so the software flowtable is applied.
    software: bool,
    /// Time to retry hardware offload, and the current retry interval.
    hardware_at: Option<Duration>,
    hardware_pause: Duration,
    verify_at: Duration,
    /// Time of the last reaction to a foreign change.
    reacted_at: Option<Duration>,
    /// The table was changed during a job, perhaps by that job.
    changed: bool,
    /// The table was removed during a renewal, which may have restored it.
    removed: bool,
    /// Time to renew the table; `None` if no renewal is due.
    renew_at: Option<Duration>,
    renewed_at: Option<Duration>,
    /// Account of the rate limit of revocations.
    renewals_until: Duration,
}

impl Flowtable {
    pub(crate) fn new() -> Self {
        Self { verify_at: VERIFY_EVERY, ..Self::default() }
    }

    /// Requests a plan. The same plan again changes nothing.
    pub(crate) fn request(&mut self, plan: Plan, source: Source) -> Option<Job> {
        self.source = source;
        let before = self.wanted.replace(plan.clone());
        if before.as_ref() == Some(&plan) {
            return None;
        }
        self.retry_at = None;
        // A plan that differs only in `unread` changes nothing about the kernel's refusal.
        if before.is_none_or(|before| Plan { unread: before.unread, ..plan } != before) {
            self.try_hardware();
            self.hardware_pause = Duration::ZERO;
        }
        if !self.software {
            self.refused = None;
        }
        self.next_job()
    }

    /// Handles the outcome of an apply or renew job. Returns the next job, if one is due.
    pub(crate) fn applied(&mut self, result: Result<Applied, JobFailure>, now: Now) -> Option<Job> {
        let (plan, renews) = match self.job.take() {
            Some(Job::Apply { plan, .. }) => (plan, false),
            Some(Job::Renew(plan)) => (plan, true),
            Some(Job::Verify(_)) | None => return None,
        };
        self.verify_later(now);
        let outdated = self.target().as_ref() != Some(&plan);
        match result {
            Ok(how) => self.in_effect(plan, how, now),
            Err(JobFailure { why, is_verdict }) => {
                self.refused = Some(EngineReason::Refused { said: why });
                if renews || plan.unread {
                    // Flows of the plan in force still have to leave the flowtable.
                    self.renew_at = Some(now.mono + RETRY);
                }
                if plan.hardware && is_verdict {
                    self.software = true;
                    self.hardware_pause =
                        (self.hardware_pause * 2).clamp(RETRY, MAX_HARDWARE_RETRY);
                    self.hardware_at = Some(now.mono + self.hardware_pause);
                } else if !renews {
                    self.retry_at = Some(now.mono + RETRY);
                }
            }
        }
        if outdated {
            // Another plan was requested meanwhile, often because of the same missing device.
            self.refused = None;
            self.retry_at = None;
            self.try_hardware();
        }
        self.next_job().or_else(|| self.renewal(now))
    }

    /// Allows plans with hardware offload again.
    fn try_hardware(&mut self) {
        self.software = false;
        self.hardware_at = None;
    }

    fn in_effect(&mut self, plan: Plan, how: Applied, now: Now) {
        if plan.hardware {
            self.hardware_pause = Duration::ZERO;
        }
        if how != Applied::Unchanged || self.applied.is_none() {
            self.applied = Some(now);
        }
        let mut plan = plan;
        if !self.software {
            // Clear an earlier refusal. A refusal of hardware stays as the reason for software.
            self.refused = None;
        }
        if let Applied::WithoutFlowtable { why } = &how {
            self.refused = Some(EngineReason::Refused { said: why.clone() });
            self.retry_at = Some(now.mono + RETRY);
            plan.engine = without_flowtable(plan.engine);
            plan.devices.clear();
        }
        if let Applied::Partly { devices } = how {
            let gone: Vec<&str> = plan.devices.difference(&devices).map(String::as_str).collect();
            self.refused = Some(EngineReason::Gone { devices: gone.join(", ") });
            // The change of the network usually leads to another plan long before this.
            self.retry_at = Some(now.mono + RETRY);
            if devices.is_empty() {
                plan.engine = without_flowtable(plan.engine);
            }
            plan.devices = devices;
        }
        self.in_force = Some(plan);
    }

    /// Handles the outcome of a verify job, true if the plan is still in force.
    pub(crate) fn verified(&mut self, in_force: bool, now: Now) -> Option<Job> {
        if !matches!(self.job.take(), Some(Job::Verify(_))) {
            return None;
        }
        self.verify_later(now);
        if !in_force {
            self.in_force = None;
            // Without rules in force, retry a refused plan at once.
            self.retry_at = None;
        }
        self.next_job().or_else(|| self.renewal(now))
    }

    /// Returns a job that is due. Called once a second.
    pub(crate) fn second(&mut self, now: Now) -> Option<Job> {
        let is_due = |at: Option<Duration>| at.is_some_and(|at| now.mono >= at);
        let retries_hardware = is_due(self.hardware_at) && self.job.is_none();
        if is_due(self.retry_at) || retries_hardware && self.retry_at.is_none() {
            self.retry_at = None;
            self.try_hardware();
            return self.next_job();
        }
        self.renewal(now).or_else(|| self.verify(now))
    }

    /// Renews the flowtable because hosts have moved to other ports: flows stay on the slow path
    /// until their next packet has passed the rules. Rate-limited.
    pub(crate) fn renew(&mut self, now: Now) -> Option<Job> {
        let at = self.renewed_at.map_or(now.mono, |at| now.mono.max(at + RENEWAL_INTERVAL));
        self.renew_by(at, now)
    }

    /// Renews the flowtable because its flows have passed outdated rules or routes. Unlike
    /// [`renew`](Self::renew), a burst of renewals needs no pause.
    pub(crate) fn revoke(&mut self, now: Now) -> Option<Job> {
        let at = now.mono.max(self.renewals_until.saturating_sub(REVOCATION_BURST));
        self.renew_by(at, now)
    }

    fn renew_by(&mut self, at: Duration, now: Now) -> Option<Job> {
        self.renew_at = Some(self.renew_at.map_or(at, |due| due.min(at)));
        self.renewal(now)
    }

    fn renewal(&mut self, now: Now) -> Option<Job> {
        if self.job.is_some() || self.renew_at.is_none_or(|at| now.mono < at) {
            return None;
        }
        self.renew_at = None;
        let plan = self.in_force.clone().filter(Plan::has_flowtable)?;
        self.renewed_at = Some(now.mono);
        self.renewals_until = self.renewals_until.max(now.mono) + REVOCATION;
        self.job = Some(Job::Renew(plan.clone()));
        Some(Job::Renew(plan))
    }

    /// Handles a report that our table was changed or removed, perhaps by one of our own jobs.
    pub(crate) fn touched(&mut self, touch: Touch, now: Now) -> Option<Job> {
        if let Some(job) = &self.job {
            self.changed |= touch != Touch::None;
            self.removed |= touch == Touch::Gone && matches!(job, Job::Renew(_));
            return None;
        }
        let in_force = self.in_force.as_ref()?;
        match touch {
            Touch::Gone if in_force.has_table() => {
                let at = self.react_at(now);
                self.in_force = None;
                self.retry_at = (at > now.mono).then_some(at);
                self.next_job()
            }
            Touch::Changed => {
                self.verify_at = self.verify_at.min(self.react_at(now));
                self.verify(now)
            }
            Touch::None | Touch::Gone => None,
        }
    }

    /// Returns when to react to a foreign change.
    fn react_at(&mut self, now: Now) -> Duration {
        let at = self.reacted_at.map_or(now.mono, |at| now.mono.max(at + FOREIGN_DEBOUNCE));
        if at == now.mono {
            self.reacted_at = Some(at);
        }
        at
    }

    /// Returns true if the table was removed during a renewal since the last call.
    pub(crate) fn take_removed(&mut self) -> bool {
        std::mem::take(&mut self.removed)
    }

    fn verify_later(&mut self, now: Now) {
        let changed = std::mem::take(&mut self.changed);
        self.verify_at = if changed { Duration::ZERO } else { now.mono + VERIFY_EVERY };
    }

    fn verify(&mut self, now: Now) -> Option<Job> {
        if self.job.is_some() || now.mono < self.verify_at {
            return None;
        }
        self.verify_at = now.mono + VERIFY_EVERY;
        let plan = self.in_force.clone()?;
        self.job = Some(Job::Verify(plan.clone()));
        Some(Job::Verify(plan))
    }

    /// Verifies within a second: the administrator may have set the engine in force again because
    /// the table is gone.
    pub(crate) fn verify_soon(&mut self) {
        self.verify_at = Duration::ZERO;
    }

    /// Returns true if no plan is being applied or due: the wanted plan is in force or was refused.
    pub(crate) fn is_settled(&self) -> bool {
        !matches!(self.job, Some(Job::Apply { .. })) && self.due().is_none()
    }

    pub(crate) fn in_force(&self) -> Option<&Plan> {
        self.in_force.as_ref()
    }

    /// Returns the plan that will be in force if the job under way succeeds.
    #[must_use]
    pub fn coming(&self) -> Option<&Plan> {
        match &self.job {
            Some(Job::Apply { plan, .. }) => Some(plan),
            Some(Job::Renew(_) | Job::Verify(_)) | None => self.in_force(),
        }
    }

    fn next_job(&mut self) -> Option<Job> {
        if self.job.is_some() {
            return None;
        }
        let plan = self.due()?;
        let job = Job::Apply { plan, in_force: self.in_force.clone() };
        self.job = Some(job.clone());
        Some(job)
    }

    /// Returns the plan to apply as soon as no job is under way.
    fn due(&self) -> Option<Plan> {
        if self.retry_at.is_some() {
            return None;
        }
        self.target().filter(|plan| self.in_force.as_ref() != Some(plan))
    }

    /// Returns the wanted plan, adapted to what can be applied.
    fn target(&self) -> Option<Plan> {
        let mut plan = self.wanted.clone()?;
        if self.software {
            plan.hardware = false;
            plan.engine = Engine::Flowtable;
        }
        if plan.devices.is_empty() {
            // A flowtable without a device offloads nothing.
            plan.engine = without_flowtable(plan.engine);
            plan.hardware = false;
        }
        Some(plan)
    }

    /// Sets the devices with eBPF programs, and why other devices have none.
    pub(crate) fn set_held(&mut self, held: BTreeSet<String>, without: Cause) {
        self.held = held;
        self.without_program = without;
    }

    /// Returns the engine in force.
    pub(crate) fn active(&self) -> Engine {
        match &self.in_force {
            Some(plan) if plan.engine == Engine::Ebpf && self.held.is_empty() => {
                if plan.devices.is_empty() { Engine::Off } else { Engine::Flowtable }
            }
            Some(plan) => plan.engine,
            None => Engine::Off,
        }
    }

    /// Returns the wanted engine and the engine in force, without the last revocation. Converts
    /// times with the clock `now`.
    pub(crate) fn report(&self, now: Now) -> EngineReport {
        let wanted = self.wanted.as_ref().map_or(Engine::Off, |plan| plan.engine);
        let devices = match &self.in_force {
            Some(plan) if plan.engine != Engine::Off => {
                let held = self.held.iter().filter(|_| plan.engine == Engine::Ebpf);
                plan.devices.iter().chain(held).cloned().collect()
            }
            Some(_) | None => Vec::new(),
        };
        let cause = self.reason(wanted);
        EngineReport {
            wanted: wanted.name(),
            active: self.active().name(),
            why: cause.text.clone(),
            cause,
            source: self.source,
            devices,
            applied_ms: self.applied.map_or(0, |applied| now.unix_ms_at(applied)),
            revocation: RevocationReport::default(),
            hardware_unused: false,
            hardware_ports: None,
            packet_rules: self.in_force.as_ref().map(rule_names).unwrap_or_default(),
        }
    }

    fn reason(&self, wanted: Engine) -> Cause {
        if let Some(refused) = &self.refused {
            return refused.cause();
        }
        let Some(plan) = &self.wanted else { return EngineReason::Waiting.cause() };
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

/// Returns the engine that remains without a flowtable.
fn without_flowtable(engine: Engine) -> Engine {
    if engine == Engine::Ebpf { engine } else { Engine::Off }
}

#[cfg(test)]
mod tests;
