// SPDX-License-Identifier: GPL-2.0-or-later

use proptest::prelude::*;

use super::*;

const RECORDED: &str = include_str!("../../../tests/data/eve.jsonl");

fn now(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn of_kind(kind: &str) -> &'static str {
    let key = format!("\"event_type\":\"{kind}\"");
    RECORDED.lines().find(|line| line.contains(&key)).expect(kind)
}

/// Returns an alert about a packet that passed, was dropped, or was dropped after a handshake.
fn alert(source: &str, sid: u32, dropped: bool, proven: bool) -> String {
    let action = if dropped { "blocked" } else { "allowed" };
    let bits = if proven { "\"metadata\":{\"flowbits\":[\"fastpath.handshake\"]}," } else { "" };
    format!(
        "{{\"event_type\":\"alert\",\"src_ip\":\"{source}\",\"proto\":\"TCP\",{bits}\
         \"alert\":{{\"action\":\"{action}\",\"gid\":1,\"signature_id\":{sid}}}}}\n"
    )
}

fn keeping(kinds: &[EventKind]) -> Reader {
    let (mut reader, wanted) = (Reader::new(Rates::default()), WantedKinds::default());
    reader.keep(wanted.clone());
    wanted.set(|kind| kinds.contains(&kind));
    reader
}

fn count_of_rule(events: &[Event], wanted: u32) -> usize {
    let its = |event: &&Event| matches!(event, Event::Alert(alert) if alert.sid == wanted);
    events.iter().filter(its).count()
}

#[test]
fn a_flood_of_unproven_alerts_does_not_suppress_a_proven_one() {
    let mut reader = Reader::new(Rates::default());
    let mut batch = Batch::default();
    // Many sources and rules, about passed packets and about dropped packets with forged sources.
    for number in 0..20_000_u32 {
        let [_, a, b, c] = number.to_be_bytes();
        for dropped in [false, true] {
            let line = alert(&format!("198.{a}.{b}.{c}"), 100 + number % 50, dropped, false);
            reader.read(now(0), line.as_bytes(), &mut batch);
        }
    }
    let counts = reader.counts();
    assert!(counts.not_read_alerts >= 18_000 && counts.not_read_blocked >= 19_500, "{counts:?}");
    assert_eq!(counts.not_read, counts.not_read_alerts + counts.not_read_blocked);
    reader.read(now(0), alert("203.0.113.9", 7, true, true).as_bytes(), &mut batch);
    assert_eq!(count_of_rule(&batch.events, 7), 1);
}

#[test]
fn a_flood_of_one_source_or_rule_does_not_suppress_others() {
    let mut reader = Reader::new(Rates::default());
    let mut batch = Batch::default();
    for number in 0..4000_u32 {
        let [_, _, b, c] = number.to_be_bytes();
        let lines = [
            alert(&format!("2001:db8::{number:x}"), 1000 + number, false, false),
            alert(&format!("198.51.{b}.{c}"), 5, false, false),
        ];
        reader.read(now(0), lines.concat().as_bytes(), &mut batch);
    }
    assert!(batch.events.len() <= 200 + 400, "{}", batch.events.len());
    for (dropped, sid) in [(false, 7), (true, 8)] {
        let line = alert("203.0.113.9", sid, dropped, false);
        reader.read(now(0), line.as_bytes(), &mut batch);
        assert_eq!(count_of_rule(&batch.events, sid), 1, "{sid}");
    }
}

#[test]
fn texts_from_the_network_cannot_imitate_keys() {
    let marks = "\"fastpath.handshake\" \"verdict\":{\"action\":\"drop\"";
    let text = serde_json::to_string(marks).unwrap();
    let line = alert("203.0.113.9", 7, false, false)
        .replace("\"proto\"", &format!("\"x\":{text},\"proto\""));
    assert!(read_event(line.trim().as_bytes()).is_some(), "{line}");
    assert_eq!(drop_of(line.as_bytes()), None);
    assert_eq!(drop_of(alert("::1", 7, true, false).as_bytes()), Some(false));
    assert_eq!(drop_of(alert("::1", 7, true, true).as_bytes()), Some(true));
    let recorded: Vec<_> = RECORDED.lines().filter(|line| line.contains("\"alert\",")).collect();
    let drops: Vec<_> = recorded.iter().map(|line| drop_of(line.as_bytes())).collect();
    assert_eq!(drops, [Some(false), None, None, Some(false)]);
    assert_eq!(rule_of(recorded[0].as_bytes()), 2_100_498);
    assert_eq!(source_of(recorded[0].as_bytes()), "127.0.0.1".parse().ok());
}

#[test]
fn a_flood_of_alerts_is_counted_and_limited() {
    let mut reader = Reader::new(Rates::default());
    let mut batch = Batch::default();
    let line = format!("{}\n", of_kind("alert"));
    let second = line.repeat(1000);
    // 50,000 lines in one second, in chunks of 1,000.
    for piece in 0..50_u64 {
        reader.read(now(piece * 20), second.as_bytes(), &mut batch);
    }
    let counts = reader.counts();
    assert_eq!((counts.lines, counts.alerts), (50_000, 50_000));
    assert_eq!(batch.events.len(), 50 + 19, "burst plus rate of the source");
    assert_eq!(counts.not_read, 50_000 - 69);
    assert_eq!((counts.not_read_alerts, counts.not_read_blocked), (0, 50_000 - 69));
    assert_eq!((counts.unparsable, counts.oversized), (0, 0));
}

#[test]
fn a_flood_of_ended_flows_does_not_suppress_alerts_and_counters() {
    let mut reader = Reader::new(Rates::default());
    let mut batch = Batch::default();
    let flood = format!("{}\n", of_kind("flow")).repeat(10_000);
    reader.read(now(0), flood.as_bytes(), &mut batch);
    assert_eq!(batch.events.len(), 2000);
    for kind in ["alert", "stats"] {
        reader.read(now(0), format!("{}\n", of_kind(kind)).as_bytes(), &mut batch);
    }
    assert!(matches!(batch.events[2000..], [Event::Alert(_), Event::Stats(_)]));
}

#[test]
fn counts_lines_that_are_not_events() {
    let mut reader = Reader::new(Rates::default());
    let mut batch = Batch::default();
    let mut bytes = b"garbage\n{}\n\xff\xfe\n{\"event_type\":\"alert\",\n".to_vec();
    bytes.extend(vec![b'x'; 10 << 20]);
    bytes.push(b'\n');
    bytes.extend(of_kind("drop").bytes());
    bytes.push(b'\n');
    for piece in bytes.chunks(8192) {
        reader.read(now(0), piece, &mut batch);
    }
    let counts = reader.counts();
    assert_eq!((counts.lines, counts.unparsable, counts.oversized), (5, 4, 1));
    assert_eq!(batch.events, [Event::Drop]);
}

#[test]
fn unused_event_types_do_not_count_as_unparsable() {
    let mut reader = Reader::new(Rates::default());
    let mut batch = Batch::default();
    reader.read(now(0), b"{\"event_type\":\"anomaly\"}\n", &mut batch);
    assert!(batch.events.is_empty());
    assert_eq!(reader.counts(), Counts { lines: 1, ..Counts::default() });
}

#[test]
fn keeps_lines_unchanged() {
    let mut reader = keeping(&EventKind::ALL);
    let mut batch = Batch::default();
    for piece in format!("{RECORDED}{{}}\n{{\"event_type\":\"anomaly\"}}\n").as_bytes().chunks(700)
    {
        reader.read(now(0), piece, &mut batch);
    }
    let found: Vec<_> = batch.lines.iter().map(|line| (line.kind.name(), &*line.text)).collect();
    let kind = |line: &'static str| std::str::from_utf8(kind_of(line.as_bytes()).unwrap()).unwrap();
    let expected: Vec<_> = RECORDED.lines().map(|line| (kind(line), line.as_bytes())).collect();
    assert_eq!(found, expected);
    assert_eq!(batch.events.len(), found.len());
}

#[test]
fn keeps_only_lines_of_wanted_types() {
    for (kinds, expected) in [
        (&[][..], &[][..]),
        (&[EventKind::Drop], &["drop"]),
        (&[EventKind::Flow, EventKind::Alert], &["alert", "flow"]),
    ] {
        let (mut reader, mut batch) = (keeping(kinds), Batch::default());
        reader.read(now(0), RECORDED.as_bytes(), &mut batch);
        let found: std::collections::BTreeSet<_> =
            batch.lines.iter().map(|line| line.kind.name()).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
        assert_eq!(batch.events.len(), RECORDED.lines().count());
    }
}

/// Collectors receive JSON, which must be UTF-8.
#[test]
fn replaces_invalid_utf_8_in_lines() {
    let mut reader = keeping(&EventKind::ALL);
    let mut batch = Batch::default();
    let line = b"{\"event_type\":\"alert\",\"alert\":{\"signature\":\"a\xffb\"}}\n";
    reader.read(now(0), line, &mut batch);
    let text = std::str::from_utf8(&batch.lines[0].text).unwrap();
    assert!(text.ends_with("\"a\u{fffd}b\"}}"), "{text}");
}

#[test]
fn finds_the_type_without_parsing_the_line() {
    assert_eq!(kind_of(of_kind("alert").as_bytes()), Some(&b"alert"[..]));
    assert_eq!(kind_of(b"{\"event_type\":\"al"), None);
    let far = format!("{}\"event_type\":\"alert\"", " ".repeat(300));
    assert_eq!(kind_of(far.as_bytes()), None, "Suricata never writes it so far behind");
}

proptest! {
    #[test]
    fn counts_the_lines_of_any_stream(bytes: Vec<u8>) {
        let mut reader = Reader::new(Rates::default());
        reader.read(now(0), &bytes, &mut Batch::default());
        let pieces = bytes.split(|byte| *byte == b'\n').count();
        prop_assert_eq!(reader.counts().lines, pieces as u64 - 1);
    }
}
