// SPDX-License-Identifier: GPL-2.0-or-later
//! Flows carried by eBPF programs: which devices have one, which flows are taken up, what they
//! count, and what of it conntrack has to know.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use ctnetlink::{Entry, EntryUpdate};
use ebpf::connection::{Connection, Timeouts};
use ebpf::endpoint::{Change, Dependency, Endpoint};
use ebpf::engine::{Cause, Engine, MapError, Maps, TakeError};
use ebpf::entry::Hook;
use ebpf::layout::Exits;
use ebpf::table::Table;
use flows::{FlowTable, Now, Offer, Reason, Wish};
use topology::{Queue, QueueUse, Topology, bypassed_queue};

use crate::ebpf_places::{place, reason};
use crate::surroundings::Surroundings;

const TCP: u8 = 6;

/// Bit of the number of a connection that is dropped: the flow of the same number may be forgotten,
/// and come back.
const REJECTED: u64 = 1 << 63;

/// A flow that leaves may be taken up again at once, and that may push another one out.
const ROUNDS: usize = 4;

/// What failed is tried again after this long: the programs may have been loaded since.
const RETRY: Duration = Duration::from_secs(30);

/// Dumps that are read before entries of a daemon before are given up: with the first one flows
/// become known, with the next one all of them have been offered.
const DUMPS_BEFORE_SWEEP: u8 = 2;

/// Devices that are to have programs, and no others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) devices: BTreeSet<String>,
    /// Where, as `fastpath-bpf` calls it; none: the best that they can.
    pub(crate) hook: Option<&'static str>,
}

/// A device that was to get a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) device: String,
    /// How it meets packets; none: there is no program.
    pub(crate) hook: Option<Hook>,
    /// Where it hangs, as a word: `xdp`, `xdp-generic`, `tcx`, `clsact`.
    pub(crate) word: &'static str,
    /// In words for the owner.
    pub(crate) why: String,
}

/// The maps of the programs.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) maps: Box<dyn Maps>,
    /// Entries that each of the maps of flows can have.
    pub(crate) capacity: usize,
    /// Another number whenever the maps are others.
    pub(crate) id: u32,
}

/// What became of the programs.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) programs: Vec<Program>,
    /// None if no device has one.
    pub(crate) opened: Option<Opened>,
}

/// What conntrack has to be told.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) upkeep: Vec<EntryUpdate>,
    /// TCP connections that are taken up once conntrack does not mind their windows any more.
    /// Before that, an answer that comes between the writing of two entries would be invalid to it:
    /// it acknowledges what conntrack has not seen.
    pub(crate) free: Vec<Offer>,
    /// Connections that have to pass the rules again.
    pub(crate) renew: Vec<Offer>,
}

/// The eBPF engine.
#[derive(Debug, Default)]
pub(crate) struct EbpfRoom {
    engine: Option<Engine>,
    /// Of the engine's maps.
    id: u32,
    programs: Vec<Program>,
    /// What was asked for last; none: nothing yet. A daemon before may have left programs.
    asked: Option<Wanted>,
    /// When they are asked for once more after a failure.
    retry_at: Option<Duration>,
    /// An answer has come since anything was asked for.
    answered: bool,
    /// Why there is no program at all.
    failure: String,
    timeouts: Timeouts,
    /// Queues and limits of the owner's.
    shaped: Vec<Queue>,
    exits: Exits,
    dumps: u8,
}

impl EbpfRoom {
    /// What is to be asked for; none if that is no news.
    pub(crate) fn want(&mut self, wanted: Wanted) -> Option<Wanted> {
        if self.asked.as_ref() == Some(&wanted) && self.retry_at != Some(Duration::ZERO) {
            return None;
        }
        self.retry_at = None;
        self.answered &= self.asks();
        self.asked = Some(wanted.clone());
        Some(wanted)
    }

    /// Whether it is known which devices have a program, so that rules can be made for the others.
    pub(crate) fn known(&self) -> bool {
        !self.asks() || self.answered
    }

    fn asks(&self) -> bool {
        self.asked.as_ref().is_some_and(|wanted| !wanted.devices.is_empty())
    }

    /// What became of the programs. Flows over devices that have none any more leave.
    pub(crate) fn attached(&mut self, result: Result<Attached, String>, now: Now) {
        self.answered = true;
        self.failure.clear();
        let attached = result.and_then(|Attached { programs, opened }| {
            self.programs = programs;
            match opened {
                Some(opened) if self.engine.is_some() && opened.id == self.id => Ok(()),
                Some(opened) => self.open(opened, now),
                None => Ok(()),
            }
        });
        if let Err(why) = attached {
            log::error!("eBPF: {why}");
            why.lines().next().unwrap_or_default().clone_into(&mut self.failure);
            self.programs.clear();
            self.retry_at = Some(now.mono + RETRY);
        }
        if self.held().next().is_none()
            && let Some(engine) = &mut self.engine
        {
            engine.release_all(now.mono);
        }
    }

    /// Other maps than before: what is carried goes over to them with its next change.
    fn open(&mut self, opened: Opened, now: Now) -> Result<(), String> {
        let Opened { maps, capacity, id } = opened;
        let engine = Engine::new(maps, capacity, self.timeouts).map_err(|error| words(&error))?;
        let report = self.engine.as_mut().map(|before| {
            before.release_all(now.mono);
            before.report()
        });
        self.engine = Some(engine.after(report.unwrap_or_default()));
        self.id = id;
        self.dumps = 0;
        Ok(())
    }

    /// Whether programs have to be asked for once more now.
    pub(crate) fn retries(&mut self, now: Now) -> bool {
        let due = self.retry_at.is_some_and(|at| at <= now.mono);
        if due {
            self.retry_at = Some(Duration::ZERO);
        }
        due
    }

    /// Devices whose packets a program of ours meets.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Program> {
        self.programs.iter().filter(|program| program.hook.is_some())
    }

    /// The program of each device that was to get one, or why it has none.
    pub(crate) fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// How packets have left the programs since these were loaded.
    pub(crate) fn exits(&self) -> Exits {
        self.exits
    }

    /// Why not every device that was to get a program has one; empty: every one has.
    pub(crate) fn why(&self) -> String {
        if !self.failure.is_empty() {
            return self.failure.clone();
        }
        let bare = self.programs.iter().find(|program| program.hook.is_none());
        bare.map(|program| format!("{}: {}", program.device, program.why)).unwrap_or_default()
    }

    /// Conntrack's timeouts, which the owner may change.
    pub(crate) fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
        if let Some(engine) = &mut self.engine {
            engine.set_timeouts(timeouts);
        }
    }

    /// Queues and limits of the owner's. The clsact that one of our programs hangs at is none.
    fn set_queues(&mut self, topology: &Topology, now: Now) {
        let mut shaped = Vec::new();
        for queue in topology.queues() {
            let name = topology.link(queue.index).map(|link| &*link.name);
            let ours =
                |program: &Program| Some(&*program.device) == name && program.word == &*queue.kind;
            if !self.programs.iter().any(ours) {
                shaped.push(queue.clone());
            }
        }
        let before = std::mem::replace(&mut self.shaped, shaped);
        let (old, new) = (before.iter(), self.shaped.iter());
        let differ = old
            .filter(|one| !self.shaped.contains(one))
            .chain(new.filter(|one| !before.contains(one)));
        let touched: Vec<Change> =
            differ.map(|queue| Change::Dependency(Dependency::Link(queue.index))).collect();
        // Their ways are the same: all over these links are looked at again.
        if let Some(engine) = &mut self.engine {
            engine.changed(&touched, |_| None, now.mono);
        }
    }

    /// What the table of flows wishes is done.
    pub(crate) fn serve(
        &mut self,
        flows: &mut FlowTable,
        around: &Surroundings,
        now: Now,
    ) -> Served {
        let mut upkeep = Vec::new();
        let mut free = Vec::new();
        let mut renew = Vec::new();
        for _ in 0..ROUNDS {
            self.settle(flows, around, now, &mut upkeep);
            let wishes = flows.wishes();
            if wishes.is_empty() {
                break;
            }
            for wish in wishes {
                match wish {
                    Wish::Take(offer) if offer.orig.proto == TCP => free.push(offer),
                    Wish::Take(offer) => {
                        self.answer(&offer, flows, around, now);
                    }
                    Wish::Renew(offer) => renew.push(offer),
                    Wish::Leave(id) => {
                        if let Some(engine) = &mut self.engine {
                            engine.release(id, now.mono);
                        }
                    }
                }
            }
        }
        Served { upkeep, free, renew }
    }

    /// Takes a flow up that was offered, and still is. Whether it is carried now.
    pub(crate) fn answer(
        &mut self,
        offer: &Offer,
        flows: &mut FlowTable,
        around: &Surroundings,
        now: Now,
    ) -> bool {
        let answer = flows.awaits(offer.id).then(|| self.take(offer, around.topology(), now));
        answer.is_some_and(|answer| {
            flows.taken(offer.id, answer, now);
            answer.is_ok()
        })
    }

    /// Tells the table of flows what has happened to those that were taken up.
    fn settle(
        &mut self,
        flows: &mut FlowTable,
        around: &Surroundings,
        now: Now,
        upkeep: &mut Vec<EntryUpdate>,
    ) {
        let Some(engine) = &mut self.engine else { return };
        let report = engine.report();
        for growth in report.grown {
            flows.carried(growth.id, growth.direction, growth.grown, growth.inherited, now);
        }
        for (id, cause) in report.left {
            match cause {
                Cause::Moved => flows.left(id, None, now, around),
                Cause::Closing => flows.left(id, Some(Reason::Closing), now, around),
                Cause::Evicted => flows.left(id, Some(Reason::TableFull), now, around),
                Cause::Asked | Cause::Expired => {}
            }
        }
        // What is ending has a shorter time than any that we know of.
        let open = report.extensions.iter().filter(|extension| flows.is_open(extension.id));
        upkeep.extend(open.map(|extension| EntryUpdate {
            zone: extension.zone,
            orig: extension.orig,
            timeout_s: Some(u32::try_from(extension.left.as_secs()).unwrap_or(u32::MAX).max(1)),
            disable_window_tracking: false,
        }));
    }

    fn take(&mut self, offer: &Offer, topology: &Topology, now: Now) -> Result<(), Reason> {
        let (initiator, responder) = (offer.orig.src, offer.reply.src);
        let places = [self.place(topology, initiator)?, self.place(topology, responder)?];
        let hooks = places.each_ref().map(|place| place.side.hook);
        if self.is_shaped(&places[0], hooks[1]) || self.is_shaped(&places[1], hooks[0]) {
            return Err(Reason::Shaped);
        }
        let engine = self.engine.as_mut().ok_or(Reason::NotTaken)?;
        let Offer { id, zone, orig, reply } = *offer;
        let taken = engine.take(Connection { id, zone, orig, reply }, places, now.mono);
        taken.map_err(|error| match error {
            TakeError::Refused(refusal) => reason(refusal),
            TakeError::Kernel(error) => {
                log::error!("eBPF: {}", words(&error));
                Reason::NotTaken
            }
        })
    }

    /// Whether packets to and from there would go past a queue or limit of the owner's. The lowest
    /// device's queue is kept by what TC sends on, and not by XDP.
    fn is_shaped(&self, to: &Endpoint, from: Hook) -> bool {
        let links = to.dependencies.iter().filter_map(|dependency| match dependency {
            Dependency::Link(index) => Some((*index, *index == to.side.device)),
            Dependency::Neighbour(..)
            | Dependency::Station(..)
            | Dependency::Vlans(_)
            | Dependency::Session => None,
        });
        let kept = QueueUse { leaving: from == Hook::Tc, incoming: false };
        bypassed_queue(&self.shaped, links, kept).is_some()
    }

    fn place(&self, topology: &Topology, address: IpAddr) -> Result<Endpoint, Reason> {
        place(&self.programs, topology, address)
    }

    /// Drops what still comes of connections of an address that is blocked for a rule, before the
    /// stack sees it. Who has no program is dropped by nft.
    pub(crate) fn reject(
        &mut self,
        offers: &[Offer],
        rule: u32,
        until: Duration,
        topology: &Topology,
        now: Now,
    ) {
        for offer in offers {
            let Offer { id, zone, orig, reply } = *offer;
            let places = [orig.src, reply.src].map(|address| self.place(topology, address));
            if let (Some(engine), [Ok(initiator), Ok(responder)]) = (&mut self.engine, places) {
                engine.release(id, now.mono);
                let connection = Connection { id: id | REJECTED, zone, orig, reply };
                // Without room nft drops them all the same.
                let _ = engine.reject(connection, [initiator, responder], rule, until, now.mono);
            }
        }
    }

    /// Addresses are not blocked any more.
    pub(crate) fn accept(&mut self, addresses: &[IpAddr], now: Now) {
        let Some(engine) = &mut self.engine else { return };
        for address in addresses {
            for id in engine.table().rejected(*address) {
                engine.release(id, now.mono);
            }
        }
    }

    /// A connection is gone: its last counters, before the table of flows forgets it.
    pub(crate) fn gone(&mut self, entry: &Entry, flows: &mut FlowTable, now: Now) {
        let (Some(engine), Some(id)) = (&mut self.engine, flows.offered(entry)) else { return };
        engine.release(id, now.mono);
        // It is about nobody else: whatever happens is settled at once. Conntrack need not be told.
        for growth in &engine.report().grown {
            flows.carried(growth.id, growth.direction, growth.grown, growth.inherited, now);
        }
    }

    /// The network has changed: entries that stand on what is otherwise now are taken out.
    pub(crate) fn changed(&mut self, changes: &[Change], around: &Surroundings, now: Now) {
        // Of queues, nothing else is told.
        if changes.contains(&Change::All) {
            self.set_queues(around.topology(), now);
        }
        self.flush(changes, around.topology(), now);
    }

    /// Devices have other programs, or none any more.
    pub(crate) fn reprogrammed(&mut self, around: &Surroundings, now: Now) {
        self.set_queues(around.topology(), now);
        self.flush(&[Change::All], around.topology(), now);
    }

    fn flush(&mut self, changes: &[Change], topology: &Topology, now: Now) {
        let Some(engine) = self.engine.as_mut().filter(|_| !changes.is_empty()) else { return };
        let programs = &self.programs;
        engine.changed(changes, |address| place(programs, topology, address).ok(), now.mono);
    }

    /// Once a second.
    pub(crate) fn tick(&mut self, now: Now) {
        let Some(engine) = &mut self.engine else { return };
        match engine.tick(now.mono).and_then(|()| engine.exits()) {
            Ok(exits) => {
                self.exits = exits;
                // Without programs it is about these, and maps of former ones say nothing of that.
                if !self.programs.is_empty() {
                    self.failure.clear();
                }
            }
            Err(error) => self.fail(&error),
        }
    }

    /// Once for each kind of failure: it will be the same every second.
    fn fail(&mut self, error: &MapError) {
        let why = words(error);
        if self.failure != why {
            log::error!("eBPF: {why}");
            self.failure = why;
        }
    }

    /// All flows have been read once more.
    pub(crate) fn dumped(&mut self) {
        let Some(engine) = &mut self.engine else { return };
        self.dumps = self.dumps.saturating_add(1);
        if self.dumps == DUMPS_BEFORE_SWEEP {
            let swept = engine.sweep();
            if swept > 0 {
                log::info!("eBPF: {swept} entries of a daemon before were given up");
            }
        }
    }

    /// What is carried.
    pub(crate) fn table(&self) -> Option<&Table> {
        self.engine.as_ref().map(Engine::table)
    }
}

/// That sequence numbers of a connection are not to be minded.
pub(crate) fn liberal(offer: &Offer) -> EntryUpdate {
    EntryUpdate {
        zone: offer.zone,
        orig: offer.orig,
        timeout_s: None,
        disable_window_tracking: true,
    }
}

fn words(error: &MapError) -> String {
    crate::bus::chain(error)
}
