// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests requests to the eBPF engine and the credit of its counters.

use crate::support::offload::{
    PASSED, ebpf, offloaded_flow, passed, requested, start, table, update,
};
use crate::support::{
    self, BYPASS, GUEST, Net, at, counted, dump_in, entry, inspection, marked, only, tuple,
    uncounted, verdict, web, with_programs, with_status,
};
use ctnetlink::{Counters, Entry, Event, Status, TcpState};
use flows::{EngineState, FlowTable, OffloadRequest, Reason};
use model::{NextHop, Routing, TrafficType};

#[test]
fn requests_a_connection_when_it_is_established() {
    let mut table = table();
    let opening = Entry {
        status: Status::CONFIRMED,
        tcp_state: Some(TcpState::SynSent),
        ..uncounted(web(1))
    };
    table.event(&Event::New(opening), at(1.0), &with_programs());
    assert_eq!(table.offload_requests(), []);
    update(&mut table, 1.1, web(1), &with_programs());
    let connection = requested(&mut table);
    assert_eq!((connection.id, connection.zone, connection.orig), (1, 0, web(1).orig));
    update(&mut table, 1.2, web(1), &with_programs());
    assert_eq!(table.offload_requests(), [], "requested once");
    assert_eq!(table.offloading(&web(1)), Some(1));
    assert!(table.awaits_installation(1));
    assert_eq!(verdict(&only(&table, 1.3)).0, "slow");
    start(&mut table, 1.3, connection, web(1), &with_programs());
    assert!(!table.awaits_installation(1));
    assert_eq!(verdict(&only(&table, 1.3)), ("ebpf", ""));
}

#[test]
fn a_refused_flow_keeps_the_reason_until_the_network_changes() {
    for reason in [Reason::Mtu, Reason::Shaped, Reason::TableFull, Reason::NoNeighbour] {
        let mut table = table();
        update(&mut table, 1.0, web(1), &with_programs());
        let id = requested(&mut table).id;
        table.installed(id, Err(reason), at(1.0));
        assert_eq!(verdict(&only(&table, 1.0)), ("slow", reason.name()));
        assert_eq!(table.offloading(&web(1)), None);
        update(&mut table, 1.1, web(1), &with_programs());
        assert_eq!(table.offload_requests(), [], "unchanged network");
        let net = Net { generation: 2, ..with_programs() };
        update(&mut table, 1.2, web(1), &net);
        requested(&mut table);
    }
}

#[test]
fn retries_a_flow_refused_for_a_full_table_when_it_sends_packets() {
    let mut table = table();
    update(&mut table, 1.0, web(1), &with_programs());
    let id = requested(&mut table).id;
    table.installed(id, Err(Reason::TableFull), at(1.0));
    dump_in(&mut table, 2.0, &[passed(web(1))], &with_programs());
    assert_eq!(table.offload_requests(), []);
    dump_in(&mut table, 3.0, &[passed(counted(web(1), 1000, 0))], &with_programs());
    requested(&mut table);
}

#[test]
fn removes_an_offloaded_flow_when_it_becomes_ineligible() {
    let closing = Entry { tcp_state: Some(TcpState::FinWait), ..web(1) };
    let mut table = table();
    let id = offloaded_flow(&mut table, web(1));
    update(&mut table, 2.0, closing, &with_programs());
    assert_eq!(table.offload_requests(), [OffloadRequest::Remove(id)]);
    assert_eq!(verdict(&only(&table, 2.0)), ("slow", "closing"));

    let mut table = self::table();
    let id = offloaded_flow(&mut table, web(1));
    table.engine(EngineState::default(), at(2.0));
    assert_eq!(table.offload_requests(), [OffloadRequest::Remove(id)]);

    let mut table = self::table();
    let id = offloaded_flow(&mut table, web(1));
    table.inspection(inspection(), at(2.0));
    assert_eq!(table.offload_requests(), [OffloadRequest::Remove(id)]);
    update(&mut table, 3.0, marked(web(1), BYPASS), &with_programs());
    requested(&mut table);

    let mut table = self::table();
    let id = offloaded_flow(&mut table, web(1));
    dump_in(&mut table, 2.0, &[], &with_programs());
    assert_eq!(table.offload_requests(), [OffloadRequest::Remove(id)], "missing in the dump");
}

#[test]
fn requests_a_flow_removed_by_the_engine_again_if_it_is_eligible() {
    let mut table = table();
    let id = offloaded_flow(&mut table, web(1));
    table.removed(id, None, at(2.0), &with_programs());
    let connection = requested(&mut table);
    assert_eq!(connection.id, id);
    start(&mut table, 2.0, connection, web(1), &with_programs());
    let mut net = with_programs();
    net.generation = 2;
    net.wan.neighbour = false;
    table.removed(id, None, at(3.0), &net);
    assert_eq!(table.offload_requests(), []);
    assert_eq!(verdict(&only(&table, 3.0)), ("slow", "no-neighbour"));

    let mut table = self::table();
    let id = offloaded_flow(&mut table, web(1));
    table.removed(id, Some(Reason::TableFull), at(2.0), &with_programs());
    assert_eq!(verdict(&only(&table, 2.0)), ("slow", "table-full"));
}

#[test]
fn ebpf_requires_programs_at_both_sides() {
    let mut net = with_programs();
    (net.wan.in_ebpf, net.wan.in_flowtable) = (false, true);
    let mut table = table();
    update(&mut table, 1.0, web(1), &net);
    assert_eq!(table.offload_requests(), []);
    assert_eq!(verdict(&only(&table, 1.0)), ("slow", "no-device"));
    // With both sides in the flowtable, the kernel offloads the flow.
    let mut table = self::table();
    update(&mut table, 1.0, web(1), &Net::default());
    assert_eq!(table.offload_requests(), []);
    assert_eq!(verdict(&only(&table, 1.0)), ("slow", "pending"));
}

#[test]
fn ebpf_hairpins_only_translated_flows() {
    let local = entry(1, tuple(support::UDP, "10.10.0.2", 1000, "10.10.0.3", 53));
    let mut table = table();
    update(&mut table, 1.0, local, &with_programs());
    assert_eq!(table.offload_requests(), []);
    assert_eq!(verdict(&only(&table, 1.0)), ("slow", "same-side"));
    update(&mut table, 2.0, with_status(local, Status::DST_NAT), &with_programs());
    let requests = table.offload_requests();
    assert!(matches!(requests[..], [OffloadRequest::Install(_)]), "{requests:?}");
}

#[test]
fn bytes_are_the_sum_of_conntrack_and_ebpf() {
    let mut table = table();
    let first = passed(counted(uncounted(web(1)), 2000, 3000));
    table.trust_first_dump();
    let begun = Entry { status: Status::CONFIRMED, ..passed(uncounted(web(1))) };
    table.event(&Event::New(begun), at(0.4), &with_programs());
    dump_in(&mut table, 0.5, &[first], &with_programs());
    let connection = requested(&mut table);
    start(&mut table, 0.5, connection, web(1), &with_programs());
    let id = connection.id;
    let grown = |bytes| Counters { packets: bytes / 1000, bytes };
    table.count_offloaded(id, 0, grown(10_000), false, at(1.0));
    table.count_offloaded(id, 1, grown(70_000), false, at(1.0));
    dump_in(&mut table, 1.5, &[counted(web(1), 3000, 3000)], &with_programs());
    let row = only(&table, 1.5);
    assert_eq!(
        (row["up_bytes"].as_u64(), row["down_bytes"].as_u64()),
        (Some(13_000), Some(73_000))
    );
    let paths = table.totals().paths;
    assert_eq!((paths.ebpf.bytes, paths.ebpf.packets), (80_000, 80));
    assert_eq!((paths.slow.bytes, paths.flowtable.bytes), (6000, 0));
    // 10 kB by eBPF and 1 kB by the stack in one second.
    assert_eq!(row["up_bps"].as_f64(), Some(88_000.0));
    // The engine's last bytes arrive before the end event of conntrack.
    table.count_offloaded(id, 1, grown(1000), false, at(2.0));
    table.event(&Event::Destroy(counted(web(1), 4000, 3000)), at(2.0), &with_programs());
    let paths = table.totals().paths;
    assert_eq!((paths.ebpf.bytes, paths.slow.bytes), (81_000, 7000));
    assert!(table.is_empty());
}

#[test]
fn inherited_bytes_count_for_the_flow_but_not_for_totals() {
    let mut table = FlowTable::new();
    table.engine(ebpf(), at(0.0));
    table.event(&Event::Update(uncounted(web(1))), at(0.0), &with_programs());
    assert!(matches!(table.offload_requests()[..], [OffloadRequest::ClearMark(_)]));
    table.mark_cleared(1, table.rules());
    table.event(&Event::Update(passed(uncounted(web(1)))), at(0.0), &with_programs());
    let connection = requested(&mut table);
    start(&mut table, 0.0, connection, counted(web(1), 1000, 1000), &with_programs());
    let id = connection.id;
    table.count_offloaded(id, 0, Counters { packets: 5, bytes: 5000 }, true, at(0.0));
    dump_in(&mut table, 1.0, &[counted(web(1), 1000, 1000)], &with_programs());
    let row = only(&table, 1.0);
    assert_eq!((row["up_bytes"].as_u64(), row["down_bytes"].as_u64()), (Some(6000), Some(1000)));
    assert_eq!(table.totals().paths.ebpf.bytes, 0);
    dump_in(&mut table, 2.0, &[counted(web(1), 1000, 2000)], &with_programs());
    assert_eq!(table.totals().paths.slow.bytes, 1000);
    assert_eq!(only(&table, 2.0)["up_bytes"].as_u64(), Some(6000));
}

#[test]
fn removes_a_flow_when_its_traffic_type_is_switched_off() {
    let mut table = table();
    let id = offloaded_flow(&mut table, web(1));
    let off = |one| EngineState { left_out: [one].into_iter().collect(), ..ebpf() };
    table.engine(off(TrafficType::Ipv6), at(2.0));
    assert_eq!(table.offload_requests(), []);
    table.engine(off(TrafficType::Ipv4), at(3.0));
    assert_eq!(table.offload_requests()[0], OffloadRequest::Remove(id));
    assert_eq!(verdict(&only(&table, 3.0)), ("slow", "excluded"));
}

/// The rules set the mark after the first packets.
#[test]
fn requests_a_flow_with_the_mark_before_counters_show_its_first_packets() {
    let mut table = FlowTable::new();
    table.engine(EngineState { slow_packets: 10, ..ebpf() }, at(0.0));
    let net = with_programs();
    dump_in(&mut table, 0.0, &[], &net);
    let new = Entry { status: Status::CONFIRMED, ..uncounted(web(1)) };
    table.event(&Event::New(new), at(1.0), &net);
    table.event(&Event::Update(uncounted(web(1))), at(1.1), &net);
    assert_eq!(verdict(&only(&table, 1.1)), ("slow", "first-packets"));
    assert_eq!(table.offload_requests(), []);
    table.event(&Event::Update(passed(uncounted(web(1)))), at(1.2), &net);
    requested(&mut table);
}

#[test]
fn removes_a_flow_that_conntrack_does_not_confirm() {
    let dying = |state| Entry { tcp_state: Some(state), ..web(1) };
    let mut elsewhere = web(1);
    elsewhere.reply.dst = support::address("198.51.100.99");
    let net = with_programs();
    for (entry, reason) in [
        (None, "not-taken"),
        (Some(dying(TcpState::SynRecv)), "not-established"),
        (Some(dying(TcpState::FinWait)), "closing"),
        // Another connection with the same id and tuple, and its own translation.
        (Some(elsewhere), "pending"),
        (Some(Entry { id: 2, ..web(1) }), "not-taken"),
    ] {
        let mut table = table();
        update(&mut table, 1.0, web(1), &net);
        let connection = requested(&mut table);
        table.installed(1, Ok(()), at(1.0));
        table.offload_requests();
        let entry = entry.map(|entry| passed(uncounted(entry)));
        table.confirmed(connection.id, entry.as_ref(), table.reading_start(), at(1.1), &net);
        let requests = table.offload_requests();
        assert_eq!(requests[0], OffloadRequest::Remove(1), "{reason}");
        match requests[1..] {
            [] => assert_ne!(reason, "pending"),
            [OffloadRequest::Install(one)] => assert_eq!(one.reply, elsewhere.reply),
            ref other => panic!("{other:?}"),
        }
        assert_eq!(verdict(&only(&table, 1.1)), ("slow", reason));
    }
}

/// The destroy event of the first connection is lost.
#[test]
fn removes_an_offloaded_flow_when_another_connection_gets_its_id() {
    let net = with_programs();
    let mut elsewhere = uncounted(passed(web(1)));
    elsewhere.reply.dst = support::address("198.51.100.99");
    for event in [
        Event::New(uncounted(passed(web(1)))),
        Event::Update(elsewhere),
        Event::Update(Entry { tcp_state: Some(TcpState::SynRecv), ..uncounted(passed(web(1))) }),
    ] {
        let mut table = table();
        let id = offloaded_flow(&mut table, web(1));
        table.event(&event, at(2.0), &net);
        assert_eq!(table.offload_requests()[0], OffloadRequest::Remove(id), "{event:?}");
        assert_eq!(verdict(&only(&table, 2.0)).0, "slow", "{event:?}");
    }
}

#[test]
fn ignores_late_outcomes_of_a_withdrawn_request() {
    let mut table = table();
    update(&mut table, 1.0, web(1), &with_programs());
    let connection = requested(&mut table);
    table.engine(EngineState::default(), at(1.1));
    assert_eq!(table.offload_requests(), [OffloadRequest::Remove(1)]);
    table.installed(1, Ok(()), at(1.2));
    let (entry, since) = (passed(uncounted(web(1))), table.reading_start());
    table.confirmed(connection.id, Some(&entry), since, at(1.3), &with_programs());
    assert_eq!(table.offload_requests(), []);
    assert_eq!(verdict(&only(&table, 1.3)), ("slow", "engine-off"));
}

#[test]
fn omits_an_installation_followed_by_a_removal() {
    let dns = entry(1, tuple(support::UDP, "10.10.0.2", 1000, "192.0.2.53", 53));
    let net = with_programs();
    let mut table = table();
    update(&mut table, 1.0, dns, &net);
    let one_way = Entry { mark: PASSED[1], ..uncounted(dns) };
    table.event(&Event::Update(one_way), at(1.0), &net);
    update(&mut table, 1.0, dns, &net);
    let requests = table.offload_requests();
    assert!(
        matches!(requests[..], [OffloadRequest::Remove(1), OffloadRequest::Install(_)]),
        "{requests:?}"
    );
    table.event(&Event::Update(one_way), at(1.1), &net);
    assert_eq!(table.offload_requests(), [OffloadRequest::Remove(1)]);
}

#[test]
fn looks_up_the_route_again_for_a_new_mark() {
    let hops = |device| [GUEST, device].map(|device| NextHop { device, gateway: None });
    let mut net = with_programs();
    net.policy = Some(web(1).orig.src);
    net.routing = |mark| match mark & 0xf000 {
        0 => Routing::Unknown,
        0x1000 => Routing::Asked,
        0x5000 => Routing::Vrf {
            hops: [GUEST, 0x5000].map(|device| NextHop { device, gateway: None }),
            current: true,
        },
        mark => Routing::Kernel {
            hops: [GUEST, mark].map(|device| NextHop { device, gateway: None }),
            current: mark != 0x4000,
        },
    };
    let mut table = table();
    let with_mark = |table: &mut FlowTable, mark, net: &Net| {
        update(table, 1.0, Entry { mark, ..web(1) }, net);
        only(table, 1.0)
    };
    assert_eq!(verdict(&with_mark(&mut table, 0, &net)), ("slow", "policy-routed"));
    assert_eq!(verdict(&with_mark(&mut table, 0x1000, &net)), ("slow", "pending"));
    assert_eq!(table.offload_requests(), []);
    assert_eq!(
        verdict(&with_mark(&mut table, 0x4000, &net)),
        ("slow", "pending"),
        "from before a change"
    );
    assert_eq!(table.offload_requests(), []);
    with_mark(&mut table, 0x2000, &net);
    let connection = requested(&mut table);
    let id = connection.id;
    assert_eq!(table.next_hops(id), Some(hops(0x2000)));
    start(&mut table, 1.0, connection, Entry { mark: 0x2000, ..web(1) }, &net);
    assert_eq!(verdict(&with_mark(&mut table, 0x2001, &net)), ("ebpf", ""));
    assert_eq!(table.offload_requests(), []);
    with_mark(&mut table, 0x3000, &net);
    assert_eq!(table.offload_requests()[0], OffloadRequest::Remove(id));
    assert_eq!(table.next_hops(id), Some(hops(0x3000)));
    // Routes in a VRF are only for display.
    assert_eq!(verdict(&with_mark(&mut table, 0x5000, &net)), ("slow", "policy-routed"));
    assert_eq!(table.next_hops(id), Some(hops(0x5000)));
    assert_eq!(table.offload_requests(), [OffloadRequest::Remove(id)]);
}
