// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the order of events and the reports that follow them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use flows::FlowTable;
use gateway::lab::established;
use tokio::sync::mpsc::{self, UnboundedSender};

use super::*;

#[derive(Debug, Clone, Default)]
struct Queue(Rc<RefCell<VecDeque<Read>>>);

impl Queue {
    fn push(&self, id: u32) {
        let event = ctnetlink::Event::Update(established(id, false));
        self.0.borrow_mut().push_back(Ok(vec![event]));
    }

    fn fail(&self, failure: EventError) {
        self.0.borrow_mut().push_back(Err(failure));
    }
}

impl EventSource for Queue {
    async fn recv(&mut self) -> Read {
        let first = self.0.borrow_mut().pop_front();
        match first {
            Some(read) => read,
            None => std::future::pending().await,
        }
    }

    fn try_recv(&mut self) -> Read {
        self.0.borrow_mut().pop_front().unwrap_or(Ok(Vec::new()))
    }

    fn mute(&mut self) {}

    fn reopen(&mut self) -> Result<(), EventError> {
        self.0.borrow_mut().clear();
        Ok(())
    }
}

fn shown(event: &AnyEvent) -> String {
    match event {
        AnyEvent::Conntrack(Event::Changed(events)) => match events[..] {
            [ctnetlink::Event::Update(entry)] => entry.id.to_string(),
            _ => format!("{events:?}"),
        },
        AnyEvent::Conntrack(Event::EventsRead(_)) => "read".to_owned(),
        AnyEvent::Conntrack(Event::Lost) => "lost".to_owned(),
        other => format!("{other:?}"),
    }
}

fn ask(behind: &UnboundedSender<AnyEvent>) {
    let version = FlowTable::new().rules();
    behind.send(AnyEvent::Conntrack(Event::EventsRead(version))).unwrap();
}

/// Follows `queue` until `reports` reports have arrived. Calls `at_first` on the first event, while
/// the socket is not read. Returns the order, and the failure if any.
fn forwarded(
    queue: &Queue,
    mut reports: usize,
    at_first: impl FnOnce(&UnboundedSender<AnyEvent>),
) -> (String, Option<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (events, mut inbox) = mpsc::channel(1);
        let (behind, mut asked) = mpsc::unbounded_channel();
        let mut socket = queue.clone();
        let mut following = Box::pin(follow(&mut socket, &events, &mut asked));
        let (mut order, mut at_first, mut end) = (Vec::new(), Some(at_first), None);
        while reports > 0 {
            let event = tokio::select! {
                biased;
                Some(event) = inbox.recv() => event,
                ended = &mut following, if end.is_none() => {
                    end = Some(ended);
                    continue;
                }
                () = std::future::ready(()), if end.is_some() => panic!("{order:?}, then {end:?}"),
            };
            reports -= usize::from(shown(&event) == "read");
            order.push(shown(&event));
            if let Some(at_first) = at_first.take() {
                at_first(&behind);
            }
        }
        let failure = end.map(|end| end.unwrap_err().to_string());
        (order.join(" "), failure)
    })
}

#[test]
fn a_report_follows_all_earlier_events() {
    let queue = Queue::default();
    queue.push(1);
    let (order, end) = forwarded(&queue, 1, |behind| {
        queue.push(2);
        queue.push(3);
        ask(behind);
    });
    assert_eq!((&*order, end), ("1 2 3 read", None));
}

#[test]
fn reports_are_forwarded_without_further_events() {
    let queue = Queue::default();
    queue.push(1);
    let (order, end) = forwarded(&queue, 2, |behind| {
        ask(behind);
        ask(behind);
    });
    assert_eq!((&*order, end), ("1 read read", None));
}

/// Otherwise each report would cause a read of few events, and their confirmation the next report.
#[test]
fn reports_of_an_interval_are_forwarded_together() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (events, mut inbox) = mpsc::channel(8);
        let (behind, mut asked) = mpsc::unbounded_channel();
        let (queue, begin) = (Queue::default(), tokio::time::Instant::now());
        queue.push(1);
        let mut socket = queue.clone();
        let following = follow(&mut socket, &events, &mut asked);
        let driven = async {
            let mut order = Vec::new();
            for _ in 0..3 {
                let event = inbox.recv().await.expect("an event");
                order.push((shown(&event), begin.elapsed()));
                if order.len() == 1 {
                    ask(&behind);
                    tokio::time::sleep(BATCH_INTERVAL / 2).await;
                    ask(&behind);
                }
            }
            order
        };
        let order = tokio::select! {
            order = driven => order,
            _ = following => panic!("ended"),
        };
        let read = || ("read".to_owned(), BATCH_INTERVAL);
        assert_eq!(order, [("1".to_owned(), Duration::ZERO), read(), read()]);
    });
}

#[test]
fn a_report_is_forwarded_after_events_were_lost() {
    let queue = Queue::default();
    queue.push(1);
    let (order, end) = forwarded(&queue, 1, |behind| {
        queue.push(2);
        queue.fail(EventError::Lost);
        queue.push(3);
        ask(behind);
    });
    assert_eq!((&*order, end), ("1 2 lost read", None));
}

#[test]
fn a_report_is_forwarded_after_the_socket_failed() {
    let queue = Queue::default();
    queue.push(1);
    let (order, end) = forwarded(&queue, 1, |behind| {
        queue.fail(EventError::Read(io::ErrorKind::BrokenPipe.into()));
        queue.push(2);
        ask(behind);
    });
    assert_eq!(order, "1 read");
    assert_eq!(end.as_deref(), Some("cannot read conntrack events"));
}

#[test]
fn lost_events_are_reported_once_the_next_socket_is_open() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (events, mut inbox) = mpsc::channel(1);
        let (_behind, asked) = mpsc::unbounded_channel();
        let opened = Cell::new(0);
        let queue = Queue::default();
        let open = || {
            opened.set(opened.get() + 1);
            match opened.get() {
                2 => Err(EventError::Lost),
                id => {
                    queue.push(id);
                    queue.fail(EventError::Read(io::ErrorKind::BrokenPipe.into()));
                    Ok(queue.clone())
                }
            }
        };
        let mut watching = Box::pin(watch(open, &events, asked));
        let mut order = Vec::new();
        while order.len() < 4 {
            tokio::select! {
                () = &mut watching => panic!("ended after {order:?}"),
                Some(event) = inbox.recv() => {
                    order.push((shown(&event), opened.get()));
                }
            }
        }
        let order: Vec<_> = order.iter().map(|(event, opened)| (&**event, *opened)).collect();
        assert_eq!(order, [("1", 1), ("lost", 3), ("3", 3), ("lost", 4)]);
    });
}
