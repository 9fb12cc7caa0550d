// SPDX-License-Identifier: GPL-2.0-or-later
//! The eBPF engine: installs and removes flows, and reports their counters to the flow table.
//! `attach.rs` requests programs for devices and opens their maps; `queues.rs` finds queues that
//! programs would bypass, and lost programs.

use std::collections::BTreeSet;
use std::time::Duration;

use config::Network;
use ctnetlink::{Entry, EntryUpdate};
use ebpf::connection::Timeouts;
use ebpf::dependency::{DependencyChange, Destination, Endpoint};
use ebpf::engine::{InstallError, MapError, OffloadEngine, RemovalCause, STEP};
use ebpf::exits::PortExits;
use ebpf::table::ConnectionTable;
use flows::{FlowTable, Now, OffloadRequest, Reason};
use model::Connection;
use topology::{QueueingDiscipline, Topology};

use crate::network::view::NetworkView;
use crate::offload::endpoint::{endpoint, ends, reason};
use crate::offload::programs::{Program, ProgramsReason};
use crate::reconcile::Reconciler;
use crate::sys::error::chain;

mod attach;
mod queues;

pub use attach::{AttachOutcome, AttachRequest, OpenMaps};

pub const TCP: u8 = 6;

/// Bit in the id of a drop entry. The flow with the same id may be removed and offloaded again
/// without affecting the drop entry.
const REJECTED: u64 = 1 << 63;

/// Limit of rounds in `serve`: a removed flow may be requested again at once, and evict another
/// one.
const MAX_ROUNDS: usize = 4;

/// Dumps before stale entries of a previous daemon are removed: after the first one all flows are
/// known, after the second one they have been requested.
const DUMPS_BEFORE_REMOVAL: u8 = 2;

/// A connection with waiting map entries, and the number of their installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub connection: Connection,
    pub(crate) installation: u64,
}

/// Requests that remain after serving the flow table.
#[derive(Debug, Default)]
pub(crate) struct Served {
    pub(crate) extend: Vec<EntryUpdate>,
    /// Installed connections that conntrack has to confirm before they start.
    pub(crate) confirm: Vec<Waiting>,
    /// Connections that have to pass the rules again, so their marks have to be cleared.
    pub(crate) clear: Vec<Connection>,
    /// TCP connections that have just started.
    pub(crate) started: Vec<Connection>,
}

#[derive(Debug)]
pub(crate) struct EbpfEngine {
    engine: Option<OffloadEngine>,
    id: u32,
    programs: Vec<Program>,
    /// Wanted and attached programs; a previous daemon may have left some.
    attached: Reconciler<AttachRequest, ()>,
    /// An outcome has arrived since programs were requested.
    answered: bool,
    /// Failure of the loader or of the maps, which concerns all devices.
    failure: Option<ProgramsReason>,
    timeouts: Timeouts,
    /// Queues and limits that the administrator has configured.
    shaped: Vec<QueueingDiscipline>,
    /// Devices with our CAKE filters at their clsact.
    feeds_cake: BTreeSet<u32>,
    exits: PortExits,
    dumps: u8,
}

impl EbpfEngine {
    pub(crate) fn new() -> Self {
        Self {
            engine: None,
            id: 0,
            programs: Vec::new(),
            attached: Reconciler::new(false),
            answered: false,
            failure: None,
            timeouts: Timeouts::default(),
            shaped: Vec::new(),
            feeds_cake: BTreeSet::new(),
            exits: PortExits::default(),
            dumps: 0,
        }
    }

    /// Removes the entries of all flows. Returns true if a program may have forwarded some.
    pub(crate) fn remove_all(&mut self, now: Now) -> bool {
        if let Some(engine) = &mut self.engine {
            engine.remove_all(now.mono);
        }
        !self.programs.is_empty()
    }

    /// Stops all forwarding by the programs at once; [`step`](Self::step) removes the entries.
    pub(crate) fn revoke(&mut self, now: Now) {
        let Some(engine) = &mut self.engine else { return };
        if let Err(error) = engine.revoke(now.mono) {
            self.fail(&error);
        }
    }

    /// Finds or removes some entries of the maps. Returns true if there are more.
    pub(crate) fn step(&mut self, now: Now) -> bool {
        let Some(engine) = &mut self.engine else { return false };
        engine.step(STEP, now.mono).unwrap_or_else(|error| {
            self.fail(&error);
            // The next second tries again.
            false
        })
    }

    /// Returns the devices with one of our programs.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Program> {
        self.programs.iter().filter(|program| program.hook.is_some())
    }

    /// Returns the program of each requested device, or why it has none.
    pub(crate) fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// Returns packet counts by port and exit since the programs were loaded.
    pub(crate) fn exits(&self) -> &PortExits {
        &self.exits
    }

    /// Returns why a requested device has no program; empty if all have one.
    pub(crate) fn why(&self) -> config::Cause {
        if let Some(failure) = &self.failure {
            return failure.cause();
        }
        let missing = self.programs.iter().find(|program| program.hook.is_none());
        missing
            .map(|Program { device, why, .. }| ProgramsReason::of(device, why))
            .unwrap_or_default()
    }

    pub(crate) fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
        if let Some(engine) = &mut self.engine {
            engine.set_timeouts(timeouts);
        }
    }

    /// Executes the flow table's requests until none is left.
    pub(crate) fn serve(
        &mut self,
        flows: &mut FlowTable,
        network: &NetworkView,
        now: Now,
    ) -> Served {
        let mut served = Served::default();
        for _ in 0..MAX_ROUNDS {
            self.settle(flows, network, now, &mut served.extend);
            if self.engine.as_ref().is_some_and(OffloadEngine::is_finding) {
                break;
            }
            let requests = flows.offload_requests();
            if requests.is_empty() {
                break;
            }
            for request in requests {
                match request {
                    OffloadRequest::Install(one) => self.install(&one, flows, network, now),
                    OffloadRequest::Confirm(one) => served.confirm.extend(self.waiting(one)),
                    OffloadRequest::Start(id) => {
                        served.started.extend(self.start(id, flows, network, now));
                    }
                    OffloadRequest::ClearMark(one) => served.clear.push(one),
                    OffloadRequest::Remove(id) => {
                        if let Some(engine) = &mut self.engine {
                            engine.remove(id, now.mono);
                        }
                    }
                }
            }
        }
        served
    }

    fn install(
        &mut self,
        connection: &Connection,
        flows: &mut FlowTable,
        network: &NetworkView,
        now: Now,
    ) {
        if flows.awaits_installation(connection.id) {
            let destinations = ends(connection, flows);
            let outcome = self.try_install(connection, destinations, network.topology(), now);
            flows.installed(connection.id, outcome, now);
        }
    }

    fn waiting(&self, connection: Connection) -> Option<Waiting> {
        let installation = self.table()?.installation(connection.id)?;
        Some(Waiting { connection, installation })
    }

    /// Returns true if this installation is still waiting. Conntrack's answer about an earlier one
    /// does not cover the packets since then.
    pub(crate) fn is_waiting(&self, waiting: &Waiting) -> bool {
        self.waiting(waiting.connection).as_ref() == Some(waiting)
    }

    /// Starts a flow that conntrack has confirmed. Returns it if its window tracking must be
    /// disabled.
    fn start(
        &mut self,
        id: u64,
        flows: &mut FlowTable,
        network: &NetworkView,
        now: Now,
    ) -> Option<Connection> {
        let engine = self.engine.as_mut()?;
        match engine.start(id, now.mono) {
            Ok(true) => engine.table().connection(id).filter(|one| one.orig.proto == TCP),
            Ok(false) => None,
            Err(error) => {
                log::error!("eBPF: {}", chain(&error));
                flows.removed(id, Some(Reason::NotTaken), now, network);
                None
            }
        }
    }

    /// Reports changes of offloaded flows to the flow table.
    fn settle(
        &mut self,
        flows: &mut FlowTable,
        network: &NetworkView,
        now: Now,
        updates: &mut Vec<EntryUpdate>,
    ) {
        let Some(engine) = &mut self.engine else { return };
        let report = engine.report();
        for growth in report.grown {
            flows.count_offloaded(growth.id, growth.direction, growth.grown, growth.inherited, now);
        }
        for (id, cause) in report.removed {
            match cause {
                RemovalCause::Moved | RemovalCause::Restarted => {
                    flows.removed(id, None, now, network);
                }
                RemovalCause::Closing => flows.removed(id, Some(Reason::Closing), now, network),
                RemovalCause::Evicted => flows.removed(id, Some(Reason::TableFull), now, network),
                RemovalCause::Requested | RemovalCause::Expired => {}
            }
        }
        // Closing connections have shorter timeouts than the engine knows, so do not extend them.
        let open = report.extensions.iter().filter(|extension| flows.is_open(extension.id));
        updates.extend(open.map(|extension| EntryUpdate {
            zone: extension.zone,
            orig: extension.orig,
            timeout_s: Some(u32::try_from(extension.left.as_secs()).unwrap_or(u32::MAX).max(1)),
            disable_window_tracking: false,
            established: false,
        }));
    }

    fn try_install(
        &mut self,
        connection: &Connection,
        [initiator, responder]: [Destination; 2],
        topology: &Topology,
        now: Now,
    ) -> Result<(), Reason> {
        let ends = [self.endpoint(topology, initiator)?, self.endpoint(topology, responder)?];
        let hooks = ends.each_ref().map(|end| end.side.hook);
        if self.is_shaped(&ends[0], hooks[1]) || self.is_shaped(&ends[1], hooks[0]) {
            return Err(Reason::Shaped);
        }
        let engine = self.engine.as_mut().ok_or(Reason::NotTaken)?;
        let installed = engine.install(*connection, ends, now.mono);
        installed.map_err(|error| match error {
            InstallError::Refused(refusal) => reason(refusal),
            InstallError::Kernel(error) => {
                log::error!("eBPF: {}", chain(&error));
                Reason::NotTaken
            }
        })
    }

    /// Returns the endpoint of `destination`, which changes of the network keep up to date while it
    /// has connections.
    fn endpoint(&self, topology: &Topology, destination: Destination) -> Result<Endpoint, Reason> {
        match self.table().and_then(|table| table.endpoint(&destination)) {
            Some(known) => Ok(known.clone()),
            None => endpoint(&self.programs, topology, destination),
        }
    }

    /// Installs drop entries for connections of a blocked source, so that packets do not reach the
    /// stack. On devices without a program nft drops them.
    pub(crate) fn reject(
        &mut self,
        connections: &[Connection],
        rule: u32,
        until: Duration,
        (topology, flows): (&Topology, &FlowTable),
        now: Now,
    ) {
        for connection in connections {
            let id = connection.id;
            let ends =
                ends(connection, flows).map(|destination| self.endpoint(topology, destination));
            if let (Some(engine), [Ok(initiator), Ok(responder)]) = (&mut self.engine, ends) {
                engine.remove(id, now.mono);
                let connection = Connection { id: id | REJECTED, ..*connection };
                // If the table is full, nft drops the packets.
                let _ = engine.reject(connection, [initiator, responder], rule, until, now.mono);
            }
        }
    }

    /// Removes the drop entries of sources that are no longer blocked.
    pub(crate) fn accept(&mut self, sources: &[Network], now: Now) {
        let Some(engine) = &mut self.engine else { return };
        for source in sources {
            for id in engine.table().rejected(*source) {
                engine.remove(id, now.mono);
            }
        }
    }

    /// Adds the last counters of an ended connection, before the flow table drops its flow.
    pub(crate) fn connection_ended(&mut self, entry: &Entry, flows: &mut FlowTable, now: Now) {
        let (Some(engine), Some(id)) = (&mut self.engine, flows.id(entry)) else { return };
        engine.forget(id, now.mono);
        for growth in engine.growth() {
            flows.count_offloaded(growth.id, growth.direction, growth.grown, growth.inherited, now);
        }
    }

    /// Returns conntrack's timeout if the programs have seen neither FIN nor RST of the flow.
    pub(crate) fn reopen(&mut self, id: u64) -> Option<Duration> {
        self.engine.as_mut()?.is_open(id).then_some(self.timeouts.tcp)
    }

    /// Removes affected entries. Returns a request if programs have to be attached again.
    pub(crate) fn changed(
        &mut self,
        changes: &[DependencyChange],
        network: &NetworkView,
        now: Now,
    ) -> Option<AttachRequest> {
        let mut request = None;
        // Changes of queues are reported as `All` only.
        if changes.contains(&DependencyChange::All) {
            self.set_queues(network.topology(), now);
            request = self.reattach_lost(network.topology(), now);
        }
        self.flush(changes, network.topology(), now);
        request
    }

    pub(crate) fn programs_changed(&mut self, network: &NetworkView, now: Now) {
        self.set_queues(network.topology(), now);
        self.flush(&[DependencyChange::All], network.topology(), now);
    }

    fn flush(&mut self, changes: &[DependencyChange], topology: &Topology, now: Now) {
        let Some(engine) = self.engine.as_mut().filter(|_| !changes.is_empty()) else { return };
        let programs = &self.programs;
        engine.changed(
            changes,
            |destination| endpoint(programs, topology, destination).ok(),
            now.mono,
        );
    }

    /// Renews the heartbeat and reads the maps. Called once a second.
    pub(crate) fn second(&mut self, now: Now) {
        let Some(engine) = &mut self.engine else { return };
        match engine.second(now.mono).and_then(|()| engine.exits()) {
            Ok(exits) => {
                self.exits = exits;
                // Readable maps of earlier programs do not disprove a failure to attach.
                if !self.programs.is_empty() {
                    self.failure = None;
                }
            }
            Err(error) => self.fail(&error),
        }
    }

    /// Reports a failure of the maps. Logged once, since it repeats every second.
    fn fail(&mut self, error: &MapError) {
        let why = unusable(error);
        if self.failure.as_ref() != Some(&why) {
            log::error!("eBPF: {why}");
            self.failure = Some(why);
        }
    }

    /// Counts a complete dump of conntrack. Removes stale entries after the second one.
    pub(crate) fn dump_ended(&mut self) {
        let Some(engine) = self.engine.as_mut().filter(|engine| !engine.is_finding()) else {
            return;
        };
        self.dumps = self.dumps.saturating_add(1);
        if self.dumps == DUMPS_BEFORE_REMOVAL {
            let removed = engine.remove_stale();
            if removed > 0 {
                log::info!("eBPF: removing {removed} stale entries from a previous run");
            }
        }
    }

    /// Returns the offloaded and the dropped connections.
    pub(crate) fn table(&self) -> Option<&ConnectionTable> {
        self.engine.as_ref().map(OffloadEngine::table)
    }
}

fn unusable(error: &MapError) -> ProgramsReason {
    ProgramsReason::Maps { said: chain(error) }
}

#[must_use]
pub fn without_window_tracking(connection: &Connection) -> EntryUpdate {
    EntryUpdate {
        zone: connection.zone,
        orig: connection.orig,
        timeout_s: None,
        disable_window_tracking: true,
        established: false,
    }
}
