// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages that the recording lacks: offload, helpers, events, broken ones.

use std::net::{Ipv4Addr, Ipv6Addr};

use ctnetlink::{Entry, Event, Status};
use netlink::messages;
use netlink_bindings::conntrack::{Nfgenmsg, OpGetDo, PushConntrackAttrs};
use proptest::prelude::*;

const NEW: u16 = 0x100;
const DELETE: u16 = 0x102;
const CREATE_EXCL: u16 = 0x600;
use crate::support::recording::KINDS;

type Attrs<'a> = PushConntrackAttrs<&'a mut Vec<u8>>;

/// Builds a message with the attributes of every entry, and attributes that `more` adds.
fn message(kind: u16, flags: u16, more: impl Fn(Attrs<'_>) -> Attrs<'_>) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    let attrs = OpGetDo::encode_request(&mut bytes, &Nfgenmsg::new()).push_id(7);
    let (host, web) = (Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(192, 0, 2, 80));
    let mut orig = attrs.nested_tuple_orig();
    orig = orig.nested_tuple_ip().push_ip_v4_src(host).push_ip_v4_dst(web).end_nested();
    let proto = orig.nested_tuple_proto().push_proto_num(6);
    let attrs = proto.push_proto_src_port(1234).push_proto_dst_port(80).end_nested().end_nested();
    let mut reply = attrs.nested_tuple_reply();
    reply = reply.nested_tuple_ip().push_ip_v4_src(web).push_ip_v4_dst(host).end_nested();
    let proto = reply.nested_tuple_proto().push_proto_num(6);
    let attrs = proto.push_proto_src_port(80).push_proto_dst_port(1234).end_nested().end_nested();
    drop(more(attrs));
    let len = u32::try_from(bytes.len()).expect("short");
    bytes[0..4].copy_from_slice(&len.to_ne_bytes());
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
    bytes
}

fn entry(more: impl Fn(Attrs<'_>) -> Attrs<'_>) -> Entry {
    let bytes = message(NEW, 0, more);
    let mut entries = Vec::new();
    ctnetlink::entries(&bytes, &mut entries);
    entries.pop().expect("an entry")
}

#[test]
fn an_offloaded_entry_has_neither_timeout_nor_state() {
    let entry = entry(|attrs| attrs.push_status((Status::OFFLOAD | Status::SEEN_REPLY).0));
    assert!(entry.status.has(Status::OFFLOAD) && !entry.status.has(Status::HW_OFFLOAD));
    assert_eq!((entry.timeout_s, entry.tcp_state), (None, None));
    assert_eq!((entry.orig_counters, entry.reply_counters), (None, None));
}

#[test]
fn decodes_helper_and_sequence_adjustment() {
    let plain = entry(|attrs| attrs);
    assert!(!plain.helper && !plain.seq_adjust);
    let helped = entry(|attrs| attrs.nested_help().push_help_name(c"ftp").end_nested());
    assert!(helped.helper);
    let adjusted = entry(|attrs| attrs.nested_seq_adj_orig().push_offset_after(4).end_nested());
    assert!(adjusted.seq_adjust);
    assert!(entry(|attrs| attrs.push_status(Status::SEQ_ADJUST.0)).seq_adjust);
}

#[test]
fn decodes_the_start_from_a_nested_timestamp() {
    let start = 1_800_000_000_123_456_789_u64;
    let entry = entry(|mut attrs| {
        use netlink_bindings::utils::{Pusher, finalize_nested_header, push_header};
        let nest = netlink_bindings::utils::push_nested_header(attrs.as_vec_mut(), 20);
        push_header(attrs.as_vec_mut(), 1, 8);
        attrs.as_vec_mut().extend(start.to_be_bytes());
        finalize_nested_header(attrs.as_vec_mut(), nest);
        attrs
    });
    assert_eq!(entry.start_ns, Some(start));
}

#[test]
fn skips_unknown_attributes() {
    let entry = entry(|mut attrs| {
        use netlink_bindings::utils::{Pusher, push_header};
        push_header(attrs.as_vec_mut(), 99, 6);
        attrs.as_vec_mut().extend([1, 2, 3, 4, 5, 6]);
        attrs.push_mark(5)
    });
    assert_eq!(entry.mark, 5, "later attributes are still read");
}

#[test]
fn an_entry_needs_id_and_both_tuples() {
    let mut bytes = vec![0; 16];
    let address = Ipv6Addr::LOCALHOST;
    let attrs = OpGetDo::encode_request(&mut bytes, &Nfgenmsg::new()).push_id(7);
    let ip = attrs.nested_tuple_orig().nested_tuple_ip();
    drop(ip.push_ip_v6_src(address).push_ip_v6_dst(address));
    assert_eq!(ctnetlink::entry(&bytes[16..]), None);
    assert_eq!(ctnetlink::entry(&[]), None);
}

#[test]
fn events_are_distinguished_by_type_and_flags() {
    let mut datagram = message(NEW, CREATE_EXCL, |attrs| attrs);
    datagram.extend(message(NEW, 0, |attrs| attrs.push_mark(1)));
    datagram.extend(message(DELETE, 0, |attrs| {
        attrs.nested_counters_orig().push_packets(3).push_bytes(180).end_nested()
    }));
    let events: Vec<Event> = ctnetlink::events(&datagram).collect();
    assert!(matches!(events[0], Event::New(entry) if entry.mark == 0));
    assert!(matches!(events[1], Event::Update(entry) if entry.mark == 1));
    let Event::Destroy(gone) = events[2] else { panic!("{:?}", events[2]) };
    assert_eq!(gone.orig_counters.map(|counters| counters.bytes), Some(180));
    assert_eq!(events.len(), 3);
}

/// Passes the bytes to every decoder.
fn read_all(bytes: &[u8]) {
    let mut entries = Vec::new();
    ctnetlink::entries(bytes, &mut entries);
    let _ = ctnetlink::entry(bytes);
    let _ = ctnetlink::events(bytes).count();
}

#[test]
fn a_truncated_recording_gives_the_whole_entries_before_the_cut() {
    let mut all = Vec::new();
    ctnetlink::entries(&KINDS, &mut all);
    for cut in 0..KINDS.len() {
        let mut some = Vec::new();
        ctnetlink::entries(&KINDS[..cut], &mut some);
        assert_eq!(some, all[..some.len()], "cut at {cut}");
    }
}

#[test]
fn a_recording_with_any_byte_changed_is_read_without_panic() {
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
    fn mutated_recordings_are_read_without_panic(
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
