// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of the inspection options and their defaults, and the gate of the inspection rules.

config::named! {
    /// Action of the policy for a connection.
    #[derive(Default)]
    pub enum Action from text {
        /// Inspect until Suricata bypasses the connection or its budget is spent, then offload.
        #[default]
        Inspect = "inspect",
        /// Offload at once, without inspection.
        None = "none",
        /// Inspect every packet; never offload.
        Always = "always",
    }
}

config::named! {
    /// How packets reach Suricata.
    #[derive(Default)]
    pub enum InspectionMode from text {
        /// The kernel queues forwarded packets and waits for verdicts.
        #[default]
        Nfq = "nfq",
        /// Suricata gets copies of the packets of ports and drops nothing.
        Ids = "ids",
        /// Suricata bridges two ports itself.
        Inline = "inline",
    }
}

config::named! {
    /// Treatment of connections to be inspected while Suricata is not running.
    #[derive(Default)]
    pub enum FailPolicy from text {
        /// Pass them uninspected.
        #[default]
        Open = "open",
        /// Drop their packets.
        Closed = "closed",
    }
}

config::named! {
    /// How packets are distributed to the queues.
    #[derive(Default)]
    pub enum Spread from text {
        /// By the pair of addresses: both directions of a connection reach the same worker.
        #[default]
        Hash = "hash",
        /// By the CPU that forwards the packet.
        Fanout = "fanout",
    }
}

/// Action for packets to inspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Pass them to Suricata.
    Queue,
    /// Accept them uninspected, on the slow path, without using the budget.
    Open,
    Closed,
}
