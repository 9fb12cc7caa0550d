// SPDX-License-Identifier: GPL-2.0-or-later
//! Brings the wanted plan into force, one job at a time: retries it after a failure, applies a
//! fallback while the kernel refuses it, and verifies it regularly, because other programs may
//! change the kernel's objects. A job reads these objects first, and changes only differences.

use std::time::Duration;

/// Retry interval after a failure; the missing module may have been loaded meanwhile.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_secs(30);
/// First retry interval of a plan that is partly in force: a missing device may be back already.
const MIN_RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Longest retry interval of a plan that is refused repeatedly while its fallback is in force.
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(240);
/// Interval of verifications, in case a change was not reported.
const VERIFY_INTERVAL: Duration = Duration::from_secs(20);
/// Debounce for changes by other programs, because a program may change our objects all the time.
const DEBOUNCE: Duration = Duration::from_secs(2);

/// A state of our objects in the kernel. One of its values is "no objects".
pub(crate) trait Plan: Clone + PartialEq {
    /// Returns the plan to apply while the kernel refuses this one.
    fn fallback(&self) -> Option<Self> {
        None
    }

    /// Returns true if a refusal of this plan also applies to the other one.
    fn is_refused_like(&self, other: &Self) -> bool {
        self == other
    }

    fn is_nothing(&self) -> bool {
        false
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job<P> {
    /// Brings the plan into force. `in_force` is the previous plan, which is the same for a
    /// verification; `None` if unknown.
    Apply { plan: P, in_force: Option<P> },
    /// Replaces the plan in force by itself, which clears the kernel's state of these objects.
    Renew(P),
}

impl<P> Job<P> {
    #[must_use]
    pub fn plan(&self) -> &P {
        match self {
            Self::Apply { plan, .. } | Self::Renew(plan) => plan,
        }
    }

    /// Returns the previous plan; `None` if unknown.
    #[must_use]
    pub fn before(&self) -> Option<&P> {
        match self {
            Self::Apply { in_force, .. } => in_force.as_ref(),
            Self::Renew(plan) => Some(plan),
        }
    }

    #[must_use]
    pub fn into_plan(self) -> P {
        match self {
            Self::Apply { plan, .. } | Self::Renew(plan) => plan,
        }
    }
}

/// Outcome of a job. After a failure, the last field is the plan in force; `None` if unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome<P, R> {
    Applied,
    /// Only a part of the wanted plan is possible. This part is in force.
    Partly(P, R),
    Refused(R, Option<P>),
    /// The job failed without a verdict on this plan, for example after a timeout.
    Failed(R, Option<P>),
}

/// The wanted plan, the plan in force, and the job between them. `R` is a reason.
///
/// ```text
/// idle ── wanted ≠ in force, retry_at, fallback_until ──▶ Apply ── done ──▶ idle
/// idle ── verify_at, touched ──▶ Apply (of the plan in force) ── done ──▶ idle
/// idle ── renew ──▶ Renew ── done ──▶ idle
/// ```
#[derive(Debug)]
pub(crate) struct Reconciler<P, R> {
    /// `None` before the first plan.
    wanted: Option<P>,
    /// `None` if unknown: at the start, after some failures, and if another program removed it.
    in_force: Option<P>,
    job: Option<Job<P>>,
    /// Another plan was wanted during the job.
    superseded: bool,
    /// A change of our objects was reported during the job. The job may have caused it.
    touched: bool,
    /// Why the wanted plan is not in force, or the last renewal failed.
    why: Option<R>,
    /// `why` concerns a renewal, so a successful verification does not clear it.
    renewal_failed: bool,
    retry_at: Option<Duration>,
    /// Time until which the fallback is applied instead of the wanted plan.
    fallback_until: Option<Duration>,
    /// The last interval between attempts of a refused plan.
    refusal_pause: Duration,
    /// The last interval between attempts of a plan that is partly in force.
    partly_pause: Duration,
    /// Time of the next verification; `None` for never.
    verify_at: Option<Duration>,
    /// Time of the last reaction to another program.
    reacted_at: Option<Duration>,
}

impl<P, R> Reconciler<P, R> {
    /// `verifies` enables regular verifications of the plan in force.
    pub(crate) fn new(verifies: bool) -> Self {
        Self {
            wanted: None,
            in_force: None,
            job: None,
            superseded: false,
            touched: false,
            why: None,
            renewal_failed: false,
            retry_at: None,
            fallback_until: None,
            refusal_pause: Duration::ZERO,
            partly_pause: Duration::ZERO,
            verify_at: verifies.then_some(VERIFY_INTERVAL),
            reacted_at: None,
        }
    }

    pub(crate) fn wanted(&self) -> Option<&P> {
        self.wanted.as_ref()
    }

    pub(crate) fn in_force(&self) -> Option<&P> {
        self.in_force.as_ref()
    }

    pub(crate) fn job(&self) -> Option<&Job<P>> {
        self.job.as_ref()
    }

    pub(crate) fn why(&self) -> Option<&R> {
        self.why.as_ref()
    }

    /// Verifies the plan in force within a second, or after the current job.
    pub(crate) fn verify_soon(&mut self) {
        self.touched |= self.job.is_some() && self.verify_at.is_some();
        self.verify_at = self.verify_at.map(|_| Duration::ZERO);
    }

    fn verify_later(&mut self, now: Duration) {
        self.verify_at = self.verify_at.map(|_| now + VERIFY_INTERVAL);
    }

    /// Returns the debounced time to react to a change by another program.
    fn react_at(&mut self, now: Duration) -> Duration {
        let at = self.reacted_at.map_or(now, |at| now.max(at + DEBOUNCE));
        if at == now {
            self.reacted_at = Some(at);
        }
        at
    }
}

impl<P: Plan, R> Reconciler<P, R> {
    /// Sets the wanted plan, and returns the next job. A repeated plan has no effect.
    pub(crate) fn want(&mut self, plan: P) -> Option<Job<P>> {
        if self.wanted.as_ref() == Some(&plan) {
            return None;
        }
        self.superseded = self.job.is_some();
        self.retry_at = None;
        if !self.wanted.as_ref().is_some_and(|before| plan.is_refused_like(before)) {
            self.fallback_until = None;
            self.refusal_pause = Duration::ZERO;
        }
        if self.fallback_until.is_none() {
            self.why = None;
        }
        if self.wanted.is_none() && plan.is_nothing() {
            // Keep the objects of a previous daemon until the next second: the first plan may lack
            // a part of the network that is still unknown.
            self.retry_at = Some(Duration::ZERO);
        }
        self.wanted = Some(plan);
        self.next()
    }

    pub(crate) fn done(&mut self, outcome: Outcome<P, R>, now: Duration) -> Option<Job<P>> {
        let job = self.job.take()?;
        let renews = matches!(job, Job::Renew(_));
        let verifies = !renews && job.before() == Some(job.plan());
        let plan = job.into_plan();
        let is_target = self.target().as_ref() == Some(&plan);
        let is_outdated = std::mem::take(&mut self.superseded) && !is_target;
        self.verify_later(now);
        match outcome {
            Outcome::Applied => {
                self.partly_pause = Duration::ZERO;
                if plan.fallback().is_some() {
                    self.refusal_pause = Duration::ZERO;
                }
                self.renewal_failed &= verifies;
                // The refusal of the wanted plan stays as the reason for its fallback.
                if is_target && self.fallback_until.is_none() && !self.renewal_failed {
                    self.why = None;
                }
                self.in_force = Some(plan);
            }
            Outcome::Partly(part, why) => {
                self.why = Some(why);
                self.partly_pause =
                    (self.partly_pause * 2).clamp(MIN_RETRY_INTERVAL, RETRY_INTERVAL);
                self.retry_at = Some(now + self.partly_pause);
                self.in_force = Some(part);
            }
            Outcome::Refused(why, left)
                if plan.fallback().is_some() && self.wanted.as_ref() == Some(&plan) =>
            {
                self.why = Some(why);
                self.refusal_pause =
                    (self.refusal_pause * 2).clamp(RETRY_INTERVAL, MAX_RETRY_INTERVAL);
                self.fallback_until = Some(now + self.refusal_pause);
                self.in_force = left;
            }
            Outcome::Refused(why, left) | Outcome::Failed(why, left) => {
                // A verification without a result does not concern the wanted plan.
                if !verifies || left.as_ref() != Some(&plan) {
                    self.why = Some(why);
                    self.renewal_failed = renews;
                    if !renews || left.is_none() {
                        self.retry_at = Some(now + RETRY_INTERVAL);
                    }
                }
                self.in_force = left;
            }
        }
        if is_outdated {
            // The outcome does not concern the plan that is wanted now.
            self.why = None;
            self.retry_at = None;
            self.fallback_until = None;
        }
        if std::mem::take(&mut self.touched) {
            match &mut self.verify_at {
                Some(at) => *at = Duration::ZERO,
                None => self.in_force = None,
            }
        }
        self.next()
    }

    /// Returns a job that is due. Called once a second.
    pub(crate) fn second(&mut self, now: Duration) -> Option<Job<P>> {
        self.retry_due(now).or_else(|| self.verification(now))
    }

    /// Returns the retry of a failed or refused plan, if due.
    pub(crate) fn retry_due(&mut self, now: Duration) -> Option<Job<P>> {
        if self.job.is_some() || self.retry_at.or(self.fallback_until).is_none_or(|at| now < at) {
            return None;
        }
        self.retry_at = None;
        self.fallback_until = None;
        let next = self.next();
        if next.is_none() {
            self.why = None;
        }
        next
    }

    /// Handles the report that our objects have changed. Returns the next job.
    pub(crate) fn touched(&mut self, now: Duration) -> Option<Job<P>> {
        if self.job.is_some() {
            self.touched = true;
            return None;
        }
        let at = self.react_at(now);
        self.verify_at = self.verify_at.map(|due| due.min(at));
        self.verification(now)
    }

    /// Handles the report that our objects were removed. Returns the next job.
    pub(crate) fn removed(&mut self, now: Duration) -> Option<Job<P>> {
        if self.job.is_some() {
            self.touched = true;
            return None;
        }
        let at = self.react_at(now);
        self.in_force = None;
        self.retry_at = (at > now).then_some(at);
        self.next()
    }

    /// Retries a failed plan early, because another object has changed. Returns the job.
    pub(crate) fn retry(&mut self, now: Duration) -> Option<Job<P>> {
        let due = self.retry_at.filter(|_| self.why.is_some())?;
        let at = self.react_at(now);
        self.retry_at = (at > now).then_some(at.min(due));
        self.next()
    }

    /// Renews the plan in force, unless a job is running.
    pub(crate) fn renew(&mut self) -> Option<Job<P>> {
        if self.job.is_some() {
            return None;
        }
        let plan = self.in_force.clone()?;
        Some(self.start(Job::Renew(plan)))
    }

    /// Returns true if no plan is being applied or due: the wanted plan is in force or was refused.
    pub(crate) fn is_settled(&self) -> bool {
        let applies = match &self.job {
            Some(Job::Apply { plan, in_force }) => in_force.as_ref() != Some(plan),
            Some(Job::Renew(_)) | None => false,
        };
        !applies && self.due().is_none()
    }

    fn verification(&mut self, now: Duration) -> Option<Job<P>> {
        if self.job.is_some() || self.verify_at.is_none_or(|at| now < at) {
            return None;
        }
        self.verify_later(now);
        let plan = self.in_force.clone().filter(|plan| !plan.is_nothing())?;
        Some(self.start(Job::Apply { plan: plan.clone(), in_force: Some(plan) }))
    }

    fn next(&mut self) -> Option<Job<P>> {
        if self.job.is_some() {
            return None;
        }
        let job = Job::Apply { plan: self.due()?, in_force: self.in_force.clone() };
        Some(self.start(job))
    }

    fn start(&mut self, job: Job<P>) -> Job<P> {
        self.superseded = false;
        self.job = Some(job.clone());
        job
    }

    /// Returns the plan to apply as soon as no job is running.
    fn due(&self) -> Option<P> {
        if self.retry_at.is_some() {
            return None;
        }
        self.target().filter(|plan| self.in_force.as_ref() != Some(plan))
    }

    /// Returns the wanted plan, or its fallback while that is applied.
    fn target(&self) -> Option<P> {
        let wanted = self.wanted.as_ref()?;
        self.fallback_until.and_then(|_| wanted.fallback()).or_else(|| Some(wanted.clone()))
    }
}

#[cfg(test)]
mod tests;
