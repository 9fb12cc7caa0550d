// SPDX-License-Identifier: GPL-2.0-or-later
//! The table of checks. See `lib.rs` for how to add a check.

#![expect(clippy::unnecessary_wraps, reason = "all checks have the same signature")]

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
mod packet_rules;
mod pppoe;
mod sqm;
mod system;
mod tunnels;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Check {
    /// Stable id in API, texts and documentation.
    pub id: &'static str,
    /// Panel of the page, and key in the texts.
    pub group: &'static str,
    pub run: fn(&Facts) -> Verdict,
}

/// Checks that need two readings of a counter.
pub(crate) const SAMPLED: &[&str] = &["cpu-saturated", "hardware-unbound"];

/// All checks, largest gains first.
pub(crate) const CHECKS: &[&[Check]] = &[
    flowtable::CHECKS,
    others::CHECKS,
    latency::CHECKS,
    sqm::CHECKS,
    offload::CHECKS,
    packet_rules::CHECKS,
    bridge::CHECKS,
    cpu::CHECKS,
    conntrack::CHECKS,
    pppoe::CHECKS,
    tunnels::CHECKS,
    ips::CHECKS,
    kernel::CHECKS,
    system::CHECKS,
    access::CHECKS,
];

#[cfg(test)]
mod deletion_tests;
