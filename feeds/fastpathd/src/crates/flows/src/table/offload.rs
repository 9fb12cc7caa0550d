// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests to the eBPF engine, their outcomes, the packets that it forwarded, and changes of the
//! firewall rules. `handshake.rs` has the states of the handshake.

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
    /// Returns the requests since the last call, oldest first. Omits an installation that a removal
    /// follows: with another installation behind the removal, the engine would execute the first
    /// one in its place.
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

    /// Handles the outcome of [`OffloadRequest::Install`].
    pub fn installed(&mut self, id: u64, outcome: Result<(), Reason>, now: Now) {
        let event = outcome.map_or_else(Event::Rejected, |()| Event::Installed);
        self.offload_event(id, event, now);
    }

    /// Handles the outcome of [`OffloadRequest::Confirm`]: `entry` as conntrack showed it after the
    /// installation, once all earlier events were passed in, and the start of that look-up.
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

    /// Handles the removal of a flow by the engine on its own. Without a reason, the flow is
    /// requested again at once if the current network allows it.
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

    /// Returns whether the engine still has to install this flow.
    #[must_use]
    pub fn awaits_installation(&self, id: u64) -> bool {
        self.position(id).is_some_and(|at| self.flows[at].offload == OffloadState::Requested)
    }

    /// Returns how many flows were offloaded at the last reading.
    #[must_use]
    pub fn offloaded(&self) -> u64 {
        let flows = self.accounts.flows();
        let offloaded = Path::ALL.into_iter().filter(|path| path.offloaded());
        offloaded.map(|path| flows[path as usize]).sum()
    }

    /// Returns how many flows were on this path at the last reading.
    #[must_use]
    pub fn on(&self, path: Path) -> u64 {
        self.accounts.flows()[path as usize]
    }

    /// Returns how many flows were in a flowtable, in software or hardware.
    #[must_use]
    pub fn in_flowtable(&self) -> u64 {
        let flows = self.accounts.flows();
        flows[Path::Flowtable as usize] + flows[Path::Hardware as usize]
    }

    /// Returns the id of the flow of `entry`.
    #[must_use]
    pub fn id(&self, entry: &Entry) -> Option<u64> {
        self.known(entry).map(|at| self.flows[at].id)
    }

    /// Returns the id of the flow of `entry` if the eBPF engine has it or is to install it.
    #[must_use]
    pub fn offloading(&self, entry: &Entry) -> Option<u64> {
        let flow = &self.flows[self.known(entry)?];
        flow.offload.is_active().then_some(flow.id)
    }

    /// Returns whether the flow is known and conntrack has seen neither FIN nor RST.
    #[must_use]
    pub fn is_open(&self, id: u64) -> bool {
        let ending = |state| state > TcpState::Established;
        self.position(id).is_some_and(|at| !self.flows[at].tcp_state.is_some_and(ending))
    }

    /// Starts a new version of the firewall rules, which packets must pass in both directions
    /// before their flow is offloaded. `offloaded`: flows offloaded now must pass them, too.
    pub fn rules_changed(&mut self, offloaded: bool, now: Now) {
        self.rules.change(offloaded);
        if offloaded {
            for at in 0..self.flows.len() {
                self.judge(at, now.millis());
            }
            self.epoch += 1;
        }
    }

    /// Trusts the marks of the first dump, because no rule changed since the previous daemon.
    pub fn trust_first_dump(&mut self) {
        self.rules.unchanged_at_start();
    }

    /// Returns the version of the rules in force.
    #[must_use]
    pub fn rules(&self) -> RulesVersion {
        self.rules.current()
    }

    /// Returns the version in force while events from before it may still be passed in.
    #[must_use]
    pub fn rules_without_events(&self) -> Option<RulesVersion> {
        self.rules.without_events()
    }

    /// Records that all conntrack events from before this version have been passed in.
    pub fn events_read(&mut self, version: RulesVersion) {
        self.rules.events_read(version);
    }

    /// Returns the start of a look-up that begins now, for [`refresh`](Self::refresh).
    #[must_use]
    pub fn reading_start(&self) -> ReadingStart {
        self.rules.reading_start()
    }

    /// Handles the outcome of [`OffloadRequest::ClearMark`]: the mark was cleared after this
    /// version came into force, and all earlier events were passed in. Bits set from now on count;
    /// look the flow up, because they may be set already.
    pub fn mark_cleared(&mut self, id: u64, version: RulesVersion) {
        let Some(position) = self.position(id) else { return };
        let bits = self.passed_bits();
        let flow = &mut self.flows[position];
        flow.mark &= !bits;
        flow.rules.cleared(version, &mut self.rules);
    }

    /// Handles a failed [`OffloadRequest::ClearMark`], which is requested again.
    pub fn mark_kept(&mut self, id: u64, now: Now) {
        let Some(position) = self.position(id) else { return };
        self.flows[position].rules.kept();
        self.judge(position, now.millis());
    }

    /// Returns the entry with the `passed` bits that are known, if its own ones may have been
    /// cleared since the reading began.
    pub(super) fn as_cleared(&self, position: usize, entry: &Entry, start: ReadingStart) -> Entry {
        let flow = &self.flows[position];
        if flow.rules.is_shown_by(start) {
            return *entry;
        }
        let bits = self.passed_bits();
        Entry { mark: (entry.mark & !bits) | (flow.mark & bits), ..*entry }
    }

    /// Returns the mark bits that show that packets passed the rules in both directions.
    pub(super) fn passed_bits(&self) -> u32 {
        self.engine.passed[0] | self.engine.passed[1]
    }

    /// Returns whether a flow has passed the rules in force in both directions.
    pub(super) fn has_passed(&self, flow: &Flow) -> bool {
        let both = self.passed_bits();
        flow.rules.holds(&self.rules, flow.offload, both != 0 && flow.mark & both == both)
    }

    /// Adds packets that the engine forwarded since the last call; direction 0 is from the
    /// initiator, 1 to it. `inherited` packets were counted by an earlier daemon and enter no total
    /// or record.
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

    /// Returns the next hops towards both ends if more than the addresses decides about them.
    pub(crate) fn hops(&self) -> Option<[NextHop; 2]> {
        self.route.as_ref()?.hops()
    }

    /// Takes one step of the handshake.
    pub(super) fn offload_step(&mut self, event: Event) -> Option<OffloadRequest> {
        let (state, action) = self.offload.step(event);
        self.offload = state;
        action.map(|action| action.request(self.connection()))
    }

    /// Adds packets that conntrack has not counted.
    fn add_uncounted(&mut self, direction: usize, grown: Counters) {
        let zero = &mut self.zeroed.get_or_insert_default()[direction];
        let shown = if direction == 0 { &mut self.up } else { &mut self.down };
        // The kernel's own count is the difference of these two.
        for sum in [zero, shown] {
            sum.packets = sum.packets.saturating_add(grown.packets);
            sum.bytes = sum.bytes.saturating_add(grown.bytes);
        }
    }
}
