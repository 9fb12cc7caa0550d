// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks that the flow table, which the page shows, applies policies, exempt networks,
//! exclusions and switches like the kernel.

use std::net::SocketAddr;
use std::process::Command;
use std::rc::Rc;

use ctnetlink::Tuple;
use flows::{InspectionState, InspectionStatus, Side};
use model::{Action, DevicePolicy, TrafficType, TrafficTypes};
use ruleset::{Candidate, InspectionRules, Nft, Plan, Protection, Settings, plan, render};

use super::network::{Connection, Network};
use super::{counted, inspection, on_a_gateway, policy, put, refill};

/// Counter of the open gate, which accepts all packets to inspect.
const GATE: &str = "uninspected";

type Case = (Vec<DevicePolicy>, Action, Vec<&'static str>);

fn cases() -> Vec<Case> {
    use Action::{Always, Inspect, None as Free};
    let (lan, wan) = (Some("lan0"), Some("wan0"));
    let void = DevicePolicy { from: Some([].into()), ..policy(None, None, Always) };
    let both = ["lan0", "wan0"].map(str::to_owned).into();
    let between = DevicePolicy { to: Some(both), ..policy(lan, None, Always) };
    vec![
        (Vec::new(), Inspect, Vec::new()),
        (Vec::new(), Free, Vec::new()),
        (vec![policy(lan, wan, Free)], Inspect, Vec::new()),
        (vec![policy(wan, None, Free)], Always, Vec::new()),
        (vec![policy(None, lan, Always)], Free, Vec::new()),
        (vec![policy(None, lan, Free), policy(None, None, Always)], Inspect, Vec::new()),
        (vec![policy(wan, wan, Free), policy(lan, lan, Free)], Inspect, Vec::new()),
        (vec![void.clone(), policy(lan, None, Free)], Inspect, Vec::new()),
        (vec![void, policy(wan, Some("elsewhere"), Free)], Inspect, Vec::new()),
        (vec![between, policy(None, None, Inspect)], Free, Vec::new()),
        (Vec::new(), Always, vec!["10.1.0.2", "fd00:2::/64"]),
        (vec![policy(lan, None, Always)], Inspect, vec!["10.0.0.0/8", "10.2.0.2"]),
        (vec![policy(lan, None, Free)], Always, vec!["10.3.0.0/16", "fd00:1::1", "10.2.0.3"]),
        (Vec::new(), Inspect, vec!["::/0"]),
    ]
}

fn state_of(rules: &InspectionRules) -> InspectionState {
    InspectionState {
        gate: Some(rules.gate),
        bypass: rules.marks.bypass(),
        spent: rules.marks.spent(),
        policies: rules.policies.clone(),
        default: rules.default,
        exempt: rules.exempt.clone(),
        hosts: Default::default(),
        budget_bytes: rules.budget_bytes,
        budget_packets: rules.budget_packets,
    }
}

fn side(end: SocketAddr) -> Side {
    let left = matches!(end.ip().to_string().as_str(), "10.1.0.2" | "fd00:1::2");
    let device: Rc<str> = if left { "lan0" } else { "wan0" }.into();
    Side {
        device: device.clone(),
        vlan: 0,
        zone: "".into(),
        outer: false,
        port: device,
        in_flowtable: false,
        in_ebpf: false,
        neighbour: true,
        tunnel: false,
        traffic: TrafficTypes::default(),
        shaped: false,
        encapsulated: false,
        redirected: false,
        hardware: Some(true),
        unseen: false,
    }
}

/// Reports whether the flow table expects the connection's packets at the gate.
fn shown_at_gate(state: &InspectionState, connection: &Connection, mark: u32) -> bool {
    let ends = connection.ends();
    let [initiator, responder] = ends.map(side);
    let action = state.action(Some(&initiator), Some(&responder), ends.map(|end| end.ip()));
    match state.standing(action, mark, false) {
        InspectionStatus::Uninspected => true,
        InspectionStatus::None | InspectionStatus::Bypassed => false,
        other @ (InspectionStatus::Inspecting
        | InspectionStatus::Always
        | InspectionStatus::Spent
        | InspectionStatus::Stopped) => panic!("the gate is open, and nothing spent: {other:?}"),
    }
}

fn connections(network: &Network, port: u16) -> [Connection; 4] {
    [
        network.connection(true, port),
        network.connection(false, port + 1),
        network.connection6(true, port + 2),
        network.connection6(false, port + 3),
    ]
}

#[test]
fn the_flow_table_predicts_inspected_connections() {
    on_a_gateway(|network, nft| async move {
        for (number, (policies, default, exempt)) in (0_u16..).zip(cases()) {
            let exempt = exempt.iter().map(|text| text.parse().unwrap()).collect();
            let rules = InspectionRules { policies, default, exempt, ..inspection() };
            let state = state_of(&rules);
            put(&nft, &rules).await;
            let connections = connections(&network, 1000 + 10 * number);
            for mark in [0, rules.marks.bypass()] {
                if mark != 0 {
                    // Set the bypass mark, like Suricata's verdict.
                    refill(&nft, &format!("meta mark set meta mark | {mark:#x}")).await;
                    assert!(connections.iter().all(|connection| connection.send(10)));
                    put(&nft, &rules).await;
                }
                for connection in &connections {
                    let before = counted(&nft, GATE).await;
                    assert!(connection.send(10) && connection.reply(10));
                    let at_gate = counted(&nft, GATE).await - before;
                    let shown = shown_at_gate(&state, connection, mark);
                    let ends = connection.ends();
                    assert_eq!(at_gate, if shown { 2 } else { 0 }, "{ends:?} {mark:#x} {rules:?}");
                }
            }
        }
    });
}

/// Options of one section `exclude` each.
const EXCLUDES: [&str; 14] = [
    "option src 10.1.0.0/24",
    "option src 10.2.0.2",
    "option dest 10.2.0.0/16",
    "option dest fd00:2::/64",
    "option src fd00:2::2",
    "option src 10.1.0.2\noption dest 10.1.0.2",
    "option proto tcp",
    "option proto udp",
    "option proto all\noption dest_port 2000-2999",
    "option proto udp\noption src_port 3000-3999",
    "option dest_port 3000-3999",
    "option src_port 1024-2999",
    "option src 10.1.0.0/24\noption dest 10.2.0.2\noption proto udp\noption dest_port 3000-3999",
    "option src 10.1.0.0/24\noption dest 10.2.0.2\noption src_port 3000-3999",
];

/// Renders the plan with a counter in place of the flowtable, which the kernel may lack.
fn counting(plan: &Plan) -> String {
    let rules = render(plan, &[]).replace("flow add @ft", "counter name \"offered\"");
    let (before, flowtable) = rules.split_once("\tflowtable ft {").unwrap();
    let (_, after) = flowtable.split_once("\n\t}\n").unwrap();
    format!("{before}\tcounter offered {{\n\t}}\n{after}")
}

/// Returns and resets the number of packets offered to the flowtable.
fn offered() -> u64 {
    let reset = ["reset", "counter", "inet", "fastpath", "offered"];
    let text = String::from_utf8(Command::new("nft").args(reset).output().unwrap().stdout).unwrap();
    let packets = text.split_once("packets ").unwrap().1.split(' ').next();
    packets.unwrap().parse().unwrap()
}

fn is_excluded(settings: &Settings, connection: &Connection) -> bool {
    const UDP: u8 = 17;
    let [initiator, responder] = connection.ends();
    let tuple = |from: SocketAddr, to: SocketAddr| Tuple {
        src: from.ip(),
        dst: to.ip(),
        proto: UDP,
        sport: from.port(),
        dport: to.port(),
    };
    let (orig, reply) = (tuple(initiator, responder), tuple(responder, initiator));
    let version = TrafficTypes::from_iter([TrafficType::of_address(orig.src)]);
    version.intersects(settings.left_out)
        || settings.excludes.iter().any(|exclude| exclude.matches(&orig, &reply))
}

#[test]
fn the_flow_table_predicts_excluded_connections() {
    on_a_gateway(|network, nft| async move {
        let candidate = |device: &str| Candidate {
            device: device.to_owned(),
            eligible: true,
            why: config::Cause::default(),
        };
        let devices = [candidate("lan0"), candidate("wan0")];
        let (mut port, mut seen) = (0, [0, 0]);
        let sections = EXCLUDES.map(|options| format!("config exclude\n{options}\n"));
        let switches = ["ipv4", "ipv6"].map(|of| format!("config fastpath main\noption {of} 0\n"));
        for options in sections.into_iter().chain(switches) {
            let (settings, warnings) =
                Settings::from_uci(&config::parse_uci(&options).unwrap()).unwrap();
            assert!(warnings.is_empty() && settings != Settings::default(), "{options}");
            nft.run(&counting(&plan(&devices, &settings, &Protection::default()))).await.unwrap();
            for left in [true, false] {
                // Use ports that conntrack has not seen.
                port += 1;
                for connection in [
                    network.connection_of_ports(left, [2000 + port, 3000 + port]),
                    network.connection_of_ports(left, [3000 + port, 2000 + port]),
                    network.connection6(left, 3000 + port),
                ] {
                    assert!(connection.send(10) && connection.reply(10));
                    offered();
                    assert!(connection.send(10) && connection.reply(10));
                    let excluded = is_excluded(&settings, &connection);
                    let ends = connection.ends();
                    assert_eq!(offered(), if excluded { 0 } else { 2 }, "{options} {ends:?}");
                    seen[usize::from(excluded)] += 1;
                }
            }
        }
        assert!(seen.iter().all(|count| *count > 9), "both outcomes: {seen:?}");
    });
}
