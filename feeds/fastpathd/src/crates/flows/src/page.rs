// SPDX-License-Identifier: GPL-2.0-or-later
//! Types of the replies of `flows`, `flow` and `top`. Columns of a flow are in `rows.rs`, columns
//! of a group in `groups.rs`.

use std::net::IpAddr;

use serde::Serialize;

use crate::path::HardwareDirection;
use crate::query::Group;
use crate::rows::{self, FlowEvent, FlowRow};

/// Reply of `flows`: one page of flows or groups.
#[derive(Debug, Serialize)]
pub struct FlowPage<'a> {
    /// Flows in the table.
    pub total: usize,
    /// Flows or groups that match the filter.
    pub matched: usize,
    /// Changes whenever the answer may have changed.
    pub epoch: u64,
    /// The router's clock, Unix ms.
    pub now_ms: u64,
    /// Column names of a row.
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
    /// The columns of a flow row by name.
    #[serde(serialize_with = "rows::named")]
    pub flow: FlowRow<'a>,
    /// Bytes of both directions that an engine has forwarded.
    pub offloaded_bytes: u64,
    /// Directions that hardware forwards.
    pub hardware: HardwareDirection,
    /// Lowest devices of initiator and responder; empty if unknown.
    pub ports: [&'a str; 2],
    /// Oldest first, at most 16.
    pub events: Vec<FlowEvent>,
    /// Known moves of the flow's hosts since it began, oldest first.
    pub moves: Vec<HostMove>,
    /// Rule of another program that keeps the flow on the slow path; empty if there is none.
    pub rule: String,
    #[serde(skip)]
    pub(crate) began_ms: u64,
}

impl FlowDetail<'_> {
    /// Returns the addresses of both ends.
    #[must_use]
    pub fn ends(&self) -> [IpAddr; 2] {
        [self.flow.flow.orig.src, self.flow.flow.reply.src]
    }

    /// Returns when the flow began, Unix ms.
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

/// A move of a host, after which its flows were renewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostMove {
    /// Unix ms.
    pub at_ms: u64,
    pub kind: MoveKind,
    pub address: IpAddr,
    /// Previous port or MAC.
    pub from: String,
    /// New port or MAC.
    pub to: String,
}

/// Reply of `top`: the busiest hosts, services, VLANs or paths.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Top<'a> {
    pub by: Group,
    /// Busiest first.
    pub rows: Vec<TopRow<'a>>,
}

/// One host, service, VLAN or path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopRow<'a> {
    /// Address, `proto/port`, VLAN or path.
    pub key: String,
    /// Host or service name, or the zone of a VLAN; empty if unknown.
    pub name: &'a str,
    pub flows: u64,
    /// Number of offloaded flows.
    pub offloaded: u64,
    /// Bytes of both directions.
    pub bytes: u64,
    /// Bits per second from the initiators; for a host, sent by it.
    pub up_bps: u64,
    /// Bits per second to the initiators; for a host, received by it.
    pub down_bps: u64,
    /// Share of offloaded bytes, 0 to 1.
    pub ratio: f64,
}
