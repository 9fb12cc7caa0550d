// SPDX-License-Identifier: GPL-2.0-or-later
//! The answer of `ebpf`.

use ebpf::layout::Out;
use ebpf::table::Table;
use serde::Serialize;

use crate::ebpf_room::EbpfRoom;

#[derive(Debug, Serialize)]
pub(crate) struct EbpfView {
    active: bool,
    why: String,
    devices: Vec<DeviceView>,
    flows: usize,
    capacity: usize,
    evicted: u64,
    seen: u64,
    exits: Vec<ExitView>,
    dropped: Vec<DroppedView>,
}

#[derive(Debug, Serialize)]
struct DeviceView {
    device: String,
    hook: &'static str,
    why: String,
}

#[derive(Debug, Serialize)]
struct ExitView {
    exit: &'static str,
    packets: u64,
}

#[derive(Debug, Serialize)]
struct DroppedView {
    rule: u32,
    packets: u64,
    bytes: u64,
}

pub(crate) fn view(room: &EbpfRoom) -> EbpfView {
    let (table, exits) = (room.table(), room.exits());
    let devices = room.programs().iter().map(|program| DeviceView {
        device: program.device.clone(),
        hook: program.word,
        why: program.why.clone(),
    });
    let exit = |(exit, packets): (&Out, u64)| ExitView { exit: exit.word(), packets };
    let dropped = table.into_iter().flat_map(Table::dropped);
    EbpfView {
        active: room.held().next().is_some(),
        why: room.why(),
        devices: devices.collect(),
        flows: table.map_or(0, Table::len),
        // Each has an entry for either direction.
        capacity: table.map_or(0, Table::capacity) / 2,
        evicted: table.map_or(0, Table::evicted),
        seen: exits.seen,
        exits: Out::ALL.iter().zip(exits.out).map(exit).collect(),
        dropped: dropped
            .map(|(rule, sum)| DroppedView { rule: *rule, packets: sum.packets, bytes: sum.bytes })
            .collect(),
    }
}
