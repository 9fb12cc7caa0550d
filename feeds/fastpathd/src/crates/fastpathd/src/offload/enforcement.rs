// SPDX-License-Identifier: GPL-2.0-or-later
//! The core's part about the rules: which plan is in force, and changes made by others.

use ctnetlink::{Revision, Touch};
use flows::EngineState;
use ruleset::{Applied, Engine};

use crate::core::{Core, Effect};
use crate::network::stations::{self, Moved};
use crate::offload::flowtable::Job;

impl Core {
    /// Outcome of an apply job.
    pub(crate) fn applied(&mut self, result: Result<Applied, String>) -> Vec<Effect> {
        match &result {
            Ok(how) => log::info!("table inet fastpath: {how:?}"),
            Err(why) => log::error!("table inet fastpath is as before: {why}"),
        }
        // The rest of nft's words points into a script that the owner does not see.
        let result = result.map_err(|why| why.lines().next().unwrap_or_default().to_owned());
        let next = self.room.applied(result, self.now);
        self.engine_changed();
        self.answer_when_settled(next)
    }

    /// The next job; without one whoever waits for the engine gets an answer.
    fn answer_when_settled(&mut self, next: Option<Job>) -> Vec<Effect> {
        let mut effects: Vec<Effect> = next.into_iter().map(Effect::Engine).collect();
        effects.extend(self.serve_ebpf());
        effects.extend(self.engine_answer());
        effects
    }

    /// What whoever waits for the engine is told, once neither rules nor programs are under way.
    pub(crate) fn engine_answer(&self) -> Option<Effect> {
        (self.room.settled() && self.ebpf.known()).then_some(Effect::AnswerEngine)
    }

    /// Outcome of a watch job.
    pub(crate) fn watched(&mut self, still: bool) -> Vec<Effect> {
        if !still {
            log::warn!("table inet fastpath was changed or removed from outside: restoring it");
        }
        let next = self.room.watched(still, self.now);
        self.engine_changed();
        self.answer_when_settled(next)
    }

    /// Rules were changed, perhaps by ourselves.
    pub(crate) fn revised(&mut self, revision: Revision) -> Vec<Effect> {
        let mut effects = vec![Effect::NoteRules];
        if revision.others || revision.elements {
            // Elements change all the time where names are resolved into sets (dnsmasq): what is
            // carried goes on then, as in a flowtable.
            self.flows.rules_changed(revision.others, self.now);
            effects.extend(self.serve_ebpf());
        }
        if revision.table == Touch::None {
            return effects;
        }
        let was_there = self.room.in_force().is_some();
        let next = self.room.touched(revision.table, self.now);
        if was_there && self.room.in_force().is_none() {
            log::warn!("table inet fastpath was removed from outside: restoring it");
            self.engine_changed();
        }
        effects.extend(self.answer_when_settled(next));
        effects
    }

    /// Stations have moved. Flows to them leave the flowtable and enter it again with their next
    /// packet, by the network as it is now. The eBPF engine follows without this.
    pub(crate) fn follow(&mut self, moved: &[Moved]) -> Option<Effect> {
        if moved.is_empty() || !self.room.in_force()?.has_flowtable() {
            return None;
        }
        let addresses = stations::addresses(moved, self.around.topology());
        if !self.flows.forwards(addresses.as_deref()) {
            return None;
        }
        log::info!("hosts have moved to another port: their flows follow");
        self.room.renew(self.now).map(Effect::Engine)
    }

    /// Tells the flow table which engine is in force.
    fn engine_changed(&mut self) {
        let (engine, devices, left_out, shaped) = match self.room.in_force() {
            Some(plan) if plan.engine != Engine::Off => {
                let excludes = plan.excludes.iter().map(flow_exclude).collect();
                let engine = EngineState {
                    engine: flow_engine(plan.engine),
                    excludes,
                    passed: plan.passed().unwrap_or_default(),
                };
                (engine, plan.devices.clone(), plan.left_out, plan.shaped.clone())
            }
            _ => Default::default(),
        };
        self.around.set_devices(devices, left_out, shaped);
        self.flows.engine(engine, self.now);
        self.inspection_changed();
    }
}

const fn flow_engine(engine: Engine) -> flows::Engine {
    match engine {
        Engine::Off => flows::Engine::Off,
        Engine::Flowtable => flows::Engine::Flowtable,
        Engine::FlowtableHw => flows::Engine::FlowtableHw,
        Engine::Ebpf => flows::Engine::Ebpf,
    }
}

fn flow_exclude(exclude: &ruleset::Exclude) -> flows::Exclude {
    // Every field by name: a new one must be thought of here.
    let ruleset::Exclude { name: _, src, dest, proto, src_port, dest_port } = exclude;
    flows::Exclude {
        src: *src,
        dest: *dest,
        proto: *proto,
        src_port: src_port.as_ref().map(|p| p.first..=p.last),
        dest_port: dest_port.as_ref().map(|p| p.first..=p.last),
    }
}
