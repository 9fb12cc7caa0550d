// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the answer of `ebpf`: hook of each device, capacity, evictions, exits and drops by rule.

use config::Cause;
use ebpf::layout::Out;
use ebpf::table::ConnectionTable;
use serde::Serialize;

use crate::offload::ebpf::EbpfEngine;

#[derive(Debug, Serialize)]
pub(crate) struct EbpfView<'a> {
    active: bool,
    why: String,
    cause: Cause,
    devices: Vec<DeviceView<'a>>,
    flows: usize,
    capacity: usize,
    evicted: u64,
    seen: u64,
    exits: Vec<ExitView>,
    dropped: Vec<DroppedView>,
}

#[derive(Debug, Serialize)]
struct DeviceView<'a> {
    device: &'a str,
    hook: &'static str,
    why: &'a str,
    cause: &'a Cause,
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

pub(crate) fn view(engine: &EbpfEngine) -> EbpfView<'_> {
    let (table, counted) = (engine.table(), engine.exits().total());
    let devices = engine.programs().iter();
    let exits = Out::ALL.iter().zip(counted.out);
    let dropped = table.map(ConnectionTable::dropped).unwrap_or_default().iter();
    let cause = engine.why();
    EbpfView {
        active: engine.held().next().is_some(),
        why: cause.text.clone(),
        cause,
        devices: devices
            .map(|program| DeviceView {
                device: &program.device,
                hook: program.hook_name,
                why: &program.why.text,
                cause: &program.why,
            })
            .collect(),
        flows: table.map_or(0, ConnectionTable::len),
        // A flow has one entry per direction.
        capacity: table.map_or(0, ConnectionTable::capacity) / 2,
        evicted: table.map_or(0, ConnectionTable::evicted),
        seen: counted.seen(),
        exits: exits.map(|(exit, packets)| ExitView { exit: exit.name(), packets }).collect(),
        dropped: dropped
            .map(|(rule, sum)| DroppedView { rule: *rule, packets: sum.packets, bytes: sum.bytes })
            .collect(),
    }
}
