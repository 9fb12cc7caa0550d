// SPDX-License-Identifier: GPL-2.0-or-later
//! Executes requests to conntrack: dumps, lookups, timeouts, window tracking and marks.

use std::rc::Rc;
use std::time::Duration;

use ctnetlink::{
    Dump, DumpError, Entry, EntryUpdate, EventSocket, Lookup, LookupError, MarkBits, Tuple,
};
use flows::{CpuSample, RulesVersion, Seen, StackCount};
use gateway::conntrack::{Effect, Event};
use gateway::event::Event as AnyEvent;
use gateway::offload::ebpf::{TCP, Waiting, without_window_tracking};
use gateway::sys::error::chain;
use model::Connection;
use ruleset::{BY_CPU, IPSEC_SET, MISSED_SETS};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};

use crate::io::Io;
use crate::run::offload::TABLE;
use crate::sys::grace::packets_in_flight;
use crate::sys::task::spawn_local;

mod follow;

/// `NF_FLOW_TIMEOUT`, the flowtable's idle timeout by default.
const FLOWTABLE_TIMEOUT_S: u64 = 30;

/// Follows conntrack until the daemon ends. Forwards each report of `reports` after the events that
/// the kernel has sent before.
pub(crate) async fn watch(events: Sender<AnyEvent>, reports: UnboundedReceiver<AnyEvent>) {
    follow::watch(EventSocket::open, &events, reports).await;
}

pub(crate) fn execute(effect: Effect, io: &Io) {
    let events = io.events.clone();
    match effect {
        Effect::Dump => spawn_local(dump(events)),
        Effect::Sweep => spawn_local(async move {
            let _ = events.send(AnyEvent::Conntrack(Event::Sweep)).await;
        }),
        Effect::LookUp(wanted, start) => {
            let lookup = Rc::clone(&io.conntrack);
            spawn_local(async move {
                match look_up(&wanted, &lookup).await {
                    Ok(entries) => {
                        let entries = entries.into_iter().flatten().collect();
                        let event = AnyEvent::Conntrack(Event::LookedUp(entries, start));
                        let _ = events.send(event).await;
                    }
                    Err(error) => log::error!("conntrack: {}", chain(&error)),
                }
            });
        }
        Effect::Update(updates) => spawn_local(update(updates)),
        Effect::Delete(entries) => spawn_local(async move {
            if let Err(error) = ctnetlink::delete(&entries).await {
                log::error!("ending connections: {}", chain(&error));
            }
        }),
        Effect::Confirm(connections, start) => {
            let (reports, lookup) = (io.after_conntrack.clone(), Rc::clone(&io.conntrack));
            spawn_local(async move {
                let confirmed = Event::Confirmed(confirm(connections, &lookup).await, start);
                let _ = reports.send(AnyEvent::Conntrack(confirmed));
            });
        }
        Effect::ClearMarks(connections, bits, version) => {
            let reports = io.after_conntrack.clone();
            spawn_local(async move {
                let _ = reports
                    .send(AnyEvent::Conntrack(clear_marks(connections, bits, version).await));
            });
        }
        Effect::ReadEvents(version) => {
            let reports = io.after_conntrack.clone();
            spawn_local(async move {
                packets_in_flight().await;
                let _ = reports.send(AnyEvent::Conntrack(Event::EventsRead(version)));
            });
        }
    }
}

async fn dump(events: Sender<AnyEvent>) {
    let complete = match read_all(&events).await {
        Ok(complete) => complete,
        Err(error) => {
            log::error!("conntrack: {}", chain(&error));
            false
        }
    };
    let _ = events.send(AnyEvent::Conntrack(Event::DumpEnded(complete))).await;
}

async fn read_all(events: &Sender<AnyEvent>) -> Result<bool, DumpError> {
    let counts = stack_counts().await;
    if !counts.is_empty() {
        let _ = events.send(AnyEvent::Conntrack(Event::Counted(counts))).await;
    }
    let _ = events.send(AnyEvent::Conntrack(Event::Sampled(cpu_sample().await))).await;
    let mut dump = Dump::start()?;
    loop {
        let mut batch = Vec::new();
        let more = dump.next(&mut batch).await?;
        if events.send(AnyEvent::Conntrack(Event::Entries(batch))).await.is_err() {
            return Ok(false);
        }
        if !more {
            return Ok(!dump.interrupted());
        }
    }
}

/// Reads per-connection packet counts of our rules. Empty if our table is not loaded.
async fn stack_counts() -> Vec<StackCount> {
    let (family, table) = TABLE;
    let [original, reply] = MISSED_SETS;
    let sets =
        [(original, Seen::Missed(0)), (reply, Seen::Missed(1)), (IPSEC_SET, Seen::Encrypted)];
    let mut counts = Vec::new();
    for (set, seen) in sets {
        match ctnetlink::counted(family, table, set).await {
            Ok(found) => {
                counts.extend(found.into_iter().flatten().map(|(id, counters)| StackCount {
                    id,
                    seen,
                    counters,
                }));
            }
            Err(error) => log::debug!("reading set {set}: {}", chain(&error)),
        }
    }
    counts
}

/// Reads which packets reach the CPU. `None` unless our table offloads to hardware.
async fn cpu_sample() -> Option<CpuSample> {
    let (family, table) = TABLE;
    let hashes = ctnetlink::marks(family, table, BY_CPU).await;
    let hashes = hashes.inspect_err(|error| log::debug!("reading {BY_CPU}: {}", chain(error)));
    let hashes = hashes.ok()??.into_iter().collect();
    let timeouts = ["tcp", "udp"].map(|of| {
        let path = format!("/proc/sys/net/netfilter/nf_flowtable_{of}_timeout");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    });
    let flowtable_timeout =
        Duration::from_secs(timeouts.into_iter().flatten().max().unwrap_or(FLOWTABLE_TIMEOUT_S));
    Some(CpuSample { hashes, flowtable_timeout })
}

/// Looks entries up over a persistent socket, which is reopened after a failure.
async fn look_up(
    keys: &[(u16, Tuple)],
    kept: &Mutex<Option<Lookup>>,
) -> Result<Vec<Option<Entry>>, LookupError> {
    let mut kept = kept.lock().await;
    let mut socket = match kept.take() {
        Some(socket) => socket,
        None => Lookup::open()?,
    };
    let found = socket.get(keys).await?;
    *kept = Some(socket);
    Ok(found)
}

/// Updates entries in a separate task, so that the loop does not wait for the kernel.
async fn update(updates: Vec<EntryUpdate>) {
    if let Err(error) = ctnetlink::update(&updates).await {
        log::error!("{}", chain(&error));
    }
}

/// Returns the conntrack entries of these connections, after packets in flight have left the stack.
/// A SYN, FIN or RST among these packets is then in the waiting map entry or in conntrack.
async fn confirm(
    connections: Vec<Waiting>,
    lookup: &Mutex<Option<Lookup>>,
) -> Vec<(Waiting, Option<Entry>)> {
    packets_in_flight().await;
    let entries = match confirm_each(&connections, lookup).await {
        Ok(entries) => entries,
        Err(why) => {
            log::error!("conntrack: {why}");
            vec![None; connections.len()]
        }
    };
    connections.into_iter().zip(entries).collect()
}

async fn confirm_each(
    connections: &[Waiting],
    lookup: &Mutex<Option<Lookup>>,
) -> Result<Vec<Option<Entry>>, String> {
    let all = connections.iter().map(|one| &one.connection);
    let keys: Vec<_> = all.clone().map(|one| (one.zone, one.orig)).collect();
    let tcp = all.filter(|one| one.orig.proto == TCP);
    let updates: Vec<EntryUpdate> = tcp.map(without_window_tracking).collect();
    ctnetlink::update(&updates).await.map_err(|error| chain(&error))?;
    look_up(&keys, lookup).await.map_err(|error| chain(&error))
}

/// Clears mark bits twice, because a packet in flight writes back the mark that it read, or sets
/// bits by the old rules. The second pass starts after these packets have left the stack.
async fn clear_marks(connections: Vec<Connection>, mask: u32, version: RulesVersion) -> Event {
    let keys: Vec<_> = connections.iter().map(|one| (one.zone, one.orig)).collect();
    for _ in 0..2 {
        packets_in_flight().await;
        if let Err(error) = ctnetlink::set_mark(&keys, MarkBits { value: 0, mask }).await {
            log::error!("{}", chain(&error));
            return Event::MarksKept(connections);
        }
    }
    Event::MarksCleared(connections, version)
}
