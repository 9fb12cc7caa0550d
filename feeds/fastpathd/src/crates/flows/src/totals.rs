// SPDX-License-Identifier: GPL-2.0-or-later
//! Types of the totals by path and of the offload ratio in the API. `accounts.rs` computes them.

use serde::Serialize;

/// Traffic of one path, now and since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PathTotals {
    /// Forwarded flows on this path now.
    pub flows: u64,
    /// Bytes forwarded since the start, both directions.
    pub bytes: u64,
    /// Packets, likewise.
    pub packets: u64,
    /// Bits per second now.
    pub bps: u64,
    /// Packets per second now.
    pub pps: u64,
}

/// Totals by path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Paths {
    /// The whole stack.
    pub slow: PathTotals,
    /// In the IPS queue.
    pub inspect: PathTotals,
    /// Software flowtable.
    pub flowtable: PathTotals,
    /// Hardware.
    pub hardware: PathTotals,
    /// eBPF.
    pub ebpf: PathTotals,
}

/// Offloaded bytes divided by all forwarded bytes, 0 to 1; `None` while nothing was forwarded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Ratio {
    /// Over the last 10 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<f64>,
    /// Since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

/// The totals for a dashboard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Totals {
    /// By path, of forwarded flows.
    pub paths: Paths,
    /// Flows that are not forwarded: [`Reason::local`](crate::Reason::local).
    pub local_flows: u64,
    /// Connections that are over: [`Path::Ended`](crate::Path::Ended).
    pub ended_flows: u64,
    /// Offload ratio.
    pub ratio: Ratio,
}
