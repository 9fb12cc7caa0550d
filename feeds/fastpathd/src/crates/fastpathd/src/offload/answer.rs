// SPDX-License-Identifier: GPL-2.0-or-later
//! The answer of `ebpf`.

use ebpf::layout::Out;
use ebpf::table::ConnectionTable;
use serde_json::{Value, json};

use crate::offload::ebpf::EbpfEngine;

pub(crate) fn view(engine: &EbpfEngine) -> Value {
    let (table, exits) = (engine.table(), engine.exits());
    let devices = engine
        .programs()
        .iter()
        .map(|program| json!({"device": program.device, "hook": program.word, "why": program.why}));
    let exits_by_kind = Out::ALL.iter().zip(exits.out);
    let exits_by_kind =
        exits_by_kind.map(|(exit, packets)| json!({"exit": exit.name(), "packets": packets}));
    let dropped = table.into_iter().flat_map(ConnectionTable::dropped);
    let dropped = dropped
        .map(|(rule, sum)| json!({"rule": rule, "packets": sum.packets, "bytes": sum.bytes}));
    json!({
        "active": engine.held().next().is_some(),
        "why": engine.why(),
        "devices": devices.collect::<Value>(),
        "flows": table.map_or(0, ConnectionTable::len),
        // Each has an entry for either direction.
        "capacity": table.map_or(0, ConnectionTable::capacity) / 2,
        "evicted": table.map_or(0, ConnectionTable::evicted),
        "seen": exits.seen,
        "exits": exits_by_kind.collect::<Value>(),
        "dropped": dropped.collect::<Value>(),
    })
}
