// SPDX-License-Identifier: GPL-2.0-or-later
//! Detects flows in hardware by the packets that the CPU receives. Conntrack's bit means only that
//! a driver has taken at least one direction.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use ctnetlink::Status;
use model::{TrafficType, TrafficTypes, tuple_hash};

use crate::flow::Flow;
use crate::network::ByCpu;
use crate::path::{Path, Reason};
use crate::table::FlowTable;
use crate::time::Millis;

/// Minimum number of refused flows for a driver's table to count as full.
const MIN_REFUSED: usize = 8;
/// Minimum time without an accepted flow for a driver's table to count as full.
const REFUSING_MS: Millis = 5_000;
/// Grace period after two flowtable timeouts, until a flow without new bytes is uncounted.
const UNCOUNTED_MS: Millis = 5_000;
/// Time in hardware after which new bytes are reported by the driver.
const COUNTED_MS: Millis = 2_000;

/// Packets that the CPU received recently, while hardware offload is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuSample {
    /// [`model::tuple_hash`] of each packet.
    pub hashes: HashSet<u32>,
    /// Idle time after which the kernel removes a flow from the flowtable.
    pub flowtable_timeout: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Hardware {
    /// `None` if the packets at the CPU are unknown.
    sample: Option<CpuSample>,
    accepted: Millis,
    /// Flows in the driver's table when it took no more.
    full: Option<usize>,
    counts: Option<bool>,
}

/// Properties by which a driver may refuse flows: ports, IPv6, protocol and NAT.
type Kind = ([Rc<str>; 2], bool, u8, bool);

impl Hardware {
    pub(crate) fn is_full(&self) -> bool {
        self.full.is_some()
    }

    pub(crate) fn accepted(&mut self, at: Millis) {
        self.accepted = at;
    }
}

impl FlowTable {
    /// Returns the directions that the CPU receives of a flow that a driver has taken. `None` for
    /// `PPPoE`, whose IP header ingress rules cannot match.
    pub(super) fn by_cpu(&self, flow: &Flow) -> ByCpu {
        let taken = |_: &&CpuSample| flow.status.has(Status::HW_OFFLOAD);
        let Some(sample) = self.hardware.sample.as_ref().filter(taken) else {
            return ByCpu::default();
        };
        let hidden = TrafficTypes::from_iter([TrafficType::Pppoe]);
        let seen = |end, tuple| {
            let known = self.sides.get(end).is_some_and(|side| !side.traffic.intersects(hidden));
            known.then(|| sample.hashes.contains(&tuple_hash(tuple)))
        };
        [seen(flow.initiator, &flow.orig), seen(flow.responder, &flow.reply)]
    }

    /// Adopts a sample of packets at the CPU. Call before the next dump.
    pub fn seen_by_cpu(&mut self, sample: Option<CpuSample>) {
        self.hardware.sample = sample;
        if self.hardware.sample.is_none() {
            (self.hardware.full, self.hardware.counts) = (None, None);
            return;
        }
        let at = self.now.millis();
        self.hardware.full = self.full(at);
        self.hardware.counts = self.counts(at);
    }

    /// Returns the number of flows in the driver's table if it is full.
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
    fn full(&self, at: Millis) -> Option<usize> {
        let held: Vec<Kind> = self.on_hardware().map(|flow| self.kind(flow)).collect();
        let kinds: HashSet<&Kind> = held.iter().collect();
        let refused = |flow: &&Flow| {
            matches!(flow.reason, Some(Reason::HwRefused | Reason::HwTableFull))
                && kinds.contains(&self.kind(flow))
        };
        let refused = self.flows.iter().filter(refused).count();
        let held = held.len();
        match self.hardware.full {
            // A few ended flows make room only for as many others.
            Some(full) if refused > 0 && held * 16 >= full * 15 => Some(full.max(held)),
            _ => (refused >= MIN_REFUSED && at - self.hardware.accepted >= REFUSING_MS)
                .then_some(held),
        }
    }

    /// Returns `false` if a flow stays in hardware, which requires packets, without new bytes.
    fn counts(&self, at: Millis) -> Option<bool> {
        let timeout = self.hardware.sample.as_ref()?.flowtable_timeout;
        let limit = 2 * Millis::try_from(timeout.as_millis()).ok()? + UNCOUNTED_MS;
        let since = |flow: &Flow| flow.life.last().map_or(at, |step| step.at);
        let alone = |flow: &&Flow| flow.by_cpu == [Some(false); 2];
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

    fn kind(&self, flow: &Flow) -> Kind {
        let port = |number| self.sides.get(number).map_or_else(|| "".into(), |s| s.port.clone());
        let translated = flow.status.0 & (Status::SRC_NAT | Status::DST_NAT).0 != 0;
        let ports = [port(flow.initiator), port(flow.responder)];
        (ports, flow.orig.src.is_ipv6(), flow.orig.proto, translated)
    }
}
