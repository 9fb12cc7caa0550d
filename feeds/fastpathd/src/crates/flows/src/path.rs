// SPDX-License-Identifier: GPL-2.0-or-later
//! Paths and reasons of flows, as listed in the API.

use serde::{Deserialize, Serialize};

config::named! {
    /// Path of the packets of a flow, from worst to best.
    #[derive(Default, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Path {
        /// The connection ended; conntrack keeps the entry until its timeout.
        Ended = "ended",
        /// Network stack, with all rules.
        #[default]
        Slow = "slow",
        Inspect = "inspect",
        Flowtable = "flowtable",
        /// Flowtable offloaded to a network card or switch.
        Hardware = "hardware",
        Ebpf = "ebpf",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HardwareDirection {
    #[serde(rename = "")]
    None,
    /// Packets from the initiator.
    Up,
    /// Packets to the initiator.
    Down,
    Both,
    /// At least one direction; conntrack has one bit for both.
    Either,
}

impl Path {
    pub const FORWARDING: [Self; 5] =
        [Self::Slow, Self::Inspect, Self::Flowtable, Self::Hardware, Self::Ebpf];

    #[must_use]
    pub const fn offloaded(self) -> bool {
        matches!(self, Self::Flowtable | Self::Hardware | Self::Ebpf)
    }
}

config::named! {
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Reason {
        /// Inspection has not ended: no bypass, and the budget is not spent.
        Inspecting = "inspecting",
        /// The policy requires inspection of every packet.
        AlwaysInspected = "always-inspected",
        /// Suricata is not running, and packets pass uninspected.
        Uninspected = "uninspected",
        /// Suricata is not running, and packets are dropped.
        Stopped = "stopped",
        EngineOff = "engine-off",
        /// One end is the router.
        Local = "local",
        /// The destination is a multicast or broadcast address.
        Multicast = "multicast",
        /// Neither TCP nor UDP.
        UnsupportedProtocol = "unsupported-protocol",
        /// A conntrack helper needs the packets.
        Helper = "helper",
        /// Conntrack rewrites TCP sequence numbers.
        SequenceAdjust = "sequence-adjust",
        Excluded = "excluded",
        /// One end is a host with a rate limit.
        Limited = "limited",
        /// Packets reach a foreign rule that acts on each packet.
        RulePerPacket = "rule-per-packet",
        /// No reply yet, or the TCP handshake is not complete.
        NotEstablished = "not-established",
        /// One side has sent a FIN.
        Closing = "closing",
        /// The route may depend on a routing rule, a VRF or the source address.
        PolicyRouted = "policy-routed",
        NoRoute = "no-route",
        /// The lowest device of a side belongs to no engine, or both sides belong to different
        /// engines.
        NoDevice = "no-device",
        /// The link-layer address of a next hop is unknown.
        NoNeighbour = "no-neighbour",
        /// A side is a tunnel or virtual device that the engine does not support.
        Tunnel = "tunnel",
        /// A flowtable cannot read the headers of a side: more than two VLAN tags or PPPoE headers,
        /// or an inner tag of 802.1ad.
        Encapsulated = "encapsulated",
        /// The kernel encrypts the packets (IPsec by policy).
        Ipsec = "ipsec",
        /// One end is a roaming host, which keeps moving between ports or MACs.
        Roaming = "roaming",
        /// Both ends are behind the same device.
        SameSide = "same-side",
        /// The MTU of a side is below the minimum of the IP version.
        Mtu = "mtu",
        /// The engine would bypass a shaper or policer.
        Shaped = "shaped",
        /// The eBPF engine's table is full of flows that are not idle.
        TableFull = "table-full",
        /// The configuration keeps the first packets on the slow path.
        FirstPackets = "first-packets",
        /// The entry expired after the idle timeout; the next packet offloads the flow again.
        Idle = "idle",
        /// The engine is about to offload the flow.
        Pending = "pending",
        /// Packets do not match the flowtable entry: priority tags, IP options, fragments, or
        /// another ingress port.
        EntryMissed = "entry-missed",
        /// The kernel does not offload the eligible flow.
        NotTaken = "not-taken",
        /// The driver does not take the flow, though both ports support hardware offload.
        HwRefused = "hw-refused",
        /// The driver has taken flows of this kind, but takes none now.
        HwTableFull = "hw-table-full",
        /// The driver took the flow, but the CPU receives the packets of both directions.
        HwLost = "hw-lost",
    }
}

impl Reason {
    /// Returns whether a flow with this reason is local, not forwarded.
    #[must_use]
    pub fn local(self) -> bool {
        matches!(self, Self::Local | Self::Multicast)
    }
}
