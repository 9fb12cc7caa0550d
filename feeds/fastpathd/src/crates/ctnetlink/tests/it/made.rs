// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests with constructed messages, for cases that the recording lacks.

use ctnetlink::{Entry, Event, Status};
use netlink::{messages, push_attribute, push_nested};
use proptest::prelude::*;

use crate::support::recording::KINDS;

const NEW: u16 = 0x100;
const DELETE: u16 = 0x102;
const CREATE_EXCL: u16 = 0x600;

/// `CTA_STATUS`, `CTA_MARK`, `CTA_ID`.
const STATUS: u16 = 3;
const MARK: u16 = 8;
const ID: u16 = 12;

/// Appends `CTA_TUPLE_ORIG` (1) or `CTA_TUPLE_REPLY` (2) of a TCP connection.
fn push_tuple(bytes: &mut Vec<u8>, kind: u16, addresses: [[u8; 4]; 2], ports: [u16; 2]) {
    push_nested(bytes, kind, |tuple| {
        push_nested(tuple, 1, |ip| {
            push_attribute(ip, 1, &addresses[0]);
            push_attribute(ip, 2, &addresses[1]);
        });
        push_nested(tuple, 2, |proto| {
            push_attribute(proto, 1, &[6]);
            push_attribute(proto, 2, &ports[0].to_be_bytes());
            push_attribute(proto, 3, &ports[1].to_be_bytes());
        });
    });
}

/// Builds a message with ID and tuples, and the attributes that `more` adds.
fn message(kind: u16, flags: u16, more: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut payload = vec![0; 4];
    let (host, web) = ([10, 0, 0, 2], [192, 0, 2, 80]);
    push_attribute(&mut payload, ID, &7_u32.to_be_bytes());
    push_tuple(&mut payload, 1, [host, web], [1234, 80]);
    push_tuple(&mut payload, 2, [web, host], [80, 1234]);
    more(&mut payload);
    netlink::message(kind, flags, 0, &payload)
}

fn entry(more: impl Fn(&mut Vec<u8>)) -> Entry {
    let bytes = message(NEW, 0, more);
    let mut entries = Vec::new();
    ctnetlink::entries(&bytes, &mut entries);
    entries.pop().expect("an entry")
}

#[test]
fn an_offloaded_entry_has_neither_timeout_nor_tcp_state() {
    let status = (Status::OFFLOAD | Status::SEEN_REPLY).0.to_be_bytes();
    let entry = entry(|attrs| push_attribute(attrs, STATUS, &status));
    assert!(entry.status.has(Status::OFFLOAD) && !entry.status.has(Status::HW_OFFLOAD));
    assert_eq!((entry.timeout_s, entry.tcp_state), (None, None));
    assert_eq!((entry.orig_counters, entry.reply_counters), (None, None));
}

#[test]
fn decodes_helper_and_sequence_adjustment() {
    let plain = entry(|_| ());
    assert!(!plain.helper && !plain.seq_adjust);
    // `CTA_HELP` with `CTA_HELP_NAME`.
    let helped = entry(|attrs| push_nested(attrs, 5, |help| push_attribute(help, 1, b"ftp\0")));
    assert!(helped.helper);
    // `CTA_SEQ_ADJ_ORIG` and `_REPLY` with `CTA_SEQADJ_OFFSET_AFTER`.
    for kind in [15, 16] {
        let adjusted =
            entry(|attrs| push_nested(attrs, kind, |seq| push_attribute(seq, 3, &[0, 0, 0, 4])));
        assert!(adjusted.seq_adjust);
    }
    let status = Status::SEQ_ADJUST.0.to_be_bytes();
    assert!(entry(|attrs| push_attribute(attrs, STATUS, &status)).seq_adjust);
}

#[test]
fn decodes_the_start_from_a_nested_timestamp() {
    let start = 1_800_000_000_123_456_789_u64;
    let entry = entry(|attrs| {
        push_nested(attrs, 20, |stamp| push_attribute(stamp, 1, &start.to_be_bytes()));
    });
    assert_eq!(entry.start_ns, Some(start));
}

#[test]
fn skips_unknown_attributes_and_short_values() {
    let entry = entry(|attrs| {
        push_attribute(attrs, 99, &[1, 2, 3, 4, 5, 6]);
        push_attribute(attrs, MARK, &[0, 0, 0, 5]);
        push_attribute(attrs, MARK, &[0, 0, 9]);
    });
    assert_eq!(entry.mark, 5, "later attributes are still read");
}

#[test]
fn rejects_an_entry_without_id_or_tuple() {
    let tuples = |kinds: &[u16]| {
        let mut payload = vec![0; 4];
        for kind in kinds {
            push_tuple(&mut payload, *kind, [[127, 0, 0, 1]; 2], [1; 2]);
        }
        payload
    };
    let with_id = |mut payload| {
        push_attribute(&mut payload, ID, &7_u32.to_be_bytes());
        payload
    };
    assert!(ctnetlink::entry(&with_id(tuples(&[1, 2]))).is_some());
    assert_eq!(ctnetlink::entry(&with_id(tuples(&[1]))), None);
    assert_eq!(ctnetlink::entry(&with_id(tuples(&[2]))), None);
    assert_eq!(ctnetlink::entry(&tuples(&[1, 2])), None);
    assert_eq!(ctnetlink::entry(&[]), None);
}

#[test]
fn distinguishes_events_by_type_and_flags() {
    let mut datagram = message(NEW, CREATE_EXCL, |_| ());
    datagram.extend(message(NEW, 0, |attrs| push_attribute(attrs, MARK, &[0, 0, 0, 1])));
    // `CTA_COUNTERS_ORIG` with packets and bytes.
    datagram.extend(message(DELETE, 0, |attrs| {
        push_nested(attrs, 9, |counters| {
            push_attribute(counters, 1, &3_u64.to_be_bytes());
            push_attribute(counters, 2, &180_u64.to_be_bytes());
        });
    }));
    let events: Vec<Event> = ctnetlink::events(&datagram).collect();
    assert!(matches!(events[0], Event::New(entry) if entry.mark == 0));
    assert!(matches!(events[1], Event::Update(entry) if entry.mark == 1));
    let Event::Destroy(gone) = events[2] else { panic!("{:?}", events[2]) };
    assert_eq!(gone.orig_counters.map(|counters| counters.bytes), Some(180));
    assert_eq!(events.len(), 3);
}

fn read_all(bytes: &[u8]) {
    let mut entries = Vec::new();
    ctnetlink::entries(bytes, &mut entries);
    let _ = ctnetlink::entry(bytes);
    let _ = ctnetlink::events(bytes).count();
}

#[test]
fn decodes_the_complete_entries_of_a_truncated_recording() {
    let mut all = Vec::new();
    ctnetlink::entries(&KINDS, &mut all);
    for cut in 0..KINDS.len() {
        let mut some = Vec::new();
        ctnetlink::entries(&KINDS[..cut], &mut some);
        assert_eq!(some, all[..some.len()], "cut at {cut}");
    }
}

#[test]
fn decodes_a_recording_with_any_byte_changed_without_panic() {
    let first: usize = messages(&KINDS).take(3).map(|frame| frame.payload.len() + 16).sum();
    for at in 0..first {
        for value in [0, 1, 3, 4, 0x7f, 0x80, 0xff] {
            let mut bytes = KINDS[..first].to_vec();
            bytes[at] = value;
            read_all(&bytes);
        }
    }
}

proptest! {
    #[test]
    fn decodes_any_bytes_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        read_all(&bytes);
    }

    #[test]
    fn decodes_mutated_recordings_without_panic(
        changes in prop::collection::vec((0..KINDS.len(), any::<u8>()), 1..40),
        cut in 0..KINDS.len(),
    ) {
        let mut bytes = KINDS.to_vec();
        for (at, value) in changes {
            bytes[at] = value;
        }
        read_all(&bytes);
        read_all(&bytes[cut..]);
    }
}
