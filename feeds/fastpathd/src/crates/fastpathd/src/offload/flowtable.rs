// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies the requested plan: one job at a time, retried after a refusal, without hardware offload
//! if that is refused, verified; the intervals of all of these and of renewals, and the reasons of
//! the engine. Pure: jobs run in `run.rs`, and their outcome comes back as an event.

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

/// A refused plan is tried again after this long: a missing module may have been loaded since.
const RETRY: Duration = Duration::from_secs(30);
/// Hardware offload that is refused again and again is retried after pauses up to this.
const MAX_HARDWARE_RETRY: Duration = Duration::from_secs(240);
/// How often the kernel is asked whether our table is still there. It reports every
/// change: this is for reports that are lost.
const VERIFY_EVERY: Duration = Duration::from_secs(20);
/// Shortest time between two reactions to changes by others: a program that keeps changing our
/// table must not keep us busy.
const CALM: Duration = Duration::from_secs(2);
/// Shortest time between two renewals for stations: one that roams back and forth must not keep
/// all flows on the slow path.
const RENEWALS: Duration = Duration::from_secs(4);
/// Time that each renewal adds to the account of revocations, which wait while it is ahead of the
/// clock by more than the burst: a script that adds rule after rule must not keep us busy.
const REVOCATION: Duration = Duration::from_secs(1);
const REVOCATION_BURST: Duration = Duration::from_secs(3);

/// Work for nft.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one job at a time")]
pub(crate) enum Job {
    /// Apply `plan`; `in_force` is the plan applied last.
    Apply { plan: Plan, in_force: Option<Plan> },
    /// Load the table of the plan in force again, so that no flow stays offloaded until its next
    /// packet.
    Renew(Plan),
    /// Verify that the plan is still in force.
    Verify(Plan),
}

/// A job failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobFailure {
    pub(crate) why: String,
    /// nft or the kernel refused the rules, rather than being too slow or killed.
    pub(crate) is_verdict: bool,
}

impl JobFailure {
    pub(crate) fn of(error: &ApplyError) -> Self {
        Self { why: chain(error), is_verdict: error.is_verdict() }
    }

    /// With the first line of nft's message: the rest points into a script that the administrator
    /// does not see.
    pub(crate) fn brief(self) -> Self {
        Self { why: self.why.lines().next().unwrap_or_default().to_owned(), ..self }
    }
}

/// Where the wanted engine came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Source {
    #[default]
    Config,
    Command,
}

/// The engine asked for and the one in force (`types.json`, `EngineState`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct EngineReport {
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
    /// Why the engine in force is not the requested one, or the last change was refused. `said` is
    /// of nft or the kernel.
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

/// The table that is requested, and the one in force.
#[derive(Debug, Default)]
pub(crate) struct Flowtable {
    /// The requested plan; none before the first configuration and topology.
    wanted: Option<Plan>,
    source: Source,
    in_force: Option<Plan>,
    applied: Option<Now>,
    /// The job under way.
    job: Option<Job>,
    /// Why the last job failed; none: it did not.
    refused: Option<EngineReason>,
    /// A plan that was refused is not tried again before this.
    retry_at: Option<Duration>,
    /// Devices that eBPF programs hold.
    held: BTreeSet<String>,
    /// Why others have none; empty: no reason.
    without_program: Cause,
    /// The hardware plan was refused: the software flowtable takes its place.
    software: bool,
    /// When hardware is tried again, and the pause before that.
    hardware_at: Option<Duration>,
    hardware_pause: Duration,
    verify_at: Duration,
    /// When a change by others was last reacted to at once.
    reacted_at: Option<Duration>,
    /// The table was changed while a job was under way, perhaps by that job.
    changed: bool,
    /// The table was removed while it was being renewed, which may have restored it.
    removed: bool,
    /// When the table is to be renewed; none: it need not be.
    renew_at: Option<Duration>,
    renewed_at: Option<Duration>,
    /// The account of revocations.
    renewals_until: Duration,
}

impl Flowtable {
    pub(crate) fn new() -> Self {
        Self { verify_at: VERIFY_EVERY, ..Self::default() }
    }

    /// Requests a plan; the same plan again changes nothing.
    pub(crate) fn request(&mut self, plan: Plan, source: Source) -> Option<Job> {
        self.source = source;
        let before = self.wanted.replace(plan.clone());
        if before.as_ref() == Some(&plan) {
            return None;
        }
        self.retry_at = None;
        // Flows that are held back change nothing about what the kernel has refused.
        if before.is_none_or(|before| Plan { unread: before.unread, ..plan } != before) {
            self.try_hardware();
            self.hardware_pause = Duration::ZERO;
        }
        if !self.software {
            self.refused = None;
        }
        self.next_job()
    }

    /// The outcome of the apply job; the next job, if there is more to do.
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
                    // Flows of the plan in force are still to leave the flowtable.
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
            // Another plan was requested meanwhile, often for the same reason: a device is gone.
            self.refused = None;
            self.retry_at = None;
            self.try_hardware();
        }
        self.next_job().or_else(|| self.renewal(now))
    }

    /// Nothing keeps hardware offload from being asked for.
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
            // From an earlier attempt. A refusal of hardware still explains why it is software.
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
            // The change of the network makes another plan, usually long before this.
            self.retry_at = Some(now.mono + RETRY);
            if devices.is_empty() {
                plan.engine = without_flowtable(plan.engine);
            }
            plan.devices = devices;
        }
        self.in_force = Some(plan);
    }

    /// The outcome of a verify job: whether the plan is still in force.
    pub(crate) fn verified(&mut self, in_force: bool, now: Now) -> Option<Job> {
        if !matches!(self.job.take(), Some(Job::Verify(_))) {
            return None;
        }
        self.verify_later(now);
        if !in_force {
            self.in_force = None;
            // Without rules no refused plan can wait for its next attempt.
            self.retry_at = None;
        }
        self.next_job().or_else(|| self.renewal(now))
    }

    /// Once a second.
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

    /// Flows in the flowtable in force go to ports where their hosts no longer are: none stays
    /// offloaded until its next packet has passed the rules.
    pub(crate) fn renew(&mut self, now: Now) -> Option<Job> {
        let at = self.renewed_at.map_or(now.mono, |at| now.mono.max(at + RENEWALS));
        self.renew_by(at, now)
    }

    /// Flows in the flowtable in force have passed outdated rules or routes: as
    /// [`renew`](Self::renew), and at once even if the last renewal was just now.
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

    /// Our table was changed or removed, perhaps by one of our own jobs.
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

    /// When to react to a change by others.
    fn react_at(&mut self, now: Now) -> Duration {
        let at = self.reacted_at.map_or(now.mono, |at| now.mono.max(at + CALM));
        if at == now.mono {
            self.reacted_at = Some(at);
        }
        at
    }

    /// Whether the table was removed during a renewal since this was last asked.
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

    /// Verifies within a second: a command that names the engine in force may have been given
    /// because the table is gone.
    pub(crate) fn verify_soon(&mut self) {
        self.verify_at = Duration::ZERO;
    }

    /// Whether nothing is under way or due: the requested plan is in force or refused.
    pub(crate) fn is_settled(&self) -> bool {
        !matches!(self.job, Some(Job::Apply { .. })) && self.due().is_none()
    }

    pub(crate) fn in_force(&self) -> Option<&Plan> {
        self.in_force.as_ref()
    }

    /// The plan that is in force when the job under way is done, should it succeed.
    pub(crate) fn coming(&self) -> Option<&Plan> {
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

    /// The plan to be brought in force as soon as no job is under way.
    fn due(&self) -> Option<Plan> {
        if self.retry_at.is_some() {
            return None;
        }
        self.target().filter(|plan| self.in_force.as_ref() != Some(plan))
    }

    /// The wanted plan as it can be asked of nft.
    fn target(&self) -> Option<Plan> {
        let mut plan = self.wanted.clone()?;
        if self.software {
            plan.hardware = false;
            plan.engine = Engine::Flowtable;
        }
        if plan.devices.is_empty() {
            // A flowtable without a device carries nothing.
            plan.engine = without_flowtable(plan.engine);
            plan.hardware = false;
        }
        Some(plan)
    }

    /// Devices that eBPF programs hold, and why others have none.
    pub(crate) fn set_held(&mut self, held: BTreeSet<String>, without: Cause) {
        self.held = held;
        self.without_program = without;
    }

    /// Engine in force.
    pub(crate) fn active(&self) -> Engine {
        match &self.in_force {
            Some(plan) if plan.engine == Engine::Ebpf && self.held.is_empty() => {
                if plan.devices.is_empty() { Engine::Off } else { Engine::Flowtable }
            }
            Some(plan) => plan.engine,
            None => Engine::Off,
        }
    }

    /// The engine asked for and the one in force, with times by the clock of now, without the last
    /// revocation.
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

/// The engine that is left when there is no flowtable.
fn without_flowtable(engine: Engine) -> Engine {
    if engine == Engine::Ebpf { engine } else { Engine::Off }
}

#[cfg(test)]
#[path = "flowtable_tests.rs"]
mod tests;
