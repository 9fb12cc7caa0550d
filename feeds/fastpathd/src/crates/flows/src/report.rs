// SPDX-License-Identifier: GPL-2.0-or-later
//! Flow records for collectors. A record has the best path since the previous record, and the
//! latest reason on this path that is not transient.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ctnetlink::Counters;

use crate::flow::{Ends, Flow, PathStep};
use crate::inspection::InspectionStatus;
use crate::path::{Path, Reason};
use crate::time::Millis;

/// Intervals between records of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordTimeouts {
    /// Interval for a flow with packets.
    pub active: Duration,
    /// Time without packets after which a record is due.
    pub idle: Duration,
}

/// Cause of a record (RFC 5102, `flowEndReason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowEndReason {
    /// The idle timeout, or conntrack's timeout.
    Idle,
    /// The active timeout; the flow continues.
    Active,
    /// The TCP connection was closed or reset.
    End,
    Forced,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSide {
    /// Address and port before NAT, as in the initiator's packets.
    pub sent: (IpAddr, u16),
    /// Address and port after NAT.
    pub received: (IpAddr, u16),
    pub device: Rc<str>,
    pub vlan: u16,
    pub zone: Rc<str>,
}

/// Growth of a flow since its last record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRecord {
    pub id: u64,
    pub proto: u8,
    pub start_ms: u64,
    pub end_ms: u64,
    /// Initiator and responder. For ICMP, the ports are 0 and `type << 8 | code`.
    pub sides: [RecordSide; 2],
    pub grown: [Counters; 2],
    /// Bytes of both directions that an engine forwarded.
    pub offloaded: u64,
    pub end: FlowEndReason,
    pub path: Path,
    pub reason: Option<Reason>,
    pub inspection: InspectionStatus,
}

/// Sums of all records of a flow.
#[derive(Debug, Clone)]
pub(crate) struct Reported {
    pub(crate) counters: [Counters; 2],
    pub(crate) offloaded: u64,
    pub(crate) until: Millis,
    /// The flow is idle, so the next record starts with the next packet.
    pub(crate) closed: bool,
    /// The flow existed when records were enabled, and has no record yet.
    pub(crate) known: bool,
}

impl Reported {
    pub(crate) fn nothing(until: Millis) -> Self {
        Self { counters: Default::default(), offloaded: 0, until, closed: false, known: false }
    }

    /// Returns the sums of a flow with complete records.
    pub(crate) fn all(flow: &Flow, until: Millis, closed: bool) -> Self {
        let counters = [flow.up, flow.down];
        Self { counters, offloaded: flow.offloaded_bytes, until, closed, known: false }
    }
}

impl Flow {
    /// Returns the growth since the last record, and the bytes that an engine forwarded.
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

    /// Returns the start of the next record, after new packets were counted. For an idle flow, this
    /// is the time of these packets.
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

    /// Returns the interval until the next record. The first records of known flows are spread over
    /// the interval, because simultaneous records would overflow the queues of collectors.
    pub(crate) fn record_interval(&self, active: Duration) -> Millis {
        let active = u64::try_from(active.as_millis()).unwrap_or(u64::MAX).max(1);
        let known = self.reported.as_ref().is_some_and(|reported| reported.known);
        let interval = if known { 1 + self.id % active } else { active };
        Millis::try_from(interval).unwrap_or(Millis::MAX)
    }

    pub(crate) fn best_since(&self, since: Millis) -> (Path, Option<Reason>) {
        let first = self.life.iter().rposition(|step| step.at <= since).unwrap_or(0);
        let steps = || self.life[first..].iter().rev().map(PathStep::of_packets);
        let taken = steps().map(|(path, _)| path).max();
        let path = taken.max(self.best_path).unwrap_or(self.path);
        if path.offloaded() {
            return (path, None);
        }
        let on_it = || steps().filter(|step| step.0 == path).map(|(_, reason)| reason);
        let lasting = |reason: &Option<Reason>| reason.is_some_and(|reason| !is_transient(reason));
        let open = |reason: &Option<Reason>| *reason != Some(Reason::Closing);
        let found = on_it().find(lasting).or_else(|| on_it().find(open)).or_else(|| on_it().next());
        (path, found.flatten())
    }

    pub(crate) fn record_ends(&self) -> [[(IpAddr, u16); 2]; 2] {
        let of = |Ends { src, sport, dst, dport }| [(src, sport), (dst, dport)];
        let ([from, to], [post_from, post_to]) = (of(self.near()), of(self.far()));
        if self.is_icmp() {
            // Collectors expect ICMP type and code in place of the responder's port.
            let kind = self.orig.dport;
            return [[(from.0, 0), (post_from.0, 0)], [(to.0, kind), (post_to.0, kind)]];
        }
        [[from, post_from], [to, post_to]]
    }
}

impl PathStep {
    /// Returns path and reason of packets in this step. Packets after the end are slow.
    fn of_packets(&self) -> (Path, Option<Reason>) {
        match self.path {
            Path::Ended => (Path::Slow, Some(Reason::Closing)),
            path @ (Path::Slow | Path::Inspect | Path::Flowtable | Path::Hardware | Path::Ebpf) => {
                (path, self.reason)
            }
        }
    }
}

/// Returns whether a flow has this reason only while it is set up or torn down.
fn is_transient(reason: Reason) -> bool {
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

    /// The size is documented in `docs/ipfix.md`.
    #[test]
    fn the_reported_sums_take_56_bytes() {
        assert_eq!(size_of::<Reported>(), 56);
    }
}
