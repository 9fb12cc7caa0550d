// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the rules of other programs that act on each packet, and adds them to the plan.
//! `crates/ruleset/src/foreign.rs` decides which rules these are.

use config::sort::Collect;
use std::collections::BTreeSet;
use std::time::Duration;

use flows::Now;
use model::{Engine, Outcome, PacketChain};
use ruleset::{ForeignRules, Plan, Surroundings};
use topology::Topology;

use crate::offload::revocation::RevocationReason;

/// Retry interval after a failure to list the rules.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);
/// Minimum interval between listings: each listing replaces the table twice, and a script may add
/// many rules.
const MIN_INTERVAL: Duration = Duration::from_secs(2);
const MAX_NAMED: usize = 32;

/// Rules of other programs, as last read.
#[derive(Debug, Default)]
pub(crate) struct State {
    rules: ForeignRules,
    reading: bool,
    /// Time to read the rules; `None` if nothing has changed since the last reading.
    due: Option<Duration>,
    read_at: Option<Duration>,
    /// Why the rules could not be read; empty if they could.
    failure: String,
}

impl State {
    /// Returns true if the rules in force may differ from the rules that were read last.
    pub(crate) fn unread(&self) -> bool {
        self.reading || self.due.is_some()
    }

    pub(crate) fn failure(&self) -> &str {
        &self.failure
    }

    /// Schedules a reading if this reason for a revocation requires one. Returns true if it does.
    pub(crate) fn outdated(&mut self, reason: &RevocationReason, now: Now) -> bool {
        match reason {
            RevocationReason::Rules => {}
            RevocationReason::Elements if self.rules.look_up_sets() => {}
            RevocationReason::Elements
            | RevocationReason::Routes
            | RevocationReason::Stations
            | RevocationReason::Mtu
            | RevocationReason::Ipsec
            | RevocationReason::Forwarding
            | RevocationReason::Flush => return false,
        }
        self.due = Some(self.read_at.map_or(now.mono, |at| at + MIN_INTERVAL));
        true
    }

    /// Starts a reading if it is due. Returns true if it was.
    pub(crate) fn begin_reading(&mut self, now: Now) -> bool {
        if self.reading || self.due.take_if(|at| now.mono >= *at).is_none() {
            return false;
        }
        self.reading = true;
        self.read_at = Some(now.mono);
        true
    }

    pub(crate) fn read(&mut self, rules: Result<ForeignRules, String>, now: Now) {
        self.reading = false;
        self.failure.clear();
        match rules {
            Ok(rules) => self.rules = rules,
            Err(why) => {
                log::error!("listing the rules of nftables: {why}");
                self.due = Some(now.mono + RETRY_INTERVAL);
                self.failure = why;
            }
        }
    }

    /// Returns the chains that keep flows of this plan on the slow path.
    pub(crate) fn packet_chains(&self, plan: &Plan, topology: &Topology) -> Vec<PacketChain> {
        if plan.engine == Engine::Off {
            return Vec::new();
        }
        let none = BTreeSet::new();
        let stacks = topology.stacks();
        let named = |wanted: &dyn Fn(&BTreeSet<topology::Name>) -> bool| {
            let found = stacks.iter().filter(|(_, below)| wanted(below));
            found.map(|(name, _)| name.to_string()).into_set()
        };
        let is_bridge = |name: &topology::Name| topology.is_bridge(name);
        self.rules.packet_chains(&Surroundings {
            above: &|device| named(&|below| below.iter().any(|name| &**name == device)),
            bridged: named(&|below| below.iter().any(is_bridge)),
            flowtable: if plan.hardware { &none } else { &plan.devices },
            queues: topology.queues().iter().any(|queue| queue.by_mark),
            first_packets: plan.slow_packets > 0,
        })
    }
}

/// Returns the names of the rules that keep flows of this plan on the slow path.
pub(super) fn rule_names(plan: &Plan) -> Vec<String> {
    let steps = plan.packet_chains.iter().flat_map(|chain| &chain.steps);
    let mut names: Vec<String> = steps
        .filter_map(|step| match &step.outcome {
            Outcome::Reaches(rule) => Some(rule.to_string()),
            Outcome::Leaves => None,
        })
        .collect();
    names.dedup();
    names.truncate(MAX_NAMED);
    names
}
