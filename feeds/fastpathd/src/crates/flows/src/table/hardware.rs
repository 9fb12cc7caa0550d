// SPDX-License-Identifier: GPL-2.0-or-later
//! Detects flows in hardware by the packets that the CPU receives. Conntrack's bit means only that
//! a driver has taken at least one direction.

use std::collections::HashSet;
use std::time::Duration;

use ctnetlink::Status;
use model::{MODULUS, tuple_hash};

use crate::flow::{Flow, InDriver};
use crate::intern::Number;
use crate::network::ByCpu;
use crate::path::{Path, Reason};
use crate::table::FlowTable;
use crate::time::Millis;

/// Minimum number of refused flows for a driver's table to count as full.
const MIN_REFUSED: usize = 8;
/// Minimum time without an accepted flow for a driver's table to count as full.
const REFUSING_MS: Millis = 5_000;
/// Time that a sample covers: the timeout of its set.
const WINDOW_MS: Millis = 3_000;
/// Grace period after two flowtable timeouts, until a flow without new bytes is uncounted.
const UNCOUNTED_MS: Millis = 5_000;
/// Time in hardware after which new bytes are reported by the driver.
const COUNTED_MS: Millis = 2_000;

/// Packets that the CPU received recently, while hardware offload is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuSample {
    /// [`model::tuple_hash`] of each packet, and [`MODULUS`] if packets are missing.
    pub hashes: HashSet<u32>,
    /// Idle time after which the kernel removes a flow from the flowtable.
    pub flowtable_timeout: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Hardware {
    /// `None` if the packets at the CPU are unknown.
    sample: Option<CpuSample>,
    sampled: Millis,
    /// Time when a driver last took a flow.
    accepted: Millis,
    /// Flows in the driver's table when it took no more.
    full: Option<usize>,
    /// Kinds of the flows in a full table.
    kinds: HashSet<Kind>,
    counts: Option<bool>,
}

/// Properties by which a driver may refuse flows: sides, IPv6, protocol and NAT.
type Kind = ([Number; 2], bool, u8, bool);

impl Hardware {
    /// Returns whether the driver takes no more flows like this one.
    pub(crate) fn is_full_for(&self, flow: &Flow) -> bool {
        self.full.is_some() && self.kinds.contains(&kind(flow))
    }
}

impl FlowTable {
    /// Notes when a driver takes a flow, and which of its directions the CPU receives.
    pub(super) fn note_hardware(&mut self, position: usize) {
        let now = self.now.millis();
        let flow = &mut self.flows[position];
        if !flow.status.has(Status::HW_OFFLOAD) {
            flow.driver = None;
            return;
        }
        if flow.driver.is_none() {
            let new = InDriver { since: now, by_cpu: ByCpu::default(), grown: [now; 2] };
            flow.driver = Some(Box::new(new));
            self.hardware.accepted = now;
        }
        let by_cpu = self.look_at(&self.flows[position]);
        if let Some(driver) = &mut self.flows[position].driver {
            driver.by_cpu = by_cpu;
        }
    }

    /// Returns the directions that the CPU receives of a flow that a driver has taken; unknown
    /// while the sample covers packets from before.
    fn look_at(&self, flow: &Flow) -> ByCpu {
        let since = flow.driver.as_ref().map(|driver| driver.since);
        let since = since.filter(|since| self.hardware.sampled - since >= WINDOW_MS);
        let Some(sample) = self.hardware.sample.as_ref().filter(|_| since.is_some()) else {
            return ByCpu::default();
        };
        let complete = !sample.hashes.contains(&MODULUS);
        let seen = |end, tuple| {
            self.sides.get(end).filter(|side| !side.unseen)?;
            let seen = sample.hashes.contains(&tuple_hash(tuple));
            (seen || complete).then_some(seen)
        };
        [seen(flow.initiator, &flow.orig), seen(flow.responder, &flow.reply)]
    }

    /// Adopts a sample of packets at the CPU, if the samples leave no gap. Call before the next
    /// dump.
    pub fn seen_by_cpu(&mut self, sample: Option<CpuSample>) {
        let at = self.now.millis();
        let gap = at - self.hardware.sampled > WINDOW_MS;
        self.hardware.sampled = at;
        self.hardware.sample = sample.filter(|_| !gap);
        if self.hardware.sample.is_none() {
            (self.hardware.full, self.hardware.counts) = (None, None);
            return;
        }
        self.hardware.full = self.full(at);
        self.hardware.counts = self.counts(at);
    }

    #[must_use]
    pub fn hardware_full(&self) -> Option<usize> {
        self.hardware.full
    }

    /// Returns whether the driver counts the bytes of its flows; `None` if unknown.
    #[must_use]
    pub fn hardware_counts(&self) -> Option<bool> {
        self.hardware.counts
    }

    /// Returns the number of flows if the driver refuses kinds that it holds, and takes none.
    fn full(&mut self, at: Millis) -> Option<usize> {
        let held: Vec<Kind> = self.on_hardware().map(kind).collect();
        let kinds: HashSet<Kind> = held.iter().copied().collect();
        let refused = |flow: &&Flow| {
            matches!(flow.reason, Some(Reason::HwRefused | Reason::HwTableFull))
                && kinds.contains(&kind(flow))
        };
        let refused = self.flows.iter().filter(refused).count();
        self.hardware.kinds = kinds;
        let held = held.len();
        match self.hardware.full {
            // A few ended flows make room only for as many others.
            Some(full) if refused > 0 && held <= full && held * 16 >= full * 15 => Some(full),
            _ => (refused >= MIN_REFUSED && at - self.hardware.accepted >= REFUSING_MS)
                .then_some(held),
        }
    }

    /// Returns `false` if a flow stays in hardware, which requires packets, without new bytes.
    fn counts(&self, at: Millis) -> Option<bool> {
        let timeout = self.hardware.sample.as_ref()?.flowtable_timeout;
        let limit = 2 * Millis::try_from(timeout.as_millis()).ok()? + UNCOUNTED_MS;
        let since = |flow: &Flow| flow.life.last().map_or(at, |step| step.at);
        let alone = |flow: &&Flow| flow.by_cpu() == [Some(false); 2];
        let grown = |flow: &Flow| flow.active > since(flow) + COUNTED_MS;
        if self.on_hardware().filter(alone).any(grown) {
            return Some(true);
        }
        let silent = |flow: &Flow| at - flow.active.max(since(flow)) > limit;
        if self.on_hardware().any(silent) { Some(false) } else { self.hardware.counts }
    }

    fn on_hardware(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(|flow| flow.path == Path::Hardware)
    }
}

fn kind(flow: &Flow) -> Kind {
    let translated = flow.status.0 & (Status::SRC_NAT | Status::DST_NAT).0 != 0;
    let sides = [flow.initiator, flow.responder];
    (sides, flow.orig.src.is_ipv6(), flow.orig.proto, translated)
}
