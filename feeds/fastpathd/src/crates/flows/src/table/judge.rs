// SPDX-License-Identifier: GPL-2.0-or-later
//! Collects the facts that `ladder.rs` judges, and decides path and reason again after a change of
//! engine, inspection, routes or flow. Requests offload to eBPF, or that the `passed` bits be
//! cleared.

use std::rc::Rc;
use std::time::Duration;

use crate::engine::EngineState;
use crate::handshake::{Event, OffloadRequest};
use crate::inspection::InspectionState;
use crate::ladder::{Climb, Facts};
use crate::network::{Network, Side};
use crate::table::FlowTable;
use crate::time::{Millis, Now};

impl FlowTable {
    /// Sets the engine in force and decides the path of every flow again, if it is another one: a
    /// hundred thousand flows take a while.
    pub fn engine(&mut self, engine: EngineState, now: Now) {
        if self.engine == engine {
            return;
        }
        self.engine = engine;
        for at in 0..self.flows.len() {
            self.note_paths(at);
            self.judge(at, now.millis());
        }
        self.epoch += 1;
    }

    /// Sets the inspection in force; the rest as with [`engine`](Self::engine).
    pub fn inspection(&mut self, inspection: InspectionState, now: Now) {
        if self.inspection == inspection {
            return;
        }
        self.inspection = inspection;
        for at in 0..self.flows.len() {
            self.police(at);
            self.note_paths(at);
            self.judge(at, now.millis());
        }
        self.epoch += 1;
    }

    /// Any flow may be routed differently now: those that the eBPF engine must no longer carry are
    /// removed at once, not when they are read next.
    pub fn routes_changed(&mut self, now: Now, net: &dyn Network) {
        for at in 0..self.flows.len() {
            self.survey(at, net);
            self.note_paths(at);
            self.judge(at, now.millis());
        }
        self.epoch += 1;
    }

    /// Looks up both ends, if the network has changed since.
    pub(super) fn survey(&mut self, position: usize, net: &dyn Network) {
        let flow = &mut self.flows[position];
        if flow.generation == net.generation() {
            return;
        }
        flow.generation = net.generation();
        self.requests.extend(flow.offload_step(Event::NetworkChanged));
        let (initiator, responder) = (flow.orig.src, flow.reply.src);
        flow.local = net.is_local(initiator) || net.is_local(responder);
        flow.policy_routed = net.is_policy_routed(initiator, responder);
        let sides = [initiator, responder].map(|address| net.side(address));
        flow.unlisted = [0, 1].map(|i| sides[i].as_ref().is_some_and(Side::unlisted));
        [flow.initiator, flow.responder] =
            sides.map(|side| side.map_or(0, |side| self.sides.number(side)));
        let mut name = |address| match net.name(address) {
            None | Some("") => 0,
            Some(name) => match self.names.find(name) {
                0 => self.names.number(Rc::from(name)),
                known => known,
            },
        };
        (flow.src_name, flow.dst_name) = (name(initiator), name(responder));
        self.police(position);
    }

    /// Asks the policy, when the policy or the ends have changed.
    fn police(&mut self, position: usize) {
        let flow = &self.flows[position];
        let sides = [flow.initiator, flow.responder].map(|number| self.sides.get(number));
        let ends = [flow.orig.src, flow.reply.src];
        let action = self.inspection.action(sides[0], sides[1], ends);
        self.flows[position].action = action;
    }

    /// Decides path and reason. The paths of the flow are to be noted before, if anything but its
    /// state in the handshake has changed.
    pub(super) fn judge(&mut self, position: usize, at: Millis) {
        let flow = &self.flows[position];
        let [initiator, responder] =
            [flow.initiator, flow.responder].map(|number| self.sides.get(number));
        let (excluded, first) = self.engine.kept(&flow.orig, &flow.reply);
        let climb = Climb::new(Facts {
            engine: self.engine.engine,
            inspection: flow.inspection,
            status: flow.status,
            offload: flow.offload,
            local: flow.local,
            multicast: flow.multicast,
            proto: flow.orig.proto,
            helper: flow.helper,
            seq_adjust: flow.seq_adjust,
            excluded: excluded
                || [initiator, responder].into_iter().flatten().any(|side| side.left_out),
            first_packets: flow.kernel_packets() < first.into(),
            tcp_state: flow.tcp_state,
            policy_routed: flow.policy_routed,
            initiator,
            responder,
            quiet: span(at - flow.active),
            active_for: span(flow.active_for()),
        });
        let (eligible, passed) = (climb.may_use_ebpf(), self.has_passed(flow));
        let flow = &mut self.flows[position];
        let event = if eligible && passed { Event::Eligible } else { Event::Ineligible };
        self.requests.extend(flow.offload_step(event));
        if eligible && !passed && flow.rules.outdated(&self.rules) {
            self.requests.push(OffloadRequest::ClearMark(flow.connection()));
        }
        let (path, reason) = climb.verdict(flow.offload);
        let before = flow.path;
        if flow.decide(path, reason, at) && before != path {
            self.accounts.leave(before);
            self.accounts.enter(path);
        }
    }
}

fn span(millis: Millis) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
