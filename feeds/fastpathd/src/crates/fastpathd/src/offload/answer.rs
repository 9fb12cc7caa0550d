// SPDX-License-Identifier: GPL-2.0-or-later
//! The answer of `ebpf`.

use ebpf::layout::Out;
use ebpf::table::Table;
use serde_json::{Map, Value};

use crate::offload::ebpf::EbpfEngine;

/// Built by hand: a type for each part would be three times the code.
pub(crate) fn view(engine: &EbpfEngine) -> Map<String, Value> {
    let (table, exits) = (engine.table(), engine.exits());
    let devices = engine.programs().iter().map(|program| {
        object(vec![
            ("device", program.device.as_str().into()),
            ("hook", program.word.into()),
            ("why", program.why.as_str().into()),
        ])
    });
    let exits_by_kind = Out::ALL.iter().zip(exits.out).map(|(exit, packets)| {
        object(vec![("exit", exit.word().into()), ("packets", packets.into())])
    });
    let dropped = table.into_iter().flat_map(Table::dropped).map(|(rule, sum)| {
        object(vec![
            ("rule", (*rule).into()),
            ("packets", sum.packets.into()),
            ("bytes", sum.bytes.into()),
        ])
    });
    fields(vec![
        ("active", engine.held().next().is_some().into()),
        ("why", engine.why().into()),
        ("devices", devices.collect()),
        ("flows", table.map_or(0, Table::len).into()),
        // Each has an entry for either direction.
        ("capacity", (table.map_or(0, Table::capacity) / 2).into()),
        ("evicted", table.map_or(0, Table::evicted).into()),
        ("seen", exits.seen.into()),
        ("exits", exits_by_kind.collect()),
        ("dropped", dropped.collect()),
    ])
}

fn fields(fields: Vec<(&str, Value)>) -> Map<String, Value> {
    let mut map = Map::new();
    for (name, value) in fields {
        map.insert(name.to_owned(), value);
    }
    map
}

fn object(of: Vec<(&str, Value)>) -> Value {
    Value::Object(fields(of))
}
