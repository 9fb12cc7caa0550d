// SPDX-License-Identifier: GPL-2.0-or-later
//! Values and defaults of options about inspection: action (inspect, none, always), mode (nfq, ids,
//! inline), fail (open, closed), spread (hash, fanout); and the gate (queue, open, closed).

config::named! {
    /// Action of the policy for a connection.
    #[derive(Default)]
    pub enum Action from text {
        /// Inspection until Suricata bypasses it or its budget is spent, then offload.
        #[default]
        Inspect = "inspect",
        /// No inspection, offload at once.
        None = "none",
        /// Inspection of every packet until its end, no offload.
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
        /// Suricata itself bridges two ports.
        Inline = "inline",
    }
}

config::named! {
    /// The treatment of connections to be inspected while Suricata is not running.
    #[derive(Default)]
    pub enum FailPolicy from text {
        /// They pass uninspected.
        #[default]
        Open = "open",
        /// Their packets are dropped.
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
    /// Drop them.
    Closed,
}
