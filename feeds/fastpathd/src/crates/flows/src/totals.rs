// SPDX-License-Identifier: GPL-2.0-or-later
//! Totals by path and the offload ratio in the API.

use serde::Serialize;

/// Traffic of one path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PathTotals {
    /// Current number of flows.
    pub flows: u64,
    /// Bytes of both directions since the start.
    pub bytes: u64,
    /// Packets of both directions since the start.
    pub packets: u64,
    /// Current bits per second.
    pub bps: u64,
    /// Current packets per second.
    pub pps: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Paths {
    pub slow: PathTotals,
    pub inspect: PathTotals,
    pub flowtable: PathTotals,
    pub hardware: PathTotals,
    pub ebpf: PathTotals,
}

/// Offloaded bytes divided by all forwarded bytes, 0 to 1; `None` without enough traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Ratio {
    /// Over the last 10 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<f64>,
    /// Since the daemon started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Forwarded flows by path.
    pub paths: Paths,
    /// Number of flows that are not forwarded ([`Reason::local`](crate::Reason::local)).
    pub local_flows: u64,
    /// Number of ended connections in conntrack ([`Path::Ended`](crate::Path::Ended)).
    pub ended_flows: u64,
    pub ratio: Ratio,
}
