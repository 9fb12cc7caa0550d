// SPDX-License-Identifier: GPL-2.0-or-later

use proptest::prelude::*;

use super::*;

const RECORDED: &str = include_str!("../../tests/data/eve.jsonl");

fn now(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn of_kind(kind: &str) -> &'static str {
    let key = format!("\"event_type\":\"{kind}\"");
    RECORDED.lines().find(|line| line.contains(&key)).expect(kind)
}

#[test]
fn a_flood_of_alerts_is_counted_and_bounded() {
    let mut reader = Reader::new(Rates::default());
    let mut events = Vec::new();
    let line = format!("{}\n", of_kind("alert"));
    let second = line.repeat(1000);
    // 50,000 lines in one second, in pieces of 1,000.
    for piece in 0..50_u64 {
        reader.read(now(piece * 20), second.as_bytes(), &mut events);
    }
    let counts = reader.counts();
    assert_eq!((counts.lines, counts.alerts), (50_000, 50_000));
    assert_eq!(events.len(), 2000 + 490, "the burst and the rate");
    assert_eq!(counts.not_read, 50_000 - 2490);
    assert_eq!((counts.unparsable, counts.oversized), (0, 0));
}

#[test]
fn alerts_and_counters_pass_a_flood_of_ended_flows() {
    let mut reader = Reader::new(Rates::default());
    let mut events = Vec::new();
    let flood = format!("{}\n", of_kind("flow")).repeat(10_000);
    reader.read(now(0), flood.as_bytes(), &mut events);
    assert_eq!(events.len(), 2000);
    for kind in ["alert", "stats"] {
        reader.read(now(0), format!("{}\n", of_kind(kind)).as_bytes(), &mut events);
    }
    assert!(matches!(events[2000..], [Event::Alert(_), Event::Stats(_)]));
}

#[test]
fn garbage_is_counted() {
    let mut reader = Reader::new(Rates::default());
    let mut events = Vec::new();
    let mut bytes = b"garbage\n{}\n\xff\xfe\n{\"event_type\":\"alert\",\n".to_vec();
    bytes.extend(vec![b'x'; 10 << 20]);
    bytes.push(b'\n');
    bytes.extend(of_kind("drop").bytes());
    bytes.push(b'\n');
    for piece in bytes.chunks(8192) {
        reader.read(now(0), piece, &mut events);
    }
    let counts = reader.counts();
    assert_eq!((counts.lines, counts.unparsable, counts.oversized), (5, 4, 1));
    assert_eq!(events, [Event::Drop]);
}

#[test]
fn kinds_that_nobody_needs_are_no_garbage() {
    let mut reader = Reader::new(Rates::default());
    let mut events = Vec::new();
    reader.read(now(0), b"{\"event_type\":\"anomaly\"}\n", &mut events);
    assert!(events.is_empty());
    assert_eq!(reader.counts(), Counts { lines: 1, ..Counts::default() });
}

#[test]
fn the_type_is_found_without_reading() {
    assert_eq!(kind_of(of_kind("alert").as_bytes()), Some(&b"alert"[..]));
    assert_eq!(kind_of(b"{\"event_type\":\"al"), None);
    let far = format!("{}\"event_type\":\"alert\"", " ".repeat(300));
    assert_eq!(kind_of(far.as_bytes()), None, "Suricata never writes it so far behind");
}

proptest! {
    #[test]
    fn any_stream_is_taken(bytes: Vec<u8>) {
        let mut reader = Reader::new(Rates::default());
        reader.read(now(0), &bytes, &mut Vec::new());
        let pieces = bytes.split(|byte| *byte == b'\n').count();
        prop_assert_eq!(reader.counts().lines, pieces as u64 - 1);
    }
}
