// SPDX-License-Identifier: GPL-2.0-or-later
//! Bringing a plan into force: differences from the machine, the lines that root's script writes,
//! the pauses after which a value is written again, and values that the kernel refuses, with hints.
//!
//! Nothing is written here: the daemon is not root. It leaves [`lines()`] to a script of root's
//! that accepts these files and no others, reads the machine again, and asks [`Attempts`] for the
//! values to retry.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::machine::{Knob, Machine};
use crate::plan::CpuPlan;
use crate::set::CpuSet;

/// Something is set otherwise than it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The knob.
    pub knob: Knob,
    /// The planned value.
    pub wanted: CpuSet,
    /// The current value.
    pub have: CpuSet,
}

/// Where the machine differs from the plan. Empty for a plan that is not active.
#[must_use]
pub fn differences(plan: &CpuPlan, machine: &Machine) -> Vec<Difference> {
    compare(&plan.wants, machine)
}

/// A file that no longer exists cannot differ.
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

/// The lines to write: `PATH MASK` for each, with the mask as the kernel prints it. For
/// a thread, the path is `/proc/PID/NAME` ([`Knob::path`]), and the mask is for `taskset -p`.
#[must_use]
pub fn lines(differences: &[Difference]) -> String {
    differences.iter().fold(String::new(), |mut lines, Difference { knob, wanted, .. }| {
        let _ = writeln!(lines, "{} {}", knob.path(), wanted.mask());
        lines
    })
}

/// When a written value that still differs is written again; the last one holds for ever. The
/// first one is for somebody who wrote at the same time.
const AGAIN: [Duration; 4] = [
    Duration::from_secs(2),
    Duration::from_secs(30),
    Duration::from_secs(300),
    Duration::from_secs(3600),
];

/// Written values and failed attempts. An interrupt that its driver manages or that belongs
/// to one CPU stays where it is for ever, and must not have the script run for ever.
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
    /// When it is to be written the next time; at once if it never was.
    fn again(&self) -> Option<Duration> {
        let pause = AGAIN[self.times.checked_sub(1)?.min(AGAIN.len() - 1)];
        Some(self.last + pause)
    }
}

/// Something was written and is not so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The knob.
    pub knob: Knob,
    /// The written value.
    pub wanted: CpuSet,
    /// The message of the kernel; none: it ignored the value.
    pub said: Option<String>,
}

impl Attempts {
    /// Which of the differences are to be written now; they count as tried. Values that
    /// no longer differ are forgotten, so that somebody else's writing is undone at once.
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

    /// When the next one is due, if anything waits: read the machine then.
    #[must_use]
    pub fn next(&self) -> Option<Duration> {
        self.tried.values().filter_map(Tried::again).min()
    }

    /// Values written twice without effect, with the reason out of `refusals`, which the script
    /// noted: the shell's message, and after it the line that it was about.
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

/// The reason for each refused line, from the shell's message before it, such as
/// `sh: write error: Input/output error`.
fn reasons(refusals: &str) -> BTreeMap<&str, &str> {
    let lines: Vec<&str> = refusals.lines().collect();
    let pairs = lines.windows(2).filter(|pair| pair[1].starts_with('/'));
    pairs.filter_map(|pair| Some((pair[1], pair[0].rsplit_once(": ")?.1))).collect()
}

#[cfg(test)]
#[path = "force_tests.rs"]
mod tests;
