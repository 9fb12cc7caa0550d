// SPDX-License-Identifier: GPL-2.0-or-later
//! Input of the health checks: facts about Suricata's process, command socket, queues, drops, rules
//! and event stream at one moment.

use std::time::Duration;

use model::{FailPolicy, Gate, InspectionMode};

use crate::queues::Queue;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    pub enabled: bool,
    /// How packets reach Suricata.
    pub mode: InspectionMode,
    /// Policy while Suricata does not work.
    pub fail: FailPolicy,
    /// Gate of the firewall rules in force, in mode nfq. Rules from before inspection was enabled
    /// pass packets like an open gate.
    pub gate: Gate,
    /// Maximum number of packets that wait in one queue.
    pub queue_length: u32,
    /// When the daemon last requested a start or restart.
    pub asked: Option<Duration>,
    /// Why the daemon could not start Suricata: the overlay cannot be written, or the mode cannot
    /// work.
    pub trouble: Option<String>,
    /// Error of the last `suricata -T`, if it failed.
    pub refused: Option<String>,
    /// A process of Suricata is known.
    pub running: bool,
    /// When the command socket last answered.
    pub answered: Option<Duration>,
    /// Our queues in order. Empty in modes other than nfq.
    pub queues: Vec<Listening>,
    /// Packets that have passed a full queue so far.
    pub overflow: u64,
    /// Packets that the kernel has dropped in front of a tap so far.
    pub capture_drops: u64,
    /// `None` until Suricata reports its counters.
    pub rules: Option<RuleCounts>,
    /// The event stream is connected.
    pub events: bool,
}

/// One of our queues; `None` if nobody listens on it.
pub type Listening = Option<Queue>;

/// Numbers of rules, as Suricata counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuleCounts {
    pub loaded: u64,
    pub failed: u64,
}

impl Default for Observation {
    fn default() -> Self {
        Self {
            enabled: false,
            mode: InspectionMode::default(),
            fail: FailPolicy::default(),
            gate: Gate::Queue,
            queue_length: 4096,
            asked: None,
            trouble: None,
            refused: None,
            running: false,
            answered: None,
            queues: Vec::new(),
            overflow: 0,
            capture_drops: 0,
            rules: None,
            events: false,
        }
    }
}
