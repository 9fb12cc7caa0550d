// SPDX-License-Identifier: GPL-2.0-or-later
//! Forwards conntrack's events, and reports that must follow them.
//!
//! The kernel acknowledges a change of conntrack on another socket than its events. Older events
//! may still be queued on the event socket, so an acknowledgement is forwarded here, after them.

use std::time::Duration;

use ctnetlink::{EVENTS_AT_ONCE, EventError, EventSocket};
use gateway::conntrack::Event;
use gateway::event::Event as AnyEvent;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};

/// Pause after the socket is drained: with a thousand events a second, a wake-up for each would
/// cost more than the events.
const GATHER: Duration = Duration::from_millis(10);

type Read = Result<Vec<ctnetlink::Event>, EventError>;

/// The daemon ends: the receiver of the events is gone.
#[derive(Debug)]
pub(super) struct Closed;

/// Socket of conntrack's events, or its stand-in in tests.
pub(super) trait EventSource {
    /// Waits for events.
    async fn recv(&mut self) -> Read;
    /// Returns the queued events without waiting; empty if all have been read.
    fn try_recv(&mut self) -> Read;
    /// Replaces the socket by a new one without queued events.
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

/// Forwards events, and each report from `behind` after the events that the kernel sent before it.
/// After a failure, events that are queued on the socket are lost.
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
        // Forward the report after a failure, too: a new socket has no older events.
        if events.send(asked).await.is_err() {
            return Ok(Closed);
        }
        rest?;
    }
}

/// Forwards all events that the kernel has sent until now.
async fn pass_on_rest(
    socket: &mut impl EventSource,
    events: &Sender<AnyEvent>,
) -> Result<(), EventError> {
    loop {
        let read = socket.try_recv();
        if read.as_ref().is_ok_and(Vec::is_empty) {
            return Ok(());
        }
        // After a loss the socket is new, so the next reading has no older events.
        if pass_on(read, socket, events).await?.is_some() {
            return Ok(());
        }
    }
}

/// Forwards the result of a reading. Reopens the socket after a loss.
async fn pass_on(
    read: Read,
    socket: &mut impl EventSource,
    events: &Sender<AnyEvent>,
) -> Result<Option<Closed>, EventError> {
    let event = match read {
        Ok(changes) => Event::Changed(changes),
        // Reopen before the dump that `Lost` triggers, so that it misses no change.
        Err(EventError::Lost) => {
            socket.reopen()?;
            Event::Lost
        }
        Err(failure) => return Err(failure),
    };
    Ok(events.send(AnyEvent::Conntrack(event)).await.err().map(|_| Closed))
}

#[cfg(test)]
mod tests;
