// SPDX-License-Identifier: GPL-2.0-or-later
//! Input of the health checks: process, command socket, queues, drops, rules and event stream.

use std::time::Duration;

use model::{FailPolicy, Gate, InspectionMode};

use crate::queues::Queue;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    pub enabled: bool,
    pub mode: InspectionMode,
    /// Policy for packets while Suricata does not work.
    pub fail: FailPolicy,
    /// Gate of the firewall rules in force, in mode nfq. [`Gate::Open`] if the rules do not queue
    /// packets yet.
    pub gate: Gate,
    /// Maximum number of packets waiting in one queue.
    pub queue_length: u32,
    /// When the daemon last requested a start or restart.
    pub asked: Option<Duration>,
    /// Why the daemon could not start Suricata: the overlay cannot be written, or the ports are
    /// unsuitable.
    pub trouble: Option<String>,
    /// Error of the last `suricata -T`, if it failed.
    pub refused: Option<String>,
    pub running: bool,
    /// When the command socket last answered.
    pub answered: Option<Duration>,
    /// Our queues in order. Empty in other modes than nfq.
    pub queues: Vec<Listening>,
    pub overflow: u64,
    /// Total of packets that the kernel dropped in front of a tap.
    pub capture_drops: u64,
    /// `None` until Suricata reports counters.
    pub rules: Option<RuleCounts>,
    pub events: bool,
}

/// One of our queues. `None` without a listener.
pub type Listening = Option<Queue>;

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
