// SPDX-License-Identifier: GPL-2.0-or-later
//! Closed lists of the API: paths from worst to best, and reasons. `ladder.rs` decides the reason
//! of a flow.

use serde::{Deserialize, Serialize};

config::named! {
    /// Path of the packets of a flow, from worst to best.
    #[derive(Default, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Path {
        /// The connection ended; conntrack keeps the entry until its timeout.
        Ended = "ended",
        /// The whole network stack and every rule.
        #[default]
        Slow = "slow",
        /// The queue of the intrusion prevention system.
        Inspect = "inspect",
        /// Software flowtable.
        Flowtable = "flowtable",
        /// Offloaded to the network card or switch.
        Hardware = "hardware",
        /// eBPF program.
        Ebpf = "ebpf",
    }
}

/// Directions of a flow that hardware forwards.
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
    /// At least one direction: conntrack has one bit for both.
    Either,
}

impl Path {
    /// Paths that forward packets, and so have bytes, rates and a share.
    pub const FORWARDING: [Self; 5] =
        [Self::Slow, Self::Inspect, Self::Flowtable, Self::Hardware, Self::Ebpf];

    /// Returns whether packets on this path skip the slow path.
    #[must_use]
    pub const fn offloaded(self) -> bool {
        matches!(self, Self::Flowtable | Self::Hardware | Self::Ebpf)
    }
}

config::named! {
    /// Why a flow is not on the best path possible.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Reason {
        /// Suricata has not bypassed the flow, and the budget is not spent.
        Inspecting = "inspecting",
        /// The policy requires inspection of every packet.
        AlwaysInspected = "always-inspected",
        /// To be inspected, but Suricata is not running: packets pass uninspected, without offload.
        Uninspected = "uninspected",
        /// To be inspected, but Suricata is not running: packets are dropped.
        Stopped = "stopped",
        EngineOff = "engine-off",
        /// One end is the router.
        Local = "local",
        /// Not unicast.
        Multicast = "multicast",
        /// Neither TCP nor UDP.
        UnsupportedProtocol = "unsupported-protocol",
        /// A conntrack helper reads the packets.
        Helper = "helper",
        /// Conntrack rewrites TCP sequence numbers.
        SequenceAdjust = "sequence-adjust",
        /// Excluded by the configuration.
        Excluded = "excluded",
        /// Packets reach a rule of another program that acts on each packet.
        RulePerPacket = "rule-per-packet",
        /// No reply yet, or the TCP handshake is not complete.
        NotEstablished = "not-established",
        /// One side sent FIN; the other side may still send.
        Closing = "closing",
        /// The route may depend on more than the destination: a rule, a VRF, the source.
        PolicyRouted = "policy-routed",
        /// No route to one side.
        NoRoute = "no-route",
        /// One side's lowest device is not in the fast path, or the two sides are in different
        /// ones.
        NoDevice = "no-device",
        /// One side's next hop has no link-layer address.
        NoNeighbour = "no-neighbour",
        /// One side is a tunnel or virtual device that the engine does not list.
        Tunnel = "tunnel",
        /// The kernel encrypts the packets (IPsec by policy).
        Ipsec = "ipsec",
        /// One end keeps moving between ports or MAC addresses.
        Roaming = "roaming",
        /// Both ends are behind the same device.
        SameSide = "same-side",
        /// The MTU towards one side is below the minimum of its protocol.
        Mtu = "mtu",
        /// A device shapes or polices traffic that the engine would forward past it.
        Shaped = "shaped",
        /// The eBPF engine's table is full of flows that are not idle.
        TableFull = "table-full",
        /// The configuration keeps the first packets on the slow path.
        FirstPackets = "first-packets",
        /// Was offloaded, then idle; the next packet offloads it again.
        Idle = "idle",
        /// The engine will offload the flow with one of the next packets.
        Pending = "pending",
        /// Packets do not match the flowtable's entry: priority tags, options, fragments, or a port
        /// other than the route's.
        EntryMissed = "entry-missed",
        /// Eligible, but refused by the kernel.
        NotTaken = "not-taken",
    }
}

impl Reason {
    /// Returns whether the flow is local, so that there is nothing to forward or offload.
    #[must_use]
    pub fn local(self) -> bool {
        matches!(self, Self::Local | Self::Multicast)
    }
}
