// SPDX-License-Identifier: GPL-2.0-or-later
//! Converts a record of the flow table to an IPFIX record.

use flows::{FlowEndReason, FlowRecord, Reason};
use ipfix::{EndReason, Ends, Flow};

/// Converts a record. `index` returns the index of a device, or 0 if the device is gone.
pub(super) fn flow(record: &FlowRecord, index: impl Fn(&str) -> u32) -> Flow<'_> {
    let [from, to] = &record.sides;
    let ends = |(src, sport), (dst, dport)| Ends { src, dst, sport, dport };
    Flow {
        start_ms: record.start_ms,
        end_ms: record.end_ms,
        octets: record.grown.map(|one| one.bytes),
        packets: record.grown.map(|one| one.packets),
        offloaded: record.offloaded,
        protocol: record.proto,
        sent: ends(from.sent, to.sent),
        received: ends(from.received, to.received),
        end_reason: match record.end {
            FlowEndReason::Idle => EndReason::Idle,
            FlowEndReason::Active => EndReason::Active,
            FlowEndReason::End => EndReason::End,
            FlowEndReason::Forced => EndReason::Forced,
        },
        interfaces: [index(&from.device), index(&to.device)],
        vlans: [from.vlan, to.vlan],
        id: record.id,
        path: record.path.name(),
        reason: record.reason.map_or("", Reason::name),
        inspection: record.inspection.name(),
        zones: [&from.zone, &to.zone],
    }
}
