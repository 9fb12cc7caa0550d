// SPDX-License-Identifier: GPL-2.0-or-later
//! Metrics of forwarding, of the engine and of the eBPF programs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ebpf::exits::PortExits;
use ebpf::layout::Out;
use ebpf::table::ConnectionTable;
use flows::{Network, Path, Totals};
use metrics::{Family, Metrics};
use model::Engine;

use crate::api::Subsystems;

/// Labels of traffic from and to the initiator of a flow.
const DIRECTIONS: [&str; 2] = ["up", "down"];

pub(super) fn add<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let each = |family: &mut Family<'a>, number: fn(&ctnetlink::Counters) -> u64| {
        for pair in state.conntrack.flows().between_zones() {
            for path in Path::FORWARDING {
                for (direction, sum) in DIRECTIONS.iter().zip(&pair.on(path)) {
                    let labels = [
                        ("path", path.name()),
                        ("direction", *direction),
                        ("in_zone", pair.in_zone),
                        ("out_zone", pair.out_zone),
                    ];
                    family.add(labels, number(sum));
                }
            }
        }
    };
    let help = "Forwarded bytes by path, direction and zones of initiator and responder.";
    each(metrics.counter("fastpath_forwarded_bytes_total", help), |sum| sum.bytes);
    let help = "Forwarded packets by path, direction and zones of initiator and responder.";
    each(metrics.counter("fastpath_forwarded_packets_total", help), |sum| sum.packets);
    flows(state, metrics);
    hosts(state, metrics);
    if state.configuration.settings().is_some_and(|settings| settings.device_metrics) {
        devices(state, metrics);
    }
    engine(state, metrics);
    programs(state, metrics);
}

fn flows<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let Totals { paths, local_flows, ended_flows, .. } = state.conntrack.flows().totals();
    let help = "Forwarded flows by path; ended: connections that are over.";
    let family = metrics.gauge("fastpath_flows", help);
    for path in Path::ALL {
        let number = match path {
            Path::Ended => ended_flows,
            Path::Slow => paths.slow.flows,
            Path::Inspect => paths.inspect.flows,
            Path::Flowtable => paths.flowtable.flows,
            Path::Hardware => paths.hardware.flows,
            Path::Ebpf => paths.ebpf.flows,
        };
        family.add([("path", path.name())], number);
    }
    metrics
        .gauge("fastpath_local_flows", "Flows that are not forwarded: local and multicast.")
        .add([], local_flows);
    let help = "Flows that are not on the best path, by reason; local ones too.";
    let family = metrics.gauge("fastpath_flow_reasons", help);
    for (reason, number) in state.conntrack.flows().reasons() {
        family.add([("reason", reason.name())], number);
    }
    metrics
        .gauge("fastpath_flows_unlisted", "Connections for which the flow table has no place.")
        .add([], state.conntrack.flows().unlisted());
}

fn hosts<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let (flows, network) = (state.conntrack.flows(), state.network.view());
    let help = "Bytes sent (up) and received (down) by the busiest hosts and by all others, \
                each from the time it is counted apart.";
    let family = metrics.counter("fastpath_host_bytes_total", help);
    for host in flows.busiest_hosts() {
        let address = host.address.to_string();
        for (direction, bytes) in DIRECTIONS.into_iter().zip(host.bytes) {
            let labels = [("host", Cow::Owned(address.clone())), ("direction", direction.into())];
            family.add_owned(labels, bytes);
        }
    }
    for (direction, bytes) in DIRECTIONS.into_iter().zip(flows.other_hosts()) {
        family.add([("host", "other"), ("direction", direction)], bytes);
    }
    let family = metrics.gauge("fastpath_host_info", "Names of the busiest hosts; always 1.");
    for host in flows.busiest_hosts() {
        if let Some(name) = network.name(host.address) {
            let labels = [("host", Cow::Owned(host.address.to_string())), ("name", name.into())];
            family.add_owned(labels, 1_u64);
        }
    }
}

fn devices<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let devices = state.devices.metered(state.network.view());
    let help = "Bytes sent (up) and received (down) by each device and by all others.";
    let family = metrics.counter("fastpath_device_bytes_total", help);
    let known = devices.iter().map(|(mac, (bytes, _))| (mac.to_string(), *bytes));
    for (mac, bytes) in known.chain([("other".to_owned(), state.devices.others())]) {
        for (direction, bytes) in DIRECTIONS.into_iter().zip([bytes.sent, bytes.received]) {
            let labels = [("mac", Cow::Owned(mac.clone())), ("direction", direction.into())];
            family.add_owned(labels, bytes);
        }
    }
    let family = metrics.gauge("fastpath_device_info", "Names of devices; always 1.");
    for (mac, (_, name)) in devices {
        if let Some(name) = name {
            family.add_owned([("mac", Cow::Owned(mac.to_string())), ("name", name.into())], 1_u64);
        }
    }
}

fn engine<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let report = state.offload.report(state.now);
    let states = [
        ("fastpath_engine_active", "1 for the engine in force.", report.active),
        ("fastpath_engine_wanted", "1 for the engine that is configured or set.", report.wanted),
    ];
    for (name, help, current) in states {
        let family = metrics.gauge(name, help);
        for engine in Engine::ALL {
            family.add([("engine", engine.name())], engine.name() == current);
        }
    }
    metrics
        .gauge("fastpath_engine_devices", "Devices that the engine forwards between.")
        .add([], report.devices.len());
}

/// Returns exits by device, with `other` for ports without a map element. Omits removed ports,
/// whose totals would look like a burst in another series.
fn exits(state: Subsystems<'_>) -> BTreeMap<&str, PortExits> {
    let mut devices: BTreeMap<&str, PortExits> = BTreeMap::new();
    for (ifindex, exits) in state.offload.ebpf().exits().ports() {
        let device = match state.network.topology().link(ifindex) {
            Some(link) => &*link.name,
            None if ifindex == 0 => "other",
            None => continue,
        };
        devices.entry(device).or_default().add(0, exits);
    }
    devices
}

fn programs<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let ebpf = state.offload.ebpf();
    let help = "Packets that an eBPF program has treated, by port and verdict: forwarded, \
                dropped, or why they went to the stack.";
    let family = metrics.counter("fastpath_ebpf_packets_total", help);
    for (device, exits) in exits(state) {
        for (exit, packets) in Out::ALL.iter().zip(exits.total().out) {
            family.add([("device", device), ("exit", exit.name())], packets);
        }
    }
    let help = "Hook of the eBPF program of each device; none: it has no program.";
    let family = metrics.gauge("fastpath_ebpf_device_info", help);
    for program in ebpf.programs() {
        let hook = if program.hook_name.is_empty() { "none" } else { program.hook_name };
        family.add([("device", program.device.as_str()), ("hook", hook)], 1_u64);
    }
    let table = ebpf.table();
    metrics
        .gauge("fastpath_ebpf_flows", "Connections in the eBPF engine's table.")
        .add([], table.map_or(0, ConnectionTable::len));
    let help = "Capacity of the eBPF engine's table in connections, of IPv4 and of IPv6 each.";
    metrics
        .gauge("fastpath_ebpf_flows_limit", help)
        .add([], table.map_or(0, ConnectionTable::capacity) / 2);
    metrics
        .counter("fastpath_ebpf_evicted_flows_total", "Connections evicted from a full table.")
        .add([], table.map_or(0, ConnectionTable::evicted));
}
