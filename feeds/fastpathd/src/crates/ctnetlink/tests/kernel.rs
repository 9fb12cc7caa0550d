// SPDX-License-Identifier: GPL-2.0-or-later
//! The sockets against the running kernel, in a network namespace of a thread's own. Skipped,
//! with the reason, without root or conntrack.

#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

mod support;

use std::net::UdpSocket;
use std::time::Duration;

use ctnetlink::{
    Dump, Event, EventError, EventSocket, Lookup, Revision, RevisionSocket, Revisions, Status,
    Touch, Tuple, generation,
};
use support::{in_namespace, shell, talk, whole_table};

/// Removes every entry: `IPCTNL_MSG_CT_DELETE` without a tuple.
fn flush() {
    netlink::request(netlink::Protocol::Netfilter, 0x102, &[0; 4]).expect("flushed");
}

#[test]
fn a_dump_has_what_was_said() {
    in_namespace(|| async {
        assert_eq!(whole_table().await, []);
        let (client, server) = talk();
        let entries = whole_table().await;
        assert_eq!(entries.len(), 1);
        let entry = entries[0];
        assert_eq!(entry.orig.sport, client.local_addr().expect("bound").port());
        assert_eq!(entry.orig.dport, server.local_addr().expect("bound").port());
        assert!(entry.status.has(Status::SEEN_REPLY));
        assert_eq!(entry.orig_counters.map(|c| (c.packets, c.bytes)), Some((1, 36)));
        assert_eq!(entry.reply_counters.map(|c| (c.packets, c.bytes)), Some((1, 34)));
    });
}

#[test]
fn a_long_dump_comes_in_batches() {
    in_namespace(|| async {
        let server = UdpSocket::bind("127.0.0.2:9").expect("bound");
        for port in 20_000..20_500 {
            let client = UdpSocket::bind(("127.0.0.1", port)).expect("bound");
            client.send_to(b"x", server.local_addr().expect("bound")).expect("sent");
        }
        let mut dump = Dump::start().expect("a dump");
        let (mut entries, mut batches) = (Vec::new(), 0);
        while dump.next(&mut entries).await.expect("a batch") {
            batches += 1;
        }
        assert_eq!(entries.len(), 500);
        assert!((2..=20).contains(&batches), "{batches} batches");
        assert!(!dump.interrupted());
    });
}

#[test]
fn one_entry_can_be_asked_for() {
    in_namespace(|| async {
        let _sockets = talk();
        let known = whole_table().await[0];
        let mut lookup = Lookup::open().expect("a socket");
        let found = lookup.get(0, &known.orig).await.expect("an answer");
        assert_eq!(found.map(|entry| (entry.id, entry.reply)), Some((known.id, known.reply)));
        let unknown = Tuple { sport: 1, ..known.orig };
        assert_eq!(lookup.get(0, &unknown).await.expect("an answer"), None);
        assert_eq!(lookup.get(9, &known.orig).await.expect("an answer"), None, "another zone");
        let v6 = "fd00::1".parse().expect("an address");
        let ping = Tuple { src: v6, dst: v6, proto: 58, sport: 1, dport: 128 << 8 };
        assert_eq!(lookup.get(0, &ping).await.expect("an answer"), None);
    });
}

#[test]
fn events_report_the_life_of_a_connection() {
    in_namespace(|| async {
        let mut socket = EventSocket::open().expect("a socket");
        let _sockets = talk();
        let mut events = socket.recv().await.expect("events");
        while events.len() < 2 {
            events.extend(socket.recv().await.expect("events"));
        }
        let Event::New(new) = events[0] else { panic!("{:?}", events[0]) };
        let Event::Update(update) = events[1] else { panic!("{:?}", events[1]) };
        assert_eq!(new.id, update.id);
        assert!(!new.status.has(Status::SEEN_REPLY) && update.status.has(Status::SEEN_REPLY));
        assert_eq!(new.orig_counters, None);
        flush();
        let events = socket.recv().await.expect("events");
        let Event::Destroy(gone) = events[0] else { panic!("{:?}", events[0]) };
        assert_eq!(gone.id, new.id);
        assert_eq!(gone.orig_counters.map(|counters| counters.packets), Some(1));
    });
}

/// A new connection from that port, with one datagram that nobody receives.
fn connect(from: u16) {
    let client = UdpSocket::bind(("127.0.0.1", from)).expect("bound");
    client.send_to(b"x", "127.0.0.2:9").expect("sent");
}

#[test]
fn an_overflow_is_reported_and_the_socket_continues() {
    in_namespace(|| async {
        let mut socket = EventSocket::with_buffer(4096).expect("a socket");
        (20_000..20_300).for_each(connect);
        let quiet = Duration::from_millis(200);
        let mut lost = false;
        // At most one datagram an event; then all that fitted into the buffer has been read.
        for _ in 0..300 {
            match tokio::time::timeout(quiet, socket.recv()).await {
                Ok(Ok(_)) => {}
                Ok(Err(EventError::Lost)) => lost = true,
                Ok(Err(error)) => panic!("{error}"),
                Err(_nothing_left) => break,
            }
        }
        assert!(lost);
        connect(30_000);
        let events = tokio::time::timeout(quiet, socket.recv()).await.expect("in time");
        let events = events.expect("events");
        assert!(matches!(events[0], Event::New(entry) if entry.orig.sport == 30_000));
    });
}

/// Until its queue was empty, the old socket would get no event.
#[test]
fn a_reopened_socket_has_the_events_that_follow_and_no_other() {
    in_namespace(|| async {
        let mut socket = EventSocket::with_buffer(4096).expect("a socket");
        (20_000..20_300).for_each(connect);
        socket.reopen().expect("another socket");
        connect(30_000);
        let events = tokio::time::timeout(Duration::from_secs(5), socket.recv()).await;
        let events = events.expect("in time").expect("events");
        assert!(matches!(events[..], [Event::New(entry)] if entry.orig.sport == 30_000));
    });
}

#[test]
fn transactions_of_nft_are_reported() {
    in_namespace(|| async {
        let mut socket = RevisionSocket::open(Revisions::of(1, "fastpath")).expect("a socket");
        let table = "add table inet fastpath\ndelete table inet fastpath\ntable inet fastpath {\n\
            set s { type ipv4_addr; }\nchain f { type filter hook forward priority 0; return; }\n}";
        let ours = |table| Revision { table, ..Revision::default() };
        for (script, expected) in [
            (table, ours(Touch::Changed)),
            (table, ours(Touch::Changed)),
            ("add element inet fastpath s { 192.0.2.1 }", Revision::default()),
            ("flush chain inet fastpath f", ours(Touch::Changed)),
            ("add chain inet t c", Revision { others: true, ..Revision::default() }),
            ("delete table inet fastpath", ours(Touch::Gone)),
            (table, ours(Touch::Changed)),
            ("flush ruleset", Revision { others: true, ..ours(Touch::Gone) }),
        ] {
            let before = generation().await.expect("a number");
            shell("nft -f -", script);
            assert_ne!(generation().await.expect("a number"), before, "{script}");
            assert_eq!(socket.recv().await.expect("a transaction"), expected, "{script}");
        }
    });
}
