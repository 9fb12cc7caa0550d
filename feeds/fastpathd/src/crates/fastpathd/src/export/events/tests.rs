// SPDX-License-Identifier: GPL-2.0-or-later

use ips::{EventKind, EventLine};

use super::*;

pub(in crate::export) fn settings(
    kind: &str,
    host: &str,
    options: &str,
) -> gateway::export::Settings {
    let file =
        format!("config export 'soc'\n\toption kind '{kind}'\n\toption host '{host}'\n{options}");
    let values = config::parse_uci(&file).unwrap();
    let mut package = config::Package::new(&values).unwrap();
    let settings = gateway::export::Settings::read(&mut package).pop().unwrap();
    package.finish().unwrap();
    settings
}

fn outbox(host: &str) -> (EventOutbox, Queue) {
    let settings = settings("syslog", host, "");
    let gateway::export::Settings::Events(settings) = settings else { panic!("{settings:?}") };
    let mut queue = Queue::new();
    for number in 0..3 {
        let text = format!("{{\"n\":{number}}}");
        let line = EventLine { kind: EventKind::Alert, text: text.as_bytes().into() };
        assert!(queue.push(line));
    }
    let mut outbox = EventOutbox::new(&settings);
    outbox.restart(&mut queue, ms(0));
    (outbox, queue)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn send(outbox: &mut EventOutbox, queue: &mut Queue, at: Duration) -> String {
    let mut all = Vec::new();
    while let Some(message) = outbox.next(queue) {
        let bytes = message.len().min(7);
        all.extend_from_slice(&message[..bytes]);
        outbox.written(queue, bytes, at);
    }
    outbox.unacknowledged(0, at);
    String::from_utf8(all).unwrap()
}

fn numbers(text: &str) -> Vec<&str> {
    text.split("\"n\":").skip(1).map(|rest| &rest[..1]).collect()
}

#[test]
fn events_count_as_sent_after_the_minimum_duration() {
    let (mut outbox, mut queue) = outbox("192.0.2.10");
    assert_eq!(numbers(&send(&mut outbox, &mut queue, ms(0))), ["0", "1", "2"]);
    outbox.confirm(&mut queue, ms(499));
    assert_eq!((outbox.sent, queue.len()), (0, 3));
    assert_eq!(outbox.unacknowledged_for(ms(9000)), ms(0));
    outbox.confirm(&mut queue, ms(500));
    assert_eq!((outbox.sent, queue.len()), (3, 0));
}

#[test]
fn unconfirmed_events_are_sent_again() {
    let (mut outbox, mut queue) = outbox("192.0.2.10");
    let first = outbox.next(&queue).unwrap().len();
    outbox.written(&mut queue, first, ms(0));
    outbox.unacknowledged(0, ms(0));
    outbox.confirm(&mut queue, ms(600));
    assert_eq!(outbox.next(&queue).unwrap()[3], b'<');
    outbox.written(&mut queue, 10, ms(600));
    outbox.unacknowledged(0, ms(600));
    outbox.restart(&mut queue, ms(700));
    let again = send(&mut outbox, &mut queue, ms(700));
    assert_eq!((again.as_bytes()[3], numbers(&again)), (b'<', vec!["1", "2"]));
    outbox.restart(&mut queue, ms(800));
    assert_eq!(numbers(&send(&mut outbox, &mut queue, ms(800))), ["1", "2"]);
    outbox.confirm(&mut queue, ms(1300));
    assert_eq!((outbox.sent, queue.len()), (3, 0));
}

/// The collector is unreachable or does not read.
#[test]
fn unacknowledged_events_are_not_confirmed() {
    let (mut outbox, mut queue) = outbox("192.0.2.10");
    let first = outbox.next(&queue).unwrap().len() as u64;
    let mut all = 0;
    while let Some(message) = outbox.next(&queue) {
        let bytes = message.len();
        all += bytes as u64;
        outbox.written(&mut queue, bytes, ms(0));
    }
    let rest = all - first;
    assert_eq!(outbox.unacknowledged_for(ms(8000)), ms(8000));
    for (bytes, sent, unanswered) in [(rest + 1, 0, 1), (rest, 1, 1), (1, 2, 1), (0, 3, 0)] {
        outbox.unacknowledged(bytes, ms(8999));
        assert_eq!(outbox.unacknowledged_for(ms(9000)), ms(unanswered), "{bytes}");
        outbox.confirm(&mut queue, ms(9000));
        assert_eq!((outbox.sent, queue.len() as u64), (sent, 3 - sent), "{bytes}");
    }
}

/// A relay accepts connections while it cannot reach the collector.
#[test]
fn events_are_not_confirmed_if_a_relay_closes_the_connection() {
    let (mut outbox, mut queue) = outbox("127.0.0.1");
    send(&mut outbox, &mut queue, ms(0));
    outbox.confirm(&mut queue, ms(14_999));
    assert_eq!((outbox.sent, queue.len()), (0, 3));
    outbox.closed(&mut queue, ms(14_999));
    assert_eq!(queue.waiting(), 0, "new events queue until the next connection");
    outbox.confirm(&mut queue, ms(20_000));
    assert_eq!((outbox.sent, queue.len()), (0, 3));
    outbox.restart(&mut queue, ms(20_000));
    assert_eq!(numbers(&send(&mut outbox, &mut queue, ms(20_000))), ["0", "1", "2"]);
    outbox.confirm(&mut queue, ms(35_000));
    assert_eq!((outbox.sent, queue.len()), (3, 0));
}
