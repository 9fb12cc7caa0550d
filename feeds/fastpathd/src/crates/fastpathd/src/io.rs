// SPDX-License-Identifier: GPL-2.0-or-later
//! Handles for executing effects: paths, locks around nft and the eBPF loader, ubus, and events to
//! init scripts.

use std::future::Future;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

use ctnetlink::Lookup;
use gateway::event::Event;
use gateway::sys::error::chain;
use ruleset::NftCommand;
use tokio::sync::{Mutex, mpsc};
use topology::RouteLookup;

use crate::bus::connection;
use crate::run::history::SharedLedger;
use crate::sys::task::spawn_local;

#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) socket: PathBuf,
    /// UCI file of the daemon, read only without ubus.
    pub(crate) config: PathBuf,
    pub(crate) leases: PathBuf,
    /// Folder of the history on flash.
    pub(crate) history: PathBuf,
    /// Folder of run-time files, some of them for other programs.
    pub(crate) run: PathBuf,
    pub(crate) commands: PathBuf,
    pub(crate) own_rules: PathBuf,
}

impl Paths {
    /// Returns the file of alerts that a daemon saves for its successor.
    pub(crate) fn alerts(&self) -> PathBuf {
        self.run.join("alerts")
    }

    /// Returns the file of the nftables generation that this daemon has processed.
    pub(crate) fn generation(&self) -> PathBuf {
        self.run.join("rules")
    }
}

pub(crate) struct Io {
    pub(crate) paths: Paths,
    pub(crate) started: Instant,
    pub(crate) nft: NftCommand,
    /// Held while nft runs, so that a block is not lost while the table is replaced.
    pub(crate) table_lock: Rc<Mutex<()>>,
    /// Held while programs are attached or the WAN's queues change, because both add and remove
    /// clsact.
    pub(crate) programs_lock: Rc<Mutex<()>>,
    /// Sockets for lookups. `None` before the first lookup and after a failure.
    pub(crate) routes: Rc<Mutex<Option<RouteLookup>>>,
    pub(crate) conntrack: Rc<Mutex<Option<Lookup>>>,
    pub(crate) events: mpsc::Sender<Event>,
    /// Events that must follow all conntrack events that the kernel has already sent.
    pub(crate) after_conntrack: mpsc::UnboundedSender<Event>,
    pub(crate) bus: Option<ubus::Handle>,
    pub(crate) ledger: SharedLedger,
    pub(crate) wanted_events: ips::WantedKinds,
}

impl Io {
    pub(crate) fn new(
        paths: Paths,
        events: mpsc::Sender<Event>,
        after_conntrack: mpsc::UnboundedSender<Event>,
    ) -> Self {
        Self {
            paths,
            started: Instant::now(),
            nft: NftCommand::default(),
            table_lock: Rc::default(),
            programs_lock: Rc::default(),
            routes: Rc::default(),
            conntrack: Rc::default(),
            events,
            after_conntrack,
            bus: None,
            ledger: SharedLedger::default(),
            wanted_events: ips::WantedKinds::default(),
        }
    }

    /// Starts an exchange over ubus. Skipped without ubus, because a reconnect reads everything.
    pub(crate) fn with_bus<F: Future<Output = ()> + 'static>(
        &self,
        exchange: impl FnOnce(ubus::Handle, mpsc::Sender<Event>) -> F,
    ) {
        if let Some(bus) = &self.bus {
            spawn_local(exchange(bus.clone(), self.events.clone()));
        }
    }

    /// Notifies an init script of an event. Without ubus, the script acts on its next start.
    pub(crate) fn notify_service(&self, event: &'static str) {
        self.with_bus(move |bus, _| async move {
            if let Err(error) = connection::event(&bus, event).await {
                log::warn!("sending {event} to the init script: {}", chain(&error));
            }
        });
    }
}
