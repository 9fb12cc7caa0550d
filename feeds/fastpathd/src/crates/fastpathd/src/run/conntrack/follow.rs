// SPDX-License-Identifier: GPL-2.0-or-later
//! Forwards conntrack's events, and reports that must follow them.
//!
//! The kernel acknowledges a change of conntrack on a different socket than its events. Earlier
//! events may still be queued on the event socket, so acknowledgements are forwarded after them.

use std::time::Duration;

use ctnetlink::{EventError, EventSocket, MAX_EVENTS};
use gateway::conntrack::Event;
use gateway::event::Event as AnyEvent;
use gateway::sys::error::chain;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};

/// Pause after the socket is drained, so that a thousand events a second do not cause as many
/// wake-ups. Reports wait, too: each causes a read of the socket, whose events cause the next one.
const BATCH_INTERVAL: Duration = Duration::from_millis(10);
/// Pause before the event socket is opened again after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

type Read = Result<Vec<ctnetlink::Event>, EventError>;

#[derive(Debug)]
struct Closed;

/// Socket of conntrack's events, or its stand-in in tests.
pub(super) trait EventSource {
    async fn recv(&mut self) -> Read;
    /// Returns queued events without waiting. Empty if all have been read.
    fn try_recv(&mut self) -> Read;
    /// Prevents wake-ups for further events until the next call of `recv`.
    fn mute(&mut self);
    fn reopen(&mut self) -> Result<(), EventError>;
}

impl EventSource for EventSocket {
    async fn recv(&mut self) -> Read {
        Self::recv(self).await
    }

    fn try_recv(&mut self) -> Read {
        Self::try_recv(self)
    }

    fn mute(&mut self) {
        Self::mute(self);
    }

    fn reopen(&mut self) -> Result<(), EventError> {
        Self::reopen(self)
    }
}

/// Follows conntrack until the daemon ends, on another socket after each failure.
pub(super) async fn watch<S: EventSource>(
    mut open: impl FnMut() -> Result<S, EventError>,
    events: &Sender<AnyEvent>,
    mut reports: UnboundedReceiver<AnyEvent>,
) {
    let mut failed = false;
    loop {
        let end = match open() {
            // `Lost` triggers a dump, which misses no change once the socket is open.
            Ok(_) if failed && send_lost(events).await.is_err() => return,
            Ok(mut socket) => follow(&mut socket, events, &mut reports).await,
            Err(failure) => Err(failure),
        };
        let Err(failure) = end else { return };
        log::error!("conntrack: {}", chain(&failure));
        tokio::time::sleep(RETRY_INTERVAL).await;
        failed = true;
    }
}

async fn send_lost(events: &Sender<AnyEvent>) -> Result<(), Closed> {
    events.send(AnyEvent::Conntrack(Event::Lost)).await.map_err(|_| Closed)
}

/// Forwards events, and each report of `reports` after the events that the kernel has sent before.
/// A failure loses the events that are queued on the socket.
async fn follow(
    socket: &mut impl EventSource,
    events: &Sender<AnyEvent>,
    reports: &mut UnboundedReceiver<AnyEvent>,
) -> Result<Closed, EventError> {
    loop {
        let (mut due, mut all) = (Vec::new(), true);
        tokio::select! {
            // Otherwise reports of a socket that fails would wait for the next one.
            biased;
            Some(report) = reports.recv() => due.push(report),
            read = socket.recv() => {
                all = read.as_ref().map_or(true, |changes| changes.len() < MAX_EVENTS);
                if forward(read, socket, events).await?.is_some() {
                    return Ok(Closed);
                }
            }
        }
        while let Ok(report) = reports.try_recv() {
            due.push(report);
        }
        if !due.is_empty() {
            let rest = forward_queued(socket, events).await;
            // Forward reports after a failure, too; a new socket has no earlier events.
            for report in due {
                if events.send(report).await.is_err() {
                    return Ok(Closed);
                }
            }
            rest?;
        }
        if all {
            socket.mute();
            tokio::time::sleep(BATCH_INTERVAL).await;
        }
    }
}

async fn forward_queued(
    socket: &mut impl EventSource,
    events: &Sender<AnyEvent>,
) -> Result<(), EventError> {
    loop {
        let read = socket.try_recv();
        if read.as_ref().is_ok_and(Vec::is_empty) {
            return Ok(());
        }
        // A loss replaces the socket, so the next read returns no earlier events.
        if forward(read, socket, events).await?.is_some() {
            return Ok(());
        }
    }
}

/// Forwards the result of a read. Reopens the socket after a loss.
async fn forward(
    read: Read,
    socket: &mut impl EventSource,
    events: &Sender<AnyEvent>,
) -> Result<Option<Closed>, EventError> {
    let event = match read {
        Ok(changes) => Event::Changed(changes),
        // Reopen before `Lost` triggers a dump, so that no change is missed.
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
