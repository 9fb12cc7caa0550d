// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that eBPF offload is requested only for flows that have passed the rules in force.

use crate::support::offload::{PASSED, ebpf, offloaded_flow, passed, requested, table, update};
use crate::support::{at, dump_in, only, uncounted, verdict, web, with_programs};
use ctnetlink::{Entry, Event, Status};
use flows::{EngineState, FlowTable, OffloadRequest};
use model::Connection;

/// Dumps a flow with the `passed` bits, and returns the connection of the `ClearMark` request.
fn found(table: &mut FlowTable) -> Connection {
    dump_in(table, 1.0, &[passed(web(1))], &with_programs());
    match table.offload_requests()[..] {
        [OffloadRequest::ClearMark(connection)] => connection,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn clears_a_mark_set_by_older_rules() {
    let mut table = table();
    let asked = found(&mut table);
    dump_in(&mut table, 2.0, &[passed(web(1))], &with_programs());
    assert_eq!(table.offload_requests(), [], "requested once");
    table.mark_cleared(asked.id, table.rules());
    let one_way = Entry { mark: PASSED[1], ..web(1) };
    for stopped in [web(1), one_way] {
        dump_in(&mut table, 3.0, &[stopped], &with_programs());
        assert_eq!(table.offload_requests(), [], "{:#x}", stopped.mark);
    }
    assert_eq!(verdict(&only(&table, 3.0)).0, "slow");
    table.event(&Event::Update(passed(uncounted(web(1)))), at(4.0), &with_programs());
    assert_eq!(requested(&mut table).id, asked.id);
}

#[test]
fn ignores_the_mark_of_an_entry_read_before_clearing() {
    let mut table = table();
    let asked = found(&mut table);
    table.dump_begin(at(2.0));
    table.mark_cleared(asked.id, table.rules());
    table.merge(&passed(web(1)), at(2.0), &with_programs());
    table.dump_end(at(2.0), true);
    assert_eq!(table.offload_requests(), []);
    dump_in(&mut table, 3.0, &[passed(web(1))], &with_programs());
    requested(&mut table);
}

#[test]
fn ignores_the_mark_of_a_look_up_that_began_before_clearing() {
    let mut table = table();
    let asked = found(&mut table);
    let net = with_programs();
    let before = table.reading_start();
    table.mark_cleared(asked.id, table.rules());
    table.refresh(&passed(web(1)), before, at(2.0), &net);
    assert_eq!(table.offload_requests(), []);
    let after = table.reading_start();
    table.refresh(&passed(web(1)), after, at(2.1), &net);
    assert_eq!(requested(&mut table).id, asked.id);
    // An older reading without the bits has no effect.
    table.refresh(&web(1), before, at(2.2), &net);
    assert_eq!(table.offload_requests(), []);
    table.installed(asked.id, Ok(()), at(2.3));
    table.confirmed(asked.id, Some(&web(1)), before, at(2.4), &net);
    assert_eq!(
        table.offload_requests(),
        [OffloadRequest::Confirm(asked), OffloadRequest::Start(asked.id)]
    );
}

#[test]
fn clears_a_mark_again_when_the_rules_change() {
    let mut table = table();
    let asked = found(&mut table);
    let (first, net) = (table.rules(), with_programs());
    table.rules_changed(true, at(2.0));
    assert!(!table.judge_some(1, at(2.0)));
    assert_eq!(table.offload_requests(), [OffloadRequest::ClearMark(asked)]);
    table.mark_cleared(asked.id, first);
    // The flow has passed only the first version.
    table.refresh(&passed(web(1)), table.reading_start(), at(2.1), &net);
    table.event(&Event::Update(passed(uncounted(web(1)))), at(2.2), &net);
    assert_eq!(table.offload_requests(), []);
    table.mark_cleared(asked.id, table.rules());
    table.refresh(&passed(web(1)), table.reading_start(), at(2.3), &net);
    requested(&mut table);
}

#[test]
fn requests_clearing_again_after_a_failure() {
    let mut table = table();
    let asked = found(&mut table);
    table.mark_kept(asked.id, at(2.0));
    assert_eq!(table.offload_requests(), [OffloadRequest::ClearMark(asked)]);
    dump_in(&mut table, 3.0, &[passed(web(1))], &with_programs());
    assert_eq!(table.offload_requests(), []);
}

#[test]
fn a_connection_from_before_a_rule_change_must_pass_the_new_rules() {
    let mut table = table();
    table.rules_changed(true, at(1.0));
    update(&mut table, 1.1, web(1), &with_programs());
    let requests = table.offload_requests();
    assert!(matches!(requests[..], [OffloadRequest::ClearMark(_)]), "{requests:?}");

    let mut table = self::table();
    let before = table.rules();
    table.rules_changed(true, at(1.0));
    table.events_read(before);
    assert_eq!(table.rules_without_events(), Some(table.rules()));
    table.events_read(table.rules());
    assert_eq!(table.rules_without_events(), None);
    update(&mut table, 1.1, web(1), &with_programs());
    requested(&mut table);
}

#[test]
fn offloaded_flows_must_pass_changed_rules_again() {
    let mut table = table();
    let id = offloaded_flow(&mut table, web(1));
    // After a change of set elements, offloaded flows stay, but removed flows must pass the rules.
    table.rules_changed(false, at(2.0));
    update(&mut table, 2.0, web(1), &with_programs());
    assert_eq!(table.offload_requests(), []);
    table.removed(id, None, at(2.1), &with_programs());
    let requests = table.offload_requests();
    assert!(
        matches!(requests[..], [OffloadRequest::ClearMark(one)] if one.id == id),
        "{requests:?}"
    );

    let mut table = self::table();
    let id = offloaded_flow(&mut table, web(1));
    table.rules_changed(true, at(2.0));
    table.judge_some(1, at(2.0));
    let requests = table.offload_requests();
    assert_eq!(requests[0], OffloadRequest::Remove(id));
    assert!(matches!(requests[1], OffloadRequest::ClearMark(one) if one.id == id), "{requests:?}");
    table.mark_cleared(id, table.rules());
    update(&mut table, 3.0, web(1), &with_programs());
    requested(&mut table);
}

#[test]
fn marks_of_the_first_dump_count_if_the_rules_have_not_changed() {
    let mut table = FlowTable::new();
    table.engine(ebpf(), at(0.0));
    table.trust_first_dump();
    dump_in(&mut table, 0.0, &[passed(web(1))], &with_programs());
    requested(&mut table);
    // Without an event, the version of a mark is unknown.
    dump_in(&mut table, 1.0, &[passed(web(1)), passed(web(2))], &with_programs());
    let requests = table.offload_requests();
    assert!(
        matches!(requests[..], [OffloadRequest::ClearMark(one)] if one.id == 2),
        "{requests:?}"
    );
}

#[test]
fn requests_nothing_without_passed_bits() {
    let mut table = FlowTable::new();
    table.engine(EngineState { passed: [0; 2], ..ebpf() }, at(0.0));
    update(&mut table, 1.0, web(1), &with_programs());
    assert_eq!(table.offload_requests(), []);
}

#[test]
fn keeps_the_mark_of_a_connection_reported_by_a_dump_before_its_first_event() {
    let (mut table, net) = (table(), with_programs());
    let first = Entry { mark: PASSED[0], status: Status::CONFIRMED, ..web(1) };
    dump_in(&mut table, 1.0, &[first], &net);
    table.event(&Event::New(uncounted(first)), at(1.01), &net);
    table.event(&Event::Update(passed(uncounted(web(1)))), at(1.1), &net);
    requested(&mut table);
}

/// The destroy event of the first connection is lost.
#[test]
fn a_new_connection_does_not_inherit_the_mark_of_the_previous_one() {
    let (mut table, net) = (table(), with_programs());
    update(&mut table, 1.0, web(1), &net);
    requested(&mut table);
    table.dump_begin(at(1.5));
    let first = Entry { mark: 0, status: Status::CONFIRMED, ..web(1) };
    table.event(&Event::New(uncounted(first)), at(2.0), &net);
    table.offload_requests();
    table.event(&Event::Update(uncounted(web(1))), at(2.1), &net);
    assert_eq!(table.offload_requests(), [], "mark of the previous connection");
    table.merge(&passed(web(1)), at(2.2), &net);
    table.dump_end(at(2.3), true);
    assert_eq!(table.offload_requests(), [], "read before the new connection");
    dump_in(&mut table, 3.0, &[passed(web(1))], &net);
    requested(&mut table);
}

#[test]
fn a_connection_reported_first_by_a_dump_must_pass_rules_changed_since() {
    let (mut table, net) = (table(), with_programs());
    let first = Entry { mark: PASSED[0], status: Status::CONFIRMED, ..web(1) };
    dump_in(&mut table, 1.0, &[first], &net);
    table.rules_changed(true, at(1.0));
    table.event(&Event::New(uncounted(first)), at(1.01), &net);
    table.event(&Event::Update(passed(uncounted(web(1)))), at(1.1), &net);
    let requests = table.offload_requests();
    assert!(matches!(requests[..], [OffloadRequest::ClearMark(_)]), "{requests:?}");
}
