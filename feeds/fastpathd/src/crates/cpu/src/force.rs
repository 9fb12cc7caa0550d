// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies a plan: differences from the machine, lines for root's script, and retries of values
//! that the kernel refuses.
//!
//! The daemon is not root, so it passes [`lines()`] to a script of root that accepts only these
//! files. [`Attempts`] schedules the retries.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use config::sort::Collect;

use crate::machine::{Knob, Machine};
use crate::plan::CpuPlan;
use crate::set::CpuSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub knob: Knob,
    pub wanted: CpuSet,
    pub have: CpuSet,
}

/// Returns where the machine differs from the plan. Empty for an inactive plan.
#[must_use]
pub fn differences(plan: &CpuPlan, machine: &Machine) -> Vec<Difference> {
    compare(&plan.wants, machine)
}

/// Compares values with the machine, skipping files that do not exist.
pub(crate) fn compare(wants: &BTreeMap<Knob, CpuSet>, machine: &Machine) -> Vec<Difference> {
    let have = machine.knobs();
    let differs = |(knob, wanted): (&Knob, &CpuSet)| {
        let have = have.get(knob)?;
        (have != wanted).then(|| Difference {
            knob: knob.clone(),
            wanted: wanted.clone(),
            have: have.clone(),
        })
    };
    wants.iter().filter_map(differs).collect()
}

/// Formats the lines to write: `PATH MASK`, with the mask as the kernel prints it. A thread has the
/// path `/proc/PID/NAME` ([`Knob::path`]) and a mask for `taskset -p`.
#[must_use]
pub fn lines(differences: &[Difference]) -> String {
    differences.iter().fold(String::new(), |mut lines, Difference { knob, wanted, .. }| {
        let _ = writeln!(lines, "{} {}", knob.path(), wanted.mask());
        lines
    })
}

/// Retry intervals for a written value that still differs. The last interval repeats. The first one
/// is short, because another program may have written at the same time.
const RETRY_INTERVALS: [Duration; 4] = [
    Duration::from_secs(2),
    Duration::from_secs(30),
    Duration::from_secs(300),
    Duration::from_secs(3600),
];

/// Written values and failed attempts. Managed and per-CPU interrupts never move, so retries have
/// growing intervals.
#[derive(Debug, Clone, Default)]
pub struct Attempts {
    tried: BTreeMap<Knob, Tried>,
}

#[derive(Debug, Clone)]
struct Tried {
    wanted: CpuSet,
    times: usize,
    last: Duration,
}

impl Tried {
    /// Returns when to write the value again. `None` if the value was never written.
    fn retry_at(&self) -> Option<Duration> {
        let interval = RETRY_INTERVALS[self.times.checked_sub(1)?.min(RETRY_INTERVALS.len() - 1)];
        Some(self.last + interval)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub knob: Knob,
    pub wanted: CpuSet,
    /// Message of the kernel; `None` if it ignored the value.
    pub said: Option<String>,
}

impl Attempts {
    /// Returns the differences to write now and counts them as tried. Drops values that match the
    /// plan, so that a later change by another program is reverted at once.
    pub fn due(&mut self, differences: &[Difference], now: Duration) -> Vec<Difference> {
        self.tried.retain(|knob, tried| {
            differences.iter().any(|now| now.knob == *knob && now.wanted == tried.wanted)
        });
        let mut due = Vec::new();
        for difference in differences {
            let wanted = difference.wanted.clone();
            let tried = self.tried.entry(difference.knob.clone());
            let tried = tried.or_insert(Tried { wanted, times: 0, last: Duration::ZERO });
            if tried.retry_at().is_none_or(|at| now >= at) {
                tried.times += 1;
                tried.last = now;
                due.push(difference.clone());
            }
        }
        due
    }

    /// Returns when the next retry is due. The caller reads the machine again then.
    #[must_use]
    pub fn next(&self) -> Option<Duration> {
        self.tried.values().filter_map(Tried::retry_at).min()
    }

    /// Returns the values that two writes did not change, with the reason from `refusals`: the
    /// script records the shell's message, followed by the refused line.
    #[must_use]
    pub fn refused(&self, refusals: &str) -> Vec<Refused> {
        let reasons = reasons(refusals);
        let ineffective = self.tried.iter().filter(|(_, tried)| tried.times > 1);
        let refused = |(knob, tried): (&Knob, &Tried)| {
            let line = format!("{} {}", knob.path(), tried.wanted.mask());
            let said = reasons.get(line.as_str()).map(|said| said.trim().to_owned());
            Refused { knob: knob.clone(), wanted: tried.wanted.clone(), said }
        };
        ineffective.map(refused).collect()
    }
}

/// Returns the reason for each refused line: the end of the shell's message before the line, such
/// as `sh: write error: Input/output error`.
fn reasons(refusals: &str) -> BTreeMap<&str, &str> {
    let lines: Vec<&str> = refusals.lines().collect();
    let pairs = lines.windows(2).filter(|pair| pair[1].starts_with('/'));
    pairs.filter_map(|pair| Some((pair[1], pair[0].rsplit_once(": ")?.1))).into_map()
}

#[cfg(test)]
mod tests;
