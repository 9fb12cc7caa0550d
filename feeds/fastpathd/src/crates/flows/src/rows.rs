// SPDX-License-Identifier: GPL-2.0-or-later
//! Flows as rows of the API.

use serde_json::{Map, Value};

use crate::flow::{Flow, Step};
use crate::network::Side;
use crate::page::FlowEvent;
use crate::proto;
use crate::table::FlowTable;
use crate::time::Now;

/// The columns of a flow.
pub(crate) const COLS: &[&str] = &[
    "id",
    "proto",
    "family",
    "src",
    "sport",
    "dst",
    "dport",
    "nat_src",
    "nat_sport",
    "nat_dst",
    "nat_dport",
    "in_dev",
    "in_vlan",
    "in_zone",
    "out_dev",
    "out_vlan",
    "out_zone",
    "path",
    "reason",
    "state",
    "up_bytes",
    "down_bytes",
    "up_packets",
    "down_packets",
    "up_bps",
    "down_bps",
    "age_s",
    "idle_s",
    "src_name",
    "dst_name",
    "inspection",
];

/// A flow as a row, in the order of [`COLS`].
pub(crate) fn row(flow: &Flow, table: &FlowTable, now: Now) -> Vec<Value> {
    let near = flow.near();
    let far = flow.far();
    let mut row = Vec::with_capacity(COLS.len());
    row.extend([
        flow.id.into(),
        proto::name(flow.orig.proto).into(),
        (if near.src.is_ipv6() { 6 } else { 4 }).into(),
    ]);
    for ends in [near, far] {
        row.extend([
            ends.src.to_string().into(),
            ends.sport.into(),
            ends.dst.to_string().into(),
            ends.dport.into(),
        ]);
    }
    for number in [flow.initiator, flow.responder] {
        row.extend(side(table.side(number)));
    }
    let since = |at| (now.millis().saturating_sub(at).max(0) / 1000).into();
    let name = |number| table.names().get(number).map_or("", |name| &**name).into();
    row.extend([
        flow.path.name().into(),
        flow.reason.map_or("", crate::Reason::name).into(),
        flow.tcp_state.map_or("", ctnetlink::TcpState::name).into(),
        flow.up.bytes.into(),
        flow.down.bytes.into(),
        flow.up.packets.into(),
        flow.down.packets.into(),
        whole(flow.up_bps),
        whole(flow.down_bps),
        since(flow.born),
        since(flow.active),
        name(flow.src_name),
        name(flow.dst_name),
        flow.inspection.name().into(),
    ]);
    row
}

fn side(side: Option<&Side>) -> [Value; 3] {
    match side {
        Some(side) => [(*side.device).into(), side.vlan.into(), (*side.zone).into()],
        None => ["".into(), 0.into(), "".into()],
    }
}

/// A flow as an object with the columns as names.
pub(crate) fn object(flow: &Flow, table: &FlowTable, now: Now) -> Map<String, Value> {
    COLS.iter().map(ToString::to_string).zip(row(flow, table, now)).collect()
}

/// A step of a flow's life.
pub(crate) fn event(step: &Step, now: Now) -> FlowEvent {
    FlowEvent {
        at_ms: now.unix_ms_of(step.at),
        path: step.path,
        reason: step.reason.map_or("", crate::Reason::name),
        state: step.state.map_or("", ctnetlink::TcpState::name),
    }
}

/// A rate as an integer.
pub(crate) fn whole(bps: f32) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates are finite and not negative, and `as` saturates"
    )]
    let whole = bps.round() as u64;
    whole.into()
}
