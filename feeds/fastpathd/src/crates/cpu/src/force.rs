// SPDX-License-Identifier: GPL-2.0-or-later
//! Bringing a plan in force: what differs, writing it, reading it back.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::thread::{CpuSet as Affinity, Pid, sched_setaffinity};
use serde::Serialize;
use thiserror::Error;

use crate::machine::{Knob, Machine};
use crate::plan::Plan;
use crate::set::CpuSet;

/// Something is set otherwise than it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What.
    pub knob: Knob,
    /// What it should say.
    pub wanted: CpuSet,
    /// What it says.
    pub have: CpuSet,
}

impl Difference {
    /// In one sentence without its full stop.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { knob, wanted, have } = self;
        match knob {
            Knob::Irq { .. } => {
                format!("{knob} may arrive on {}, planned is {}", cpus(have), cpus(wanted))
            }
            Knob::Thread { .. } => {
                format!("{knob} may run on {}, planned is {}", cpus(have), cpus(wanted))
            }
            Knob::Rps { .. } | Knob::Xps { .. } => {
                format!("{knob} is {}, planned is {}", off_or(have), off_or(wanted))
            }
        }
    }
}

fn cpus(set: &CpuSet) -> String {
    if set.is_empty() { "no CPU".to_owned() } else { format!("CPU {set}") }
}

fn off_or(set: &CpuSet) -> String {
    if set.is_empty() { "off".to_owned() } else { cpus(set) }
}

/// Where the machine differs from the plan. Empty for a plan that is not active.
#[must_use]
pub fn differences(plan: &Plan, machine: &Machine) -> Vec<Difference> {
    compare(&plan.wants, machine)
}

/// What is no longer there cannot differ.
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

/// The knobs of a machine.
pub trait Knobs {
    /// Sets one.
    ///
    /// # Errors
    /// As the kernel says.
    fn set(&mut self, knob: &Knob, cpus: &CpuSet) -> io::Result<()>;

    /// Reads one.
    ///
    /// # Errors
    /// It cannot be read or holds no set of CPUs; the thing is another than the knob's name says.
    fn get(&self, knob: &Knob) -> io::Result<CpuSet>;
}

/// The kernel's, below a root.
#[derive(Debug, Clone)]
pub struct Kernel {
    root: PathBuf,
}

impl Kernel {
    /// `/`, but in tests. Threads can be moved below `/` only.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn text(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(self.root.join(path.trim_start_matches('/')))
    }
}

impl Knobs for Kernel {
    fn set(&mut self, knob: &Knob, cpus: &CpuSet) -> io::Result<()> {
        if let Knob::Thread { pid, .. } = knob {
            if self.root != Path::new("/") {
                return Err(io::ErrorKind::Unsupported.into());
            }
            return move_thread(*pid, cpus);
        }
        let path = self.root.join(knob.path().trim_start_matches('/'));
        // Neither created nor truncated: these are the kernel's files.
        let mut file = fs::OpenOptions::new().write(true).open(path)?;
        io::Write::write_all(&mut file, cpus.mask().as_bytes())
    }

    fn get(&self, knob: &Knob) -> io::Result<CpuSet> {
        let text = self.text(&knob.path())?;
        let read = match knob {
            Knob::Thread { pid, name } => {
                if self.text(&format!("/proc/{pid}/comm"))?.trim_end() != name {
                    return Err(io::ErrorKind::NotFound.into());
                }
                let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
                list.unwrap_or_default().parse()
            }
            _ => CpuSet::from_mask(&text),
        };
        read.map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))
    }
}

fn move_thread(pid: u32, cpus: &CpuSet) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    let mut affinity = Affinity::new();
    for cpu in cpus.iter() {
        let cpu = usize::try_from(cpu).ok().filter(|cpu| *cpu < Affinity::MAX_CPU);
        affinity.set(cpu.ok_or(io::ErrorKind::InvalidInput)?);
    }
    Ok(sched_setaffinity(Some(pid), &affinity)?)
}

/// A value could not be brought in force.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The kernel did not take it.
    #[error("write {wanted} to {path}{}", .hint.map_or_else(String::new, |h| format!(" ({h})")))]
    Write {
        /// Where.
        path: String,
        /// What, as it was written; of a thread the list it was to run on.
        wanted: String,
        /// What such a refusal means, where that is known.
        hint: Option<&'static str>,
        /// What the kernel said.
        source: io::Error,
    },
    /// It was written, but could not be read afterwards.
    #[error("read {path} after {wanted} was written to it")]
    ReadBack {
        /// Where.
        path: String,
        /// What was written.
        wanted: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel took it and says something else.
    #[error("{path} says {have} after {wanted} was written to it")]
    NotTaken {
        /// Where.
        path: String,
        /// What was written.
        wanted: String,
        /// What is there.
        have: String,
    },
}

/// A difference that stays.
#[derive(Debug)]
pub struct Refused {
    /// What stays different.
    pub difference: Difference,
    /// Why.
    pub error: ApplyError,
}

impl Refused {
    /// In one sentence without its full stop: the difference and why it stays.
    #[must_use]
    pub fn text(&self) -> String {
        let source = std::error::Error::source(&self.error);
        let source = source.map_or_else(String::new, |source| format!(": {source}"));
        format!("{}; {}{source}", self.difference.text(), self.error)
    }
}

/// What [`apply`] did.
#[derive(Debug, Default)]
pub struct Applied {
    /// Now as wanted.
    pub changed: Vec<Difference>,
    /// Still different. One that cannot be changed does not keep the others from being changed.
    pub refused: Vec<Refused>,
}

/// Writes what differs and reads it back. What vanished meanwhile is in neither list.
pub fn apply(knobs: &mut impl Knobs, differences: Vec<Difference>) -> Applied {
    let mut applied = Applied::default();
    for difference in differences {
        match write(knobs, &difference) {
            Ok(true) => applied.changed.push(difference),
            Ok(false) => {}
            Err(error) => applied.refused.push(Refused { difference, error }),
        }
    }
    applied
}

/// False: it is no longer there.
fn write(knobs: &mut impl Knobs, difference: &Difference) -> Result<bool, ApplyError> {
    let Difference { knob, wanted, .. } = difference;
    let path = knob.path();
    let value = || match knob {
        Knob::Thread { .. } => wanted.to_string(),
        _ => wanted.mask(),
    };
    // Asked first whether it is still the one that is meant.
    if knobs.get(knob).is_err_and(|error| is_gone(&error)) {
        return Ok(false);
    }
    match knobs.set(knob, wanted) {
        Ok(()) => {}
        Err(error) if is_gone(&error) => return Ok(false),
        Err(source) => {
            let hint = hint(knob, &source);
            return Err(ApplyError::Write { path, wanted: value(), hint, source });
        }
    }
    match knobs.get(knob) {
        Ok(have) if have == *wanted => Ok(true),
        Ok(have) => {
            let have =
                if matches!(knob, Knob::Thread { .. }) { have.to_string() } else { have.mask() };
            Err(ApplyError::NotTaken { path, wanted: value(), have })
        }
        Err(error) if is_gone(&error) => Ok(false),
        Err(source) => Err(ApplyError::ReadBack { path, wanted: value(), source }),
    }
}

fn is_gone(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    error.kind() == io::ErrorKind::NotFound || matches!(errno, Some(Errno::SRCH | Errno::NODEV))
}

fn hint(knob: &Knob, error: &io::Error) -> Option<&'static str> {
    match (knob, Errno::from_io_error(error)?) {
        (Knob::Irq { .. }, Errno::IO) => {
            Some("its driver or its interrupt controller keeps it where it is")
        }
        (Knob::Irq { .. }, Errno::NOSPC) => Some("that CPU has no interrupt vector left"),
        (Knob::Irq { .. }, Errno::INVAL) => Some("none of these CPUs is online"),
        (Knob::Rps { .. }, Errno::INVAL) => Some("all of these CPUs are isolated"),
        (Knob::Thread { .. }, Errno::PERM) => Some("moving threads needs CAP_SYS_NICE"),
        (Knob::Thread { .. }, Errno::INVAL) => Some("the thread is bound, or none is online"),
        (_, Errno::ACCESS | Errno::PERM) => Some("the daemon's rights do not suffice"),
        _ => None,
    }
}

#[cfg(test)]
#[path = "force_tests.rs"]
mod tests;
