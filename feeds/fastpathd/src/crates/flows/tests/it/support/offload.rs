// SPDX-License-Identifier: GPL-2.0-or-later
//! Flows and the requests for the eBPF engine.

use ctnetlink::{Entry, Event, Status};
use flows::{EngineState, FlowTable, OffloadRequest};
use model::{Connection, Engine};

use super::{Net, at, dump_in, uncounted, with_programs};

pub(crate) const PASSED: [u32; 2] = [0x100, 0x200];

pub(crate) fn ebpf() -> EngineState {
    EngineState { engine: Engine::Ebpf, passed: PASSED, ..EngineState::default() }
}

/// As it is when its packets have passed the rules both ways.
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
    // It is known from its beginning.
    if table.is_empty() {
        table.event(&Event::New(Entry { status: Status::CONFIRMED, ..entry }), at(seconds), net);
    }
    table.event(&Event::Update(entry), at(seconds), net);
}

/// The only request is to install a connection.
pub(crate) fn requested(table: &mut FlowTable) -> Connection {
    match table.offload_requests()[..] {
        [OffloadRequest::Install(connection)] => connection,
        ref other => panic!("{other:?}"),
    }
}

/// The requested connection is installed, confirmed as `entry`, and to be started.
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

/// The only flow, carried since second 1.
pub(crate) fn carried(table: &mut FlowTable, entry: Entry) -> u64 {
    update(table, 1.0, entry, &with_programs());
    let connection = requested(table);
    start(table, 1.0, connection, entry, &with_programs());
    connection.id
}
