// SPDX-License-Identifier: GPL-2.0-or-later
//! Which flows are really in hardware. Conntrack has one bit for both directions, set when a driver
//! has taken one of them, and a driver may count no bytes.

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

/// Refused flows from which on a driver's table may count as full.
const MIN_REFUSED: usize = 8;
/// Time without an accepted flow after which a driver's table may count as full.
const REFUSING_MS: Millis = 5_000;
/// Time beyond two flowtable timeouts after which a flow without counts counts as uncounted.
const UNCOUNTED_MS: Millis = 5_000;
/// Time in hardware after which growth is a report of the driver.
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
    /// `None` if it is unknown what the CPU receives.
    sample: Option<CpuSample>,
    accepted: Millis,
    /// Flows in the driver's table when it took no more.
    full: Option<usize>,
    counts: Option<bool>,
}

/// What a driver decides by, as far as flows show it.
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
    /// Returns what the CPU receives of a flow that a driver has taken. Rules at ingress see no IP
    /// header in `PPPoE` packets.
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

    /// Adopts what the CPU receives. Call before the dump that follows.
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

    /// Returns the number of flows with which the driver's table is full; `None` if it is not.
    #[must_use]
    pub fn hardware_full(&self) -> Option<usize> {
        self.hardware.full
    }

    /// Returns whether the driver counts the bytes of its flows; `None` if unknown.
    #[must_use]
    pub fn hardware_counts(&self) -> Option<bool> {
        self.hardware.counts
    }

    /// A table is full if the driver refuses flows of kinds that it holds, and takes none.
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
            // One flow that ends makes room for another, so the table stays full.
            Some(full) if refused > 0 && held * 16 >= full * 15 => Some(full.max(held)),
            _ => (refused >= MIN_REFUSED && at - self.hardware.accepted >= REFUSING_MS)
                .then_some(held),
        }
    }

    /// A flow that stays in hardware has packets, so one whose bytes stand still is not counted.
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
