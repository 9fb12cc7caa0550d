// SPDX-License-Identifier: GPL-2.0-or-later
//! What the daemon tells the table: dumps, events, the engine.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use ctnetlink::{Entry, Event, Tuple};

use crate::engine::EngineState;
use crate::flow::Millis;
use crate::inspection::InspectionState;
use crate::intern::Number;
use crate::ladder::{Facts, climb, takeable};
use crate::network::{Network, Side};
use crate::path::Reason;
use crate::table::Takeup;
use crate::table::{FlowTable, Now};

/// How many of the newest flows are searched for young ones: a second's worth of a busy router.
const YOUNG_AMONG: usize = 4096;

/// Flows that wait for a look-up because they left inspection; the next dump reads the others.
const DEPARTED_MOST: usize = 4096;

impl FlowTable {
    /// Sets the engine in force and decides the path of every flow anew, if it is another one: a
    /// hundred thousand flows take a while.
    pub fn engine(&mut self, engine: EngineState, now: Now) {
        if self.engine == engine {
            return;
        }
        self.engine = engine;
        for at in 0..self.flows.len() {
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
            self.judge(at, now.millis());
        }
        self.epoch += 1;
    }

    /// Any flow may be routed differently now: those that the eBPF engine must not carry any more
    /// leave at once, not when they are read next.
    pub fn rerouted(&mut self, now: Now, net: &dyn Network) {
        for at in 0..self.flows.len() {
            self.survey(at, net);
            self.judge(at, now.millis());
        }
        self.epoch += 1;
    }

    /// A dump of the conntrack table starts. An unfinished earlier one is forgotten.
    pub fn dump_begin(&mut self, now: Now) {
        self.now = now;
        self.dump = self.dump.wrapping_add(1);
        self.dumping = true;
        self.gone.clear();
        self.reset.clear();
    }

    /// One entry of the dump, with the time its batch was read.
    pub fn merge(&mut self, entry: &Entry, now: Now, net: &dyn Network) {
        let position = match self.known(entry) {
            Some(position) if self.flows[position].restarted(entry) => {
                self.remove(position);
                self.insert(entry, now, true)
            }
            // Read before its counters were set to zero, handed in after that was told.
            Some(position) if self.reset.contains(&(entry.id, entry.zone)) => {
                self.flows[position].seen = self.dump;
                return;
            }
            Some(position) => position,
            // Read before it was destroyed, handed in after that was told.
            None if self.gone.contains(&(entry.id, entry.zone)) => return,
            None => {
                let position = self.insert(entry, now, !self.first);
                self.flows[position].trusted = if self.first { self.found } else { 0 };
                position
            }
        };
        self.flows[position].seen = self.dump;
        self.read(position, entry, now.millis(), false, net);
    }

    /// The dump is over. `complete`: flows that were not in it are gone; pass false when the
    /// dump failed or was interrupted.
    pub fn dump_end(&mut self, now: Now, complete: bool) {
        self.now = now;
        self.dumping = false;
        self.gone = HashSet::new();
        self.reset = HashSet::new();
        self.departed.clear();
        if complete {
            for position in (0..self.flows.len()).rev() {
                if self.flows[position].seen != self.dump {
                    self.remove(position);
                }
            }
            self.first = false;
            self.shrink();
        }
        self.accounts.read(now.millis());
        self.epoch += 1;
    }

    /// A change reported by the kernel.
    pub fn event(&mut self, event: &Event, now: Now, net: &dyn Network) {
        let at = now.millis();
        let (entry, new) = match event {
            Event::Destroy(entry) => return self.destroy(entry, at),
            Event::New(entry) => (entry, true),
            Event::Update(entry) => (entry, false),
        };
        let position = self.known(entry).unwrap_or_else(|| {
            let position = self.insert(entry, now, new || !self.first);
            // A new one's mark was set by the rules in force.
            self.flows[position].trusted = if new { self.rules } else { 0 };
            position
        });
        self.flows[position].seen = self.dump;
        self.update(position, entry, false);
        self.survey(position, net);
        let before = self.flows[position].inspection;
        self.note_paths(position);
        let flow = &self.flows[position];
        if !before.over() && flow.inspection.over() && self.departed.len() < DEPARTED_MOST {
            self.departed.push((flow.zone, flow.orig));
        }
        self.judge(position, at);
        self.epoch += 1;
    }

    /// Flows that the kernel may take with any packet, newest first: no event tells when it does.
    /// Zone and original direction, for [`ctnetlink::Lookup`].
    #[must_use]
    pub fn young(&self, most: usize) -> Vec<(u16, Tuple)> {
        // New flows are at the end, so this ends early unless nothing is young.
        let flows = self.flows.iter().rev().take(YOUNG_AMONG);
        let young = flows.filter(|flow| flow.reason == Some(Reason::Pending));
        young.take(most).map(|flow| (flow.zone, flow.orig)).collect()
    }

    /// Flows that an event has let out of inspection since this was last asked, to be looked up
    /// at once: the sooner they are read, the better the bytes that were inspected are known.
    pub fn departed(&mut self) -> Vec<(u16, Tuple)> {
        std::mem::take(&mut self.departed)
    }

    /// An entry as [`ctnetlink::Reinspection`] tells it: as it was before its counters were set
    /// to zero and our bits were taken off its mark. Sums go on from there. Unknown flows are
    /// left to the next dump.
    pub fn reinspected(&mut self, entry: &Entry, now: Now, net: &dyn Network) {
        let Some(position) = self.known(entry) else { return };
        if self.dumping {
            self.reset.insert((entry.id, entry.zone));
        }
        let at = now.millis();
        self.read(position, entry, at, true, net);
        let ours = self.inspection.bypass | self.inspection.spent;
        let flow = &mut self.flows[position];
        flow.set_to_zero();
        flow.mark &= !ours;
        self.judge(position, at);
        self.flows[position].credited();
        self.epoch += 1;
    }

    /// What one look-up of a young flow found: like an event, but the status is today's. Flows
    /// that are not known are left to the next event or dump.
    pub fn refresh(&mut self, entry: &Entry, now: Now, net: &dyn Network) {
        if self.known(entry).is_some() {
            self.merge(entry, now, net);
            self.epoch += 1;
        }
    }

    fn destroy(&mut self, entry: &Entry, at: Millis) {
        if self.dumping {
            self.gone.insert((entry.id, entry.zone));
        }
        let Some(position) = self.known(entry) else { return };
        self.flows[position].mark |= entry.mark;
        self.note_paths(position);
        self.count(position, entry, at, true);
        self.remove(position);
        self.epoch += 1;
    }

    /// Takes over what a dump or a look-up tells, counters included; `last`: however soon after
    /// the reading before.
    fn read(&mut self, position: usize, entry: &Entry, at: Millis, last: bool, net: &dyn Network) {
        self.update(position, entry, true);
        self.survey(position, net);
        self.note_paths(position);
        let counted = self.count(position, entry, at, last);
        self.judge(position, at);
        if counted {
            self.flows[position].credited();
        }
    }

    /// Looks up both ends, if the network has changed since.
    pub(crate) fn survey(&mut self, position: usize, net: &dyn Network) {
        let flow = &mut self.flows[position];
        if flow.generation == net.generation() {
            return;
        }
        flow.generation = net.generation();
        if matches!(flow.takeup, Takeup::Refused(_)) {
            flow.takeup = Takeup::Not;
        }
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
        let sides = [flow.initiator, flow.responder].map(|number| self.side(number));
        let ends = [flow.orig.src, flow.reply.src];
        let action = self.inspection.action(sides[0], sides[1], ends);
        self.flows[position].action = action;
    }

    /// Decides path and reason.
    pub(crate) fn judge(&mut self, position: usize, at: Millis) {
        self.note_paths(position);
        let flow = &self.flows[position];
        let side = |number| self.sides.get(number);
        let mut facts = Facts {
            engine: self.engine.engine,
            inspection: flow.inspection,
            status: flow.status,
            takeup: flow.takeup,
            local: flow.local,
            multicast: flow.multicast,
            proto: flow.orig.proto,
            helper: flow.helper,
            seq_adjust: flow.seq_adjust,
            excluded: self.engine.excludes.iter().any(|e| e.matches(&flow.orig, &flow.reply))
                || [flow.initiator, flow.responder]
                    .into_iter()
                    .any(|number| side(number).is_some_and(|side| side.left_out)),
            tcp_state: flow.tcp_state,
            policy_routed: flow.policy_routed,
            initiator: side(flow.initiator),
            responder: side(flow.responder),
            quiet: span(at - flow.active),
            active_for: span(flow.active_for()),
        };
        let (takeable, passed) = (takeable(&facts), self.passed(&self.flows[position]));
        let flow = &mut self.flows[position];
        self.wishes.extend(flow.wish(takeable && passed));
        if takeable && !passed {
            self.wishes.extend(flow.renew(self.rules));
        }
        facts.takeup = flow.takeup;
        let (path, reason) = climb(&facts);
        let before = flow.path;
        if flow.decide(path, reason, at) && before != path {
            self.accounts.leave(before);
            self.accounts.enter(path);
        }
    }

    pub(crate) fn side(&self, number: Number) -> Option<&Side> {
        self.sides.get(number)
    }
}

fn span(millis: Millis) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
