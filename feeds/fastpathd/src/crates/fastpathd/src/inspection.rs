// SPDX-License-Identifier: GPL-2.0-or-later
//! The core's part about inspection: what happened to Suricata goes in, what is to be done about
//! it comes out.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use config::SettingsError;
use flows::{FlowTable, InspectionState};
use ruleset::{InForce, Segments};

use crate::configuration::Configuration;
use crate::core::{Core, Effect, Readings};
use crate::cpu_room::{CpuRoom, Seen, Step};
use crate::places;
use crate::protection::{self, Protection, Sight, Word};
use crate::surroundings::Surroundings;

/// The counters of our table are shown, and each reading runs nft.
const TABLE_EVERY: Duration = Duration::from_secs(5);
/// Nobody may ever tell of interfaces.
const WITHOUT_INTERFACES: Duration = Duration::from_secs(15);

impl Core {
    /// What a configuration asks for that this router does not have. What is not known yet is
    /// not held against it.
    pub(crate) fn check(&self, configuration: &Configuration) -> Result<(), SettingsError> {
        let mut problems = Vec::new();
        if self.firewall_known {
            problems.extend(Protection::check(&configuration.main.policies, &self.places()));
        }
        if self.topology_known {
            let ports = places::ports(self.around.topology());
            problems.extend(ips::check_mode(&configuration.ips, &ports).err());
        }
        problems.extend(self.cpus.check(&configuration.cpu, configuration.ips.enabled));
        if problems.is_empty() { Ok(()) } else { Err(SettingsError { problems }) }
    }

    pub(crate) fn places(&self) -> Segments {
        places::places(&self.firewall, self.around.interfaces(), self.around.topology())
    }

    /// Twice a second while inspection is wanted.
    pub(crate) fn sight(&mut self, sight: Sight) -> Vec<Effect> {
        let before = self.protection.condition().state;
        let moved = self.protection.look(self.now.mono, sight);
        if self.protection.condition().state != before {
            self.inspection_changed();
        }
        if moved { self.replan() } else { Vec::new() }
    }

    /// An answer of Suricata's.
    pub(crate) fn word(&mut self, word: Word) {
        self.protection.hear(self.now.mono, word);
    }

    /// Its events.
    pub(crate) fn batch_of_events(&mut self, batch: ips::Batch) -> Vec<Effect> {
        self.events.take(batch);
        self.protection.connected(self.events.connected);
        if let Some(counters) = self.events.counters.take() {
            self.protection.count(counters);
        }
        let now = self.now.mono;
        let mut effects = Vec::new();
        for offender in self.events.offenders() {
            let topology = self.around.topology();
            let rule = (offender.sid, offender.reason.as_str());
            let own = |address: IpAddr| topology.is_local(address);
            if let Some(block) = self.protection.fired(now, offender.address, rule, own) {
                let offers = self.flows.offers_of(block.address);
                self.ebpf.reject(&offers, block.sid, block.until, topology, self.now);
                let flows = offers.iter().map(|offer| (offer.zone, offer.orig)).collect();
                effects.push(Effect::Block {
                    element: Box::new(protection::element(&block, now)),
                    flows,
                });
            }
        }
        effects
    }

    /// Connections as they were before their counters were set to zero.
    pub(crate) fn renewed(&mut self, entries: &[ctnetlink::Entry]) -> Vec<Effect> {
        for entry in entries {
            self.flows.reinspected(entry, self.now, &self.around);
        }
        self.serve_ebpf()
    }

    /// Ends a block by hand; none if there is none.
    pub(crate) fn release(&mut self, address: IpAddr) -> Option<Effect> {
        // As the kernel has it: an IPv4 address may be written as an IPv6 one.
        let address = self.protection.blocks.release(address)?.address;
        self.ebpf.accept(&[address], self.now);
        log::info!("{address} is not blocked any more, by command");
        Some(Effect::Release(vec![address]))
    }

    /// What is in our table: its counters, and at the start the blocks of the daemon before.
    pub(crate) fn read_back(&mut self, found: &InForce) -> Vec<Effect> {
        self.protection.tally(found);
        // Later they are all ours, and one that was released meanwhile would come back.
        let first = !std::mem::replace(&mut self.adopted, true);
        let unwanted = self.settings.is_some() && !self.protection.blocking();
        if !first || unwanted {
            return Vec::new();
        }
        let now = self.now.mono;
        let topology = self.around.topology();
        let mut ended = Vec::new();
        for block in &found.blocks {
            let left = Duration::from_secs(block.left.into());
            let own = |address: IpAddr| topology.is_local(address);
            if self.protection.blocks.adopt(now, block.address, left, own).is_err() {
                ended.push(block.address);
            }
        }
        if ended.is_empty() { Vec::new() } else { vec![Effect::Release(ended)] }
    }

    /// What Suricata is to run by, if that has changed.
    pub(crate) fn orders(&mut self) -> Option<Effect> {
        // Before all is known it would be written twice, and Suricata started twice.
        let patience = self.now.mono >= WITHOUT_INTERFACES;
        if !self.topology_known || !self.cpus.known() || !(self.interfaces_known || patience) {
            return None;
        }
        self.protection.threads = self.cpus.threads();
        let home = places::home(&self.firewall, self.around.interfaces());
        let ports = places::ports(self.around.topology());
        let store = self.rules.store();
        self.protection.orders(self.now.mono, &home, store, &ports).map(Effect::Order)
    }

    /// CPUs and queues as they are now.
    pub(crate) fn machine_read(&mut self, seen: Seen) -> Vec<Effect> {
        let before = self.cpus.known().then(|| self.cpus.threads());
        let steps = self.cpus.read(seen, self.now.mono);
        let mut effects: Vec<Effect> = steps.into_iter().map(|step| self.effect(step)).collect();
        if before != Some(self.cpus.threads()) {
            effects.extend(self.replan());
        }
        effects
    }

    fn effect(&self, step: Step) -> Effect {
        match step {
            Step::Read => Effect::ReadMachine(CpuRoom::devices(self.around.topology())),
            Step::Keep(text) => Effect::KeepFound(text),
            Step::Write(lines) => Effect::WriteCpuPlan(lines),
        }
    }

    /// Once a second.
    pub(crate) fn protection_tick(&mut self, readings: &Readings) -> Vec<Effect> {
        let step = self.cpus.tick(self.now.mono);
        let mut effects: Vec<Effect> = step.map(|step| self.effect(step)).into_iter().collect();
        self.protection.blocks.expire(self.now.mono);
        self.rules.local_time(readings.offset_s, self.now.unix_ms);
        effects.extend(
            self.rules.tick(&self.machine.own_rules, self.now.unix_ms).map(Effect::UpdateRules),
        );
        if self.protection.nudge(self.now.mono) {
            effects.push(self.orders().unwrap_or(Effect::TellSuricata));
        }
        let due = self.protection.settings.enabled && self.now.mono >= self.table_at;
        if due {
            self.table_at = self.now.mono + TABLE_EVERY;
            effects.push(Effect::ReadTable);
        }
        effects
    }

    /// The blocks there are, for a table that is made anew.
    pub(crate) fn blocks(&self) -> Vec<ruleset::Block> {
        let blocks = self.protection.blocks.list();
        blocks.into_iter().map(|block| protection::element(block, self.now.mono)).collect()
    }

    /// The flow table has to judge as the rules in force do.
    pub(crate) fn inspection_changed(&mut self) {
        let inspection = self.room.in_force().and_then(|plan| plan.protection.inspection.as_ref());
        let mut inspection = inspection.map(state).unwrap_or_default();
        // Nobody takes them out of the queue, which drops them: no rule of ours does.
        let stops = self.protection.condition().state == ips::State::FailingClosed;
        if stops && inspection.gate == flows::Gate::Queue {
            inspection.gate = flows::Gate::Closed;
        }
        self.flows.inspection(inspection, self.now);
    }
}

fn state(inspection: &ruleset::Inspection) -> InspectionState {
    let policy = |policy: &ruleset::Judged| flows::Policy {
        from: policy.from.clone(),
        to: policy.to.clone(),
        action: action(policy.action),
    };
    InspectionState {
        gate: match inspection.gate {
            ruleset::Gate::Queue => flows::Gate::Queue,
            ruleset::Gate::Open => flows::Gate::Open,
            ruleset::Gate::Closed => flows::Gate::Closed,
        },
        bypass: inspection.marks.bypass(),
        spent: inspection.marks.spent(),
        policies: inspection.policies.iter().map(policy).collect(),
        default: action(inspection.default),
        exempt: inspection.exempt.clone(),
        budget_bytes: inspection.budget_bytes,
        budget_packets: inspection.budget_packets,
    }
}

const fn action(action: ruleset::Action) -> flows::Action {
    match action {
        ruleset::Action::None => flows::Action::None,
        ruleset::Action::Inspect => flows::Action::Inspect,
        ruleset::Action::Always => flows::Action::Always,
    }
}

/// What an alert is shown with.
pub(crate) struct Context<'a> {
    pub(crate) flows: &'a FlowTable,
    pub(crate) around: &'a Surroundings,
}

impl ips::Surroundings for Context<'_> {
    fn name(&self, address: IpAddr) -> Option<&str> {
        flows::Network::name(self.around, address)
    }

    fn flow(&self, alert: &ips::Alert) -> Option<u64> {
        let proto = match alert.proto.to_ascii_lowercase().as_str() {
            "tcp" => 6,
            "udp" => 17,
            "icmp" => 1,
            "ipv6-icmp" | "icmpv6" => 58,
            "sctp" => 132,
            _ => return None,
        };
        let (src, dst) = (alert.src?, alert.dst?);
        let ends = [SocketAddr::new(src, alert.sport), SocketAddr::new(dst, alert.dport)];
        self.flows.find(proto, ends[0], ends[1])
    }
}

#[cfg(test)]
#[path = "inspection_tests.rs"]
mod tests;
