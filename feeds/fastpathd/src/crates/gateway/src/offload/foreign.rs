// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the rules of other programs that act on each packet, and adds them to the plan.
//! `crates/ruleset/src/foreign.rs` decides which rules these are.

use std::collections::BTreeSet;
use std::time::Duration;

use model::{Engine, Outcome, PacketChain};
use ruleset::{ForeignRules, Plan, Surroundings};

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::offload::Effect;
use crate::offload::revocation::RevocationReason;

/// Retry interval after a failure to list the rules.
const RETRY: Duration = Duration::from_secs(30);
/// Shortest interval between listings: each one replaces the table twice, and a script may add rule
/// after rule.
const MIN_INTERVAL: Duration = Duration::from_secs(2);
/// Limit of the rules that `status` names.
const MAX_NAMED: usize = 32;

/// Rules of other programs, as last read.
#[derive(Debug, Default)]
pub(crate) struct State {
    rules: ForeignRules,
    reading: bool,
    /// When to read the rules; `None` if nothing has changed since the last reading.
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

    /// Returns why the rules cannot be read; empty if they can.
    pub(crate) fn failure(&self) -> &str {
        &self.failure
    }
}

impl Core {
    /// Sets the rules that were read at the start.
    pub fn start_with_rules(&mut self, rules: Result<ForeignRules, String>) {
        self.take_rules(rules);
    }

    /// Reads the rules after this change. No flow is offloaded until they are known.
    pub(super) fn read_rules(&mut self, reason: &RevocationReason) -> Vec<AnyEffect> {
        let foreign = &mut self.offload.foreign;
        match reason {
            RevocationReason::Rules => {}
            RevocationReason::Elements if foreign.rules.look_up_sets() => {}
            RevocationReason::Elements
            | RevocationReason::Routes
            | RevocationReason::Stations
            | RevocationReason::Mtu
            | RevocationReason::Ipsec
            | RevocationReason::Forwarding
            | RevocationReason::Flush => return Vec::new(),
        }
        foreign.due = Some(foreign.read_at.map_or(self.now.mono, |at| at + MIN_INTERVAL));
        let mut effects = self.replan();
        self.engine_changed();
        effects.extend(self.read_rules_again());
        effects
    }

    /// Reads the rules if that is due.
    pub(super) fn read_rules_again(&mut self) -> Option<AnyEffect> {
        let foreign = &mut self.offload.foreign;
        if foreign.reading {
            return None;
        }
        foreign.due.take_if(|at| self.now.mono >= *at)?;
        foreign.reading = true;
        foreign.read_at = Some(self.now.mono);
        Some(AnyEffect::Offload(Effect::ReadRules))
    }

    /// Handles the rules that have been read.
    pub(super) fn rules_read(&mut self, rules: Result<ForeignRules, String>) -> Vec<AnyEffect> {
        self.take_rules(rules);
        let mut effects: Vec<AnyEffect> = self.read_rules_again().into_iter().collect();
        effects.extend(self.replan());
        self.engine_changed();
        effects.extend(self.serve_ebpf());
        effects
    }

    fn take_rules(&mut self, rules: Result<ForeignRules, String>) {
        let foreign = &mut self.offload.foreign;
        foreign.reading = false;
        foreign.failure.clear();
        match rules {
            Ok(rules) => foreign.rules = rules,
            Err(why) => {
                log::error!("listing the rules of nftables: {why}");
                foreign.due = Some(self.now.mono + RETRY);
                foreign.failure = why;
            }
        }
    }

    /// Returns the chains that keep flows of this plan on the slow path.
    pub(super) fn packet_chains(&self, plan: &Plan) -> Vec<PacketChain> {
        if plan.engine == Engine::Off {
            return Vec::new();
        }
        let topology = self.network.topology();
        let none = BTreeSet::new();
        let stacks = topology.stacks();
        let named = |wanted: &dyn Fn(&BTreeSet<topology::Name>) -> bool| {
            let found = stacks.iter().filter(|(_, below)| wanted(below));
            found.map(|(name, _)| name.to_string()).collect::<BTreeSet<String>>()
        };
        let is_bridge = |name: &topology::Name| topology.is_bridge(name);
        self.offload.foreign.rules.packet_chains(&Surroundings {
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

#[cfg(test)]
mod tests;
