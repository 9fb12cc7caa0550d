// SPDX-License-Identifier: GPL-2.0-or-later
//! Passes on conntrack's events: the pause between two readings, and reports that have to follow
//! the events that the kernel has sent until then.
//!
//! A change of conntrack is acknowledged on another socket than its events. Events from before the
//! change may still wait in theirs, so an acknowledgement that is to come after them is passed on
//! here.

use std::time::Duration;

use ctnetlink::{EVENTS_AT_ONCE, EventError, EventSocket};
use tokio::sync::mpsc::{Sender, UnboundedReceiver};

use crate::conntrack::Event;
use crate::event::Event as AnyEvent;

/// After a reading that left no event: a wake-up for each of a thousand events a second costs more
/// than the events.
const GATHER: Duration = Duration::from_millis(10);

type Read = Result<Vec<ctnetlink::Event>, EventError>;

/// The daemon ends: nobody receives events.
#[derive(Debug)]
pub(super) struct Closed;

/// The socket of the events.
pub(super) trait EventSource {
    /// Waits for events.
    async fn recv(&mut self) -> Read;
    /// Events that have arrived; none: all of them have been read.
    fn try_recv(&mut self) -> Read;
    /// Continues with another socket.
    fn reopen(&mut self) -> Result<(), EventError>;
}

impl EventSource for EventSocket {
    async fn recv(&mut self) -> Read {
        Self::recv(self).await
    }

    fn try_recv(&mut self) -> Read {
        Self::try_recv(self)
    }

    fn reopen(&mut self) -> Result<(), EventError> {
        Self::reopen(self)
    }
}

/// Passes on events, and reports from `behind` after the events that the kernel has sent until
/// then. After a failure the last events of the socket are never passed on.
pub(super) async fn follow(
    socket: &mut impl EventSource,
    events: &Sender<AnyEvent>,
    behind: &mut UnboundedReceiver<AnyEvent>,
) -> Result<Closed, EventError> {
    loop {
        let asked = tokio::select! {
            read = socket.recv() => {
                let all = read.as_ref().map_or(true, |changes| changes.len() < EVENTS_AT_ONCE);
                if pass_on(read, socket, events).await?.is_some() {
                    return Ok(Closed);
                }
                if !all {
                    continue;
                }
                tokio::time::timeout(GATHER, behind.recv()).await.ok().flatten()
            }
            Some(asked) = behind.recv() => Some(asked),
        };
        let Some(asked) = asked else { continue };
        let rest = pass_on_rest(socket, events).await;
        // Also after a failure: another socket will have nothing from before.
        if events.send(asked).await.is_err() {
            return Ok(Closed);
        }
        rest?;
    }
}

/// Passes on all events that the kernel has sent until now.
async fn pass_on_rest(
    socket: &mut impl EventSource,
    events: &Sender<AnyEvent>,
) -> Result<(), EventError> {
    loop {
        let read = socket.try_recv();
        if read.as_ref().is_ok_and(Vec::is_empty) {
            return Ok(());
        }
        // After a loss the socket is another one: the next reading finds nothing from before.
        if pass_on(read, socket, events).await?.is_some() {
            return Ok(());
        }
    }
}

/// Passes on a reading; after a loss the socket is another one.
async fn pass_on(
    read: Read,
    socket: &mut impl EventSource,
    events: &Sender<AnyEvent>,
) -> Result<Option<Closed>, EventError> {
    let event = match read {
        Ok(changes) => Event::Changed(changes),
        // The dump that follows has to come after it.
        Err(EventError::Lost) => {
            socket.reopen()?;
            Event::Lost
        }
        Err(failure) => return Err(failure),
    };
    Ok(events.send(AnyEvent::Conntrack(event)).await.err().map(|_| Closed))
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
