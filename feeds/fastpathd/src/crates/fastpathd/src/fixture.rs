// SPDX-License-Identifier: GPL-2.0-or-later
//! The lab's gateway as values, for the tests of this crate.

use std::time::Duration;

use ctnetlink::{Counters, Entry, Status, TcpState, Tuple};
use ebpf::devices::NotNative;
use ebpf::entry_side::Hook;
use ebpf::fake::Fake;
use flows::Now;
use ruleset::Applied;
use serde_json::{Value, json};
use topology::{
    Address, BridgeVlan, Change, FdbEntry, Link, LinkKind, Mac, Neighbour, NeighbourState,
    PortVlan, PppoeSession, Route, RouteKind,
};

use crate::bus;
use crate::bus::methods::{Outcome, call};
use crate::core::Core;
use crate::cpu::Sample;
use crate::effect::Effect as AnyEffect;
use crate::offload::ebpf::{AttachOutcome, OpenMaps};
use crate::offload::{self, Program, flowtable::Job};
use crate::sys::kernel::Machine;

pub(crate) fn link(index: u32, name: &str, kind: LinkKind) -> Link {
    let ppp = kind == LinkKind::Ppp;
    Link {
        index,
        name: name.into(),
        kind,
        mac: (!ppp).then_some(Mac([2, 0, 0, 0, 0, u8::try_from(index).unwrap()])),
        mtu: 1500,
        up: true,
        carrier: true,
        master: None,
        lower: None,
        operstate: 6,
        hardware: if ppp { 512 } else { 1 },
        point_to_point: ppp,
    }
}

pub(crate) fn route(network: &str, prefix: u8, index: u32, gateway: Option<&str>) -> Change {
    Change::Route(Route {
        network: network.parse().unwrap(),
        prefix,
        kind: RouteKind::Unicast,
        table: 254,
        metric: 0,
        index: Some(index),
        gateway: gateway.map(|g| g.parse().unwrap()),
        source: None,
        several: false,
    })
}

fn address(index: u32, address: &str, prefix: u8) -> [Change; 2] {
    let address = address.parse().unwrap();
    let local = Route {
        network: address,
        prefix: 32,
        kind: RouteKind::Local,
        table: 255,
        metric: 0,
        index: Some(index),
        gateway: None,
        source: None,
        several: false,
    };
    [Change::Address(Address { index, address, prefix, peer: None }), Change::Route(local)]
}

/// br-lan (lan1 in VLAN 10, lan2 tagged in VLAN 20), wan.35 with PPPoE on it.
pub(crate) fn lab_network() -> Vec<Change> {
    let port = |index, name| Link { master: Some(4), ..link(index, name, LinkKind::Ethernet) };
    let vlan = |index, name, id, lower| Link {
        lower: Some(lower),
        ..link(index, name, LinkKind::Vlan { id, service: false })
    };
    let member = |index, vid, tagged| BridgeVlan {
        index,
        vlans: vec![PortVlan { vid, tagged, pvid: !tagged }],
    };
    let host = Mac([2, 0, 0, 0, 1, 10]);
    let mut changes = vec![
        Change::Link(port(1, "lan1")),
        Change::Link(port(2, "lan2")),
        Change::Link(link(3, "wan", LinkKind::Ethernet)),
        Change::Link(link(4, "br-lan", LinkKind::Bridge { vlan_filtering: true })),
        Change::Link(vlan(5, "br-lan.10", 10, 4)),
        Change::Link(vlan(6, "br-lan.20", 20, 4)),
        Change::Link(vlan(7, "wan.35", 35, 3)),
        Change::Link(link(8, "pppoe-wan", LinkKind::Ppp)),
        Change::BridgeVlans(vec![member(1, 10, false), member(2, 20, true)]),
        Change::Pppoe(
            vec![PppoeSession { id: 1, peer: Mac([2, 0, 0, 0, 9, 9]), device: "wan.35".into() }],
            Vec::new(),
        ),
        route("10.10.10.0", 24, 5, None),
        route("10.10.20.0", 24, 6, None),
        route("0.0.0.0", 0, 8, None),
        Change::Neighbour(Neighbour {
            index: 5,
            address: "10.10.10.10".parse().unwrap(),
            mac: Some(host),
            state: NeighbourState::Valid,
        }),
        Change::Fdb(FdbEntry { bridge: 4, port: 1, mac: host, vlan: 10, own: false }),
    ];
    changes.extend(address(5, "10.10.10.1", 24));
    changes.extend(address(6, "10.10.20.1", 24));
    changes.extend(address(8, "198.51.100.10", 32));
    vec![Change::Full(changes)]
}

pub(crate) fn lab_firewall() -> Value {
    json!({
        "z1": {".type": "zone", "name": "lan", "network": ["lan"]},
        "z2": {".type": "zone", "name": "wan", "network": ["wan"], "masq": "1"},
    })
}

pub(crate) fn lab_dump() -> Value {
    json!({"interface": [
        {"interface": "lan", "up": true, "l3_device": "br-lan.10", "device": "br-lan.10",
         "proto": "static",
         "ipv4-address": [{"address": "10.10.10.1", "mask": 24}]},
        {"interface": "wan", "up": true, "uptime": 60, "l3_device": "pppoe-wan",
         "device": "wan.35", "proto": "pppoe",
         "ipv4-address": [{"address": "198.51.100.10", "mask": 32}]},
    ]})
}

/// A masqueraded download of 10.10.10.10 from the Internet.
pub(crate) fn established(id: u32, offloaded: bool) -> Entry {
    let (host, server) = ("10.10.10.10".parse().unwrap(), "203.0.113.1".parse().unwrap());
    let bit = if offloaded { Status::OFFLOAD } else { Status::default() };
    Entry {
        id,
        zone: 0,
        orig: Tuple { src: host, dst: server, proto: 6, sport: 40_000, dport: 80 },
        reply: Tuple {
            src: server,
            dst: "198.51.100.10".parse().unwrap(),
            proto: 6,
            sport: 80,
            dport: 40_000,
        },
        status: Status::SEEN_REPLY | Status::ASSURED | Status::CONFIRMED | bit,
        timeout_s: (!offloaded).then_some(7440),
        mark: 0,
        tcp_state: (!offloaded).then_some(TcpState::Established),
        helper: false,
        seq_adjust: false,
        orig_counters: Some(Counters { packets: 10, bytes: 1000 }),
        reply_counters: Some(Counters { packets: 100, bytes: 150_000 }),
        start_ns: None,
    }
}

pub(crate) fn core() -> Core {
    let machine = Machine { kernel: "6.12".into(), hostname: "gw".into(), ..Machine::default() };
    Core::new(machine, Now { mono: Duration::ZERO, unix_ms: 1_000_000 })
}

/// One CPU, and no device with queues.
pub(crate) fn machine_sample() -> Sample {
    let one = cpu::Cpu {
        cpu: 0,
        online: true,
        isolated: false,
        capacity: cpu::FULL_CAPACITY,
        core: 0,
        node: None,
    };
    let machine = cpu::Machine { cpus: vec![one], devices: Vec::new() };
    let steering = cpu::Steering { service: false, hook: cpu::Hook::Absent, uci: None };
    Sample { machine, steering, refusals: String::new() }
}

pub(crate) fn configuration(engine: &str) -> Value {
    json!({"main": {".type": "fastpath", ".name": "main", "engine": engine}})
}

/// A core that knows the lab's network and runs the flowtable over it.
pub(crate) fn running() -> Core {
    let mut core = core();
    core.firewall_read(&lab_firewall());
    core.interfaces_read(&lab_dump());
    assert!(core.configuration_read(&configuration("flowtable")).is_empty());
    let effects = core.network_changed(lab_network());
    assert!(
        matches!(
            &effects[..],
            [
                AnyEffect::Offload(offload::Effect::Attach(_)),
                AnyEffect::Offload(offload::Effect::Run(Job::Apply { .. }))
            ]
        ),
        "{effects:?}"
    );
    assert_eq!(core.applied(Ok(Applied::Replaced)), [AnyEffect::Bus(bus::Effect::AnswerEngine)]);
    core
}

/// Programs at TC on `held`, none on `bare`.
pub(crate) fn outcome(maps: &Fake, held: &[&str], bare: &[&str]) -> AttachOutcome {
    let mut programs = Vec::new();
    let mut add = |device: &str, hook, hook_name| {
        let why = NotNative::NoXdp { device: device.to_owned() }.cause();
        programs.push(Program { device: device.to_owned(), hook, hook_name, why });
    };
    for device in held {
        add(device, Some(Hook::Tc), "tcx");
    }
    for device in bare {
        add(device, None, "");
    }
    let opened = OpenMaps { maps: Box::new(maps.clone()), capacity: 64, id: 1 };
    AttachOutcome { programs, opened: (!held.is_empty()).then_some(opened) }
}

pub(crate) fn ask(core: &mut Core, method: &str, args: Value) -> Value {
    let Value::Object(args) = args else { panic!("{args}") };
    match call(core, method, args) {
        Outcome::Reply(Ok(answer), _) => Value::Object(answer.decode().unwrap()),
        other => panic!("{method}: {other:?}"),
    }
}
