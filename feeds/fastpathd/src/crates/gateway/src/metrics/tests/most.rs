// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the largest answer, with the maximum of zones, hosts, WANs, ports and queues.

use std::time::Instant;

use topology::{Change, Link, LinkKind};

use super::*;
use crate::core::calls::{Outcome, call};
use crate::fixture::{lab_firewall, lab_network, link, route};

const ZONES: u32 = 8;
/// Index of the first device of the zones.
const FIRST_INDEX: u32 = 100;
/// Number of series, as in docs/design/metrics.md.
const MAX_SAMPLES: usize = 2890;
/// Limit of a ubusd message, in bytes.
const MAX_MESSAGE: usize = 1 << 20;
/// Number of runs; the fastest is printed.
const RUNS: u32 = 20;

/// Returns the lab's network with a device for each zone, and 64 ports.
fn links() -> Vec<Change> {
    let Ok([Change::Full(mut all)]) = <[_; 1]>::try_from(lab_network()) else { panic!("changed") };
    for zone in 0..ZONES {
        let index = FIRST_INDEX + zone;
        all.push(Change::Link(link(index, &format!("zone{zone}"), LinkKind::Ethernet)));
        all.push(route(&format!("10.20.{zone}.0"), 24, index, None));
    }
    let ports = (1..64).filter(|index| ![4, 5, 6, 7, 8].contains(index));
    let port = |index| Link { ..link(index, &format!("port{index}"), LinkKind::Ethernet) };
    all.extend(ports.filter(|index| *index > 3).map(|index| Change::Link(port(index))));
    vec![Change::Full(all)]
}

fn interfaces() -> Value {
    let mut dump = lab_dump();
    let list = dump["interface"].as_array_mut().unwrap();
    for zone in 0..ZONES {
        let device = format!("zone{zone}");
        list.push(json!({"interface": device, "up": true, "l3_device": device, "device": device,
            "proto": "static", "ipv4-address": [{"address": format!("10.20.{zone}.1"),
            "mask": 24}]}));
    }
    for wan in 1..=40 {
        let (name, device) = (format!("line{wan}"), format!("line{wan}"));
        list.push(json!({"interface": name, "up": true, "l3_device": device, "device": device,
            "proto": "dhcp"}));
    }
    dump
}

fn firewall() -> Value {
    let mut firewall = lab_firewall();
    let lines: Vec<_> = (1..=40).map(|wan| format!("line{wan}")).collect();
    firewall["z2"]["network"].as_array_mut().unwrap().extend(lines.into_iter().map(Value::from));
    for zone in 0..ZONES {
        let name = format!("zone{zone}");
        firewall[format!("more{zone}")] = json!({".type": "zone", "name": name, "network": [name]});
    }
    firewall
}

/// Returns flows from each zone to each other zone, of 128 hosts.
fn flows() -> Vec<Entry> {
    let mut entries = Vec::new();
    for id in 0..ZONES * ZONES * 16 {
        let (from, to, host) = (id % ZONES, id / ZONES % ZONES, id / ZONES / ZONES);
        let address = |zone, host| IpAddr::V4(Ipv4Addr::from_bits(0x0a14_0002 + zone * 256 + host));
        let mut entry = established(id + 1, false);
        (entry.orig.src, entry.orig.dst) = (address(from, host), address(to, 100));
        (entry.reply.src, entry.reply.dst) = (entry.orig.dst, entry.orig.src);
        if from != to {
            entries.push(entry);
        }
    }
    entries
}

/// Attaches programs to 64 ports, with packets in each element of their counters.
fn programs(core: &mut Core) {
    let maps = Fake::default();
    let mut one = Exits::default();
    one.out[0] = 110;
    (0..64).for_each(|port| maps.with(|inside| inside.exits.add(port, &one)));
    let names: Vec<_> = (0..64).map(|port| format!("port{port}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut loaded = outcome(&maps, &names, &[]);
    loaded.opened.iter_mut().for_each(|opened| opened.id = 2);
    core.attached(Ok(loaded));
    core.second(&Readings::default());
}

/// Adds 128 CPUs. Half of them inspect, with a queue each.
fn cpus(core: &mut Core) {
    let mut sample = machine_sample();
    let one = sample.machine.cpus[0].clone();
    sample.machine.cpus = (0..128).map(|cpu| cpu::Cpu { cpu, core: cpu, ..one.clone() }).collect();
    core.machine_read(sample);
}

/// Returns a gateway with the maximum number of all objects.
fn full_gateway() -> Core {
    let mut core = busy();
    core.firewall_read(&firewall());
    core.interfaces_read(&interfaces());
    core.network_changed(links());
    let mut values = configuration("ebpf");
    values["main"]["metrics_hosts"] = "100".into();
    values["ips"] = json!({".type": "ips", ".name": "ips", ".index": 1, "enabled": "1"});
    core.configuration_read(&values);
    programs(&mut core);
    cpus(&mut core);
    let all = flows();
    dump(&mut core, 10, &[]);
    dump(&mut core, 11, &all);
    let all: Vec<_> = all.into_iter().map(|entry| grown(entry, 5)).collect();
    dump(&mut core, 100, &all);
    let desk = established(1, false).orig.src;
    let hosts = all.iter().flat_map(|entry| [entry.orig.src, entry.orig.dst]).chain([desk]);
    let mut names = String::new();
    for address in hosts {
        writeln!(names, "99 02:00:00:00:01:0b {address} host *").unwrap();
    }
    core.network_mut().name_hosts(&names, "");
    let queue =
        |number| ips::Queue { number, listener: 7, depth: 2, handled: 5, full: 1, unread: 0 };
    let queues = (0..64).map(queue).collect();
    let sample = ProbeSample { queues, process: Some(7), ..ProbeSample::default() };
    core.ips_event(inspection::Event::Probed(sample));
    core
}

#[test]
fn the_number_of_series_is_bounded() {
    let mut core = full_gateway();
    let series = read(&mut core);
    for (family, number) in [
        ("fastpath_forwarded_bytes_total", 48 * 10),
        ("fastpath_host_bytes_total", 101 * 2),
        ("fastpath_host_info", 100),
        ("fastpath_wan_up", 32),
        ("fastpath_ips_queue_depth", 65),
        ("fastpath_ebpf_packets_total", 64 * 16),
        ("fastpath_ebpf_device_info", 64),
    ] {
        let prefix = format!("{family}{{");
        let found = series.keys().filter(|name| name.starts_with(&prefix)).count();
        assert_eq!(found, number, "{family}");
    }
    assert_eq!(series.len(), MAX_SAMPLES);
    let mut fastest = Duration::MAX;
    for _ in 0..RUNS {
        let begin = Instant::now();
        let outcome = call(&mut core, "metrics", serde_json::Map::new());
        fastest = fastest.min(begin.elapsed());
        let Outcome::Reply(Ok(answer), _) = outcome else { panic!("{outcome:?}") };
        assert!(answer.as_bytes().len() < MAX_MESSAGE, "{}", answer.as_bytes().len());
    }
    println!("{} series: {fastest:?}", series.len());
}
