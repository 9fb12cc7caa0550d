// SPDX-License-Identifier: GPL-2.0-or-later
//! The two queues of the daemon's loop, one for the bus and one for everything else, and whose turn
//! it is: a call waits for one event, however many a flood causes. Length of the queue of calls.

use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::event::Event;

/// Calls that can be queued; crate `ubus` holds more.
const CALLS: usize = 64;
/// One event of the other sources at a time, each with the entries of one reading: the sources take
/// turns, and a dump goes on during a flood of events. The kernel queues the rest.
const OTHERS: usize = 1;

/// Where sources put their events.
#[derive(Debug, Clone)]
pub(crate) struct Senders {
    /// For the bus.
    pub(crate) calls: Sender<Event>,
    /// For everything else.
    pub(crate) others: Sender<Event>,
}

/// Where the loop takes them from.
pub(crate) struct Inbox {
    calls: Receiver<Event>,
    others: Receiver<Event>,
    /// The last event was a call, so that the others are first.
    called: bool,
}

impl Inbox {
    pub(crate) fn new() -> (Senders, Self) {
        let (calls, calls_inbox) = mpsc::channel(CALLS);
        let (others, others_inbox) = mpsc::channel(OTHERS);
        let inbox = Self { calls: calls_inbox, others: others_inbox, called: false };
        (Senders { calls, others }, inbox)
    }

    /// Waits for the next event; `None`: there will be no more. Where both queues have one, they
    /// take turns. Cancelling it loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        let (call, event) = if self.called {
            tokio::select! {
                biased;
                Some(event) = self.others.recv() => (false, Some(event)),
                Some(event) = self.calls.recv() => (true, Some(event)),
                else => (false, None),
            }
        } else {
            tokio::select! {
                biased;
                Some(event) = self.calls.recv() => (true, Some(event)),
                Some(event) = self.others.recv() => (false, Some(event)),
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

    use super::*;
    use crate::sys::task::spawn_local;
    use crate::{bus, conntrack};

    /// Runs `test` as the daemon runs its loop.
    fn in_loop(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, test);
    }

    /// Sources that have a further event whenever one is taken.
    fn flood(sender: &Sender<Event>, sources: usize, event: fn() -> Event) {
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

    fn call() -> Event {
        Event::Bus(bus::Event::Subscribed(true))
    }

    /// Events until the first call, that one included.
    async fn until_call(inbox: &mut Inbox) -> usize {
        let mut events = 1;
        while !matches!(inbox.next().await, Some(Event::Bus(_))) {
            events += 1;
        }
        events
    }

    #[test]
    fn a_call_waits_for_one_event_of_a_flood_without_end() {
        in_loop(async {
            let (senders, mut inbox) = Inbox::new();
            flood(&senders.others, 3, changed);
            for _ in 0..1000 {
                assert!(matches!(inbox.next().await, Some(Event::Conntrack(_))));
            }
            for _ in 0..100 {
                senders.calls.try_send(call()).unwrap();
                assert!(until_call(&mut inbox).await <= 2);
            }
        });
    }

    /// The call comes over a socket, as from ubusd: the reactor has its turn as well.
    #[test]
    fn a_call_over_a_socket_waits_for_a_few_events() {
        in_loop(async {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let (senders, mut inbox) = Inbox::new();
            flood(&senders.others, 3, changed);
            let (mut caller, mut ours) = tokio::net::UnixStream::pair().unwrap();
            let calls = senders.calls.clone();
            // As crate `ubus` does: a task of the runtime reads, a local one passes it on.
            let (read, mut passed) = mpsc::channel(1);
            tokio::spawn(async move {
                let mut byte = [0];
                while ours.read_exact(&mut byte).await.is_ok() && read.send(()).await.is_ok() {}
            });
            spawn_local(async move {
                while passed.recv().await.is_some() && calls.send(call()).await.is_ok() {}
            });
            let mut most = 0;
            for _ in 0..200 {
                caller.write_all(b"x").await.unwrap();
                most = most.max(until_call(&mut inbox).await);
            }
            assert!(most <= 16, "{most} events before a call");
        });
    }

    #[test]
    fn calls_without_end_leave_every_second_turn_to_the_others() {
        in_loop(async {
            let (senders, mut inbox) = Inbox::new();
            flood(&senders.calls, 1, call);
            flood(&senders.others, 1, changed);
            let mut calls = 0;
            for _ in 0..1000 {
                calls += usize::from(matches!(inbox.next().await, Some(Event::Bus(_))));
                tokio::task::yield_now().await;
            }
            assert!((400..=600).contains(&calls), "{calls} of 1000");
        });
    }

    #[test]
    fn a_dump_goes_on_during_a_flood_of_events() {
        in_loop(async {
            let (senders, mut inbox) = Inbox::new();
            flood(&senders.others, 1, changed);
            flood(&senders.others, 1, dumped);
            let mut entries = 0;
            for _ in 0..1000 {
                let event = inbox.next().await;
                let dump = matches!(event, Some(Event::Conntrack(conntrack::Event::Entries(_))));
                entries += usize::from(dump);
            }
            assert!((400..=600).contains(&entries), "{entries} of 1000");
        });
    }

    #[test]
    fn nothing_is_lost_by_a_wait_that_is_cancelled_and_the_end_is_the_last_sender() {
        in_loop(async {
            let (senders, mut inbox) = Inbox::new();
            let short = Duration::from_millis(1);
            assert!(tokio::time::timeout(short, inbox.next()).await.is_err());
            senders.others.send(changed()).await.unwrap();
            senders.calls.send(call()).await.unwrap();
            drop(senders);
            assert!(matches!(inbox.next().await, Some(Event::Bus(_))));
            assert!(matches!(inbox.next().await, Some(Event::Conntrack(_))));
            assert!(inbox.next().await.is_none());
        });
    }
}
