// SPDX-License-Identifier: GPL-2.0-or-later
//! Flow records for collectors, and the sums that earlier records reported. A record has the best
//! path since the last one, and the latest reason on that path that is not transient.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ctnetlink::Counters;

use crate::flow::{Ends, Flow, PathStep};
use crate::inspection::InspectionStatus;
use crate::path::{Path, Reason};
use crate::time::Millis;

/// When the next record of a continuing flow is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordTimeouts {
    /// Time since the last record of a flow with packets.
    pub active: Duration,
    /// Time without packets.
    pub idle: Duration,
}

/// Why a record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowEndReason {
    /// No packets for the idle timeout, or until conntrack removed the flow.
    Idle,
    /// The flow continues.
    Active,
    /// The TCP connection was closed or reset.
    End,
    /// The daemon exits; the flow may continue.
    Forced,
}

/// One end of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSide {
    /// Address and port before NAT, as in the initiator's packets.
    pub sent: (IpAddr, u16),
    /// Address and port after NAT.
    pub received: (IpAddr, u16),
    /// Layer 3 device; empty if unknown.
    pub device: Rc<str>,
    /// 0 if there is no VLAN.
    pub vlan: u16,
    /// Firewall zone; empty if there is none.
    pub zone: Rc<str>,
}

/// Growth of a flow since its last record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRecord {
    pub id: u64,
    /// Layer 4 protocol number.
    pub proto: u8,
    /// Start of the reported time, Unix ms.
    pub start_ms: u64,
    /// End of the reported time, Unix ms.
    pub end_ms: u64,
    /// Initiator and responder. ICMP has port 0 and, as the responder's port, type and code.
    pub sides: [RecordSide; 2],
    /// Growth from and to the initiator.
    pub grown: [Counters; 2],
    /// Growth of both directions that an engine forwarded, in bytes.
    pub offloaded: u64,
    pub end: FlowEndReason,
    /// Best path that the packets took.
    pub path: Path,
    /// Why the flow was not offloaded.
    pub reason: Option<Reason>,
    pub inspection: InspectionStatus,
}

/// Sums that records about a flow have reported so far.
#[derive(Debug, Clone)]
pub(crate) struct Reported {
    pub(crate) counters: [Counters; 2],
    pub(crate) offloaded: u64,
    /// End of the time that records have reported.
    pub(crate) until: Millis,
    /// The flow is idle since the last record, so the next one starts with the next packet.
    pub(crate) closed: bool,
    /// The flow existed when records began and has no record yet.
    pub(crate) known: bool,
}

impl Reported {
    /// Returns the sums of a flow without a record.
    pub(crate) fn nothing(until: Millis) -> Self {
        Self { counters: Default::default(), offloaded: 0, until, closed: false, known: false }
    }

    /// Returns the sums of a flow with all its growth reported.
    pub(crate) fn all(flow: &Flow, until: Millis, closed: bool) -> Self {
        let counters = [flow.up, flow.down];
        Self { counters, offloaded: flow.offloaded_bytes, until, closed, known: false }
    }
}

impl Flow {
    /// Returns the growth since the last record, and how many bytes of it an engine forwarded.
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

    /// Returns the start of the next record's time, after packets arrived. After a record of an
    /// idle flow, it is the time of these packets.
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

    /// Returns the time between two records. Flows that existed when records began have their first
    /// record at different times, because all at once would overflow the queues.
    pub(crate) fn record_interval(&self, active: Duration) -> Millis {
        let active = u64::try_from(active.as_millis()).unwrap_or(u64::MAX).max(1);
        let known = self.reported.as_ref().is_some_and(|reported| reported.known);
        let interval = if known { 1 + self.id % active } else { active };
        Millis::try_from(interval).unwrap_or(Millis::MAX)
    }

    /// Returns path and reason of a record that starts at `since`.
    pub(crate) fn best_since(&self, since: Millis) -> (Path, Option<Reason>) {
        let first = self.life.iter().rposition(|step| step.at <= since).unwrap_or(0);
        let steps = || self.life[first..].iter().rev().map(PathStep::of_packets);
        let taken = steps().map(|(path, _)| path).max();
        let path = taken.max(self.best_path).unwrap_or(self.path);
        if path.offloaded() {
            return (path, None);
        }
        let on_it = || steps().filter(|step| step.0 == path).map(|(_, reason)| reason);
        let lasting = |reason: &Option<Reason>| reason.is_some_and(|reason| !passes(reason));
        let open = |reason: &Option<Reason>| *reason != Some(Reason::Closing);
        let found = on_it().find(lasting).or_else(|| on_it().find(open)).or_else(|| on_it().next());
        (path, found.flatten())
    }

    /// Returns the ends of a record, the initiator first, each before and after NAT.
    pub(crate) fn record_ends(&self) -> [[(IpAddr, u16); 2]; 2] {
        let of = |Ends { src, sport, dst, dport }| [(src, sport), (dst, dport)];
        let ([from, to], [post_from, post_to]) = (of(self.near()), of(self.far()));
        if self.is_icmp() {
            // Type and code replace the responder's port, as collectors expect.
            let kind = self.orig.dport;
            return [[(from.0, 0), (post_from.0, 0)], [(to.0, kind), (post_to.0, kind)]];
        }
        [[from, post_from], [to, post_to]]
    }
}

impl PathStep {
    /// Returns path and reason of packets in this step; the last ones of an ended flow are slow.
    fn of_packets(&self) -> (Path, Option<Reason>) {
        match self.path {
            Path::Ended => (Path::Slow, Some(Reason::Closing)),
            path @ (Path::Slow | Path::Inspect | Path::Flowtable | Path::Hardware | Path::Ebpf) => {
                (path, self.reason)
            }
        }
    }
}

/// Returns whether the reason is transient: a flow has it while being set up or torn down.
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

    /// `docs/ipfix.md` states the memory per connection.
    #[test]
    fn the_reported_sums_take_56_bytes() {
        assert_eq!(size_of::<Reported>(), 56);
    }
}
