// SPDX-License-Identifier: GPL-2.0-or-later
//! Which flows the eBPF engine is offered, and what becomes of what it counts.

#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

mod support;

use ctnetlink::{Counters, Entry, Event, Status, TcpState};
use flows::{Engine, EngineState, FlowTable, Offer, Reason, Wish};
use support::{
    BYPASS, Net, at, counted, dump_in, entry, inspection, marked, only, tuple, uncounted, verdict,
    web, with_programs, with_status,
};

const PASSED: [u32; 2] = [0x100, 0x200];

fn ebpf() -> EngineState {
    EngineState { engine: Engine::Ebpf, excludes: Vec::new(), passed: PASSED }
}

/// As it is when its packets have passed the rules both ways.
fn passed(entry: Entry) -> Entry {
    Entry { mark: entry.mark | PASSED[0] | PASSED[1], ..entry }
}

fn table() -> FlowTable {
    let mut table = FlowTable::new();
    table.engine(ebpf(), at(0.0));
    dump_in(&mut table, 0.0, &[], &with_programs());
    table
}

fn update(table: &mut FlowTable, seconds: f64, entry: Entry, net: &Net) {
    let entry = passed(uncounted(entry));
    // It is known from its beginning.
    if table.is_empty() {
        table.event(&Event::New(Entry { status: Status::CONFIRMED, ..entry }), at(seconds), net);
    }
    table.event(&Event::Update(entry), at(seconds), net);
}

fn offer(table: &mut FlowTable) -> Offer {
    match table.wishes()[..] {
        [Wish::Take(offer)] => offer,
        ref other => panic!("{other:?}"),
    }
}

/// The only flow, carried since second 1.
fn carried(table: &mut FlowTable, entry: Entry) -> u64 {
    update(table, 1.0, entry, &with_programs());
    let id = offer(table).id;
    table.taken(id, Ok(()), at(1.0));
    id
}

#[test]
fn a_connection_is_offered_once_it_is_established() {
    let mut table = table();
    let opening = Entry {
        status: Status::CONFIRMED,
        tcp_state: Some(TcpState::SynSent),
        ..uncounted(web(1))
    };
    table.event(&Event::New(opening), at(1.0), &with_programs());
    assert_eq!(table.wishes(), []);
    update(&mut table, 1.1, web(1), &with_programs());
    let offer = offer(&mut table);
    assert_eq!((offer.id, offer.zone, offer.orig), (1, 0, web(1).orig));
    update(&mut table, 1.2, web(1), &with_programs());
    assert_eq!(table.wishes(), [], "one offer is enough");
    assert_eq!(table.offered(&web(1)), Some(1));
    table.taken(1, Ok(()), at(1.3));
    assert_eq!(verdict(&only(&table, 1.3)), ("ebpf", ""));
}

#[test]
fn who_says_no_is_quoted() {
    for reason in [Reason::Mtu, Reason::Shaped, Reason::TableFull, Reason::NoNeighbour] {
        let mut table = table();
        update(&mut table, 1.0, web(1), &with_programs());
        let id = offer(&mut table).id;
        table.taken(id, Err(reason), at(1.0));
        assert_eq!(verdict(&only(&table, 1.0)), ("slow", reason.word()));
        assert_eq!(table.offered(&web(1)), None);
        update(&mut table, 1.1, web(1), &with_programs());
        assert_eq!(table.wishes(), [], "the answer would be the same");
        let net = Net { generation: 2, ..with_programs() };
        update(&mut table, 1.2, web(1), &net);
        offer(&mut table);
    }
}

#[test]
fn who_found_no_room_asks_again_while_he_sends() {
    let mut table = table();
    update(&mut table, 1.0, web(1), &with_programs());
    let id = offer(&mut table).id;
    table.taken(id, Err(Reason::TableFull), at(1.0));
    dump_in(&mut table, 2.0, &[passed(web(1))], &with_programs());
    assert_eq!(table.wishes(), []);
    dump_in(&mut table, 3.0, &[passed(counted(web(1), 1000, 0))], &with_programs());
    offer(&mut table);
}

#[test]
fn what_must_not_be_carried_any_more_leaves() {
    let closing = Entry { tcp_state: Some(TcpState::FinWait), ..web(1) };
    let mut table = table();
    let id = carried(&mut table, web(1));
    update(&mut table, 2.0, closing, &with_programs());
    assert_eq!(table.wishes(), [Wish::Leave(id)]);
    assert_eq!(verdict(&only(&table, 2.0)), ("slow", "closing"));

    let mut table = self::table();
    let id = carried(&mut table, web(1));
    table.engine(EngineState::default(), at(2.0));
    assert_eq!(table.wishes(), [Wish::Leave(id)]);

    let mut table = self::table();
    let id = carried(&mut table, web(1));
    table.inspection(inspection(), at(2.0));
    assert_eq!(table.wishes(), [Wish::Leave(id)]);
    update(&mut table, 3.0, marked(web(1), BYPASS), &with_programs());
    offer(&mut table);

    let mut table = self::table();
    let id = carried(&mut table, web(1));
    dump_in(&mut table, 2.0, &[], &with_programs());
    assert_eq!(table.wishes(), [Wish::Leave(id)], "it is gone");
}

#[test]
fn what_left_by_itself_is_offered_as_the_network_is_now() {
    let mut table = table();
    let id = carried(&mut table, web(1));
    table.left(id, None, at(2.0), &with_programs());
    assert_eq!(offer(&mut table).id, id);
    table.taken(id, Ok(()), at(2.0));
    let mut net = with_programs();
    net.generation = 2;
    net.wan.neighbour = false;
    table.left(id, None, at(3.0), &net);
    assert_eq!(table.wishes(), []);
    assert_eq!(verdict(&only(&table, 3.0)), ("slow", "no-neighbour"));

    let mut table = self::table();
    let id = carried(&mut table, web(1));
    table.left(id, Some(Reason::TableFull), at(2.0), &with_programs());
    assert_eq!(verdict(&only(&table, 2.0)), ("slow", "table-full"));
}

#[test]
fn both_sides_need_a_program() {
    let mut net = with_programs();
    (net.wan.in_ebpf, net.wan.in_flowtable) = (false, true);
    let mut table = table();
    update(&mut table, 1.0, web(1), &net);
    assert_eq!(table.wishes(), []);
    assert_eq!(verdict(&only(&table, 1.0)), ("slow", "no-device"));
    // Both in the flowtable: that carries it, if it likes.
    let mut table = self::table();
    update(&mut table, 1.0, web(1), &Net::default());
    assert_eq!(table.wishes(), []);
    assert_eq!(verdict(&only(&table, 1.0)), ("slow", "pending"));
}

#[test]
fn only_what_is_translated_goes_back_where_it_came_from() {
    let local = entry(1, tuple(support::UDP, "10.10.0.2", 1000, "10.10.0.3", 53));
    let mut table = table();
    update(&mut table, 1.0, local, &with_programs());
    assert_eq!(table.wishes(), []);
    assert_eq!(verdict(&only(&table, 1.0)), ("slow", "same-side"));
    update(&mut table, 2.0, with_status(local, Status::DST_NAT), &with_programs());
    offer(&mut table);
}

#[test]
fn the_sum_is_the_kernels_and_ours() {
    let mut table = table();
    let first = passed(counted(uncounted(web(1)), 2000, 3000));
    table.trust_found();
    let begun = Entry { status: Status::CONFIRMED, ..passed(uncounted(web(1))) };
    table.event(&Event::New(begun), at(0.4), &with_programs());
    dump_in(&mut table, 0.5, &[first], &with_programs());
    let id = offer(&mut table).id;
    table.taken(id, Ok(()), at(0.5));
    let grown = |bytes| Counters { packets: bytes / 1000, bytes };
    table.carried(id, 0, grown(10_000), false, at(1.0));
    table.carried(id, 1, grown(70_000), false, at(1.0));
    // The stack has seen one packet more.
    dump_in(&mut table, 1.5, &[counted(web(1), 3000, 3000)], &with_programs());
    let row = only(&table, 1.5);
    assert_eq!(
        (row["up_bytes"].as_u64(), row["down_bytes"].as_u64()),
        (Some(13_000), Some(73_000))
    );
    let paths = table.totals().paths;
    assert_eq!((paths.ebpf.bytes, paths.ebpf.packets), (80_000, 80));
    assert_eq!((paths.slow.bytes, paths.flowtable.bytes), (6000, 0));
    // 10 kB and 1 kB within a second, then silence.
    assert_eq!(row["up_bps"].as_f64(), Some(88_000.0));
    // The last ones come before conntrack's, with the end of the connection.
    table.carried(id, 1, grown(1000), false, at(2.0));
    table.event(&Event::Destroy(counted(web(1), 4000, 3000)), at(2.0), &with_programs());
    let paths = table.totals().paths;
    assert_eq!((paths.ebpf.bytes, paths.slow.bytes), (81_000, 7000));
    assert!(table.is_empty());
}

#[test]
fn what_a_daemon_before_has_counted_is_shown_and_in_no_sum() {
    let mut table = FlowTable::new();
    table.engine(ebpf(), at(0.0));
    table.event(&Event::Update(uncounted(web(1))), at(0.0), &with_programs());
    assert!(matches!(table.wishes()[..], [Wish::Renew(_)]));
    table.renewed(1);
    table.event(&Event::Update(passed(uncounted(web(1)))), at(0.0), &with_programs());
    let id = offer(&mut table).id;
    table.taken(id, Ok(()), at(0.0));
    table.carried(id, 0, Counters { packets: 5, bytes: 5000 }, true, at(0.0));
    dump_in(&mut table, 1.0, &[counted(web(1), 1000, 1000)], &with_programs());
    let row = only(&table, 1.0);
    assert_eq!((row["up_bytes"].as_u64(), row["down_bytes"].as_u64()), (Some(6000), Some(1000)));
    assert_eq!(table.totals().paths.ebpf.bytes, 0);
    dump_in(&mut table, 2.0, &[counted(web(1), 1000, 2000)], &with_programs());
    assert_eq!(table.totals().paths.slow.bytes, 1000);
    assert_eq!(only(&table, 2.0)["up_bytes"].as_u64(), Some(6000));
}

/// Found by a dump, established, with a mark that says that it passed the rules.
fn found(table: &mut FlowTable) -> Offer {
    dump_in(table, 1.0, &[passed(web(1))], &with_programs());
    match table.wishes()[..] {
        [Wish::Renew(offer)] => offer,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn an_old_mark_tells_nothing_of_the_rules_in_force() {
    let mut table = table();
    let asked = found(&mut table);
    dump_in(&mut table, 2.0, &[passed(web(1))], &with_programs());
    assert_eq!(table.wishes(), [], "asked once");
    table.renewed(asked.id);
    let one_way = Entry { mark: PASSED[1], ..web(1) };
    for stopped in [web(1), one_way] {
        dump_in(&mut table, 3.0, &[stopped], &with_programs());
        assert_eq!(table.wishes(), [], "{:#x}", stopped.mark);
    }
    assert_eq!(verdict(&only(&table, 3.0)).0, "slow");
    table.event(&Event::Update(passed(uncounted(web(1)))), at(4.0), &with_programs());
    assert_eq!(offer(&mut table).id, asked.id);
}

#[test]
fn what_was_read_before_the_mark_was_made_anew_does_not_count() {
    let mut table = table();
    let asked = found(&mut table);
    table.dump_begin(at(2.0));
    table.renewed(asked.id);
    table.merge(&passed(web(1)), at(2.0), &with_programs());
    table.dump_end(at(2.0), true);
    assert_eq!(table.wishes(), []);
    dump_in(&mut table, 3.0, &[passed(web(1))], &with_programs());
    offer(&mut table);
}

#[test]
fn other_rules_have_to_be_passed_anew() {
    let mut table = table();
    let id = carried(&mut table, web(1));
    // Elements of a set: what is carried goes on, and is not taken up again.
    table.distrust(false, at(2.0));
    update(&mut table, 2.0, web(1), &with_programs());
    assert_eq!(table.wishes(), []);
    table.left(id, None, at(2.1), &with_programs());
    let wishes = table.wishes();
    assert!(matches!(wishes[..], [Wish::Renew(offer)] if offer.id == id), "{wishes:?}");

    let mut table = self::table();
    let id = carried(&mut table, web(1));
    table.distrust(true, at(2.0));
    let wishes = table.wishes();
    let renewed = |wish: &Wish| matches!(wish, Wish::Renew(offer) if offer.id == id);
    assert!(wishes[0] == Wish::Leave(id) && renewed(&wishes[1]), "{wishes:?}");
    table.renewed(id);
    update(&mut table, 3.0, web(1), &with_programs());
    offer(&mut table);
}

#[test]
fn a_daemon_before_may_have_seen_the_rules_in_force() {
    let mut table = FlowTable::new();
    table.engine(ebpf(), at(0.0));
    table.trust_found();
    dump_in(&mut table, 0.0, &[passed(web(1))], &with_programs());
    offer(&mut table);
    // What no event has told of later is as old as it may be.
    dump_in(&mut table, 1.0, &[passed(web(1)), passed(web(2))], &with_programs());
    let wishes = table.wishes();
    assert!(matches!(wishes[..], [Wish::Renew(offer)] if offer.id == 2), "{wishes:?}");
}

#[test]
fn nothing_is_taken_up_without_rules_that_tell() {
    let mut table = FlowTable::new();
    table.engine(EngineState { passed: [0; 2], ..ebpf() }, at(0.0));
    update(&mut table, 1.0, web(1), &with_programs());
    assert_eq!(table.wishes(), []);
}
