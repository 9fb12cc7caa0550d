// SPDX-License-Identifier: GPL-2.0-or-later
//! Decides path and reason of flows after changes of engine, inspection, routes or flow. Requests
//! eBPF offload.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use model::{FlowFacts, NextHop, Routing, RuleName, TrafficType, TrafficTypes};

use crate::engine::EngineState;
use crate::flow::Flow;
use crate::flow_route::FlowRoute;
use crate::handshake::{Event, OffloadRequest};
use crate::inspection::InspectionState;
use crate::intern::Number;
use crate::ladder::{Climb, Facts, offloaded};
use crate::network::{End, Network, Reach, reach};
use crate::stack::ByStack;
use crate::table::FlowTable;
use crate::time::{Millis, Now};

impl FlowTable {
    /// Sets the engine in force. A change re-evaluates all flows; if only `unread` changes,
    /// [`judge_some`](Self::judge_some) does.
    pub fn engine(&mut self, engine: EngineState, now: Now) {
        if self.engine == engine {
            return;
        }
        self.engine.unread = engine.unread;
        if self.engine == engine {
            self.unjudged = self.len();
            return;
        }
        self.engine = engine;
        for at in 0..self.flows.len() {
            self.note_paths(at);
            self.judge(at, now.millis());
        }
        self.epoch += 1;
    }

    /// Sets the inspection in force. A change re-evaluates all flows.
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

    /// Re-evaluates the routes of all flows, so that eBPF stops forwarding affected flows at once.
    pub fn routes_changed(&mut self, now: Now, net: &dyn Network) {
        for at in 0..self.flows.len() {
            self.survey(at, net);
            self.note_paths(at);
            self.judge(at, now.millis());
        }
        self.epoch += 1;
    }

    /// Looks up both ends if the network or the mark has changed.
    pub(super) fn survey(&mut self, position: usize, net: &dyn Network) {
        let flow = &mut self.flows[position];
        let same_mark = flow.route.as_ref().is_none_or(|route| route.mark == flow.mark);
        if flow.generation == net.generation() && same_mark {
            return;
        }
        flow.generation = net.generation();
        self.requests.extend(flow.offload_step(Event::NetworkChanged));
        let (initiator, responder) = (flow.orig.src, flow.reply.src);
        let ends = [flow.initiator, flow.responder];
        let route = self.route(position, net);
        let hops = self.flows[position].hops();
        let known =
            [0, 1].map(|i| self.end_of([initiator, responder][i], hops.map(|both| both[i]), net));
        let flow = &mut self.flows[position];
        flow.local = known.iter().any(|end| end.local);
        flow.reach = reach(known.map(|end| self.sides.get(end.side)));
        [flow.initiator, flow.responder] = known.map(|end| end.side);
        [flow.src_name, flow.dst_name] = known.map(|end| end.name);
        if route.is_some() || flow.route.is_some() {
            self.strayed |= self.strays(position, ends, route.as_deref());
        }
        self.police(position);
    }

    fn end_of(&mut self, address: IpAddr, hop: Option<NextHop>, net: &dyn Network) -> End {
        let (sides, names) = (&mut self.sides, &mut self.names);
        self.known_ends.get(net.generation(), (address, hop), || End {
            side: net.side(address, hop).map_or(0, |side| sides.number(side)),
            name: match net.name(address) {
                None | Some("") => 0,
                Some(name) => match names.find(name) {
                    0 => names.number(Rc::from(name)),
                    known => known,
                },
            },
            local: net.is_local(address),
        })
    }

    fn strays(&self, position: usize, ends: [Number; 2], before: Option<&FlowRoute>) -> bool {
        let flow = &self.flows[position];
        let device = |number| self.sides.get(number).map(|side| &side.device);
        let moved = [(ends[0], flow.initiator), (ends[1], flow.responder)];
        let moved =
            moved.map(|(old, new)| device(old).zip(device(new)).is_some_and(|(a, b)| a != b));
        let unknown = |route: &FlowRoute| route.routing == Routing::Unknown;
        let lost = flow.route.as_deref().is_some_and(unknown) && !before.is_some_and(unknown);
        let known = ends.iter().any(|number| device(*number).is_some());
        offloaded(flow.status, [Reach::Hardware; 2]).is_some()
            && (moved.contains(&true) || (lost && known))
    }

    /// Returns whether, since the last call, a flow in the flowtable got another route, or a mark
    /// that matches a rule for each packet.
    pub fn take_strayed(&mut self) -> bool {
        std::mem::take(&mut self.strayed)
    }

    /// Looks up the route and returns the previous one. With new next hops, a flow leaves the
    /// engine and is requested again.
    fn route(&mut self, position: usize, net: &dyn Network) -> Option<Box<FlowRoute>> {
        let flow = &mut self.flows[position];
        let new = FlowRoute::new(net.routing(&flow.connection(), flow.mark), flow.mark);
        let before = std::mem::replace(&mut flow.route, new);
        if flow.hops() != before.as_ref().and_then(|route| route.hops()) {
            self.requests.extend(flow.offload_step(Event::Ineligible));
        }
        if let Some(route) = flow.route.as_mut().filter(|route| route.is_open()) {
            route.waits = true;
            if !before.as_ref().is_some_and(|before| before.waits) {
                self.unrouted.push(flow.id);
            }
        }
        before
    }

    /// Re-evaluates the flows that were queued for a kernel route lookup.
    pub fn routes_answered(&mut self, now: Now, net: &dyn Network) {
        for id in std::mem::take(&mut self.unrouted) {
            let Some(position) = self.position(id) else { continue };
            let flow = &mut self.flows[position];
            flow.generation = u64::MAX;
            if let Some(route) = &mut flow.route {
                route.waits = false;
            }
            self.survey(position, net);
            self.note_paths(position);
            self.judge(position, now.millis());
        }
        self.epoch += 1;
    }

    /// Returns the next hops towards both ends if they depend on more than the addresses.
    #[must_use]
    pub fn next_hops(&self, id: u64) -> Option<[NextHop; 2]> {
        self.flows[self.position(id)?].hops()
    }

    fn police(&mut self, position: usize) {
        let flow = &self.flows[position];
        let sides = [flow.initiator, flow.responder].map(|number| self.sides.get(number));
        let ends = [flow.orig.src, flow.reply.src];
        let action = self.inspection.action(sides[0], sides[1], ends);
        self.flows[position].action = action;
    }

    pub(super) fn rule_reached(&self, flow: &Flow) -> Option<&RuleName> {
        let device = |number| self.sides.get(number).map(|side| &*side.device);
        self.engine.rule_reached(&FlowFacts {
            orig: &flow.orig,
            reply: &flow.reply,
            devices: [device(flow.initiator), device(flow.responder)],
            mark: flow.mark,
            packets: flow.kernel_packets(),
        })
    }

    /// Returns the types of a flow, to which the switches apply.
    pub(crate) fn traffic(&self, flow: &Flow) -> TrafficTypes {
        let version = TrafficType::of_address(flow.orig.src);
        let sides = [flow.initiator, flow.responder].map(|number| self.sides.get(number));
        let ends = sides.into_iter().flatten().map(|side| side.traffic);
        ends.fold(TrafficTypes::from_iter([version]), TrafficTypes::union)
    }

    /// Decides path and reason. Call [`note_paths`](Self::note_paths) first, except after steps of
    /// the handshake.
    pub(super) fn judge(&mut self, position: usize, at: Millis) {
        self.note_revoked(position);
        let flow = &self.flows[position];
        let [initiator, responder] =
            [flow.initiator, flow.responder].map(|number| self.sides.get(number));
        let (excluded, first) = self.engine.kept(&flow.orig, &flow.reply);
        let by_stack = flow.by_stack.as_deref();
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
            excluded: excluded || self.traffic(flow).intersects(self.engine.left_out),
            limited: self.engine.limits(&flow.orig, &flow.reply),
            rule_per_packet: self.rule_reached(flow).is_some(),
            roaming: self.engine.roams(&flow.orig, &flow.reply),
            encrypted: by_stack.is_some_and(|seen| seen.is_encrypted(at)),
            missed: by_stack.is_some_and(ByStack::misses),
            first_packets: flow.kernel_packets() < first.into(),
            tcp_state: flow.tcp_state,
            // An offloaded flow stays until the kernel reports another route.
            route_asked: flow.route.as_ref().is_some_and(|route| {
                route.is_open() && (route.hops().is_none() || !flow.offload.is_active())
            }),
            policy_routed: flow.route.as_ref().is_some_and(|r| r.routing.is_uncertain()),
            initiator,
            responder,
            by_cpu: flow.by_cpu(),
            hardware_full: self.hardware.is_full_for(flow),
            taken_for: span(flow.taken_at().map_or(0, |taken| at - taken)),
            quiet: span(at - flow.active),
            active_for: span(flow.active_for()),
        });
        let (eligible, passed) = (climb.may_use_ebpf(), self.has_passed(flow));
        let flow = &mut self.flows[position];
        let taken = eligible && passed && !self.engine.unread;
        let event = if taken { Event::Eligible } else { Event::Ineligible };
        self.requests.extend(flow.offload_step(event));
        if eligible && !passed && flow.rules.outdated(&self.rules) {
            self.requests.push(OffloadRequest::ClearMark(flow.connection()));
        }
        let (path, reason) = climb.verdict(flow.offload);
        let before = (flow.path, flow.reason);
        if flow.decide(path, reason, at) {
            self.accounts.leave(before.0, before.1);
            self.accounts.enter(path, reason);
        }
    }

    /// Sets the path of a flow whose offload was revoked since it was last judged.
    pub(super) fn note_revoked(&mut self, position: usize) {
        let flow = &mut self.flows[position];
        if let Some(step) = flow.revoked(&self.rules, self.revoked_at) {
            flow.decide(step.path, step.reason, step.at);
        }
    }
}

fn span(millis: Millis) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
