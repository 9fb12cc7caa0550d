// SPDX-License-Identifier: GPL-2.0-or-later
//! Columns of a flow in the API.

use ctnetlink::TcpState;
use serde::ser::{Serialize, SerializeStruct, SerializeTuple, Serializer};

use crate::flow::{Flow, PathStep};
use crate::intern::Number;
use crate::path::{Path, Reason};
use crate::proto;
use crate::table::FlowTable;
use crate::time::{Millis, Now};

/// A flow in the API: an array in the order of [`COLS`], or an object in the reply of `flow`.
#[derive(Debug, Clone, Copy)]
pub struct FlowRow<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) table: &'a FlowTable,
    pub(crate) now: Now,
}

macro_rules! columns {
    ($row:ident: $($name:ident = $value:expr,)+) => {
        pub(crate) const COLS: &[&str] = &[$(stringify!($name)),+];

        impl Serialize for FlowRow<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $row = self;
                let mut columns = serializer.serialize_tuple(COLS.len())?;
                $(columns.serialize_element(&$value)?;)+
                columns.end()
            }
        }

        pub(crate) fn named<S: Serializer>(
            $row: &FlowRow<'_>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            let mut columns = serializer.serialize_struct("flow", COLS.len())?;
            $(columns.serialize_field(stringify!($name), &$value)?;)+
            columns.end()
        }
    };
}

columns! { row:
    id = row.flow.id,
    proto = proto::name(row.flow.orig.proto),
    family = if row.flow.near().src.is_ipv6() { 6 } else { 4 },
    src = row.flow.near().src,
    sport = row.flow.near().sport,
    dst = row.flow.near().dst,
    dport = row.flow.near().dport,
    nat_src = row.flow.far().src,
    nat_sport = row.flow.far().sport,
    nat_dst = row.flow.far().dst,
    nat_dport = row.flow.far().dport,
    in_dev = row.side(row.flow.initiator).0,
    in_vlan = row.side(row.flow.initiator).1,
    in_zone = row.side(row.flow.initiator).2,
    out_dev = row.side(row.flow.responder).0,
    out_vlan = row.side(row.flow.responder).1,
    out_zone = row.side(row.flow.responder).2,
    path = row.table.shown(row.flow).0,
    reason = row.table.shown(row.flow).1.map_or("", Reason::name),
    state = row.flow.tcp_state.map_or("", TcpState::name),
    up_bytes = row.flow.up.bytes,
    down_bytes = row.flow.down.bytes,
    up_packets = row.flow.up.packets,
    down_packets = row.flow.down.packets,
    up_bps = whole(row.flow.up_bps),
    down_bps = whole(row.flow.down_bps),
    age_s = row.since(row.flow.born),
    idle_s = row.since(row.flow.active),
    src_name = row.table.name(row.flow.src_name),
    dst_name = row.table.name(row.flow.dst_name),
    inspection = row.flow.inspection.name(),
}

impl FlowRow<'_> {
    fn side(&self, number: Number) -> (&str, u16, &str) {
        self.table.side(number).map_or(("", 0, ""), |side| (&side.device, side.vlan, &side.zone))
    }

    fn since(&self, at: Millis) -> Millis {
        self.now.millis().saturating_sub(at).max(0) / 1000
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FlowEvent {
    pub at_ms: u64,
    pub path: Path,
    pub reason: &'static str,
    pub state: &'static str,
}

pub(crate) fn event(step: &PathStep, now: Now) -> FlowEvent {
    FlowEvent {
        at_ms: now.unix_ms_of(step.at),
        path: step.path,
        reason: step.reason.map_or("", Reason::name),
        state: step.state.map_or("", TcpState::name),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are finite and not negative, and `as` saturates"
)]
pub(crate) fn whole(bps: f32) -> u64 {
    bps.round() as u64
}
