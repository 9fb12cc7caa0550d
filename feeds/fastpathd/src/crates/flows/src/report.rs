// SPDX-License-Identifier: GPL-2.0-or-later
//! Records about flows for collectors: their values, and what earlier records have reported of a
//! flow. Which path and reason a record has: of the best path since the last one, and there the
//! last reason that lasts.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ctnetlink::Counters;

use crate::flow::{Ends, Flow, PathStep};
use crate::inspection::InspectionStatus;
use crate::path::{Path, Reason};
use crate::time::Millis;

/// When a record about a flow that goes on is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordTimeouts {
    /// Time after the last record of a flow with packets.
    pub active: Duration,
    /// Time without packets.
    pub idle: Duration,
}

/// Why a record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordEnd {
    /// No packets for the timeout, or until conntrack removed the flow.
    Idle,
    /// The flow goes on.
    Active,
    /// The end of the connection was seen.
    End,
    /// The daemon ends, and the flow may go on.
    Forced,
}

/// One end of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSide {
    /// Its address and port as the initiator's packets have it.
    pub sent: (IpAddr, u16),
    /// The same behind NAT.
    pub received: (IpAddr, u16),
    /// Device of layer 3; empty: unknown.
    pub device: Rc<str>,
    /// VLAN; 0: none.
    pub vlan: u16,
    /// Firewall zone; empty: none.
    pub zone: Rc<str>,
}

/// A record about a flow: its growth since the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRecord {
    /// Number of the flow.
    pub id: u64,
    /// Protocol of layer 4.
    pub proto: u8,
    /// Begin of the time that it reports, Unix ms.
    pub start_ms: u64,
    /// Its end.
    pub end_ms: u64,
    /// The initiator, and the responder. ICMP: port 0, and type and code.
    pub sides: [RecordSide; 2],
    /// From the initiator, and to it.
    pub grown: [Counters; 2],
    /// Bytes of both directions that an engine has forwarded.
    pub offloaded: u64,
    /// Why it ends.
    pub end: RecordEnd,
    /// The best path that its packets have taken.
    pub path: Path,
    /// Why it was not offloaded.
    pub reason: Option<Reason>,
    /// State of inspection.
    pub inspection: InspectionStatus,
}

/// The sums that records about a flow have reported.
#[derive(Debug, Clone)]
pub(crate) struct Reported {
    pub(crate) counters: [Counters; 2],
    pub(crate) offloaded: u64,
    /// Until when.
    pub(crate) until: Millis,
    /// The last record said that the flow is idle, or no record is needed for the time before.
    pub(crate) closed: bool,
    /// There was no record yet: the flow was known when records began.
    pub(crate) known: bool,
}

impl Reported {
    /// There was no record until now.
    pub(crate) fn nothing(until: Millis) -> Self {
        Self { counters: Default::default(), offloaded: 0, until, closed: false, known: false }
    }

    /// Everything of `flow` until now.
    pub(crate) fn all(flow: &Flow, until: Millis, closed: bool) -> Self {
        let counters = [flow.up, flow.down];
        Self { counters, offloaded: flow.offloaded_bytes, until, closed, known: false }
    }
}

impl Flow {
    /// Growth since the last record, and bytes of it that an engine has forwarded.
    pub(crate) fn unreported(&self) -> ([Counters; 2], u64) {
        let (before, offloaded) = self
            .reported
            .as_ref()
            .map_or_else(Default::default, |before| (before.counters, before.offloaded));
        let less = |now: Counters, before: Counters| Counters {
            packets: now.packets.saturating_sub(before.packets),
            bytes: now.bytes.saturating_sub(before.bytes),
        };
        let grown = [less(self.up, before[0]), less(self.down, before[1])];
        (grown, self.offloaded_bytes.saturating_sub(offloaded))
    }

    /// Packets have grown: begin of the time that the next record reports. After a record of an
    /// idle flow it is when they were seen.
    pub(crate) fn resume_records(&mut self) -> Millis {
        match &mut self.reported {
            Some(reported) if reported.closed => {
                (reported.until, reported.closed) = (self.active, false);
                reported.until
            }
            Some(reported) => reported.until,
            None => self.born,
        }
    }

    /// Time from the last record to the next one. Flows that are known when records begin are at
    /// different places in it: all their records at once would not fit into the queues.
    pub(crate) fn record_interval(&self, active: Duration) -> Millis {
        let active = u64::try_from(active.as_millis()).unwrap_or(u64::MAX).max(1);
        let known = self.reported.as_ref().is_some_and(|reported| reported.known);
        let interval = if known { 1 + self.id % active } else { active };
        Millis::try_from(interval).unwrap_or(Millis::MAX)
    }

    /// Path and reason of a record about the time since then.
    pub(crate) fn best_since(&self, since: Millis) -> (Path, Option<Reason>) {
        let first = self.life.iter().rposition(|step| step.at <= since).unwrap_or(0);
        let steps = || self.life[first..].iter().rev().map(PathStep::of_packets);
        let taken = steps().map(|(path, _)| path).max();
        let path = taken.max(self.carried).unwrap_or(self.path);
        if path.offloaded() {
            return (path, None);
        }
        let on_it = || steps().filter(|step| step.0 == path).map(|(_, reason)| reason);
        let lasting = |reason: &Option<Reason>| reason.is_some_and(|reason| !passes(reason));
        let open = |reason: &Option<Reason>| *reason != Some(Reason::Closing);
        let found = on_it().find(lasting).or_else(|| on_it().find(open)).or_else(|| on_it().next());
        (path, found.flatten())
    }

    /// The ends of a record, the initiator first: as sent, and behind NAT.
    pub(crate) fn record_ends(&self) -> [[(IpAddr, u16); 2]; 2] {
        let of = |Ends { src, sport, dst, dport }| [(src, sport), (dst, dport)];
        let ([from, to], [post_from, post_to]) = (of(self.near()), of(self.far()));
        if self.is_icmp() {
            // Type and code take the place of the responder's port, as collectors expect it.
            let kind = self.orig.dport;
            return [[(from.0, 0), (post_from.0, 0)], [(to.0, kind), (post_to.0, kind)]];
        }
        [[from, post_from], [to, post_to]]
    }
}

impl PathStep {
    /// Path and reason of packets in this step: the last ones of an ended connection are slow.
    fn of_packets(&self) -> (Path, Option<Reason>) {
        match self.path {
            Path::Ended => (Path::Slow, Some(Reason::Closing)),
            path @ (Path::Slow | Path::Inspect | Path::Flowtable | Path::Hardware | Path::Ebpf) => {
                (path, self.reason)
            }
        }
    }
}

/// Reasons of the begin and the end of each flow.
fn passes(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::NotEstablished
            | Reason::Closing
            | Reason::FirstPackets
            | Reason::Pending
            | Reason::Idle
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/ipfix.md has the memory for each connection.
    #[test]
    fn a_flow_remembers_its_reports_in_few_bytes() {
        assert_eq!(size_of::<Reported>(), 56);
    }
}
