// SPDX-License-Identifier: GPL-2.0-or-later
//! Exchanges requests, outcomes and counters with the eBPF engine, and handles changes of the
//! firewall rules.

use ctnetlink::{Counters, Entry, TcpState};
use hashbrown::HashMap;
use model::{Connection, NextHop};

use crate::flow::Flow;
use crate::handshake::{Event, OffloadRequest, OffloadState, ReadingStart, RulesVersion};
use crate::network::Network;
use crate::path::{Path, Reason};
use crate::table::FlowTable;
use crate::time::Now;
use crate::traffic::Credit;

impl FlowTable {
    /// Returns the requests since the last call, oldest first. Omits installations that a later
    /// request removes, because the engine would execute them in place of newer installations.
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

    pub fn installed(&mut self, id: u64, outcome: Result<(), Reason>, now: Now) {
        let event = outcome.map_or_else(Event::Rejected, |()| Event::Installed);
        self.offload_event(id, event, now);
    }

    /// Handles the outcome of [`OffloadRequest::Confirm`]. `entry` was looked up after the
    /// installation, and all earlier events have been applied; `start` is the start of the look-up.
    pub fn confirmed(
        &mut self,
        id: u64,
        entry: Option<&Entry>,
        start: ReadingStart,
        now: Now,
        net: &dyn Network,
    ) {
        let same = self.position(id).zip(entry).is_some_and(|(at, e)| self.flows[at].is(e));
        // Another state or translation in `entry` makes the flow ineligible.
        if let Some(entry) = entry {
            self.refresh(entry, start, now, net);
        }
        let event = if same { Event::Confirmed } else { Event::Unconfirmed };
        self.offload_event(id, event, now);
    }

    /// Handles a removal by the engine. Without a reason, the flow is requested again if it is
    /// eligible.
    pub fn removed(&mut self, id: u64, reason: Option<Reason>, now: Now, net: &dyn Network) {
        let Some(position) = self.position(id) else { return };
        self.survey(position, net);
        self.note_paths(position);
        self.offload_event(id, Event::Removed(reason), now);
    }

    fn offload_event(&mut self, id: u64, event: Event, now: Now) {
        let Some(position) = self.position(id) else { return };
        self.offload_step(position, event);
        self.judge(position, now.millis());
        self.epoch += 1;
    }

    pub(super) fn offload_step(&mut self, position: usize, event: Event) {
        self.note_revoked(position);
        let request = self.flows[position].offload_step(event);
        self.requests.extend(request);
    }

    #[must_use]
    pub fn awaits_installation(&self, id: u64) -> bool {
        self.position(id).is_some_and(|at| self.flows[at].offload == OffloadState::Requested)
    }

    #[must_use]
    pub fn offloaded(&self) -> u64 {
        let flows = self.accounts.flows();
        let offloaded = Path::ALL.into_iter().filter(|path| path.offloaded());
        offloaded.map(|path| flows[path as usize]).sum()
    }

    #[must_use]
    pub fn on(&self, path: Path) -> u64 {
        self.accounts.flows()[path as usize]
    }

    #[must_use]
    pub fn in_flowtable(&self) -> u64 {
        let flows = self.accounts.flows();
        flows[Path::Flowtable as usize] + flows[Path::Hardware as usize]
    }

    #[must_use]
    pub fn id(&self, entry: &Entry) -> Option<u64> {
        self.known(entry).map(|at| self.flows[at].id)
    }

    /// Returns the id of the flow of `entry` if it is requested from or offloaded by eBPF.
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

    /// Starts a new version of the firewall rules. Packets must pass the rules in both directions
    /// before their flow is offloaded. `offloaded`: this applies to offloaded flows, too. They
    /// count as slow from now on, and [`judge_some`](Self::judge_some) requests their removal.
    pub fn rules_changed(&mut self, offloaded: bool, now: Now) {
        self.rules.change(offloaded);
        if offloaded {
            self.accounts.revoke();
            self.unjudged = self.len();
            self.revoked_at = now.millis();
            self.epoch += 1;
        }
    }

    /// Judges up to `most` flows by changed rules, from the end of the table as in
    /// [`sweep`](Self::sweep). Returns true while flows are left.
    pub fn judge_some(&mut self, most: usize, now: Now) -> bool {
        if self.unjudged == 0 {
            return false;
        }
        let unjudged = self.unjudged.min(self.len());
        self.unjudged = unjudged.saturating_sub(most);
        for position in (self.unjudged..unjudged).rev() {
            self.judge(position, now.millis());
        }
        self.epoch += 1;
        self.unjudged > 0
    }

    /// Trusts the marks of the first dump, because the rules have not changed since the previous
    /// daemon.
    pub fn trust_first_dump(&mut self) {
        self.rules.unchanged_at_start();
    }

    #[must_use]
    pub fn rules(&self) -> RulesVersion {
        self.rules.current()
    }

    /// Returns the version in force if earlier events may still be applied.
    #[must_use]
    pub fn rules_without_events(&self) -> Option<RulesVersion> {
        self.rules.without_events()
    }

    pub fn events_read(&mut self, version: RulesVersion) {
        self.rules.events_read(version);
    }

    /// Returns the start of a reading that begins now, for [`refresh`](Self::refresh).
    #[must_use]
    pub fn reading_start(&self) -> ReadingStart {
        self.rules.reading_start()
    }

    /// Handles the outcome of [`OffloadRequest::ClearMark`]: the mark was cleared after this
    /// version came into force, and all earlier events have been applied. Look the flow up
    /// afterwards, because its bits may already be set again.
    pub fn mark_cleared(&mut self, id: u64, version: RulesVersion) {
        let Some(position) = self.position(id) else { return };
        let bits = self.passed_bits();
        let flow = &mut self.flows[position];
        flow.mark &= !bits;
        flow.rules.cleared(version, &mut self.rules);
    }

    /// Handles a failed [`OffloadRequest::ClearMark`] and requests it again.
    pub fn mark_kept(&mut self, id: u64, now: Now) {
        let Some(position) = self.position(id) else { return };
        self.flows[position].rules.kept();
        self.judge(position, now.millis());
    }

    /// Returns the entry, with our value of the `passed` bits if they may have been cleared after
    /// the reading began.
    pub(super) fn as_cleared(&self, position: usize, entry: &Entry, start: ReadingStart) -> Entry {
        let flow = &self.flows[position];
        if flow.rules.is_shown_by(start) {
            return *entry;
        }
        let bits = self.passed_bits();
        Entry { mark: (entry.mark & !bits) | (flow.mark & bits), ..*entry }
    }

    pub(super) fn passed_bits(&self) -> u32 {
        self.engine.passed[0] | self.engine.passed[1]
    }

    pub(super) fn has_passed(&self, flow: &Flow) -> bool {
        let both = self.passed_bits();
        flow.rules.holds(&self.rules, flow.offload, both != 0 && flow.mark & both == both)
    }

    /// Adds packets that eBPF forwarded: direction 0 from the initiator, 1 to the initiator.
    /// `inherited` packets, which a previous daemon counted, are excluded from totals and records.
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

    pub(crate) fn hops(&self) -> Option<[NextHop; 2]> {
        self.route.as_ref()?.hops()
    }

    pub(super) fn offload_step(&mut self, event: Event) -> Option<OffloadRequest> {
        let (state, action) = self.offload.step(event);
        self.offload = state;
        action.map(|action| action.request(self.connection()))
    }

    /// Adds packets that conntrack does not count.
    fn add_uncounted(&mut self, direction: usize, grown: Counters) {
        let zero = &mut self.zeroed.get_or_insert_default()[direction];
        let shown = if direction == 0 { &mut self.up } else { &mut self.down };
        // Increase both, because their difference is the kernel's count.
        for sum in [zero, shown] {
            sum.packets = sum.packets.saturating_add(grown.packets);
            sum.bytes = sum.bytes.saturating_add(grown.bytes);
        }
    }
}
