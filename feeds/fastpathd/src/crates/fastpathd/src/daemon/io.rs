// SPDX-License-Identifier: GPL-2.0-or-later
//! Paths of files and sockets, the locks held while nft or the loader of programs run, and events
//! to init scripts.

use std::future::Future;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

use ruleset::NftCommand;
use tokio::sync::{Mutex, mpsc};
use topology::RouteLookup;

use crate::bus::connection;
use crate::event::Event;
use crate::sys::error::chain;
use crate::sys::task::spawn_local;

/// Paths of files and sockets.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) socket: PathBuf,
    /// Read only while ubus is down.
    pub(crate) config: PathBuf,
    pub(crate) leases: PathBuf,
    /// Folder of files that other programs read at run time.
    pub(crate) run: PathBuf,
    /// Suricata's command socket.
    pub(crate) commands: PathBuf,
    /// Rules that are installed with the daemon.
    pub(crate) own_rules: PathBuf,
}

impl Paths {
    /// The alerts of the previous daemon.
    pub(crate) fn alerts(&self) -> PathBuf {
        self.run.join("alerts")
    }

    /// The generation of nftables' rules that this daemon has seen.
    pub(crate) fn generation(&self) -> PathBuf {
        self.run.join("rules")
    }
}

/// Handles of the daemon's surroundings.
pub(crate) struct Io {
    pub(crate) paths: Paths,
    pub(crate) started: Instant,
    pub(crate) nft: NftCommand,
    /// Held while nft runs: a block must not get lost while the table is replaced.
    pub(crate) table_lock: Rc<Mutex<()>>,
    /// Held while programs are attached, and while the queues of the WAN are changed: both add and
    /// remove a clsact.
    pub(crate) programs_lock: Rc<Mutex<()>>,
    /// For questions about routes; none until the first, and after a failure.
    pub(crate) lookup: Rc<Mutex<Option<RouteLookup>>>,
    pub(crate) events: mpsc::Sender<Event>,
    /// Passed on behind the events of conntrack that the kernel has sent until then.
    pub(crate) behind_conntrack: mpsc::UnboundedSender<Event>,
    pub(crate) bus: Option<ubus::Handle>,
    /// Types of Suricata's events that go to collectors.
    pub(crate) wanted_events: ips::WantedKinds,
}

impl Io {
    pub(crate) fn new(
        paths: Paths,
        events: mpsc::Sender<Event>,
        behind_conntrack: mpsc::UnboundedSender<Event>,
    ) -> Self {
        Self {
            paths,
            started: Instant::now(),
            nft: NftCommand::default(),
            table_lock: Rc::default(),
            programs_lock: Rc::default(),
            lookup: Rc::default(),
            events,
            behind_conntrack,
            bus: None,
            wanted_events: ips::WantedKinds::default(),
        }
    }

    /// Starts an exchange over ubus; nothing while it is down: all is read when it is up again.
    pub(crate) fn with_bus<F: Future<Output = ()> + 'static>(
        &self,
        talk: impl FnOnce(ubus::Handle, mpsc::Sender<Event>) -> F,
    ) {
        if let Some(bus) = &self.bus {
            spawn_local(talk(bus.clone(), self.events.clone()));
        }
    }

    /// Notifies an init script of an event. Without ubus it learns of it at its next start.
    pub(crate) fn notify_service(&self, event: &'static str) {
        self.with_bus(move |bus, _| async move {
            if let Err(error) = connection::event(&bus, event).await {
                log::warn!("sending {event} to the init script: {}", chain(&error));
            }
        });
    }
}
