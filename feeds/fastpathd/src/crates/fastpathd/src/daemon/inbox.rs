// SPDX-License-Identifier: GPL-2.0-or-later
//! The two queues of the daemon's loop, for ubus calls and for other events. They are served
//! alternately, so that a flood of events does not delay calls.

use gateway::event::Event;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::bus;

const CALLS: usize = 64;
/// Capacity of the queue of other events. With a single slot, all sources make progress during a
/// flood, and the backlog stays in the kernel.
const OTHERS: usize = 1;

#[derive(Debug)]
pub(crate) enum Incoming {
    Bus(bus::Event),
    Other(Event),
}

#[derive(Debug, Clone)]
pub(crate) struct Senders {
    pub(crate) calls: Sender<bus::Event>,
    pub(crate) others: Sender<Event>,
}

pub(crate) struct Inbox {
    calls: Receiver<bus::Event>,
    others: Receiver<Event>,
    /// The last event was a call, so the other queue is served first.
    called: bool,
}

impl Inbox {
    pub(crate) fn new() -> (Senders, Self) {
        let (calls, calls_inbox) = mpsc::channel(CALLS);
        let (others, others_inbox) = mpsc::channel(OTHERS);
        let inbox = Self { calls: calls_inbox, others: others_inbox, called: false };
        (Senders { calls, others }, inbox)
    }

    /// Returns the next event, alternating between the queues. `None` after all senders are
    /// dropped. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Incoming> {
        let (call, event) = if self.called {
            tokio::select! {
                biased;
                Some(event) = self.others.recv() => (false, Some(Incoming::Other(event))),
                Some(event) = self.calls.recv() => (true, Some(Incoming::Bus(event))),
                else => (false, None),
            }
        } else {
            tokio::select! {
                biased;
                Some(event) = self.calls.recv() => (true, Some(Incoming::Bus(event))),
                Some(event) = self.others.recv() => (false, Some(Incoming::Other(event))),
                else => (false, None),
            }
        };
        self.called = call;
        event
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gateway::conntrack;

    use super::*;
    use crate::sys::task::spawn_local;

    fn in_loop(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, test);
    }

    fn flood<E: 'static>(sender: &Sender<E>, sources: usize, event: fn() -> E) {
        for _ in 0..sources {
            let sender = sender.clone();
            spawn_local(async move { while sender.send(event()).await.is_ok() {} });
        }
    }

    fn changed() -> Event {
        Event::Conntrack(conntrack::Event::Changed(Vec::new()))
    }

    fn dumped() -> Event {
        Event::Conntrack(conntrack::Event::Entries(Vec::new()))
    }

    fn call() -> bus::Event {
        bus::Event::Subscribed(true)
    }

    async fn until_call(inbox: &mut Inbox) -> usize {
        let mut events = 1;
        while !matches!(inbox.next().await, Some(Incoming::Bus(_))) {
            events += 1;
        }
        events
    }

    #[test]
    fn a_flood_delays_a_call_by_at_most_one_event() {
        in_loop(async {
            let (senders, mut inbox) = Inbox::new();
            flood(&senders.others, 3, changed);
            for _ in 0..1000 {
                assert!(matches!(inbox.next().await, Some(Incoming::Other(Event::Conntrack(_)))));
            }
            for _ in 0..100 {
                senders.calls.try_send(call()).unwrap();
                assert!(until_call(&mut inbox).await <= 2);
            }
        });
    }

    /// Calls arrive over a socket, so the reactor has to be polled in a flood, too.
    #[test]
    fn a_flood_delays_a_call_over_a_socket_by_few_events() {
        in_loop(async {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let (senders, mut inbox) = Inbox::new();
            flood(&senders.others, 3, changed);
            let (mut caller, mut ours) = tokio::net::UnixStream::pair().unwrap();
            let calls = senders.calls.clone();
            // As in crate `ubus`, one task reads and a local task forwards.
            let (read, mut received) = mpsc::channel(1);
            tokio::spawn(async move {
                let mut byte = [0];
                while ours.read_exact(&mut byte).await.is_ok() && read.send(()).await.is_ok() {}
            });
            spawn_local(async move {
                while received.recv().await.is_some() && calls.send(call()).await.is_ok() {}
            });
            let mut max = 0;
            for _ in 0..200 {
                caller.write_all(b"x").await.unwrap();
                max = max.max(until_call(&mut inbox).await);
            }
            assert!(max <= 16, "{max} events before a call");
        });
    }

    #[test]
    fn other_events_get_half_of_the_turns_in_a_flood_of_calls() {
        in_loop(async {
            let (senders, mut inbox) = Inbox::new();
            flood(&senders.calls, 1, call);
            flood(&senders.others, 1, changed);
            let mut calls = 0;
            for _ in 0..1000 {
                calls += usize::from(matches!(inbox.next().await, Some(Incoming::Bus(_))));
                tokio::task::yield_now().await;
            }
            assert!((400..=600).contains(&calls), "{calls} of 1000");
        });
    }

    #[test]
    fn a_dump_makes_progress_during_a_flood_of_events() {
        in_loop(async {
            let (senders, mut inbox) = Inbox::new();
            flood(&senders.others, 1, changed);
            flood(&senders.others, 1, dumped);
            let mut entries = 0;
            for _ in 0..1000 {
                let event = inbox.next().await;
                let dump = matches!(
                    event,
                    Some(Incoming::Other(Event::Conntrack(conntrack::Event::Entries(_))))
                );
                entries += usize::from(dump);
            }
            assert!((400..=600).contains(&entries), "{entries} of 1000");
        });
    }

    #[test]
    fn a_cancelled_wait_loses_no_event() {
        in_loop(async {
            let (senders, mut inbox) = Inbox::new();
            let short = Duration::from_millis(1);
            assert!(tokio::time::timeout(short, inbox.next()).await.is_err());
            senders.others.send(changed()).await.unwrap();
            senders.calls.send(call()).await.unwrap();
            drop(senders);
            assert!(matches!(inbox.next().await, Some(Incoming::Bus(_))));
            assert!(matches!(inbox.next().await, Some(Incoming::Other(Event::Conntrack(_)))));
            assert!(inbox.next().await.is_none());
        });
    }
}
