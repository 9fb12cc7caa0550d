// SPDX-License-Identifier: GPL-2.0-or-later
//! Options of inspection, and the gate.

config::named! {
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
    #[derive(Default)]
    pub enum InspectionMode from text {
        /// The kernel queues forwarded packets and waits for verdicts.
        #[default]
        Nfq = "nfq",
        /// Suricata gets copies of packets and cannot drop them.
        Ids = "ids",
        /// Suricata bridges two ports itself.
        Inline = "inline",
    }
}

config::named! {
    /// Action on packets to inspect while Suricata is not running.
    #[derive(Default)]
    pub enum FailPolicy from text {
        #[default]
        Open = "open",
        Closed = "closed",
    }
}

config::named! {
    #[derive(Default)]
    pub enum Spread from text {
        /// By address pair: both directions of a connection reach the same worker.
        #[default]
        Hash = "hash",
        /// By forwarding CPU.
        Fanout = "fanout",
    }
}

/// Current action for packets to inspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Queue packets for Suricata.
    Queue,
    /// Accept packets uninspected on the slow path, without using the budget.
    Open,
    Closed,
}
