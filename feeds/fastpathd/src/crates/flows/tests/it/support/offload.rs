// SPDX-License-Identifier: GPL-2.0-or-later
//! Helpers for requests to the eBPF engine.

use ctnetlink::{Entry, Event, Status};
use flows::{EngineState, FlowTable, OffloadRequest};
use model::{Connection, Engine};

use super::{Net, at, dump_in, uncounted, with_programs};

pub(crate) const PASSED: [u32; 2] = [0x100, 0x200];

pub(crate) fn ebpf() -> EngineState {
    EngineState { engine: Engine::Ebpf, passed: PASSED, ..EngineState::default() }
}

/// Returns the entry with the `passed` bits of both directions.
pub(crate) fn passed(entry: Entry) -> Entry {
    Entry { mark: entry.mark | PASSED[0] | PASSED[1], ..entry }
}

pub(crate) fn table() -> FlowTable {
    let mut table = FlowTable::new();
    table.engine(ebpf(), at(0.0));
    dump_in(&mut table, 0.0, &[], &with_programs());
    table
}

pub(crate) fn update(table: &mut FlowTable, seconds: f64, entry: Entry, net: &Net) {
    let entry = passed(uncounted(entry));
    // The mark counts only for connections whose first event was seen.
    if table.is_empty() {
        table.event(&Event::New(Entry { status: Status::CONFIRMED, ..entry }), at(seconds), net);
    }
    table.event(&Event::Update(entry), at(seconds), net);
}

/// Asserts that the only request is an installation and returns its connection.
pub(crate) fn requested(table: &mut FlowTable) -> Connection {
    match table.offload_requests()[..] {
        [OffloadRequest::Install(connection)] => connection,
        ref other => panic!("{other:?}"),
    }
}

/// Installs the requested connection, confirms it with `entry`, and asserts that it is started.
pub(crate) fn start(
    table: &mut FlowTable,
    seconds: f64,
    connection: Connection,
    entry: Entry,
    net: &Net,
) {
    table.installed(connection.id, Ok(()), at(seconds));
    assert_eq!(table.offload_requests(), [OffloadRequest::Confirm(connection)]);
    let (entry, since) = (passed(entry), table.reading_start());
    table.confirmed(connection.id, Some(&entry), since, at(seconds), net);
    assert_eq!(table.offload_requests(), [OffloadRequest::Start(connection.id)]);
}

pub(crate) fn offloaded_flow(table: &mut FlowTable, entry: Entry) -> u64 {
    update(table, 1.0, entry, &with_programs());
    let connection = requested(table);
    start(table, 1.0, connection, entry, &with_programs());
    connection.id
}
