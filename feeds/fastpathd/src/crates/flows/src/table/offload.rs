// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests to the eBPF engine, their outcomes and the packets that it counted; what a change of
//! the firewall's rules means for flows. The states of the handshake are in `handshake.rs`.

use std::collections::HashMap;

use ctnetlink::{Counters, Entry, TcpState};
use model::{Connection, NextHop};

use crate::flow::Flow;
use crate::handshake::{Event, OffloadRequest, OffloadState, ReadingStart, RulesVersion};
use crate::network::Network;
use crate::path::{Path, Reason};
use crate::table::FlowTable;
use crate::time::Now;
use crate::traffic::Credit;

impl FlowTable {
    /// Requests since the last call, oldest first. An installation that a removal follows is not
    /// among them: a second one may come behind the removal, and the engine would carry out the
    /// first in its place.
    pub fn offload_requests(&mut self) -> Vec<OffloadRequest> {
        let mut requests = std::mem::take(&mut self.requests);
        let removed = |(at, request): (usize, &OffloadRequest)| match request {
            OffloadRequest::Remove(id) => Some((*id, at)),
            OffloadRequest::Install(_)
            | OffloadRequest::Confirm(_)
            | OffloadRequest::Start(_)
            | OffloadRequest::ClearMark(_) => None,
        };
        let removals: HashMap<u64, usize> =
            requests.iter().enumerate().filter_map(removed).collect();
        let mut positions = 0..;
        requests.retain(|request| {
            let at = positions.next().unwrap_or(usize::MAX);
            match request {
                OffloadRequest::Install(one) => removals.get(&one.id).is_none_or(|last| *last < at),
                OffloadRequest::Remove(_)
                | OffloadRequest::Confirm(_)
                | OffloadRequest::Start(_)
                | OffloadRequest::ClearMark(_) => true,
            }
        });
        requests
    }

    /// The outcome of [`OffloadRequest::Install`].
    pub fn installed(&mut self, id: u64, outcome: Result<(), Reason>, now: Now) {
        let event = outcome.map_or_else(Event::Rejected, |()| Event::Installed);
        self.offload_event(id, event, now);
    }

    /// The outcome of [`OffloadRequest::Confirm`]: `entry` as conntrack showed it after the
    /// installation, once all events from before have been passed in. `start`: where that look-up
    /// began.
    pub fn confirmed(
        &mut self,
        id: u64,
        entry: Option<&Entry>,
        start: ReadingStart,
        now: Now,
        net: &dyn Network,
    ) {
        let same = self.position(id).zip(entry).is_some_and(|(at, e)| self.flows[at].is(e));
        // Another state or translation makes the flow ineligible.
        if let Some(entry) = entry {
            self.refresh(entry, start, now, net);
        }
        let event = if same { Event::Confirmed } else { Event::Unconfirmed };
        self.offload_event(id, event, now);
    }

    /// The engine has removed a flow by itself: for this reason, or for none, and then it is
    /// requested again at once if the network as it is now allows it.
    pub fn removed(&mut self, id: u64, reason: Option<Reason>, now: Now, net: &dyn Network) {
        let Some(position) = self.position(id) else { return };
        self.survey(position, net);
        self.note_paths(position);
        self.offload_event(id, Event::Removed(reason), now);
    }

    fn offload_event(&mut self, id: u64, event: Event, now: Now) {
        let Some(position) = self.position(id) else { return };
        self.requests.extend(self.flows[position].offload_step(event));
        self.judge(position, now.millis());
        self.epoch += 1;
    }

    /// Whether the engine still has to install this flow.
    #[must_use]
    pub fn awaits_installation(&self, id: u64) -> bool {
        self.position(id).is_some_and(|at| self.flows[at].offload == OffloadState::Requested)
    }

    /// How many flows are offloaded, by the last reading.
    #[must_use]
    pub fn offloaded(&self) -> u64 {
        let flows = self.accounts.flows();
        let offloaded = Path::ALL.into_iter().filter(|path| path.offloaded());
        offloaded.map(|path| flows[path as usize]).sum()
    }

    /// How many flows are on this path, by the last reading.
    #[must_use]
    pub fn on(&self, path: Path) -> u64 {
        self.accounts.flows()[path as usize]
    }

    /// How many of them are in a flowtable, in software or hardware.
    #[must_use]
    pub fn in_flowtable(&self) -> u64 {
        let flows = self.accounts.flows();
        flows[Path::Flowtable as usize] + flows[Path::Hardware as usize]
    }

    /// The number of the flow of `entry`.
    #[must_use]
    pub fn id(&self, entry: &Entry) -> Option<u64> {
        self.known(entry).map(|at| self.flows[at].id)
    }

    /// The number of the flow of `entry`, if it is requested from the eBPF engine or carried by it.
    #[must_use]
    pub fn offloading(&self, entry: &Entry) -> Option<u64> {
        let flow = &self.flows[self.known(entry)?];
        flow.offload.is_active().then_some(flow.id)
    }

    /// Whether conntrack knows this flow, and no FIN or RST was seen in it.
    #[must_use]
    pub fn is_open(&self, id: u64) -> bool {
        let ending = |state| state > TcpState::Established;
        self.position(id).is_some_and(|at| !self.flows[at].tcp_state.is_some_and(ending))
    }

    /// The rules of the firewall have changed. A connection is carried only after its packets have
    /// passed the new ones in both directions. `carried`: also those that are carried now.
    pub fn rules_changed(&mut self, carried: bool, now: Now) {
        self.rules.change(carried);
        if carried {
            for at in 0..self.flows.len() {
                self.judge(at, now.millis());
            }
            self.epoch += 1;
        }
    }

    /// No rule has changed since the previous daemon: marks of the first dump can be trusted.
    pub fn trust_first_dump(&mut self) {
        self.rules.unchanged_at_start();
    }

    /// The version of the rules in force.
    #[must_use]
    pub fn rules(&self) -> RulesVersion {
        self.rules.current()
    }

    /// The rules in force, if events from before them may still be passed in.
    #[must_use]
    pub fn rules_without_events(&self) -> Option<RulesVersion> {
        self.rules.without_events()
    }

    /// All events of conntrack from before these rules were in force have been passed in.
    pub fn events_read(&mut self, version: RulesVersion) {
        self.rules.events_read(version);
    }

    /// The start of a look-up that begins now, for [`refresh`](Self::refresh).
    #[must_use]
    pub fn reading_start(&self) -> ReadingStart {
        self.rules.reading_start()
    }

    /// The outcome of [`OffloadRequest::ClearMark`]: the mark has been cleared after these rules
    /// came into force, and all events from before have been passed in. Bits that are set from now
    /// on count. The flow has to be looked up, since they may be set already.
    pub fn mark_cleared(&mut self, id: u64, version: RulesVersion) {
        let Some(position) = self.position(id) else { return };
        let bits = self.passed_bits();
        let flow = &mut self.flows[position];
        flow.mark &= !bits;
        flow.rules.cleared(version, &mut self.rules);
    }

    /// The outcome of [`OffloadRequest::ClearMark`]: the mark could not be cleared. It is requested
    /// again.
    pub fn mark_kept(&mut self, id: u64, now: Now) {
        let Some(position) = self.position(id) else { return };
        self.flows[position].rules.kept();
        self.judge(position, now.millis());
    }

    /// The entry without bits that may have been cleared since the reading began; those that are
    /// known stay.
    pub(super) fn as_cleared(&self, position: usize, entry: &Entry, start: ReadingStart) -> Entry {
        let flow = &self.flows[position];
        if flow.rules.is_shown_by(start) {
            return *entry;
        }
        let bits = self.passed_bits();
        Entry { mark: (entry.mark & !bits) | (flow.mark & bits), ..*entry }
    }

    /// Bits of the mark of a connection whose packets have passed the rules in both directions.
    pub(super) fn passed_bits(&self) -> u32 {
        self.engine.passed[0] | self.engine.passed[1]
    }

    /// Whether a flow has passed the rules in force in both directions.
    pub(super) fn has_passed(&self, flow: &Flow) -> bool {
        let both = self.passed_bits();
        flow.rules.holds(&self.rules, flow.offload, both != 0 && flow.mark & both == both)
    }

    /// Adds the packets that the engine has forwarded of a flow since the last call: 0 from the
    /// initiator, 1 to it. `inherited`: counted for an earlier daemon, so not part of any total or
    /// record.
    pub fn count_offloaded(
        &mut self,
        id: u64,
        direction: usize,
        grown: Counters,
        inherited: bool,
        now: Now,
    ) {
        let Some(position) = self.position(id) else { return };
        let direction = direction.min(1);
        let flow = &mut self.flows[position];
        flow.add_uncounted(direction, grown);
        flow.offloaded_bytes = flow.offloaded_bytes.saturating_add(grown.bytes);
        flow.active = now.millis();
        if inherited {
            self.omit_from_records(position, direction, grown);
        } else {
            flow.unrated[direction] += grown.bytes;
            if flow.forwarded() {
                let credit = Credit { path: Path::Ebpf, direction, counters: grown };
                self.accounts.add(Path::Ebpf, grown);
                self.traffic.add(flow, &self.sides, &[credit]);
            }
        }
        self.epoch += 1;
    }
}

impl Flow {
    pub(crate) fn connection(&self) -> Connection {
        let Self { id, zone, orig, reply, .. } = *self;
        Connection { id, zone, orig, reply }
    }

    /// Next hops towards both ends, where more than their addresses decides about them.
    pub(crate) fn hops(&self) -> Option<[NextHop; 2]> {
        self.route.as_ref()?.hops()
    }

    /// One step of the handshake.
    pub(super) fn offload_step(&mut self, event: Event) -> Option<OffloadRequest> {
        let (state, action) = self.offload.step(event);
        self.offload = state;
        action.map(|action| action.request(self.connection()))
    }

    /// Adds packets that conntrack has not counted.
    fn add_uncounted(&mut self, direction: usize, grown: Counters) {
        let zero = &mut self.zeroed.get_or_insert_default()[direction];
        let shown = if direction == 0 { &mut self.up } else { &mut self.down };
        // The kernel's own count is the difference of the two.
        for sum in [zero, shown] {
            sum.packets = sum.packets.saturating_add(grown.packets);
            sum.bytes = sum.bytes.saturating_add(grown.bytes);
        }
    }
}
