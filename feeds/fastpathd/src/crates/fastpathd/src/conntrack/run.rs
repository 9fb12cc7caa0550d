// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads, follows and changes conntrack: dumps, look-ups, timeouts, window tracking, marks; the
//! pauses between two readings of events and after a failure.

use std::time::Duration;

use ctnetlink::{
    Dump, DumpError, EVENTS_AT_ONCE, Entry, EntryUpdate, EventError, EventSocket, Lookup,
    LookupError, MarkBits, Tuple,
};
use model::Connection;
use tokio::sync::mpsc::Sender;

use crate::conntrack::{Effect, Event};
use crate::daemon::Io;
use crate::event::Event as AnyEvent;
use crate::offload::ebpf::without_window_tracking;
use crate::sys::error::chain;
use crate::sys::task::spawn_local;

/// After a reading that left no event: a wake-up for each of a thousand events a second costs more
/// than the events.
const GATHER: Duration = Duration::from_millis(10);
/// After a failure; the kernel's answer will not change any sooner.
const PAUSE: Duration = Duration::from_secs(5);

/// Follows conntrack until the daemon ends.
pub(crate) async fn watch(events: Sender<AnyEvent>) {
    loop {
        let failure = match EventSocket::open() {
            Ok(mut socket) => loop {
                let (event, all) = match socket.recv().await {
                    Ok(changes) => {
                        let all = changes.len() < EVENTS_AT_ONCE;
                        (Event::Changed(changes), all)
                    }
                    // The dump that follows has to come after it.
                    Err(EventError::Lost) => match socket.reopen() {
                        Ok(()) => (Event::Lost, true),
                        Err(error) => break error,
                    },
                    Err(error) => break error,
                };
                if events.send(AnyEvent::Conntrack(event)).await.is_err() {
                    return;
                }
                if all {
                    tokio::time::sleep(GATHER).await;
                }
            },
            Err(error) => error,
        };
        log::error!("conntrack: {}", chain(&failure));
        tokio::time::sleep(PAUSE).await;
        // Events may have been missed meanwhile.
        if events.send(AnyEvent::Conntrack(Event::Lost)).await.is_err() {
            return;
        }
    }
}

pub(crate) fn execute(effect: Effect, io: &Io) {
    let events = io.events.clone();
    match effect {
        Effect::Dump => spawn_local(dump(events)),
        Effect::Sweep => spawn_local(async move {
            let _ = events.send(AnyEvent::Conntrack(Event::Sweep)).await;
        }),
        Effect::LookUp(wanted) => spawn_local(look_up(wanted, events)),
        Effect::Update(updates) => spawn_local(update(updates)),
        Effect::Delete(entries) => spawn_local(async move {
            if let Err(error) = ctnetlink::delete(&entries).await {
                log::error!("ending connections: {}", chain(&error));
            }
        }),
        Effect::DisableWindowTracking(connections) => {
            spawn_local(disable_window_tracking(connections, events));
        }
        Effect::ClearMarks(connections, bits) => {
            spawn_local(clear_marks(connections, bits, events));
        }
    }
}

/// Reads the conntrack table once.
async fn dump(events: Sender<AnyEvent>) {
    let complete = match read_all(&events).await {
        Ok(complete) => complete,
        Err(error) => {
            log::error!("conntrack: {}", chain(&error));
            false
        }
    };
    // Fails only when the daemon ends.
    let _ = events.send(AnyEvent::Conntrack(Event::DumpEnded(complete))).await;
}

async fn read_all(events: &Sender<AnyEvent>) -> Result<bool, DumpError> {
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

/// Looks up single entries.
async fn look_up(wanted: Vec<(u16, Tuple)>, events: Sender<AnyEvent>) {
    match look_up_each(&wanted).await {
        Ok(entries) => {
            let _ = events.send(AnyEvent::Conntrack(Event::LookedUp(entries))).await;
        }
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

/// In a task of its own: the loop does not wait for it.
async fn update(updates: Vec<EntryUpdate>) {
    if let Err(error) = ctnetlink::update(&updates).await {
        log::error!("{}", chain(&error));
    }
}

async fn disable_window_tracking(connections: Vec<Connection>, events: Sender<AnyEvent>) {
    let updates: Vec<EntryUpdate> = connections.iter().map(without_window_tracking).collect();
    let outcome = ctnetlink::update(&updates).await;
    if let Err(error) = &outcome {
        log::error!("{}", chain(error));
    }
    let event = Event::WindowTracking(connections, outcome.is_ok());
    let _ = events.send(AnyEvent::Conntrack(event)).await;
}

async fn clear_marks(connections: Vec<Connection>, mask: u32, events: Sender<AnyEvent>) {
    let keys: Vec<_> = connections.iter().map(|one| (one.zone, one.orig)).collect();
    match ctnetlink::set_mark(&keys, MarkBits { value: 0, mask }).await {
        Ok(_) => {
            let _ = events.send(AnyEvent::Conntrack(Event::MarksCleared(connections))).await;
        }
        // They stay on the slow path.
        Err(error) => log::error!("{}", chain(&error)),
    }
}
