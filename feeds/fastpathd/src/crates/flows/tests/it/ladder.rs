// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the rungs of the ladder.

use std::time::Duration;

use crate::support::{Net, TCP, UDP, address};
use ctnetlink::{Status, TcpState};
use flows::{Facts, InspectionStatus, Network, OffloadState, Path, Reason, Side, climb};
use model::Engine;
use proptest::prelude::*;

/// Returns facts of an eligible flow that has been active long enough to count as refused.
fn taken<'a>(initiator: &'a flows::Side, responder: &'a flows::Side) -> Facts<'a> {
    Facts {
        engine: Engine::Flowtable,
        inspection: InspectionStatus::None,
        status: Status::SEEN_REPLY | Status::CONFIRMED,
        offload: OffloadState::Idle,
        local: false,
        multicast: false,
        proto: TCP,
        helper: false,
        seq_adjust: false,
        excluded: false,
        limited: false,
        rule_per_packet: false,
        encrypted: false,
        roaming: false,
        missed: false,
        first_packets: false,
        tcp_state: Some(TcpState::Established),
        route_asked: false,
        policy_routed: false,
        initiator: Some(initiator),
        responder: Some(responder),
        by_cpu: [None; 2],
        hardware_full: false,
        taken_for: Duration::ZERO,
        quiet: Duration::ZERO,
        active_for: Duration::from_secs(5),
    }
}

fn check(change: impl for<'a> Fn(&mut Facts<'a>, &'a Net), path: Path, reason: Option<Reason>) {
    let net = Net::default();
    let mut facts = taken(&net.lan, &net.wan);
    change(&mut facts, &net);
    assert_eq!(climb(&facts), (path, reason), "{facts:?}");
}

fn slow(reason: Reason, change: impl for<'a> Fn(&mut Facts<'a>, &'a Net)) {
    check(change, Path::Slow, Some(reason));
}

#[test]
fn status_bits_take_precedence() {
    check(|facts, _| facts.status = Status::OFFLOAD, Path::Flowtable, None);
    let both = Status::OFFLOAD | Status::HW_OFFLOAD;
    check(move |facts, _| facts.status = both, Path::Hardware, None);
    let foreign = |facts: &mut Facts<'_>, _: &Net| {
        (facts.engine, facts.status, facts.local) = (Engine::Off, Status::OFFLOAD, true);
    };
    check(foreign, Path::Flowtable, None);
}

#[test]
fn hardware_requires_drivers_at_both_ends() {
    let both = Status::OFFLOAD | Status::HW_OFFLOAD;
    for (lan, wan) in [(true, false), (false, true), (false, false)] {
        let mut net = Net::default();
        (net.lan.hardware, net.wan.hardware) = (Some(lan), Some(wan));
        let facts = Facts { status: both, ..taken(&net.lan, &net.wan) };
        assert_eq!(climb(&facts), (Path::Flowtable, None), "{lan} {wan}");
        let foreign = Facts { engine: Engine::Off, ..facts };
        assert_eq!(climb(&foreign), (Path::Hardware, None), "foreign flowtable");
    }
    let mut net = Net::default();
    net.wan.in_flowtable = false;
    let facts = Facts { status: both, ..taken(&net.lan, &net.wan) };
    assert_eq!(climb(&facts), (Path::Hardware, None), "packets from the other end");
    net.lan.in_flowtable = false;
    let facts = Facts { status: both, ..taken(&net.lan, &net.wan) };
    assert_eq!(climb(&facts).0, Path::Slow, "no listed device");
}

#[test]
fn flows_outside_hardware_have_a_reason_between_ports_with_offload() {
    let both = Status::OFFLOAD | Status::HW_OFFLOAD;
    let five = Duration::from_secs(5);
    let net = Net::default();
    let refused = Facts {
        engine: Engine::FlowtableHw,
        status: Status::OFFLOAD,
        taken_for: five,
        ..taken(&net.lan, &net.wan)
    };
    let lost = Facts { status: both, by_cpu: [Some(true); 2], ..refused };
    for (facts, path, reason) in [
        (refused, Path::Flowtable, Some(Reason::HwRefused)),
        (Facts { hardware_full: true, ..refused }, Path::Flowtable, Some(Reason::HwTableFull)),
        (Facts { taken_for: Duration::ZERO, ..refused }, Path::Flowtable, None),
        (Facts { engine: Engine::Flowtable, ..refused }, Path::Flowtable, None),
        (lost, Path::Flowtable, Some(Reason::HwLost)),
        (Facts { by_cpu: [Some(true), None], ..lost }, Path::Hardware, None),
        (Facts { by_cpu: [Some(false), Some(true)], ..lost }, Path::Hardware, None),
        (Facts { engine: Engine::Off, ..lost }, Path::Hardware, None),
    ] {
        assert_eq!(climb(&facts), (path, reason), "{facts:?}");
    }
    let mut net = Net::default();
    net.wan.hardware = Some(false);
    let facts = Facts { initiator: Some(&net.lan), responder: Some(&net.wan), ..refused };
    assert_eq!(climb(&facts), (Path::Flowtable, None), "a port without hardware offload");
}

#[test]
fn inspection_takes_precedence_over_the_flowtable() {
    let waits = |facts: &mut Facts<'_>, _: &Net| facts.inspection = InspectionStatus::Inspecting;
    check(waits, Path::Inspect, Some(Reason::Inspecting));
    let always = |facts: &mut Facts<'_>, _: &Net| {
        (facts.inspection, facts.engine) = (InspectionStatus::Always, Engine::Off);
    };
    check(always, Path::Inspect, Some(Reason::AlwaysInspected));
    slow(Reason::Uninspected, |facts, _| facts.inspection = InspectionStatus::Uninspected);
    slow(Reason::Stopped, |facts, _| facts.inspection = InspectionStatus::Stopped);
    for over in [InspectionStatus::None, InspectionStatus::Bypassed, InspectionStatus::Spent] {
        slow(Reason::NotTaken, |facts, _| facts.inspection = over);
    }
    let offloaded = |facts: &mut Facts<'_>, _: &Net| {
        (facts.inspection, facts.status) = (InspectionStatus::Always, Status::OFFLOAD);
    };
    check(offloaded, Path::Flowtable, None);
    let opening = |facts: &mut Facts<'_>, _: &Net| {
        (facts.inspection, facts.status) = (InspectionStatus::Inspecting, Status::CONFIRMED);
        facts.helper = true;
    };
    check(opening, Path::Inspect, Some(Reason::Inspecting));
    let ending = |facts: &mut Facts<'_>, _: &Net| {
        facts.inspection = InspectionStatus::Inspecting;
        facts.tcp_state = Some(TcpState::FinWait);
    };
    check(ending, Path::Inspect, Some(Reason::Closing));
}

#[test]
fn unsupported_kinds_of_flows_are_slow() {
    slow(Reason::EngineOff, |facts, _| facts.engine = Engine::Off);
    slow(Reason::Local, |facts, _| facts.local = true);
    slow(Reason::Multicast, |facts, _| facts.multicast = true);
    slow(Reason::UnsupportedProtocol, |facts, _| facts.proto = 47);
    slow(Reason::UnsupportedProtocol, |facts, _| facts.proto = 1);
    slow(Reason::Helper, |facts, _| facts.helper = true);
    slow(Reason::SequenceAdjust, |facts, _| facts.seq_adjust = true);
    slow(Reason::Excluded, |facts, _| facts.excluded = true);
}

#[test]
fn only_established_connections_can_be_offloaded() {
    use TcpState::{CloseWait, FinWait};
    for state in [TcpState::None, TcpState::SynSent, TcpState::SynRecv, TcpState::SynSent2] {
        slow(Reason::NotEstablished, |facts, _| facts.tcp_state = Some(state));
    }
    slow(Reason::NotEstablished, |facts, _| facts.status = Status::CONFIRMED);
    slow(Reason::NotEstablished, |facts, _| {
        (facts.proto, facts.tcp_state, facts.status) = (UDP, None, Status::CONFIRMED);
    });
    for state in [FinWait, CloseWait] {
        slow(Reason::Closing, |facts, _| facts.tcp_state = Some(state));
    }
    slow(Reason::NotTaken, |facts, _| facts.tcp_state = None);
}

#[test]
fn an_ended_connection_has_the_path_ended() {
    use TcpState::{Close, LastAck, TimeWait};
    for state in [LastAck, TimeWait, Close] {
        let over = |facts: &mut Facts<'_>| facts.tcp_state = Some(state);
        check(|facts, _| over(facts), Path::Ended, None);
        for inspection in InspectionStatus::ALL {
            let inspected = |facts: &mut Facts<'_>, _: &Net| {
                over(facts);
                facts.inspection = inspection;
            };
            check(inspected, Path::Ended, None);
        }
        let kept = |facts: &mut Facts<'_>, _: &Net| {
            over(facts);
            (facts.helper, facts.excluded, facts.responder) = (true, true, None);
            facts.status = Status::CONFIRMED;
        };
        check(kept, Path::Ended, None);
        slow(Reason::Local, |facts, _| (facts.tcp_state, facts.local) = (Some(state), true));
        slow(Reason::NotTaken, |facts, _| (facts.proto, facts.tcp_state) = (UDP, Some(state)));
    }
    check(|facts, _| facts.status = facts.status | Status::DYING, Path::Ended, None);
    let dying = |facts: &mut Facts<'_>, _: &Net| {
        (facts.proto, facts.tcp_state) = (UDP, None);
        facts.status = facts.status | Status::DYING;
    };
    check(dying, Path::Ended, None);
    slow(Reason::Multicast, |facts, _| {
        (facts.status, facts.multicast) = (facts.status | Status::DYING, true);
    });
}

#[test]
fn flows_without_route_neighbour_or_device_are_slow() {
    slow(Reason::NoRoute, |facts, _| facts.initiator = None);
    slow(Reason::NoRoute, |facts, _| facts.responder = None);
    slow(Reason::SameSide, |facts, net| facts.responder = Some(&net.lan));
    let mut net = Net::default();
    net.wan.neighbour = false;
    assert_eq!(climb(&taken(&net.lan, &net.wan)).1, Some(Reason::NoNeighbour));
    net.wan.port = "".into();
    net.wan.in_flowtable = false;
    assert_eq!(climb(&taken(&net.lan, &net.wan)).1, Some(Reason::NoNeighbour), "unknown port");
    net.wan.port = "wan".into();
    assert_eq!(climb(&taken(&net.lan, &net.wan)).1, Some(Reason::NoDevice));
    assert_eq!(climb(&taken(&net.wan, &net.lan)).1, Some(Reason::NoDevice), "either side");
    net.wan.tunnel = true;
    assert_eq!(climb(&taken(&net.lan, &net.wan)).1, Some(Reason::Tunnel));
    net.wan.in_flowtable = true;
    net.wan.neighbour = true;
    assert_eq!(climb(&taken(&net.lan, &net.wan)).1, Some(Reason::NotTaken), "a listed tunnel");
    net.wan.encapsulated = true;
    assert_eq!(climb(&taken(&net.wan, &net.lan)).1, Some(Reason::Encapsulated), "either side");
}

#[test]
fn flows_that_miss_their_entry_are_slow() {
    for status in [Status::OFFLOAD, Status::OFFLOAD | Status::HW_OFFLOAD] {
        slow(Reason::EntryMissed, |facts, _| {
            (facts.missed, facts.status) = (true, status | Status::SEEN_REPLY);
        });
    }
    slow(Reason::Closing, |facts, _| {
        (facts.missed, facts.tcp_state) = (true, Some(TcpState::FinWait));
    });
}

#[test]
fn encrypted_roaming_and_limited_flows_are_slow() {
    slow(Reason::Ipsec, |facts, _| facts.encrypted = true);
    slow(Reason::Ipsec, |facts, _| (facts.encrypted, facts.responder) = (true, None));
    slow(Reason::Roaming, |facts, _| facts.roaming = true);
    slow(Reason::Limited, |facts, _| facts.limited = true);
    let net = &mut Net::default();
    for side in [&mut net.lan, &mut net.wan] {
        (side.in_flowtable, side.in_ebpf) = (false, true);
    }
    let facts = Facts { engine: Engine::Ebpf, ..taken(&net.lan, &net.wan) };
    let roaming = climb(&Facts { roaming: true, ..facts });
    assert_eq!(roaming.1, Some(Reason::NotTaken), "eBPF supports roaming");
    assert_eq!(climb(&Facts { encrypted: true, ..facts }).1, Some(Reason::Ipsec));
    assert_eq!(climb(&Facts { limited: true, ..facts }).1, Some(Reason::Limited));
}

#[test]
fn routing_rules_prevent_ebpf_but_not_flowtable_offload() {
    let ruled = |facts: &mut Facts<'_>, _: &Net| facts.policy_routed = true;
    slow(Reason::NotTaken, ruled);
    let net = &mut Net::default();
    for side in [&mut net.lan, &mut net.wan] {
        (side.in_flowtable, side.in_ebpf) = (false, true);
    }
    let mut facts = taken(&net.lan, &net.wan);
    (facts.engine, facts.policy_routed) = (Engine::Ebpf, true);
    assert_eq!(climb(&facts), (Path::Slow, Some(Reason::PolicyRouted)));
    facts.responder = None;
    assert_eq!(climb(&facts).1, Some(Reason::PolicyRouted), "another table may have the route");
    facts.policy_routed = false;
    assert_eq!(climb(&facts).1, Some(Reason::NoRoute));
    let net = Net::default();
    let mut facts = taken(&net.lan, &net.wan);
    (facts.engine, facts.policy_routed) = (Engine::Ebpf, true);
    assert_eq!(climb(&facts).1, Some(Reason::NotTaken), "a flowtable keeps the kernel's route");
}

#[test]
fn two_vlans_of_a_device_are_different_sides() {
    let net = Net::default();
    let mut other = net.lan.clone();
    other.vlan = 20;
    assert_eq!(climb(&taken(&net.lan, &other)).1, Some(Reason::NotTaken));
}

#[test]
fn idle_pending_and_not_taken_depend_on_time() {
    slow(Reason::Idle, |facts, _| facts.quiet = Duration::from_secs(30));
    slow(Reason::Pending, |facts, _| facts.active_for = Duration::from_millis(4999));
    slow(Reason::Pending, |facts, _| {
        (facts.quiet, facts.active_for) = (Duration::from_secs(29), Duration::ZERO);
    });
    slow(Reason::NotTaken, |_, _| ());
}

#[test]
fn first_packets_is_the_reason_only_if_no_rung_holds() {
    slow(Reason::FirstPackets, |facts, _| facts.first_packets = true);
    slow(Reason::FirstPackets, |facts, _| {
        (facts.first_packets, facts.quiet) = (true, Duration::from_secs(30));
    });
    slow(Reason::Local, |facts, _| (facts.first_packets, facts.local) = (true, true));
    slow(Reason::NotEstablished, |facts, _| {
        (facts.first_packets, facts.status) = (true, Status::CONFIRMED);
    });
    let offloaded = |facts: &mut Facts<'_>, _: &Net| {
        (facts.first_packets, facts.status) = (true, Status::OFFLOAD);
    };
    check(offloaded, Path::Flowtable, None);
}

#[test]
fn an_earlier_rung_wins() {
    slow(Reason::Local, |facts, _| (facts.local, facts.proto) = (true, 1));
    slow(Reason::Local, |facts, _| (facts.local, facts.engine) = (true, Engine::Off));
    slow(Reason::Multicast, |facts, _| (facts.multicast, facts.engine) = (true, Engine::Off));
    slow(Reason::Helper, |facts, _| (facts.helper, facts.initiator) = (true, None));
    slow(Reason::Closing, |facts, _| {
        (facts.status, facts.tcp_state) = (Status::CONFIRMED, Some(TcpState::FinWait));
    });
}

proptest! {
    #[test]
    fn a_verdict_has_a_reason_only_if_slow_inspected_or_outside_hardware(
        engine in prop::sample::select(vec![Engine::Off, Engine::Flowtable, Engine::FlowtableHw]),
        inspection in prop::sample::select(InspectionStatus::ALL.to_vec()),
        status in 0_u32..1 << 16,
        proto in any::<u8>(),
        flags in any::<[bool; 11]>(),
        state in 0_u8..11,
        ends in (0_usize..4, 0_usize..4),
        times in (0_u64..100, 0_u64..100),
        hardware in (any::<[Option<bool>; 2]>(), any::<bool>(), 0_u64..10),
    ) {
        let net = Net::default();
        let sides = [None, Some(&net.lan), Some(&net.guest), Some(&net.wan)];
        let [local, multicast, helper, seq_adjust, excluded, kept @ .., first_packets] = flags;
        let [limited, rule_per_packet, encrypted, roaming, missed] = kept;
        let facts = Facts {
            engine,
            inspection,
            status: Status(status),
            offload: OffloadState::Idle,
            local,
            multicast,
            proto,
            helper,
            seq_adjust,
            excluded,
            limited,
            rule_per_packet,
            encrypted,
            roaming,
            missed,
            first_packets,
            tcp_state: TcpState::from_kernel(state),
            route_asked: false,
            policy_routed: false,
            initiator: sides[ends.0],
            responder: sides[ends.1],
            by_cpu: hardware.0,
            hardware_full: hardware.1,
            taken_for: Duration::from_secs(hardware.2),
            quiet: Duration::from_secs(times.0),
            active_for: Duration::from_secs(times.1),
        };
        let (path, reason) = climb(&facts);
        let outside = [Reason::HwRefused, Reason::HwTableFull, Reason::HwLost];
        let outside = reason.is_some_and(|reason| outside.contains(&reason));
        prop_assert_eq!(matches!(path, Path::Slow | Path::Inspect), reason.is_some() && !outside);
        prop_assert!(!outside || (path, engine) == (Path::Flowtable, Engine::FlowtableHw));
        // All devices are listed, so status bits hold unless packets miss the entry.
        prop_assert_eq!(path.offloaded(), status & 0xc000 != 0 && !missed);
        prop_assert_eq!(climb(&facts), (path, reason));
    }
}

#[test]
fn path_and_reason_names_match_the_schema() {
    let schema = include_str!("../../../../schema/types.json");
    let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
    let list = |name: &str| -> Vec<String> {
        let words = schema["$defs"][name]["enum"].as_array().expect("a list");
        words.iter().map(|word| word.as_str().expect("a word").to_owned()).collect()
    };
    let mut reasons = list("Reason");
    assert_eq!(reasons.remove(0), "", "no reason");
    let mut ours: Vec<String> = Reason::ALL.iter().map(|r| r.name().to_owned()).collect();
    ours.sort();
    reasons.sort();
    assert_eq!(ours, reasons);
    let paths: Vec<&str> = Path::ALL.iter().map(|path| path.name()).collect();
    assert_eq!(paths, list("Path"));
    for reason in Reason::ALL {
        assert_eq!(serde_json::to_value(reason).expect("a word"), reason.name());
        assert_eq!(Reason::from_name(reason.name()), Some(reason));
    }
    for path in Path::ALL {
        assert_eq!(serde_json::to_value(path).expect("a word"), path.name());
        assert_eq!(Path::from_name(path.name()), Some(path));
    }
}

#[test]
fn the_test_router_has_the_documented_addresses() {
    let net = Net::default();
    assert!(net.is_local(address("10.0.0.1")) && !net.is_local(address("10.10.0.2")));
    assert_eq!(net.side(address("10.20.0.9"), None), Some(net.guest.clone()));
    assert_eq!(net.side(address("172.16.0.1"), None), None);
}

#[test]
fn shaping_of_either_side_prevents_flowtable_offload() {
    let net = Net::default();
    let queued = |side: &Side| Side { shaped: true, ..side.clone() };
    let (lan, wan) = (queued(&net.lan), queued(&net.wan));
    for facts in [taken(&lan, &net.wan), taken(&net.lan, &wan)] {
        assert_eq!(climb(&facts), (Path::Slow, Some(Reason::Shaped)));
        // The flowtable forwards the flow until its entry is removed.
        let there = Facts { status: Status::OFFLOAD, ..facts };
        assert_eq!(climb(&there), (Path::Flowtable, None));
    }
    // The eBPF engine checks bypassed queueing disciplines itself.
    let held = |side: &Side| Side { in_ebpf: true, in_flowtable: false, ..side.clone() };
    let (lan, wan) = (held(&lan), held(&wan));
    let facts =
        Facts { engine: Engine::Ebpf, offload: OffloadState::Offloaded, ..taken(&lan, &wan) };
    assert_eq!(climb(&facts), (Path::Ebpf, None));
    let waits = Facts { offload: OffloadState::Requested, active_for: Duration::ZERO, ..facts };
    assert_eq!(climb(&waits), (Path::Slow, Some(Reason::Pending)));
}

#[test]
fn ebpf_waits_for_the_kernels_route() {
    let asked = |facts: &mut Facts<'_>, _: &Net| facts.route_asked = true;
    slow(Reason::NotTaken, asked);
    let net = &mut Net::default();
    for side in [&mut net.lan, &mut net.wan] {
        (side.in_flowtable, side.in_ebpf) = (false, true);
    }
    let mut facts = taken(&net.lan, &net.wan);
    (facts.engine, facts.route_asked) = (Engine::Ebpf, true);
    assert_eq!(climb(&facts), (Path::Slow, Some(Reason::Pending)));
    facts.responder = None;
    assert_eq!(climb(&facts).1, Some(Reason::Pending), "the answer may be a route");
}
