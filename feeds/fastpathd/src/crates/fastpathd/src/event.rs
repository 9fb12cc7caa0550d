// SPDX-License-Identifier: GPL-2.0-or-later
//! What reaches the daemon's one loop.

use std::time::Duration;

use ctnetlink::{
    Dump, Entry, Event, EventError, EventSocket, Lookup, LookupError, Revision, RevisionError,
    RevisionSocket, Revisions, Tuple,
};
use flows::Connection;
use ips::Batch;
use ruleset::{Applied, InForce};
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use topology::{Change, Watcher};

use crate::bus::connection::chain;
use crate::cpu::Seen;
use crate::ips::state::{Sight, Word};
use crate::offload::ebpf::Attached;

/// Something that has happened outside.
#[derive(Debug)]
pub(crate) enum Happening {
    /// Connected to ubusd, our object is published.
    BusUp(ubus::Handle),
    BusGone,
    Invoke(ubus::Request),
    /// Whether anybody is subscribed to our notifications.
    Watched(bool),
    InterfacesChanged,
    /// Values of the UCI package fastpath.
    Configuration(Value),
    /// The configuration cannot be read, in words; false: not yet.
    NoConfiguration(String, bool),
    /// Values of the UCI package firewall.
    Firewall(Value),
    /// The answer of `network.interface dump`.
    Interfaces(Value),
    Network(Vec<Change>),
    /// Rules of nftables were changed, perhaps by ourselves.
    Rules(Revision),
    Flows(Vec<Event>),
    FlowsLost,
    /// Entries of the dump under way.
    Batch(Vec<Entry>),
    /// Entries of young flows, as they are now.
    LookedUp(Vec<Entry>),
    /// The dump is over; true: it had every entry.
    Dumped(bool),
    Applied(Result<Applied, String>),
    /// Whether the plan in force still is.
    Looked(bool),
    /// Our table as it is in the kernel.
    ReadBack(Box<InForce>),
    /// Suricata's queues and process.
    Sight(Sight),
    /// Suricata's answer on its command socket.
    Word(Word),
    /// Suricata's events.
    Events(Box<Batch>),
    /// CPUs and network queues.
    Machine(Box<Seen>),
    /// An update of the rules goes on, in words.
    RulesProgress(String),
    /// It is over: its result, or why there is none.
    RulesDone(Result<Value, String>),
    /// Entries as they were before they were made new to inspection.
    Renewed(Vec<Entry>),
    /// Conntrack does not mind the windows of these connections any more; false: it could not be
    /// told.
    Freed(Vec<Connection>, bool),
    /// The marks of these connections no longer say that they passed the rules.
    Distrusted(Vec<Connection>),
    /// Devices have been given eBPF programs, or could not be.
    Attached(Box<Result<Attached, String>>),
    /// Connections were made new to inspection: how many, or why not.
    Reinspected(Result<usize, String>),
}

/// After a failure of a source; the kernel's answer will not change any sooner.
const PAUSE: Duration = Duration::from_secs(5);

/// Follows the network until the daemon ends.
pub(crate) async fn watch_network(happenings: Sender<Happening>) {
    loop {
        let failure = match Watcher::open() {
            Ok(mut watcher) => loop {
                match watcher.next().await {
                    Ok(changes) => {
                        if happenings.send(Happening::Network(changes)).await.is_err() {
                            return;
                        }
                    }
                    Err(error) => break error,
                }
            },
            Err(error) => error,
        };
        log::error!("network: {}", chain(&failure));
        tokio::time::sleep(PAUSE).await;
    }
}

/// Family and name of our table.
const TABLE: (u8, &str) = (1, "fastpath");

/// A socket that hears of every change of nftables from now on.
pub(crate) fn listen_to_rules() -> Result<RevisionSocket, RevisionError> {
    let (family, table) = TABLE;
    RevisionSocket::open(Revisions::of(family, table))
}

/// Follows nftables until the daemon ends.
pub(crate) async fn watch_rules(
    mut opened: Result<RevisionSocket, RevisionError>,
    happenings: Sender<Happening>,
) {
    loop {
        let failure = match opened {
            Ok(mut socket) => loop {
                match socket.recv().await {
                    Ok(revision) => {
                        if happenings.send(Happening::Rules(revision)).await.is_err() {
                            return;
                        }
                    }
                    Err(error) => break error,
                }
            },
            Err(error) => error,
        };
        log::error!("rules: {}", chain(&failure));
        tokio::time::sleep(PAUSE).await;
        opened = listen_to_rules();
        // What happened before is unknown.
        if happenings.send(Happening::Rules(Revision::UNKNOWN)).await.is_err() {
            return;
        }
    }
}

/// Follows conntrack until the daemon ends.
pub(crate) async fn watch_flows(happenings: Sender<Happening>) {
    loop {
        let failure = match EventSocket::open() {
            Ok(mut socket) => loop {
                let happening = match socket.recv().await {
                    Ok(events) => Happening::Flows(events),
                    Err(EventError::Lost) => {
                        drain(&mut socket).await;
                        Happening::FlowsLost
                    }
                    Err(error) => break error,
                };
                if happenings.send(happening).await.is_err() {
                    return;
                }
            },
            Err(error) => error,
        };
        log::error!("conntrack: {}", chain(&failure));
        tokio::time::sleep(PAUSE).await;
        // What happened meanwhile is unknown.
        if happenings.send(Happening::FlowsLost).await.is_err() {
            return;
        }
    }
}

/// Throws away what waits. After an overflow the kernel drops new events, without a word, until
/// the queue has been empty once (`NETLINK_S_CONGESTED`): a dump before that would miss them.
async fn drain(socket: &mut EventSocket) {
    loop {
        match tokio::time::timeout(Duration::from_millis(1), socket.recv()).await {
            Ok(Ok(_) | Err(EventError::Lost)) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

/// Reads the conntrack table once.
pub(crate) async fn dump(happenings: Sender<Happening>) {
    let complete = match read_all(&happenings).await {
        Ok(complete) => complete,
        Err(error) => {
            log::error!("conntrack: {}", chain(&error));
            false
        }
    };
    // Nobody is left to tell when the daemon ends.
    let _ = happenings.send(Happening::Dumped(complete)).await;
}

async fn read_all(happenings: &Sender<Happening>) -> Result<bool, ctnetlink::DumpError> {
    let mut dump = Dump::start()?;
    loop {
        let mut batch = Vec::new();
        let more = dump.next(&mut batch).await?;
        if happenings.send(Happening::Batch(batch)).await.is_err() {
            return Ok(false);
        }
        if !more {
            return Ok(!dump.interrupted());
        }
    }
}

/// Asks for single entries.
pub(crate) async fn look_up(wanted: Vec<(u16, Tuple)>, happenings: Sender<Happening>) {
    match look_up_each(&wanted).await {
        Ok(entries) => drop(happenings.send(Happening::LookedUp(entries)).await),
        Err(error) => log::error!("conntrack: {}", chain(&error)),
    }
}

async fn look_up_each(wanted: &[(u16, Tuple)]) -> Result<Vec<Entry>, LookupError> {
    let mut socket = Lookup::open()?;
    let mut found = Vec::new();
    for (zone, orig) in wanted {
        found.extend(socket.get(*zone, orig).await?);
    }
    Ok(found)
}
