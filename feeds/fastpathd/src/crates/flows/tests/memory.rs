// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the memory of a full table. In a separate program, because memory is measured per process.

#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

#[path = "it/support/mod.rs"]
#[allow(dead_code, reason = "this test needs a part")]
mod support;

use std::net::{IpAddr, Ipv4Addr};

use ctnetlink::{Entry, Event, Status, TcpState};
use flows::{FlowTable, FlowsQuery};
use support::{Net, TCP, at, counted, entry, flowtable, tuple, uncounted};

/// Limit of the table in `src/table/capacity.rs`.
const MAX_FLOWS: u32 = 210_000;
/// Maximum bytes of a flow with its index entries; 90 MB for a full table.
const MAX_BYTES_PER_FLOW: usize = 430;

fn memory(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect(name);
    let kib: String = line.chars().filter(char::is_ascii_digit).collect();
    kib.parse::<usize>().expect("a number") * 1024
}

fn masqueraded(id: u32) -> Entry {
    let mut entry = entry(id, tuple(TCP, "10.10.0.2", 0, "203.0.113.200", 80));
    let host = Ipv4Addr::from_bits(0x0a0a_0000 + (id >> 8));
    entry.orig.src = IpAddr::V4(host);
    entry.orig.sport = 1024 + u16::try_from(id % 60_000).expect("a port");
    (entry.reply.dport, entry.reply.dst) = (entry.orig.sport, "100.64.0.1".parse().expect("one"));
    entry
}

fn half_open(id: u32) -> Entry {
    let mut entry = masqueraded(id);
    (entry.status, entry.tcp_state) = (Status::CONFIRMED, Some(TcpState::SynSent));
    entry
}

#[test]
fn a_full_table_stays_within_its_memory() {
    let net = Net::default();
    let mut table = FlowTable::new();
    table.engine(flowtable(), at(0.0));
    let before = memory("VmRSS:");
    let half = MAX_FLOWS / 2;
    // Add more flows than fit, by events and then by a dump with counters.
    for id in 0..MAX_FLOWS {
        table.event(&Event::New(uncounted(half_open(id))), at(1.0), &net);
    }
    assert_eq!(table.len(), half as usize);
    table.dump_begin(at(2.0));
    for id in 0..half {
        table.merge(&counted(half_open(id), 60, 0), at(2.0), &net);
    }
    for id in MAX_FLOWS..2 * MAX_FLOWS {
        table.merge(&counted(masqueraded(id), 4000, 4000), at(2.0), &net);
    }
    table.dump_end(at(2.0), true);
    assert_eq!((table.len(), table.unlisted()), (MAX_FLOWS as usize, half as usize));
    let grown = memory("VmHWM:") - before;
    let each = grown / table.len();
    println!("{} flows: {grown} bytes at most, {each} each", table.len());
    assert!(each <= MAX_BYTES_PER_FLOW, "{each} bytes for each of {MAX_FLOWS} flows");
    a_page_needs_no_memory_for_each_flow(&table);
}

fn a_page_needs_no_memory_for_each_flow(table: &FlowTable) {
    // Sets VmHWM to the current size.
    std::fs::write("/proc/self/clear_refs", "5").expect("clear_refs");
    let before = memory("VmHWM:");
    let page = table.query(&FlowsQuery::default(), at(3.0)).expect("a page");
    assert_eq!(page.matched, table.len());
    drop(page);
    let grown = memory("VmHWM:") - before;
    assert!(grown <= 1024 * 1024, "a page took {grown} bytes");
}
