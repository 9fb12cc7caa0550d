// SPDX-License-Identifier: GPL-2.0-or-later
//! The closed lists of the API: paths from worst to best, which of them are offloaded, and reasons.
//! Which reason a flow gets is decided in `ladder.rs`.

use serde::{Deserialize, Serialize};

config::named! {
    /// The path of the packets of a flow, from worst to best.
    #[derive(Default, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Path {
        /// The connection is over: conntrack keeps the entry until its timeout.
        Ended = "ended",
        /// The whole stack and every rule.
        #[default]
        Slow = "slow",
        /// In the queue of the intrusion prevention system.
        Inspect = "inspect",
        /// Software flowtable.
        Flowtable = "flowtable",
        /// Offloaded to the network card or switch.
        Hardware = "hardware",
        /// eBPF program.
        Ebpf = "ebpf",
    }
}

/// The directions of a flow that hardware forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HardwareDirection {
    /// Not in hardware.
    #[serde(rename = "")]
    None,
    /// Packets from the initiator.
    Up,
    /// Packets to the initiator.
    Down,
    /// One direction at least: conntrack has one bit for both.
    Either,
}

impl Path {
    /// The paths of packets: those with bytes, rates and a share.
    pub const FORWARDING: [Self; 5] =
        [Self::Slow, Self::Inspect, Self::Flowtable, Self::Hardware, Self::Ebpf];

    /// Whether packets on it skip the slow path.
    #[must_use]
    pub const fn offloaded(self) -> bool {
        matches!(self, Self::Flowtable | Self::Hardware | Self::Ebpf)
    }
}

config::named! {
    /// Why a flow is not on the best path it could be on.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Reason {
        /// Suricata has not seen enough, and the budget is not spent.
        Inspecting = "inspecting",
        /// The policy wants every packet inspected.
        AlwaysInspected = "always-inspected",
        /// To be inspected, but Suricata is away: it passes uninspected, and is not offloaded.
        Uninspected = "uninspected",
        /// To be inspected, but Suricata is away: its packets are dropped.
        Stopped = "stopped",
        /// The engine is off.
        EngineOff = "engine-off",
        /// The router itself is one end.
        Local = "local",
        /// Not unicast.
        Multicast = "multicast",
        /// Neither TCP nor UDP.
        UnsupportedProtocol = "unsupported-protocol",
        /// A conntrack helper reads along.
        Helper = "helper",
        /// TCP sequence numbers are rewritten.
        SequenceAdjust = "sequence-adjust",
        /// Excluded by the configuration.
        Excluded = "excluded",
        /// Its packets reach a rule of another program that acts on each packet.
        RulePerPacket = "rule-per-packet",
        /// No answer yet, or the TCP handshake is not complete.
        NotEstablished = "not-established",
        /// FIN seen, and the other direction may still send.
        Closing = "closing",
        /// It may be routed by more than its destination: a routing rule, a VRF, its source.
        PolicyRouted = "policy-routed",
        /// No route to one side.
        NoRoute = "no-route",
        /// One side's lowest device is not in the fast path, or the other's is in another one.
        NoDevice = "no-device",
        /// One side's next hop has no link layer address.
        NoNeighbour = "no-neighbour",
        /// One side is a tunnel or virtual device that the engine does not list.
        Tunnel = "tunnel",
        /// The kernel encrypts its packets (IPsec by policy).
        Ipsec = "ipsec",
        /// One of its hosts keeps moving between ports or MAC addresses.
        Roaming = "roaming",
        /// Both ends are behind the same device.
        SameSide = "same-side",
        /// The MTU towards one side is below the minimum of its protocol.
        Mtu = "mtu",
        /// The owner shapes or polices traffic where the engine would bypass it.
        Shaped = "shaped",
        /// The eBPF engine's table is full of flows that are not idle.
        TableFull = "table-full",
        /// The configuration keeps its first packets on the slow path.
        FirstPackets = "first-packets",
        /// Was carried, then quiet: the next packet puts it back.
        Idle = "idle",
        /// The engine will take it with one of the next packets.
        Pending = "pending",
        /// Its packets do not match the flowtable's entry: priority tags, options, fragments, or
        /// another port than the route's.
        EntryMissed = "entry-missed",
        /// It could be carried and is not.
        NotTaken = "not-taken",
    }
}

impl Reason {
    /// Whether there is nothing to forward: the flow is local, and no engine could offload it.
    #[must_use]
    pub fn local(self) -> bool {
        matches!(self, Self::Local | Self::Multicast)
    }
}
