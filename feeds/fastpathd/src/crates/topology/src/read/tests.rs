// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::HashMap;
use std::{env, fs, io};

use super::*;
use crate::fixture;
use crate::model::Topology;
use crate::types::{Link, Name, RouteKind};

#[derive(Default)]
struct Fake {
    tables: HashMap<Table, Vec<u8>>,
    sessions: Vec<PppoeSession>,
    refuse: Option<Table>,
    asked: Vec<Table>,
}

impl Kernel for Fake {
    fn dump(&mut self, table: Table) -> Result<Vec<u8>, RequestError> {
        self.asked.push(table);
        if self.refuse == Some(table) {
            return Err(refused(libc::EPERM));
        }
        Ok(self.tables.get(&table).cloned().unwrap_or_default())
    }

    fn pppoe(&mut self) -> io::Result<(Vec<PppoeSession>, Vec<Dialer>)> {
        Ok((self.sessions.clone(), Vec::new()))
    }
}

fn refused(errno: i32) -> RequestError {
    RequestError::Refused(netlink::Refusal { errno, text: None })
}

fn gateway() -> Reader<Fake> {
    let tables = Table::ALL.map(|table| (table, fixture::recorded(table)));
    let sessions = parse_sessions(&fixture::pppoe());
    Reader::new(Fake { tables: tables.into(), sessions, ..Fake::default() })
}

/// Records the fixtures of this crate. Copy the test binary to the lab's gateway, send a packet
/// from h10, h11 and h20 each, and run it there with `--ignored record` and the target folder in
/// `TOPOLOGY_RECORD`.
#[test]
#[ignore = "writes fixtures from the machine it runs on"]
fn record() {
    let folder = env::var("TOPOLOGY_RECORD").map(PathBuf::from).expect("TOPOLOGY_RECORD");
    let mut kernel = RunningKernel::open(Path::new("/proc")).unwrap();
    for table in Table::ALL {
        let bytes = kernel.dump(table).unwrap();
        fs::write(folder.join(fixture::file(table)), bytes).unwrap();
    }
    fs::copy("/proc/net/pppoe", folder.join("pppoe.txt")).unwrap();
}

#[test]
fn a_full_read_dumps_each_table_once() {
    let mut reader = gateway();
    let Change::Full(all) = reader.full().unwrap() else { panic!("no full read") };
    assert_eq!(reader.kernel.asked, Table::ALL);
    let links = all.iter().filter(|change| matches!(change, Change::Link(_))).count();
    assert_eq!(links, 11);
    assert!(matches!(all.last(), Some(Change::Pppoe(sessions, _)) if sessions.len() == 1));
}

#[test]
fn an_error_names_the_table_that_cannot_be_read() {
    let mut reader = gateway();
    reader.kernel.refuse = Some(Table::Neighbours);
    let error = reader.full().unwrap_err();
    assert_eq!(error.to_string(), "reading neighbours from the kernel");
    let ReadError::Table(_, cause) = error else { panic!() };
    assert_eq!(cause.refused(), Some(libc::EPERM));
}

#[test]
fn tables_with_incomplete_events_are_read_again() {
    let mut reader = gateway();
    reader.full().unwrap();
    reader.kernel.asked.clear();
    let mut changes = Vec::new();

    // A link that stays up needs no read.
    reader.notice(&Change::Link(fixture::link(3, "lan1")));
    reader.refresh(&mut changes).unwrap();
    assert!(reader.kernel.asked.is_empty());

    // The kernel drops the IPv4 routes of a link that goes down without an event.
    reader.notice(&Change::Link(Link { up: false, ..fixture::link(3, "lan1") }));
    reader.refresh(&mut changes).unwrap();
    assert_eq!(reader.kernel.asked, [Table::Routes]);
    assert!(matches!(&changes[..], [Change::Routes(routes)]
        if routes.iter().any(|route| route.kind == RouteKind::Unicast)));

    // Bridge events may list only some VLANs.
    changes.clear();
    reader.kernel.asked.clear();
    reader.event(&fixture::message(libc::RTM_NEWLINK, &fixture::bridge_port(3)), &mut changes);
    reader.refresh(&mut changes).unwrap();
    assert_eq!(reader.kernel.asked, [Table::Vlans]);
    assert!(matches!(&changes[..], [Change::BridgeVlans(ports)] if ports.len() == 4));
    reader.refresh(&mut changes).unwrap();
    assert_eq!(reader.kernel.asked, [Table::Vlans], "read again only once");
}

#[test]
fn sessions_are_read_again_when_a_ppp_device_is_removed() {
    let mut reader = gateway();
    let mut model = Topology::new();
    model.apply(reader.full().unwrap());
    let ppp = model.link_named("pppoe-wan").unwrap().index;
    reader.kernel.sessions.clear();

    let mut changes = Vec::new();
    let gone = fixture::message(libc::RTM_DELLINK, &fixture::ifinfomsg(0, ppp));
    reader.event(&gone, &mut changes);
    reader.refresh(&mut changes).unwrap();
    assert_eq!(changes.first(), Some(&Change::LinkGone(ppp)));
    assert_eq!(changes.last(), Some(&Change::Pppoe(Vec::new(), Vec::new())));
    for change in changes {
        model.apply(change);
    }
    assert!(model.pppoe().is_empty());
    let wan = model.lowest().into_iter().find(|lowest| lowest.device == Name::from("wan"));
    let wan = wan.unwrap();
    assert!(wan.eligible);
    assert_eq!(wan.why.text, "kept for the PPPoE session over wan.35");
}

#[test]
fn a_reconnect_yields_the_new_session() {
    let mut reader = gateway();
    let mut model = Topology::new();
    model.apply(reader.full().unwrap());
    let ppp = model.link_named("pppoe-wan").unwrap().clone();
    let mut changes = Vec::new();
    reader.kernel.sessions.clear();
    reader.notice(&Change::LinkGone(ppp.index));
    reader.refresh(&mut changes).unwrap();
    assert!(!reader.needs_recheck(), "no session is left");

    changes.clear();
    reader.kernel.sessions = vec![fixture::session(9, "wan.35")];
    reader.notice(&Change::Link(Link { index: ppp.index + 1, ..ppp }));
    reader.refresh(&mut changes).unwrap();
    assert_eq!(changes, [Change::Pppoe(vec![fixture::session(9, "wan.35")], Vec::new())]);
}

#[test]
fn rechecks_of_a_session_without_a_device_are_limited() {
    let mut reader = gateway();
    let mut changes = Vec::new();
    let mut model = Topology::new();
    model.apply(reader.full().unwrap());
    assert!(!reader.needs_recheck(), "each session has its device");

    let ppp = model.link_named("pppoe-wan").unwrap().index;
    reader.notice(&Change::LinkGone(ppp));
    reader.refresh(&mut changes).unwrap();
    assert!(reader.needs_recheck(), "pppd still has the session open");
    reader.recheck();
    reader.kernel.sessions.clear();
    reader.refresh(&mut changes).unwrap();
    assert_eq!(changes.last(), Some(&Change::Pppoe(Vec::new(), Vec::new())));
    assert!(!reader.needs_recheck());

    // A session that stays belongs to another program.
    reader.kernel.sessions = vec![fixture::session(9, "wan")];
    reader.mark(Stale::Pppoe);
    reader.refresh(&mut changes).unwrap();
    let reads = std::iter::from_fn(|| {
        reader.needs_recheck().then(|| {
            reader.recheck();
            reader.refresh(&mut changes).unwrap();
        })
    });
    assert_eq!(reads.take(100).count(), 4);
}

#[test]
fn queues_are_read_again_after_an_event() {
    let mut reader = gateway();
    let mut model = Topology::new();
    model.apply(reader.full().unwrap());
    assert!(model.queues().is_empty());
    let queues = [
        fixture::queue(3, 0xffff_ffff, "cake"),
        fixture::queue(3, 0xffff_fff1, "ingress"),
        fixture::queue(2, 0xffff_ffff, "mq"),
        fixture::queue(2, 0x10001, "htb"),
    ];
    reader.kernel.tables.insert(Table::Queues, queues.concat());
    let mut changes = Vec::new();
    reader.event(&queues[0], &mut changes);
    assert!(changes.is_empty());
    reader.refresh(&mut changes).unwrap();
    let [change] = &changes[..] else { panic!("{changes:?}") };
    assert!(model.apply(change.clone()) && !model.apply(change.clone()));
    let found: Vec<_> =
        model.queues().iter().map(|queue| (queue.index, queue.incoming, &*queue.kind)).collect();
    assert_eq!(found, [(2, false, "htb"), (3, false, "cake"), (3, true, "ingress")]);
}

#[test]
fn a_kernel_without_traffic_control_has_no_queues() {
    struct Without(Fake);
    impl Kernel for Without {
        fn dump(&mut self, table: Table) -> Result<Vec<u8>, RequestError> {
            match table {
                Table::Queues => Err(refused(libc::EOPNOTSUPP)),
                other => self.0.dump(other),
            }
        }

        fn pppoe(&mut self) -> io::Result<(Vec<PppoeSession>, Vec<Dialer>)> {
            self.0.pppoe()
        }
    }
    let Change::Full(all) = Reader::new(Without(Fake::default())).full().unwrap() else { panic!() };
    assert!(all.contains(&Change::Queues(Vec::new())));
}
