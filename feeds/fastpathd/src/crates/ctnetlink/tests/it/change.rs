// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes entries of the running kernel. Skipped without root or conntrack.

use std::collections::HashSet;
use std::net::{TcpListener, TcpStream, UdpSocket};

use crate::support::{in_namespace, talk, whole_table};
use ctnetlink::{
    Changed, Counters, Entry, EntryUpdate, Event, EventSocket, MarkBits, Reinspection, Select,
    TcpState, Tuple, delete, set_mark, update,
};

const BYPASS: u32 = 0x4000_0000;
const SPENT: u32 = 0x2000_0000;
const OURS: u32 = BYPASS | SPENT;

fn key(entry: &Entry) -> (u16, Tuple) {
    (entry.zone, entry.orig)
}

async fn mark(entries: &[Entry], value: u32, mask: u32) -> Changed {
    let keys: Vec<_> = entries.iter().map(key).collect();
    set_mark(&keys, MarkBits { value, mask }).await.expect("marks are changed")
}

/// Sends one packet from each of `count` ports, from 20,000 up.
fn flood(count: u16) -> UdpSocket {
    let server = UdpSocket::bind("127.0.0.2:9").expect("bound");
    for port in 20_000..20_000 + count {
        let client = UdpSocket::bind(("127.0.0.1", port)).expect("bound");
        client.send_to(b"x", server.local_addr().expect("bound")).expect("sent");
    }
    server
}

async fn reinspect(select: Select) -> Vec<Entry> {
    let mut pass = Reinspection::start(OURS, select).expect("a pass");
    let mut before = Vec::new();
    while pass.next(&mut before).await.expect("a batch") {}
    assert!(!pass.next(&mut before).await.expect("ended"), "an ended pass stays ended");
    before
}

fn packets(entry: &Entry) -> (u64, u64) {
    let count = |counters: Option<Counters>| counters.expect("accounting is on").packets;
    (count(entry.orig_counters), count(entry.reply_counters))
}

#[test]
fn set_mark_changes_only_bits_of_the_mask() {
    in_namespace(|| async {
        let _sockets = talk();
        let entries = whole_table().await;
        let one = Changed { done: 1, ..Changed::default() };
        assert_eq!(mark(&entries, 0x0000_0012, u32::MAX).await, one);
        assert_eq!(mark(&entries, OURS, SPENT).await, one, "bits outside the mask are ignored");
        assert_eq!(whole_table().await[0].mark, 0x2000_0012);
        assert_eq!(mark(&entries, 0, OURS).await, one);
        assert_eq!(whole_table().await[0].mark, 0x12);
        let nothing = set_mark(&[], MarkBits { value: 0, mask: 0 }).await.expect("nothing");
        assert_eq!(nothing, Changed::default());
    });
}

#[test]
fn update_events_have_the_new_mark() {
    in_namespace(|| async {
        // The kernel reports only connections that began while an event socket was open.
        let mut socket = EventSocket::open().expect("a socket");
        let _sockets = talk();
        let entries = whole_table().await;
        mark(&entries, SPENT | 1, u32::MAX).await;
        mark(&entries, 0, OURS).await;
        mark(&entries, 0, 1).await;
        let mut marks = Vec::new();
        while marks.len() < 5 {
            marks.extend(socket.recv().await.expect("events").iter().map(|event| match event {
                Event::New(entry) | Event::Update(entry) | Event::Destroy(entry) => entry.mark,
            }));
        }
        assert_eq!(marks, [0, 0, SPENT | 1, 1, 0], "new, answered, and each change");
    });
}

#[test]
fn counts_missing_entries_and_changes_existing_ones() {
    in_namespace(|| async {
        let _server = flood(200);
        let mut entries = whole_table().await;
        // Includes the first and the last message of a datagram.
        for at in [0, 63, 64, 130, 199] {
            entries[at].orig.sport = 1;
        }
        let some = Changed { done: 195, gone: 5, busy: 0 };
        assert_eq!(mark(&entries, SPENT, OURS).await, some);
        let marked = whole_table().await.iter().filter(|entry| entry.mark == SPENT).count();
        assert_eq!(marked, 195);
        let keys: Vec<_> = entries.iter().map(key).collect();
        assert_eq!(delete(&keys).await.expect("deleted"), some);
        assert_eq!(whole_table().await.len(), 5);
        let none = Changed { done: 0, gone: 200, busy: 0 };
        assert_eq!(delete(&keys).await.expect("deleted"), none);
    });
}

#[test]
fn destroy_event_of_a_deleted_connection_has_the_last_counters() {
    in_namespace(|| async {
        let mut socket = EventSocket::open().expect("a socket");
        let (client, server) = talk();
        let entries = whole_table().await;
        assert_eq!(delete(&[key(&entries[0])]).await.expect("deleted").done, 1);
        let mut last = None;
        while !matches!(last, Some(Event::Destroy(_))) {
            last = socket.recv().await.expect("events").pop();
        }
        let Some(Event::Destroy(gone)) = last else { panic!("{last:?}") };
        assert_eq!((gone.id, packets(&gone)), (entries[0].id, (1, 1)));
        client.send_to(b"more", server.local_addr().expect("bound")).expect("sent");
        let again = whole_table().await;
        assert_eq!(packets(&again[0]), (1, 0), "the next packet begins a new connection");
    });
}

#[test]
fn reinspection_resets_marked_connections() {
    in_namespace(|| async {
        let (client, server) = talk();
        let _flood = flood(300);
        let entries = whole_table().await;
        let (talked, rest): (Vec<_>, Vec<_>) =
            entries.iter().partition(|entry| packets(entry) == (1, 1));
        mark(&talked, OURS | 7, u32::MAX).await;
        mark(&rest[..100], BYPASS, u32::MAX).await;
        mark(&rest[100..200], SPENT, u32::MAX).await;
        mark(&rest[200..], 7, u32::MAX).await;
        let before = reinspect(Select::Marked).await;
        let ids: HashSet<u32> = before.iter().map(|entry| entry.id).collect();
        assert_eq!((ids.len(), before.len()), (201, 201), "each marked connection once");
        let seen = before.iter().find(|entry| entry.id == talked[0].id).expect("reported");
        assert_eq!((seen.mark, packets(seen)), (OURS | 7, (1, 1)), "previous values");

        let after = whole_table().await;
        assert!(after.iter().all(|entry| entry.mark & OURS == 0));
        assert_eq!(after.iter().filter(|entry| entry.mark == 7).count(), 101, "other bits stay");
        assert_eq!(after.iter().filter(|entry| packets(entry) == (0, 0)).count(), 201);
        assert_eq!(after.iter().filter(|entry| packets(entry) == (1, 0)).count(), 100);
        client.send_to(b"more", server.local_addr().expect("bound")).expect("sent");
        let after = whole_table().await;
        let grown = after.iter().find(|entry| entry.id == talked[0].id).expect("there");
        assert_eq!(packets(grown), (1, 0), "the same connection, with its counters reset");
    });
}

#[test]
fn reinspection_resets_all_connections() {
    in_namespace(|| async {
        let _server = flood(150);
        assert_eq!(reinspect(Select::Marked).await, [], "no connection is marked");
        assert_eq!(reinspect(Select::Every).await.len(), 150);
        let after = whole_table().await;
        assert_eq!(after.iter().filter(|entry| packets(entry) == (0, 0)).count(), 150);
        let mut nobody = Reinspection::start(0, Select::Marked).expect("no pass");
        let more = nobody.next(&mut Vec::new()).await.expect("nothing to do");
        assert!(!more, "an empty mask selects no connection");
    });
}

#[test]
fn sets_the_timeout_and_the_tcp_state() {
    in_namespace(|| async {
        let _sockets = talk();
        let listener = TcpListener::bind("127.0.0.2:0").expect("bound");
        let address = listener.local_addr().expect("bound");
        let _stream = TcpStream::connect(address).expect("connected");
        let before = whole_table().await;
        let update_of = |entry: &Entry, timeout_s: Option<u32>| {
            let (zone, orig) = key(entry);
            let (disable_window_tracking, established) = (true, timeout_s.is_none());
            EntryUpdate { zone, orig, timeout_s, disable_window_tracking, established }
        };
        let mut updates: Vec<EntryUpdate> =
            before.iter().map(|entry| update_of(entry, Some(5000))).collect();
        updates.push(EntryUpdate { zone: 9, ..updates[0] });
        let some = Changed { done: 2, gone: 1, busy: 0 };
        assert_eq!(update(&updates).await.expect("kept"), some);
        let left: Vec<_> = whole_table().await.iter().map(|entry| entry.timeout_s).collect();
        assert!(left.iter().all(|left| matches!(left, Some(4990..=5000))), "{left:?}");
        let updates: Vec<EntryUpdate> = before.iter().map(|entry| update_of(entry, None)).collect();
        assert_eq!(update(&updates).await.expect("kept").done, 2);
        let after = whole_table().await;
        assert!(after.iter().all(|entry| entry.timeout_s >= Some(4990)), "{after:?}");
        assert!(after.iter().any(|entry| entry.tcp_state == Some(TcpState::Established)));
    });
}

#[test]
fn changes_only_entries_of_the_given_zone() {
    in_namespace(|| async {
        let _sockets = talk();
        let entries = whole_table().await;
        let elsewhere = Entry { zone: 9, ..entries[0] };
        let gone = Changed { gone: 1, ..Changed::default() };
        assert_eq!(mark(&[elsewhere], SPENT, OURS).await, gone);
        assert_eq!(delete(&[key(&elsewhere)]).await.expect("asked"), gone);
        assert_eq!(whole_table().await[0].mark, 0);
    });
}

#[test]
fn reports_the_refused_operation() {
    in_namespace(|| async {
        let _sockets = talk();
        let known = whole_table().await[0];
        let mixed = Tuple { dst: "fd00::1".parse().expect("an address"), ..known.orig };
        let bits = MarkBits { value: SPENT, mask: OURS };
        let error = set_mark(&[key(&known), (0, mixed)], bits).await.expect_err("no such tuple");
        assert_eq!(error.to_string(), "cannot change connection marks");
        assert!(error.0.refused().is_some(), "{error:?}");
        assert_eq!(whole_table().await[0].mark, SPENT, "earlier entries are changed");
        let error = delete(&[(0, mixed), key(&known)]).await.expect_err("no such tuple");
        assert_eq!(error.to_string(), "cannot delete connections");
    });
}
