// SPDX-License-Identifier: GPL-2.0-or-later
//! Flows and the eBPF engine: which it is offered, what it says, what it counts.

use ctnetlink::{Counters, Entry, TcpState, Tuple};

use crate::flow::Flow;
use crate::network::Network;
use crate::path::{Path, Reason};
use crate::table::{FlowTable, Now};

/// How a flow stands with the eBPF engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Takeup {
    /// It was not offered.
    #[default]
    Not,
    /// Offered, and not answered yet.
    Offered,
    /// Carried by our programs.
    Carried,
    /// It cannot be carried.
    Refused(Reason),
}

/// What the table wants of the eBPF engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// This flow can be carried.
    Take(Offer),
    /// That of this id must not be carried any more.
    Leave(u64),
    /// The rules may have changed since this flow passed them: the bits that say so are to be
    /// cleared, and the answer is [`renewed`](FlowTable::renewed).
    Renew(Offer),
}

/// A flow that can be carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Its number in this table.
    pub id: u64,
    /// Conntrack zone.
    pub zone: u16,
    /// As the initiator sends.
    pub orig: Tuple,
    /// As the answer arrives.
    pub reply: Tuple,
}

impl FlowTable {
    /// What has come up since this was last asked, oldest first. Each offer is to be answered with
    /// [`taken`](Self::taken).
    pub fn wishes(&mut self) -> Vec<Wish> {
        std::mem::take(&mut self.wishes)
    }

    /// The answer to an offer.
    pub fn taken(&mut self, id: u64, answer: Result<(), Reason>, now: Now) {
        let Some(position) = self.position(id) else { return };
        self.flows[position].takeup = answer.map_or_else(Takeup::Refused, |()| Takeup::Carried);
        self.judge(position, now.millis());
        self.epoch += 1;
    }

    /// The rules of the firewall have changed. A connection is carried only after its packets have
    /// passed the new ones, both ways. `carried`: this holds for those carried now, too.
    pub fn distrust(&mut self, carried: bool, now: Now) {
        self.rules += 1;
        if carried {
            self.rules_for_carried = self.rules;
            for at in 0..self.flows.len() {
                self.judge(at, now.millis());
            }
            self.epoch += 1;
        }
    }

    /// Flows of the first dump have passed the rules in force, if their marks say so: no rule has
    /// changed since the previous daemon.
    pub fn trust_found(&mut self) {
        self.found = self.rules;
    }

    /// The bits of a flow were cleared, as was wished: those set from now on count. It has to be
    /// looked up, since they may be set already.
    pub fn renewed(&mut self, id: u64) {
        let Some(position) = self.position(id) else { return };
        let passed = self.engine.passed;
        let flow = &mut self.flows[position];
        flow.mark &= !(passed[0] | passed[1]);
        flow.trusted = flow.asked;
        // Read before that, handed in later.
        if self.dumping {
            self.reset.insert((flow.kernel_id(), flow.zone));
        }
    }

    /// Whether a flow has passed the rules in force, both ways. A carried flow has, and needs no
    /// mark for that until the rules change.
    pub(crate) fn passed(&self, flow: &Flow) -> bool {
        let both = self.engine.passed[0] | self.engine.passed[1];
        match flow.takeup {
            Takeup::Carried => flow.trusted >= self.rules_for_carried,
            Takeup::Not | Takeup::Offered | Takeup::Refused(_) => {
                both != 0 && flow.mark & both == both && flow.trusted >= self.rules
            }
        }
    }

    /// The engine carries a flow no more, without a wish: for this reason, or none, and then it is
    /// offered again at once if it can be carried as the network is now.
    pub fn left(&mut self, id: u64, reason: Option<Reason>, now: Now, net: &dyn Network) {
        let Some(position) = self.position(id) else { return };
        self.survey(position, net);
        self.flows[position].takeup = reason.map_or(Takeup::Not, Takeup::Refused);
        self.judge(position, now.millis());
        self.epoch += 1;
    }

    /// Whether conntrack knows of this flow, and of no FIN or RST in it.
    #[must_use]
    pub fn is_open(&self, id: u64) -> bool {
        let ending = |state| state > TcpState::Established;
        self.position(id).is_some_and(|at| !self.flows[at].tcp_state.is_some_and(ending))
    }

    /// Whether this flow was offered and not answered yet.
    #[must_use]
    pub fn awaits(&self, id: u64) -> bool {
        self.position(id).is_some_and(|at| self.flows[at].takeup == Takeup::Offered)
    }

    /// The number of the flow of `entry`, if it was offered to the eBPF engine or is carried by it.
    #[must_use]
    pub fn offered(&self, entry: &Entry) -> Option<u64> {
        let flow = &self.flows[self.known(entry)?];
        matches!(flow.takeup, Takeup::Offered | Takeup::Carried).then_some(flow.id)
    }

    /// What our programs have carried of a flow since it was told last: 0 what the initiator sent,
    /// 1 what was sent to it. `inherited`: for a daemon before, so that it belongs to no sum.
    pub fn carried(
        &mut self,
        id: u64,
        direction: usize,
        grown: Counters,
        inherited: bool,
        now: Now,
    ) {
        let Some(position) = self.position(id) else { return };
        let flow = &mut self.flows[position];
        flow.add(direction, grown);
        flow.offloaded_bytes = flow.offloaded_bytes.saturating_add(grown.bytes);
        flow.active = now.millis();
        if !inherited {
            flow.unrated[direction.min(1)] += grown.bytes;
            if flow.forwarded() {
                self.accounts.add(Path::Ebpf, grown);
            }
        }
        self.epoch += 1;
    }
}

impl Flow {
    pub(crate) fn offer(&self) -> Offer {
        let Self { id, zone, orig, reply, .. } = *self;
        Offer { id, zone, orig, reply }
    }

    /// Asks to clear its mark, once for each number of the rules.
    pub(crate) fn renew(&mut self, rules: u64) -> Option<Wish> {
        let due = self.trusted < rules && self.asked < rules;
        due.then(|| {
            self.asked = rules;
            Wish::Renew(self.offer())
        })
    }

    /// Whether the flow is to be offered or taken back, now that it may be taken or not.
    pub(crate) fn wish(&mut self, takeable: bool) -> Option<Wish> {
        match (takeable, self.takeup) {
            (true, Takeup::Not) => {
                self.takeup = Takeup::Offered;
                Some(Wish::Take(self.offer()))
            }
            (false, before) => {
                self.takeup = Takeup::Not;
                let theirs = matches!(before, Takeup::Offered | Takeup::Carried);
                theirs.then_some(Wish::Leave(self.id))
            }
            (true, _) => None,
        }
    }

    /// Adds what conntrack has not seen.
    fn add(&mut self, direction: usize, grown: Counters) {
        let zero = &mut self.zeroed.get_or_insert_default()[direction.min(1)];
        let shown = if direction == 0 { &mut self.up } else { &mut self.down };
        // The kernel's own count is the difference of the two.
        for sum in [zero, shown] {
            sum.packets = sum.packets.saturating_add(grown.packets);
            sum.bytes = sum.bytes.saturating_add(grown.bytes);
        }
    }
}
