// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the sockets with the running kernel, in a network namespace. Skipped without root or
//! conntrack.

use std::net::UdpSocket;
use std::time::Duration;

use crate::support::{in_namespace, shell, talk, whole_table};
use ctnetlink::{
    Dump, Event, EventError, EventSocket, Lookup, Revision, RevisionSocket, Revisions, Status,
    Touch, Tuple, generation,
};

/// Flushes the table with `IPCTNL_MSG_CT_DELETE` without a tuple.
fn flush() {
    netlink::request(netlink::Protocol::Netfilter, 0x102, &[0; 4]).expect("flushed");
}

#[test]
fn dumps_a_connection_with_its_counters() {
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
fn reads_a_long_dump_in_batches() {
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
fn looks_up_entries_in_the_order_of_their_keys() {
    in_namespace(|| async {
        let _sockets = talk();
        for port in 20_000..20_150 {
            connect(port);
        }
        let known = whole_table().await;
        let mut keys: Vec<_> = known.iter().map(|entry| (0, entry.orig)).collect();
        // Includes the first and the last message of a datagram.
        for at in [0, 63, 64, 149] {
            keys[at].0 = 9;
        }
        keys[70].1.sport = 1;
        let v6 = "fd00::1".parse().expect("an address");
        keys[71].1 = Tuple { src: v6, dst: v6, proto: 58, sport: 1, dport: 128 << 8 };
        let mut lookup = Lookup::open().expect("a socket");
        // The socket is usable again.
        for _ in 0..2 {
            let found = lookup.get(&keys).await.expect("answers");
            assert_eq!(found.len(), known.len());
            for (at, (found, known)) in found.iter().zip(&known).enumerate() {
                let missing = [0, 63, 64, 70, 71, 149].contains(&at);
                let wanted = (!missing).then_some((known.id, known.reply));
                assert_eq!(found.map(|entry| (entry.id, entry.reply)), wanted, "{at}");
            }
        }
        assert_eq!(lookup.get(&[]).await.expect("nothing"), []);
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

#[test]
fn try_recv_returns_queued_events_without_waiting() {
    in_namespace(|| async {
        let mut socket = EventSocket::open().expect("a socket");
        assert_eq!(socket.try_recv().expect("none"), []);
        let (client, server) = talk();
        let events = socket.try_recv().expect("events");
        assert!(matches!(events[..], [Event::New(_), Event::Update(_)]), "{events:?}");
        assert_eq!(socket.try_recv().expect("none"), []);
        drop((client, server));
        let known = whole_table().await[0];
        ctnetlink::delete(&[(0, known.orig)]).await.expect("deleted");
        let events = socket.try_recv().expect("events");
        assert!(matches!(events[..], [Event::Destroy(_)]), "{events:?}");
    });
}

#[test]
fn a_muted_socket_receives_the_events_of_the_meantime() {
    in_namespace(|| async {
        let mut socket = EventSocket::open().expect("a socket");
        for port in [20_000, 20_001] {
            // Registers the socket, because the queue is empty.
            let waited = tokio::time::timeout(Duration::from_millis(1), socket.recv()).await;
            assert!(waited.is_err(), "{waited:?}");
            socket.mute();
            connect(port);
            let events = socket.recv().await.expect("events");
            assert!(matches!(events[..], [Event::New(new)] if new.orig.sport == port));
            let (events, ()) = tokio::join!(socket.recv(), async { connect(port + 10) });
            assert_eq!(events.expect("events").len(), 1, "woken for a later event");
        }
    });
}

/// Creates a connection from this port with an unanswered datagram.
fn connect(from: u16) {
    let client = UdpSocket::bind(("127.0.0.1", from)).expect("bound");
    client.send_to(b"x", "127.0.0.2:9").expect("sent");
}

#[test]
fn reports_an_overflow_and_receives_later_events() {
    in_namespace(|| async {
        let mut socket = EventSocket::with_buffer(4096).expect("a socket");
        (20_000..20_300).for_each(connect);
        let quiet = Duration::from_millis(200);
        let mut lost = false;
        // At most one datagram per event, so 300 reads drain the buffer.
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

#[test]
fn a_reopened_socket_receives_only_later_events() {
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
fn reports_transactions_of_nft() {
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

const SETS: &str = r#"
table inet t {
    counter seen { }
    set unused { type ipv4_addr; }
    set counted { type ipv4_addr; }
    set logged { type ipv4_addr; }
    set own { type ipv4_addr; }
    set translated { type ipv4_addr; }
    set dropped { type ipv4_addr; }
    set accepted { type ipv4_addr; }
    set marked { type ipv4_addr; }
    set jumped { type ipv4_addr; }
    set deep { type ipv4_addr; }
    set by_map { type ipv4_addr; }
    set unreached { type ipv4_addr; }
    map verdicts { type ipv4_addr : verdict; }
    map marks { type ipv4_addr : mark; }
    map numbers { type ipv4_addr : counter; }
    chain below { ip saddr @deep reject; }
    chain of_map { ip saddr @by_map drop; }
    chain of_input { ip saddr @unreached drop; }
    chain input { type filter hook input priority 0; ip saddr @own drop; jump of_input; }
    chain nat { type nat hook prerouting priority dstnat; ip daddr @translated dnat to 192.0.2.9; }
    chain mangle {
        type filter hook prerouting priority mangle
        ip daddr @marked meta mark set 1
        meta mark set ip daddr map @marks
    }
    chain forward {
        type filter hook forward priority 0
        ip saddr @counted counter
        ip saddr @logged ct state new log prefix "x" counter name "seen" continue
        counter name ip saddr map @numbers
        ip saddr @dropped counter drop
        ip saddr @accepted accept
        ip saddr @jumped goto below
    }
}
table ip other {
    set by_map { type ipv4_addr; }
    map verdicts { type ipv4_addr : verdict; }
    chain of_map { ip saddr @by_map drop; }
    chain forward { type filter hook forward priority 1; ip saddr vmap @verdicts; }
}
table netdev n {
    set dropped { type ipv4_addr; }
    chain ingress { type filter hook ingress device lo priority 0; ip saddr @dropped drop; }
}
"#;

#[test]
fn reports_elements_only_of_sets_that_decide_about_forwarded_packets() {
    in_namespace(|| async {
        let mut socket = RevisionSocket::open(Revisions::of(1, "fastpath")).expect("a socket");
        shell("nft -f -", SETS);
        socket.recv().await.expect("a transaction");
        let plain = |set| format!("{set} {{ 192.0.2.1 }}");
        let unconcerned = ["unused", "counted", "logged", "own", "translated", "unreached"];
        let deciding = ["dropped", "accepted", "marked", "jumped", "deep"];
        let mut expected: Vec<(String, bool)> = Vec::new();
        expected.extend(unconcerned.map(|set| (format!("inet t {}", plain(set)), false)));
        expected.extend(deciding.map(|set| (format!("inet t {}", plain(set)), true)));
        expected.extend(["ip other by_map", "netdev n dropped"].map(|set| (plain(set), true)));
        for (element, decides) in [
            ("inet t by_map { 192.0.2.1 }", false),
            ("inet t verdicts { 192.0.2.1 : drop }", false),
            ("inet t marks { 192.0.2.1 : 7 }", true),
            // References by map have no type, so they count as deciding.
            ("inet t numbers { 192.0.2.1 : \"seen\" }", true),
            ("ip other verdicts { 192.0.2.1 : drop }", true),
        ] {
            expected.push((element.to_owned(), decides));
        }
        for verb in ["add", "delete"] {
            for (element, elements) in &expected {
                let script = format!("{verb} element {element}");
                shell("nft -f -", &script);
                let revision = socket.recv().await.expect("a transaction");
                assert_eq!(
                    revision,
                    Revision { elements: *elements, ..Revision::default() },
                    "{script}"
                );
            }
        }
        shell(
            "nft -f -",
            "add element inet t unused { 192.0.2.2 }\nadd element inet t deep { 192.0.2.2 }",
        );
        assert!(socket.recv().await.expect("a transaction").elements);
        shell("nft -f -", "add rule inet t forward ip daddr @unused drop");
        assert!(socket.recv().await.expect("a transaction").others);
        shell("nft -f -", "add element inet t unused { 192.0.2.3 }");
        assert!(socket.recv().await.expect("a transaction").elements);
    });
}

#[test]
fn elements_of_a_transaction_with_rules_do_not_affect_later_reports() {
    in_namespace(|| async {
        let mut socket = RevisionSocket::open(Revisions::of(1, "fastpath")).expect("a socket");
        shell("nft -f -", SETS);
        socket.recv().await.expect("a transaction");
        shell("nft -f -", "add element inet t deep { 192.0.2.1 }\nadd chain inet t more");
        let both = Revision { others: true, elements: true, ..Revision::default() };
        assert_eq!(socket.recv().await.expect("a transaction"), both);
        shell("nft -f -", "add element inet t unused { 192.0.2.1 }");
        assert_eq!(socket.recv().await.expect("a transaction"), Revision::default());
    });
}
