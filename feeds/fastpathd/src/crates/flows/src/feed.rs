// SPDX-License-Identifier: GPL-2.0-or-later
//! What the daemon tells the table: dumps, events, the engine.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use ctnetlink::{Entry, Event, Tuple};

use crate::engine::{Engine, EngineState};
use crate::flow::{Flow, Millis, Reading};
use crate::intern::Number;
use crate::ladder::{self, Facts, climb};
use crate::network::{Network, Side};
use crate::table::{FlowTable, Now};
use crate::words::{Path, Reason};

/// Starts further back than this are not believed: the clock was set since.
const AGE_MOST_MS: u64 = 10 * 366 * 86_400_000;

/// How many of the newest flows are searched for young ones: a second's worth of a busy router.
const YOUNG_AMONG: usize = 4096;

impl FlowTable {
    /// Sets the engine in force and decides the path of every flow anew.
    pub fn engine(&mut self, engine: EngineState, now: Now) {
        self.engine = engine;
        for at in 0..self.flows.len() {
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
    }

    /// One entry of the dump, with the time its batch was read.
    pub fn merge(&mut self, entry: &Entry, now: Now, net: &dyn Network) {
        let at = now.millis();
        let position = match self.find(entry) {
            Some(position) if self.flows[position].restarted(entry) => {
                self.remove(position);
                self.insert(entry, now, true)
            }
            Some(position) => position,
            // Read before it was destroyed, handed in after that was told.
            None if self.gone.contains(&(entry.id, entry.zone)) => return,
            None => self.insert(entry, now, !self.first),
        };
        let dump = self.dump;
        let flow = &mut self.flows[position];
        flow.seen = dump;
        flow.update(entry, true);
        self.survey(position, net);
        self.note_offload(position);
        let counted = self.count(position, entry, at, false);
        self.judge(position, at);
        if counted {
            let flow = &mut self.flows[position];
            flow.carried = flow.path;
        }
    }

    /// The dump is over. `complete`: flows that were not in it are gone; pass false when the
    /// dump failed or was interrupted.
    pub fn dump_end(&mut self, now: Now, complete: bool) {
        self.now = now;
        self.dumping = false;
        self.gone = HashSet::new();
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
        let position =
            self.find(entry).unwrap_or_else(|| self.insert(entry, now, new || !self.first));
        let dump = self.dump;
        let flow = &mut self.flows[position];
        flow.seen = dump;
        flow.update(entry, false);
        self.survey(position, net);
        self.note_offload(position);
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

    /// What one look-up of a young flow found: like an event, but the status is today's. Flows
    /// that are not known are left to the next event or dump.
    pub fn refresh(&mut self, entry: &Entry, now: Now, net: &dyn Network) {
        if self.find(entry).is_some() {
            self.merge(entry, now, net);
            self.epoch += 1;
        }
    }

    fn destroy(&mut self, entry: &Entry, at: Millis) {
        if self.dumping {
            self.gone.insert((entry.id, entry.zone));
        }
        let Some(position) = self.find(entry) else { return };
        self.count(position, entry, at, true);
        self.remove(position);
        self.epoch += 1;
    }

    fn find(&self, entry: &Entry) -> Option<usize> {
        let same = |position: &u32| self.flows[*position as usize].is(entry);
        self.index.find(hash(entry.id), same).map(|position| *position as usize)
    }

    /// Where the flow with this id of ours is.
    pub(crate) fn position(&self, id: u64) -> Option<usize> {
        #[expect(clippy::cast_possible_truncation, reason = "the kernel's id is below")]
        let kernel = id as u32;
        let same = |position: &u32| self.flows[*position as usize].id == id;
        self.index.find(hash(kernel), same).map(|position| *position as usize)
    }

    /// Adds the flow of `entry`. `ours`: it began after we did, so all its bytes count.
    fn insert(&mut self, entry: &Entry, now: Now, ours: bool) -> usize {
        let flows = &mut self.flows;
        let taken = |position: &u32| flows[*position as usize].kernel_id() == entry.id;
        let mut id = u64::from(entry.id);
        if self.index.find(hash(entry.id), taken).is_some() {
            // 20 bits above the kernel's 32 stay exact in JSON's doubles.
            self.twins = (self.twins + 1) & 0xf_ffff;
            id |= u64::from(self.twins) << 32;
        }
        let mut flow = Flow::new(id, entry, born(entry, now), now.millis());
        flow.reading = if ours { Reading::Ours } else { Reading::Foreign };
        let position = flows.len();
        self.accounts.enter(flow.path);
        flows.push(flow);
        let rehash = |position: &u32| hash(flows[*position as usize].kernel_id());
        self.index.insert_unique(hash(entry.id), small(position), rehash);
        position
    }

    fn remove(&mut self, position: usize) {
        self.unindex(position, None);
        let gone = self.flows.swap_remove(position);
        self.accounts.leave(gone.path);
        if position < self.flows.len() {
            // The last flow has moved into the gap.
            self.unindex(self.flows.len(), Some(position));
        }
    }

    /// Takes the index entry that says `position` out, or makes it say `moved`.
    fn unindex(&mut self, position: usize, moved: Option<usize>) {
        let id = self.flows[moved.unwrap_or(position)].kernel_id();
        let old = small(position);
        if let Ok(mut entry) = self.index.find_entry(hash(id), |found| *found == old) {
            match moved {
                Some(moved) => *entry.get_mut() = small(moved),
                None => drop(entry.remove()),
            }
        }
    }

    /// Gives memory back after a flood.
    fn shrink(&mut self) {
        let len = self.flows.len();
        if self.flows.capacity() / 4 > len + 1024 {
            self.flows.shrink_to(len * 2);
            let flows = &self.flows;
            self.index.shrink_to(len * 2, |at| hash(flows[*at as usize].kernel_id()));
        }
    }

    /// Looks up both ends, if the network has changed since.
    fn survey(&mut self, position: usize, net: &dyn Network) {
        let flow = &mut self.flows[position];
        if flow.generation == net.generation() {
            return;
        }
        flow.generation = net.generation();
        let (initiator, responder) = (flow.orig.src, flow.reply.src);
        flow.local = net.is_local(initiator) || net.is_local(responder);
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
    }

    /// Reads the counters and credits what they grew by; false when there was nothing to read.
    fn count(&mut self, position: usize, entry: &Entry, at: Millis, last: bool) -> bool {
        let flow = &mut self.flows[position];
        if flow.reading == Reading::Foreign {
            flow.baseline(entry, at);
            return true;
        }
        let Some(delta) = flow.count(entry, at, last) else { return false };
        let ours = self.engine.engine != Engine::Off && flow.carried == Path::Flowtable;
        for (part, unlisted) in delta.into_iter().zip(flow.unlisted) {
            let path = if ours && unlisted { Path::Slow } else { flow.carried };
            if path.offloaded() {
                flow.offloaded_bytes = flow.offloaded_bytes.saturating_add(part.bytes);
            }
            if flow.forwarded() {
                self.accounts.add(path, part);
            }
        }
        true
    }

    /// Remembers that the kernel has taken the flow, for the bytes of the next reading.
    fn note_offload(&mut self, position: usize) {
        let flow = &mut self.flows[position];
        let unseen = self.engine.engine != Engine::Off && flow.unlisted == [true; 2];
        if let Some(path) = ladder::offloaded(flow.status, unseen) {
            flow.carried = flow.carried.max(path);
        }
    }

    /// Decides path and reason.
    fn judge(&mut self, position: usize, at: Millis) {
        let flow = &self.flows[position];
        let facts = Facts {
            engine: self.engine.engine,
            status: flow.status,
            local: flow.local,
            multicast: flow.multicast,
            proto: flow.orig.proto,
            helper: flow.helper,
            seq_adjust: flow.seq_adjust,
            excluded: self.engine.excludes.iter().any(|e| e.matches(&flow.orig, &flow.reply)),
            tcp_state: flow.tcp_state,
            initiator: self.side(flow.initiator),
            responder: self.side(flow.responder),
            quiet: span(at - flow.active),
            active_for: span(flow.active_for()),
        };
        let (path, reason) = climb(&facts);
        let flow = &mut self.flows[position];
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

/// When the flow began, by the kernel's timestamp if there is one.
fn born(entry: &Entry, now: Now) -> Millis {
    let started = entry.start_ns.map(|ns| ns / 1_000_000);
    let age = started.and_then(|ms| now.unix_ms.checked_sub(ms)).filter(|age| *age < AGE_MOST_MS);
    now.millis().saturating_sub_unsigned(age.unwrap_or(0))
}

fn small(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// The kernel's id is a keyed hash already; multiplying moves its entropy into the upper bits,
/// which hashbrown compares first.
fn hash(id: u32) -> u64 {
    u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
