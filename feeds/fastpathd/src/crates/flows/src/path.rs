// SPDX-License-Identifier: GPL-2.0-or-later
//! The closed lists of the API: paths and reasons.

use serde::{Deserialize, Serialize};

/// The path of a flow's packets, from worst to best.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// The whole stack and every rule.
    #[default]
    Slow,
    /// In the queue of the intrusion prevention system.
    Inspect,
    /// Software flowtable.
    Flowtable,
    /// Offloaded to the network card or switch.
    Hardware,
    /// eBPF program.
    Ebpf,
}

impl Path {
    /// All of them, in the order of the API's columns.
    pub const ALL: [Self; 5] =
        [Self::Slow, Self::Inspect, Self::Flowtable, Self::Hardware, Self::Ebpf];

    /// The stable name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Inspect => "inspect",
            Self::Flowtable => "flowtable",
            Self::Hardware => "hardware",
            Self::Ebpf => "ebpf",
        }
    }

    /// The path with this stable name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|path| path.word() == word)
    }

    /// Whether packets on it skip the slow path.
    #[must_use]
    pub const fn offloaded(self) -> bool {
        matches!(self, Self::Flowtable | Self::Hardware | Self::Ebpf)
    }
}

/// Why a flow is not on the best path it could be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Suricata has not seen enough, and the budget is not spent.
    Inspecting,
    /// The policy wants every packet inspected.
    AlwaysInspected,
    /// To be inspected, but Suricata is away: it passes uninspected, and is not offloaded.
    Uninspected,
    /// To be inspected, but Suricata is away: its packets are dropped.
    Stopped,
    /// The engine is off.
    EngineOff,
    /// The router itself is one end.
    Local,
    /// Not unicast.
    Multicast,
    /// Neither TCP nor UDP.
    UnsupportedProtocol,
    /// A conntrack helper reads along.
    Helper,
    /// TCP sequence numbers are rewritten.
    SequenceAdjust,
    /// Excluded by the configuration.
    Excluded,
    /// No answer yet, or the TCP handshake is not complete.
    NotEstablished,
    /// Ending.
    Closing,
    /// It may be routed by more than its destination: a routing rule, a VRF, its source.
    PolicyRouted,
    /// No route to one side.
    NoRoute,
    /// One side's lowest device is not in the fast path, or the other's is in another one.
    NoDevice,
    /// One side's next hop has no link layer address.
    NoNeighbour,
    /// One side is a tunnel or virtual device that no engine can hold.
    Tunnel,
    /// Both ends are behind the same device.
    SameSide,
    /// The MTU towards one side is below the minimum of the flow's protocol.
    Mtu,
    /// The owner shapes or polices traffic where the engine would bypass it.
    Shaped,
    /// The eBPF engine's table is full of flows that are not idle.
    TableFull,
    /// Was carried, then quiet: the next packet puts it back.
    Idle,
    /// The engine will take it with one of the next packets.
    Pending,
    /// It could be carried and is not.
    NotTaken,
}

impl Reason {
    /// All of them, in the order of the ladder.
    pub const ALL: [Self; 25] = [
        Self::Inspecting,
        Self::AlwaysInspected,
        Self::Uninspected,
        Self::Stopped,
        Self::EngineOff,
        Self::Local,
        Self::Multicast,
        Self::UnsupportedProtocol,
        Self::Helper,
        Self::SequenceAdjust,
        Self::Excluded,
        Self::Closing,
        Self::NotEstablished,
        Self::PolicyRouted,
        Self::NoRoute,
        Self::Tunnel,
        Self::NoDevice,
        Self::NoNeighbour,
        Self::SameSide,
        Self::Mtu,
        Self::Shaped,
        Self::TableFull,
        Self::Idle,
        Self::Pending,
        Self::NotTaken,
    ];

    /// The stable name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Inspecting => "inspecting",
            Self::AlwaysInspected => "always-inspected",
            Self::Uninspected => "uninspected",
            Self::Stopped => "stopped",
            Self::EngineOff => "engine-off",
            Self::Local => "local",
            Self::Multicast => "multicast",
            Self::UnsupportedProtocol => "unsupported-protocol",
            Self::Helper => "helper",
            Self::SequenceAdjust => "sequence-adjust",
            Self::Excluded => "excluded",
            Self::NotEstablished => "not-established",
            Self::Closing => "closing",
            Self::PolicyRouted => "policy-routed",
            Self::NoRoute => "no-route",
            Self::NoDevice => "no-device",
            Self::NoNeighbour => "no-neighbour",
            Self::Tunnel => "tunnel",
            Self::SameSide => "same-side",
            Self::Mtu => "mtu",
            Self::Shaped => "shaped",
            Self::TableFull => "table-full",
            Self::Idle => "idle",
            Self::Pending => "pending",
            Self::NotTaken => "not-taken",
        }
    }

    /// The reason with this stable name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }
}
