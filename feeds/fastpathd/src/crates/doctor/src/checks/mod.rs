// SPDX-License-Identifier: GPL-2.0-or-later
//! The table of checks: their groups in the order of advice, and those that compare two readings of
//! a counter. How to add a check is described in `lib.rs`.

#![expect(clippy::unnecessary_wraps, reason = "all checks have one shape")]

use crate::facts::Facts;
use crate::finding::Verdict;

mod access;
mod bridge;
mod conntrack;
mod cpu;
mod defects;
mod flowtable;
mod ips;
mod kernel;
mod latency;
mod migration;
mod offload;
mod others;
mod pppoe;
mod rules;
mod sqm;
mod system;

/// One check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Check {
    /// Its stable name: in the API, the texts, the documents.
    pub id: &'static str,
    /// Its panel on the page, and its group in the texts.
    pub group: &'static str,
    /// The check itself.
    pub run: fn(&Facts) -> Verdict,
}

/// Checks that compare two readings.
pub(crate) const SAMPLED: &[&str] = &["cpu-saturated"];

/// All checks, in the order of advice: the largest gains first.
pub(crate) const CHECKS: &[&[Check]] = &[
    flowtable::CHECKS,
    others::CHECKS,
    latency::CHECKS,
    sqm::CHECKS,
    offload::CHECKS,
    rules::CHECKS,
    bridge::CHECKS,
    cpu::CHECKS,
    conntrack::CHECKS,
    pppoe::CHECKS,
    ips::CHECKS,
    kernel::CHECKS,
    system::CHECKS,
    access::CHECKS,
];

#[cfg(test)]
mod deletion_tests;
