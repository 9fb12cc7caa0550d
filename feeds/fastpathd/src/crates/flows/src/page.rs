// SPDX-License-Identifier: GPL-2.0-or-later
//! Reply types of `flows`, `flow` and `top`.

use std::net::IpAddr;

use serde::Serialize;

use crate::path::HardwareDirection;
use crate::query::Group;
use crate::rows::{self, FlowEvent, FlowRow};

/// Reply of `flows`: one page of flows or groups.
#[derive(Debug, Serialize)]
pub struct FlowPage<'a> {
    pub total: usize,
    pub matched: usize,
    /// Changes whenever the reply may change.
    pub epoch: u64,
    /// The router's clock, Unix ms.
    pub now_ms: u64,
    pub cols: &'static [&'static str],
    pub rows: Rows<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Rows<'a> {
    Flows(Vec<FlowRow<'a>>),
    Groups(Vec<GroupRow<'a>>),
}

/// Key, name, flows, offloaded, bytes, bits per second up and down, ratio.
pub type GroupRow<'a> = (String, &'a str, u64, u64, u64, u64, u64, f64);

/// Reply of `flow`: one flow and the steps of its life.
#[derive(Debug, Serialize)]
pub struct FlowDetail<'a> {
    #[serde(serialize_with = "rows::named")]
    pub flow: FlowRow<'a>,
    /// Bytes of both directions that an engine has forwarded.
    pub offloaded_bytes: u64,
    pub hardware: HardwareDirection,
    /// Lowest devices of initiator and responder; empty if unknown.
    pub ports: [&'a str; 2],
    /// Steps of the flow's life, oldest first, at most 16.
    pub events: Vec<FlowEvent>,
    pub moves: Vec<HostMove>,
    /// Foreign rule that keeps the flow on the slow path; empty if there is none.
    pub rule: String,
    #[serde(skip)]
    pub(crate) began_ms: u64,
}

impl FlowDetail<'_> {
    #[must_use]
    pub fn ends(&self) -> [IpAddr; 2] {
        [self.flow.flow.orig.src, self.flow.flow.reply.src]
    }

    /// Returns the start of the flow, Unix ms.
    #[must_use]
    pub fn began_ms(&self) -> u64 {
        self.began_ms
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveKind {
    Port,
    Mac,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostMove {
    pub at_ms: u64,
    pub kind: MoveKind,
    pub address: IpAddr,
    pub from: String,
    pub to: String,
}

/// Reply of `top`: the busiest hosts, services, VLANs, paths or traffic types.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Top<'a> {
    pub by: Group,
    pub rows: Vec<TopRow<'a>>,
}

/// A host behind the router with open flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenHost {
    pub address: IpAddr,
    pub flows: u64,
    pub offloaded: u64,
    /// Bits per second sent by it.
    pub up_bps: u64,
    pub down_bps: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopRow<'a> {
    /// Address, `proto/port`, VLAN, path or traffic type.
    pub key: String,
    /// Host or service name, or the zone of a VLAN; empty if unknown.
    pub name: &'a str,
    pub flows: u64,
    pub offloaded: u64,
    pub bytes: u64,
    /// Bits per second from the initiators; for a host, sent by it.
    pub up_bps: u64,
    /// Bits per second to the initiators; for a host, received by it.
    pub down_bps: u64,
    /// Share of offloaded bytes, 0 to 1.
    pub ratio: f64,
    /// Bits per second on the fast path, both directions.
    pub fast_bps: u64,
    /// Flows that an exclusion or a switch keeps on the slow path.
    pub excluded: u64,
    pub excluded_bps: u64,
}
