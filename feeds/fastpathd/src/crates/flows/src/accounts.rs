// SPDX-License-Identifier: GPL-2.0-or-later
//! Sums flows, bytes and packets by path, and computes rates and the offload ratio.

use std::collections::{BTreeMap, VecDeque};

use ctnetlink::Counters;

use crate::path::{Path, Reason};
use crate::time::Millis;
use crate::totals::{PathTotals, Paths, Ratio, Totals};

pub(crate) const PATHS: usize = Path::ALL.len();
/// Span of the current offload ratio.
const RECENT_MS: Millis = 10_000;
/// Minimum traffic within the span for a current offload ratio.
const MIN_BYTES: u64 = 10_000;
const MIN_GAP_MS: Millis = 200;

pub(crate) type ByPath<T> = [T; PATHS];

#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    at: Millis,
    bytes: ByPath<u64>,
    packets: ByPath<u64>,
}

/// Sums of forwarded traffic by path. Local flows are counted separately.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    flows: ByPath<u64>,
    local: u64,
    /// Flows by reason, including local flows.
    reasons: BTreeMap<Reason, u64>,
    bytes: ByPath<u64>,
    packets: ByPath<u64>,
    bps: ByPath<f64>,
    pps: ByPath<f64>,
    /// Sums at the ends of the dumps of the last 10 s and of the dump before.
    recent: VecDeque<Reading>,
}

impl Accounts {
    /// Counts a new flow. `reason` also determines whether it is local.
    pub(crate) fn enter(&mut self, path: Path, reason: Option<Reason>) {
        *self.number(path, reason) += 1;
        if let Some(reason) = reason {
            *self.reasons.entry(reason).or_default() += 1;
        }
    }

    /// Removes a flow. Path and reason must be those of [`enter`](Self::enter).
    pub(crate) fn leave(&mut self, path: Path, reason: Option<Reason>) {
        let number = self.number(path, reason);
        *number = number.saturating_sub(1);
        if let Some(reason) = reason {
            let number = self.reasons.entry(reason).or_default();
            *number = number.saturating_sub(1);
        }
    }

    /// Counts all flows on eBPF as slow; see [`Flow::shown`](crate::flow::Flow::shown).
    pub(crate) fn revoke(&mut self) {
        let revoked = std::mem::take(&mut self.flows[Path::Ebpf as usize]);
        self.flows[Path::Slow as usize] += revoked;
        *self.reasons.entry(Reason::Pending).or_default() += revoked;
    }

    pub(crate) fn reasons(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL
            .into_iter()
            .map(|reason| (reason, self.reasons.get(&reason).copied().unwrap_or_default()))
    }

    fn number(&mut self, path: Path, reason: Option<Reason>) -> &mut u64 {
        if reason.is_some_and(Reason::local) {
            &mut self.local
        } else {
            &mut self.flows[path as usize]
        }
    }

    pub(crate) fn add(&mut self, path: Path, delta: Counters) {
        self.bytes[path as usize] = self.bytes[path as usize].saturating_add(delta.bytes);
        self.packets[path as usize] = self.packets[path as usize].saturating_add(delta.packets);
    }

    /// Computes rates since the last reading. Called at the end of each dump.
    pub(crate) fn read(&mut self, now: Millis) {
        if let Some(last) = self.recent.back() {
            let gap = now - last.at;
            if gap < MIN_GAP_MS {
                return;
            }
            self.bps = per_second(&self.bytes, &last.bytes, gap).map(|bytes| bytes * 8.0);
            self.pps = per_second(&self.packets, &last.packets, gap);
        }
        self.recent.push_back(Reading { at: now, bytes: self.bytes, packets: self.packets });
        while self.recent.get(1).is_some_and(|second| now - second.at >= RECENT_MS) {
            self.recent.pop_front();
        }
    }

    pub(crate) fn flows(&self) -> ByPath<u64> {
        self.flows
    }

    pub(crate) fn bps(&self) -> ByPath<f64> {
        self.bps
    }

    pub(crate) fn totals(&self) -> Totals {
        let path = |path: Path| self.path(path as usize);
        let paths = Paths {
            slow: path(Path::Slow),
            inspect: path(Path::Inspect),
            flowtable: path(Path::Flowtable),
            hardware: path(Path::Hardware),
            ebpf: path(Path::Ebpf),
        };
        let before = self.recent.front().map_or(self.bytes, |reading| reading.bytes);
        let last = self.recent.back().map_or(self.bytes, |reading| reading.bytes);
        let now = std::array::from_fn(|i| last[i].saturating_sub(before[i]));
        let ratio = Ratio { now: ratio(&now, MIN_BYTES), total: ratio(&self.bytes, 1) };
        let ended_flows = self.flows[Path::Ended as usize];
        Totals { paths, local_flows: self.local, ended_flows, ratio }
    }

    fn path(&self, i: usize) -> PathTotals {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rates are finite and not negative, and `as` saturates"
        )]
        let whole = |rate: f64| rate.round() as u64;
        PathTotals {
            flows: self.flows[i],
            bytes: self.bytes[i],
            packets: self.packets[i],
            bps: whole(self.bps[i]),
            pps: whole(self.pps[i]),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 bytes per reading are out of reach")]
fn per_second(now: &ByPath<u64>, before: &ByPath<u64>, gap: Millis) -> ByPath<f64> {
    std::array::from_fn(|i| now[i].saturating_sub(before[i]) as f64 * 1000.0 / gap as f64)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio needs no 16 digits")]
fn ratio(bytes: &ByPath<u64>, least: u64) -> Option<f64> {
    let all: u64 = bytes.iter().sum();
    let sum = |path: &Path| bytes[*path as usize];
    let off: u64 = Path::ALL.iter().filter(|path| path.offloaded()).map(sum).sum();
    (all >= least).then(|| off as f64 / all as f64)
}
