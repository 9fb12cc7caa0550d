// SPDX-License-Identifier: GPL-2.0-or-later
//! Facts about Suricata at one moment that its health is judged by: process, command socket,
//! queues, drops, rules, event stream.

use std::time::Duration;

use model::{FailPolicy, Gate, InspectionMode};

use crate::queues::Queue;

/// All that is known at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Whether inspection is asked for.
    pub enabled: bool,
    /// How packets reach Suricata.
    pub mode: InspectionMode,
    /// The policy while it is away.
    pub fail: FailPolicy,
    /// The gate of the firewall rules in force. Rules from before inspection was switched on pass
    /// packets as an open gate does. For mode nfq.
    pub gate: Gate,
    /// Packets that may wait in one queue.
    pub queue_length: u32,
    /// When the daemon last asked for a start or restart.
    pub asked: Option<Duration>,
    /// Why the daemon could not: the overlay cannot be written, the mode cannot work.
    pub trouble: Option<String>,
    /// The error of `suricata -T`, if its last test failed.
    pub refused: Option<String>,
    /// Whether a process of it is known.
    pub running: bool,
    /// When the command socket last answered.
    pub answered: Option<Duration>,
    /// Our queues in order; none where nobody listens. Empty in other modes than nfq.
    pub queues: Vec<Listening>,
    /// Packets that passed a full queue, so far.
    pub overflow: u64,
    /// Packets that the kernel could not hand to a tap, so far.
    pub capture_drops: u64,
    /// Rules as Suricata counts them, once it said.
    pub rules: Option<RuleCounts>,
    /// Whether the event stream is connected.
    pub events: bool,
}

/// One of our queues; none where nobody listens.
pub type Listening = Option<Queue>;

/// Rules as Suricata counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuleCounts {
    /// In force.
    pub loaded: u64,
    /// That it could not load.
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
