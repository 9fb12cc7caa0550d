// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies a plan: differences from the machine, the lines that root's script writes, retries, and
//! values that the kernel refuses.
//!
//! Nothing is written here, because the daemon is not root. It passes [`lines()`] to a script of
//! root that accepts only these files, reads the machine again, and asks [`Attempts`] for the
//! values to retry.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::machine::{Knob, Machine};
use crate::plan::CpuPlan;
use crate::set::CpuSet;

/// A value that differs from the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub knob: Knob,
    /// Planned value.
    pub wanted: CpuSet,
    /// Current value.
    pub have: CpuSet,
}

/// Returns where the machine differs from the plan; empty for an inactive plan.
#[must_use]
pub fn differences(plan: &CpuPlan, machine: &Machine) -> Vec<Difference> {
    compare(&plan.wants, machine)
}

/// Compares values with the machine. A file that no longer exists is not a difference.
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

/// Returns the lines to write: `PATH MASK`, with the mask as the kernel prints it. A thread has the
/// path `/proc/PID/NAME` ([`Knob::path`]) and a mask for `taskset -p`.
#[must_use]
pub fn lines(differences: &[Difference]) -> String {
    differences.iter().fold(String::new(), |mut lines, Difference { knob, wanted, .. }| {
        let _ = writeln!(lines, "{} {}", knob.path(), wanted.mask());
        lines
    })
}

/// Retry intervals of a written value that still differs; the last one repeats. The first one is
/// short, in case another program wrote at the same time.
const AGAIN: [Duration; 4] = [
    Duration::from_secs(2),
    Duration::from_secs(30),
    Duration::from_secs(300),
    Duration::from_secs(3600),
];

/// Written values and failed attempts. An interrupt that its driver manages, or that belongs to one
/// CPU, can never be moved, so the script must not run for it all the time.
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
    /// Returns when to write the value again; `None` if it was never written.
    fn again(&self) -> Option<Duration> {
        let pause = AGAIN[self.times.checked_sub(1)?.min(AGAIN.len() - 1)];
        Some(self.last + pause)
    }
}

/// A written value that did not take effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub knob: Knob,
    /// Written value.
    pub wanted: CpuSet,
    /// Message of the kernel; `None` if it ignored the value.
    pub said: Option<String>,
}

impl Attempts {
    /// Returns the differences to write now, which then count as tried. Drops values that no
    /// longer differ, so that a later change by another program is reverted at once.
    pub fn due(&mut self, differences: &[Difference], now: Duration) -> Vec<Difference> {
        self.tried.retain(|knob, tried| {
            differences.iter().any(|now| now.knob == *knob && now.wanted == tried.wanted)
        });
        let mut due = Vec::new();
        for difference in differences {
            let wanted = difference.wanted.clone();
            let tried = self.tried.entry(difference.knob.clone());
            let tried = tried.or_insert(Tried { wanted, times: 0, last: Duration::ZERO });
            if tried.again().is_none_or(|at| now >= at) {
                tried.times += 1;
                tried.last = now;
                due.push(difference.clone());
            }
        }
        due
    }

    /// Returns when the next retry is due, if any; read the machine then.
    #[must_use]
    pub fn next(&self) -> Option<Duration> {
        self.tried.values().filter_map(Tried::again).min()
    }

    /// Returns the values written twice without effect, with the reason from `refusals`, where the
    /// script records the shell's message and after it the refused line.
    #[must_use]
    pub fn refused(&self, refusals: &str) -> Vec<Refused> {
        let reasons = reasons(refusals);
        let vain = self.tried.iter().filter(|(_, tried)| tried.times > 1);
        let refused = |(knob, tried): (&Knob, &Tried)| {
            let line = format!("{} {}", knob.path(), tried.wanted.mask());
            let said = reasons.get(line.as_str()).map(|said| said.trim().to_owned());
            Refused { knob: knob.clone(), wanted: tried.wanted.clone(), said }
        };
        vain.map(refused).collect()
    }
}

/// Returns the reason for each refused line, from the shell's message before it, such as `sh: write
/// error: Input/output error`.
fn reasons(refusals: &str) -> BTreeMap<&str, &str> {
    let lines: Vec<&str> = refusals.lines().collect();
    let pairs = lines.windows(2).filter(|pair| pair[1].starts_with('/'));
    pairs.filter_map(|pair| Some((pair[1], pair[0].rsplit_once(": ")?.1))).collect()
}

#[cfg(test)]
mod tests;
