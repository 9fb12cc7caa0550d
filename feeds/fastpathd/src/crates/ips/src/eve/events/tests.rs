// SPDX-License-Identifier: GPL-2.0-or-later
use std::time::Duration;

use super::super::alert::{Alert, Offence};
use super::super::reader::{Rates, Reader};
use super::super::visible::{Visibility, Volume};
use super::*;

const RECORDED: &str = include_str!("../../../tests/data/eve.jsonl");

fn recorded() -> Batch {
    let mut reader = Reader::new(Rates::default());
    let mut batch = Batch { connected: true, ..Batch::default() };
    reader.read(Duration::ZERO, RECORDED.as_bytes(), &mut batch);
    batch.counts = reader.counts();
    batch
}

#[test]
fn counts_each_kind_of_event() {
    let mut events = Events::default();
    events.take(Duration::ZERO, recorded());
    assert_eq!(events.alerts.last(), 4);
    let all = |_: &str, of: [u64; 2]| of[0] + of[1];
    let counted = events.severities.counted();
    assert_eq!(counted.map(|(name, of)| all(name, of)).sum::<u64>(), 4);
    assert_eq!(events.drops, 3);
    assert_eq!(events.visible.volume(Visibility::Tls), Volume { flows: 1, bytes: 8748 });
    assert_eq!(events.visible.volume(Visibility::Plain).flows, 3);
    assert_eq!((events.visible.named, events.visible.fingerprinted), (1, 1));
    assert_eq!(events.counters.map(|counters| counters.alerts), Some(4));
    assert_eq!((events.counts.lines, events.connected), (13, true));
}

/// Returns the recorded batch with proven TCP sources; it was recorded without `handshake.rules`.
fn proven() -> Batch {
    let mut batch = recorded();
    for event in &mut batch.events {
        if let Event::Alert(alert) = event
            && let Some(offence) = &mut alert.offence
        {
            offence.proven = alert.proto == "TCP";
        }
    }
    batch
}

#[test]
fn offenders_are_reported_once_and_only_if_proven() {
    let mut events = Events::default();
    events.take(Duration::ZERO, proven());
    events.take(Duration::ZERO, proven());
    let offenders = events.offenders();
    assert_eq!(offenders.len(), 1);
    assert_eq!(offenders[0].sid, 2_100_498);
    assert_eq!(offenders[0].address.to_string(), "127.0.0.1");
    assert_eq!(events.not_offenders, 2, "the datagram, twice");
    assert_eq!(events.offenders(), []);
}

#[test]
fn pending_offenders_are_limited() {
    let mut events = Events::default();
    let Event::Alert(alert) = recorded().events.swap_remove(0) else {
        panic!("the first is an alert");
    };
    for number in 0..1000_u32 {
        let address = IpAddr::from(number.to_be_bytes());
        let offence = Some(Offence { address, proven: true });
        let event = Event::Alert(Box::new(Alert { offence, ..(*alert).clone() }));
        events.take(Duration::ZERO, Batch { events: vec![event], ..Batch::default() });
    }
    assert_eq!(events.offenders().len(), MAX_OFFENDERS);
    assert_eq!(events.not_offenders, 1000 - 256);
}

#[test]
fn alerts_about_dropped_packets_are_logged() {
    let mut events = Events::default();
    events.take(Duration::ZERO, recorded());
    let lines = events.log_lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("rule 1:2100498"), "{lines:?}");
    assert_eq!(events.log_lines(), Vec::<String>::new());
}
