// SPDX-License-Identifier: GPL-2.0-or-later
//! The table of checks.

#![expect(clippy::unnecessary_wraps, reason = "all checks have one shape")]

use crate::facts::Facts;
use crate::finding::Verdict;

mod bridge;
mod conntrack;
mod cpu;
mod defects;
mod flowtable;
mod ips;
mod kernel;
mod migration;
mod offload;
mod pppoe;
mod rules;
mod system;

/// One thing that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Its name for ever: in the API, the words, the documents.
    pub id: &'static str,
    /// Where the page shows it, and where its words are.
    pub group: &'static str,
    /// What it comes to.
    pub look: fn(&Facts) -> Verdict,
}

/// Those that look at a difference between two readings.
pub(crate) const SAMPLED: &[&str] = &["cpu-saturated"];

/// All checks, in the order of advice: what brings most comes first.
pub const CHECKS: &[&[Check]] = &[
    flowtable::CHECKS,
    offload::CHECKS,
    rules::CHECKS,
    bridge::CHECKS,
    cpu::CHECKS,
    conntrack::CHECKS,
    pppoe::CHECKS,
    ips::CHECKS,
    kernel::CHECKS,
    system::CHECKS,
];

#[cfg(test)]
mod deletion_tests;
