// SPDX-License-Identifier: GPL-2.0-or-later
//! Types of the replies of `flows`, `flow` and `top`. Columns of a flow and their values are in
//! `rows.rs`, columns of a group in `groups.rs`.

use std::net::IpAddr;

use serde::Serialize;

use crate::path::HardwareDirection;
use crate::query::Group;
use crate::rows::{self, FlowEvent, FlowRow};

/// One page of flows or groups: the reply of `flows`.
#[derive(Debug, Serialize)]
pub struct FlowPage<'a> {
    /// Flows known.
    pub total: usize,
    /// Flows or groups that the filter lets through.
    pub matched: usize,
    /// Changes whenever the answer can have changed.
    pub epoch: u64,
    /// The router's clock, Unix ms.
    pub now_ms: u64,
    /// Names of the fields of a row.
    pub cols: &'static [&'static str],
    /// The rows of this page.
    pub rows: Rows<'a>,
}

/// The rows of a page.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Rows<'a> {
    /// Single flows.
    Flows(Vec<FlowRow<'a>>),
    /// Groups.
    Groups(Vec<GroupRow<'a>>),
}

/// Key, name, flows, offloaded, bytes, bits per second up and down, ratio.
pub type GroupRow<'a> = (String, &'a str, u64, u64, u64, u64, u64, f64);

/// One flow with its life so far: the reply of `flow`.
#[derive(Debug, Serialize)]
pub struct FlowDetail<'a> {
    /// The columns of a flow row by name.
    #[serde(serialize_with = "rows::named")]
    pub flow: FlowRow<'a>,
    /// Bytes of both directions that an engine has forwarded.
    pub offloaded_bytes: u64,
    /// The directions that hardware forwards.
    pub hardware: HardwareDirection,
    /// Lowest devices of the initiator's and the other side; empty: unknown.
    pub ports: [&'a str; 2],
    /// Oldest first, at most 16.
    pub events: Vec<FlowEvent>,
    /// Moves of its hosts since it began, oldest first, as far as the caller knows.
    pub moves: Vec<HostMove>,
    /// The rule of another program that keeps it on the slow path; empty: none.
    pub rule: String,
    #[serde(skip)]
    pub(crate) began_ms: u64,
}

impl FlowDetail<'_> {
    /// Addresses of its two ends.
    #[must_use]
    pub fn ends(&self) -> [IpAddr; 2] {
        [self.flow.flow.orig.src, self.flow.flow.reply.src]
    }

    /// When it began, Unix ms.
    #[must_use]
    pub fn began_ms(&self) -> u64 {
        self.began_ms
    }
}

/// How a host moved: whether it is behind another port of a bridge, or has another MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveKind {
    /// To another port.
    Port,
    /// To another MAC.
    Mac,
}

/// A move of a host, after which its flows were renewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostMove {
    /// Unix ms.
    pub at_ms: u64,
    /// How it moved.
    pub kind: MoveKind,
    /// Of the host.
    pub address: IpAddr,
    /// The former port or MAC.
    pub from: String,
    /// The new one.
    pub to: String,
}

/// Who uses the line: the reply of `top`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Top<'a> {
    /// The kind of the rows.
    pub by: Group,
    /// Busiest first.
    pub rows: Vec<TopRow<'a>>,
}

/// One host, service, VLAN or path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopRow<'a> {
    /// Address, `proto/port`, VLAN or path.
    pub key: String,
    /// Host or service name; empty: unknown.
    pub name: &'a str,
    /// Flows.
    pub flows: u64,
    /// Of these, offloaded flows.
    pub offloaded: u64,
    /// Bytes, both directions.
    pub bytes: u64,
    /// Bits per second from the initiators (for a host: sent by it).
    pub up_bps: u64,
    /// Bits per second to the initiators (for a host: received by it).
    pub down_bps: u64,
    /// Share of the bytes that were offloaded, 0 to 1.
    pub ratio: f64,
}
