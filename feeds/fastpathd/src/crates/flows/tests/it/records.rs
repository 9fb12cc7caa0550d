// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests flow records: times, sums, path and reason.

use std::time::Duration;

use crate::support::{
    Net, START_MS, UDP, address, at, counted, dump, dump_in, entry, offload, offloaded, tuple,
    uncounted, watching, web, with_programs,
};
use ctnetlink::{Counters, Entry, Event, Status, TcpState};
use flows::{FlowEndReason, FlowRecord, FlowTable, Path, Reason, RecordTimeouts};
use proptest::prelude::*;

fn recording() -> FlowTable {
    let mut table = watching();
    table.record(Some(timeouts(60, 15)), at(0.0));
    table
}

fn timeouts(active: u64, idle: u64) -> RecordTimeouts {
    RecordTimeouts { active: Duration::from_secs(active), idle: Duration::from_secs(idle) }
}

fn event(table: &mut FlowTable, seconds: f64, event: &Event) {
    table.sample(at(seconds));
    table.event(event, at(seconds), &Net::default());
}

fn ended(entry: Entry) -> Event {
    Event::Destroy(Entry { tcp_state: Some(TcpState::TimeWait), ..entry })
}

fn bytes(record: &FlowRecord) -> [u64; 2] {
    record.grown.map(|one| one.bytes)
}

#[test]
fn makes_one_record_with_all_bytes_of_an_ended_flow() {
    let mut table = recording();
    event(&mut table, 1.0, &Event::New(uncounted(web(1))));
    dump(&mut table, 2.0, &[offloaded(counted(web(1), 1000, 50_000))]);
    assert_eq!(table.records(), []);
    let fin = Entry { tcp_state: Some(TcpState::TimeWait), ..uncounted(web(1)) };
    event(&mut table, 3.0, &Event::Update(fin));
    event(&mut table, 4.0, &ended(counted(web(1), 2000, 90_000)));
    let records = table.records();
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!(bytes(record), [2000, 90_000]);
    assert_eq!(record.grown.map(|one| one.packets), [2, 90]);
    assert_eq!(
        (record.end, record.path, record.reason),
        (FlowEndReason::End, Path::Flowtable, None)
    );
    assert_eq!((record.start_ms - START_MS, record.end_ms - START_MS), (1000, 4000));
    let [from, to] = &record.sides;
    assert_eq!((&*from.device, from.vlan, &*from.zone), ("br-lan.10", 10, "lan"));
    assert_eq!((&*to.device, to.vlan, &*to.zone), ("pppoe-wan", 35, "wan"));
    assert_eq!(from.sent, (address("10.10.0.2"), 40_001));
    assert!(table.records().is_empty());
}

#[test]
fn a_record_of_only_the_last_packets_has_the_slow_path() {
    let mut table = recording();
    let over = |up| Entry { tcp_state: Some(TcpState::TimeWait), ..counted(web(1), up, 0) };
    event(&mut table, 1.0, &Event::New(Entry { orig_counters: None, ..over(0) }));
    event(&mut table, 2.0, &Event::Destroy(over(1000)));
    let records = table.records();
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!((record.path, record.reason), (Path::Slow, Some(Reason::Closing)));
}

#[test]
fn a_record_has_ends_before_and_after_nat() {
    let mut table = recording();
    let mut masqueraded = web(1);
    (masqueraded.reply.dst, masqueraded.reply.dport) = (address("100.64.0.1"), 1025);
    event(&mut table, 1.0, &ended(masqueraded));
    assert_eq!(table.records(), [], "unknown flow");
    event(&mut table, 2.0, &Event::New(uncounted(masqueraded)));
    event(&mut table, 3.0, &ended(masqueraded));
    let [from, to] = &table.records()[0].sides;
    assert_eq!(
        (from.sent, from.received),
        ((address("10.10.0.2"), 40_001), (address("100.64.0.1"), 1025))
    );
    assert_eq!(
        (to.sent, to.received),
        ((address("192.0.2.80"), 443), (address("192.0.2.80"), 443))
    );
}

#[test]
fn makes_a_record_at_each_active_timeout() {
    let mut table = recording();
    event(&mut table, 0.0, &Event::New(uncounted(web(1))));
    let mut sums = Vec::new();
    for second in 1..=150 {
        let sent = 1000 * second;
        dump(
            &mut table,
            f64::from(u32::try_from(second).expect("small")),
            &[counted(web(1), sent, 0)],
        );
        sums.extend(table.records().iter().map(|record| (second, bytes(record)[0], record.end)));
    }
    event(&mut table, 151.0, &ended(counted(web(1), 151_000, 0)));
    sums.extend(table.records().iter().map(|record| (151, bytes(record)[0], record.end)));
    let expected = [
        (60, 60_000, FlowEndReason::Active),
        (120, 60_000, FlowEndReason::Active),
        (151, 31_000, FlowEndReason::End),
    ];
    assert_eq!(sums, expected);
}

#[test]
fn an_idle_flow_has_no_record_at_its_end() {
    let mut table = recording();
    let query = entry(1, tuple(UDP, "10.10.0.2", 5000, "192.0.2.53", 53));
    event(&mut table, 0.0, &Event::New(uncounted(query)));
    for second in 1..=30 {
        dump(&mut table, f64::from(second), &[counted(query, 1000, 2000)]);
    }
    let records = table.records();
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!((bytes(record), record.end), ([1000, 2000], FlowEndReason::Idle));
    assert_eq!((record.start_ms - START_MS, record.end_ms - START_MS), (0, 1000));
    event(&mut table, 31.0, &Event::Destroy(counted(query, 1000, 2000)));
    assert_eq!(table.records(), []);
}

#[test]
fn packets_after_the_idle_timeout_begin_another_record() {
    let mut table = recording();
    event(&mut table, 0.0, &Event::New(uncounted(web(1))));
    for second in 1..=20 {
        dump(&mut table, f64::from(second), &[counted(web(1), 1000, 2000)]);
    }
    assert_eq!(table.records().len(), 1);
    dump(&mut table, 100.0, &[counted(web(1), 5000, 2000)]);
    assert_eq!(table.records(), [], "the idle time does not count");
    event(&mut table, 101.0, &ended(counted(web(1), 6000, 2000)));
    let record = &table.records()[0];
    assert_eq!((bytes(record), record.start_ms - START_MS), ([5000, 0], 100_000));
}

/// The destroy event has the last packets of the connection.
#[test]
fn the_last_record_excludes_the_idle_time() {
    let mut table = recording();
    event(&mut table, 0.0, &Event::New(uncounted(web(1))));
    for second in 1..=20 {
        dump(&mut table, f64::from(second), &[counted(web(1), 1000, 2000)]);
    }
    assert_eq!(table.records().len(), 1);
    event(&mut table, 500.0, &ended(counted(web(1), 1040, 2000)));
    let record = &table.records()[0];
    let times = [record.start_ms - START_MS, record.end_ms - START_MS];
    assert_eq!((bytes(record), times), ([40, 0], [500_000; 2]));
}

#[test]
fn reports_growth_since_the_last_record_when_the_daemon_exits() {
    let mut table = recording();
    for id in 1..=4 {
        event(&mut table, 0.0, &Event::New(uncounted(web(id))));
    }
    let read = |first, second, third| {
        [(1, first), (2, second), (3, third), (4, 0)].map(|(id, up)| counted(web(id), up, 0))
    };
    dump(&mut table, 1.0, &read(1000, 2000, 3000));
    dump(&mut table, 20.0, &read(1500, 2000, 3000));
    assert_eq!(table.records().len(), 2, "idle flows");
    dump(&mut table, 30.0, &read(1500, 2000, 3100));
    let of = |record: &FlowRecord| {
        (bytes(record)[0], [record.start_ms, record.end_ms].map(|ms| ms - START_MS), record.end)
    };
    table.record_rest(0..2, at(31.0));
    let found: Vec<_> = table.records().iter().map(of).collect();
    assert_eq!(found, [(1500, [0, 20_000], FlowEndReason::Forced)]);
    table.record_rest(2..1000, at(31.0));
    let found: Vec<_> = table.records().iter().map(of).collect();
    assert_eq!(found, [(100, [30_000; 2], FlowEndReason::Forced)], "only flows with packets");
    table.record_rest(0..1000, at(32.0));
    assert_eq!(table.records(), []);
    let mut unwatched = watching();
    event(&mut unwatched, 1.0, &Event::New(uncounted(web(1))));
    dump(&mut unwatched, 2.0, &read(1000, 0, 0));
    unwatched.record_rest(0..1000, at(3.0));
    assert_eq!(unwatched.records(), [], "without a collector");
}

#[test]
fn a_record_has_the_reason_before_the_flow_was_closing() {
    let mut table = recording();
    let local = entry(1, tuple(6, "10.10.0.2", 4000, "10.0.0.1", 22));
    event(&mut table, 1.0, &Event::New(uncounted(local)));
    let fin = Entry { tcp_state: Some(TcpState::TimeWait), ..uncounted(local) };
    event(&mut table, 2.0, &Event::Update(fin));
    event(&mut table, 3.0, &ended(local));
    let syn = Entry {
        status: Status::CONFIRMED,
        tcp_state: Some(TcpState::SynSent),
        ..uncounted(web(2))
    };
    event(&mut table, 4.0, &Event::New(syn));
    event(&mut table, 5.0, &Event::Destroy(Entry { tcp_state: None, ..syn }));
    let of = |record: &FlowRecord| (record.path, record.reason, record.end);
    let found: Vec<_> = table.records().iter().map(of).collect();
    let expected = [
        (Path::Slow, Some(Reason::Local), FlowEndReason::End),
        (Path::Slow, Some(Reason::NotEstablished), FlowEndReason::Idle),
    ];
    assert_eq!(found, expected);
}

/// The previous daemon has reported earlier bytes.
#[test]
fn excludes_bytes_from_before_the_daemon() {
    let mut table = FlowTable::new();
    table.record(Some(timeouts(60, 15)), at(0.0));
    dump(&mut table, 1.0, &[counted(web(1), 70_000, 80_000)]);
    event(&mut table, 2.0, &ended(counted(web(1), 71_000, 82_000)));
    assert_eq!(bytes(&table.records()[0]), [1000, 2000]);
}

#[test]
fn excludes_bytes_counted_while_records_were_disabled() {
    let mut table = recording();
    event(&mut table, 1.0, &Event::New(uncounted(web(1))));
    dump(&mut table, 2.0, &[counted(web(1), 1000, 0)]);
    table.record(None, at(2.0));
    dump(&mut table, 3.0, &[counted(web(1), 5000, 0)]);
    table.record(Some(timeouts(60, 15)), at(3.0));
    event(&mut table, 4.0, &ended(counted(web(1), 6000, 0)));
    assert_eq!(bytes(&table.records()[0]), [1000, 0]);
}

/// Simultaneous records would overflow the queue of a collector.
#[test]
fn spreads_the_first_records_of_known_flows_over_the_active_timeout() {
    // The kernel's ids are hashes.
    let read = |id: u32, sent| {
        let mut entry = web(id);
        entry.id = id.wrapping_mul(0x9e37_79b1);
        counted(entry, sent, 0)
    };
    let first_dump = FlowTable::new;
    let switched_on = || {
        let mut table = watching();
        dump(&mut table, 0.5, &(1..=1500).map(|id| read(id, 1000)).collect::<Vec<_>>());
        table
    };
    for mut table in [first_dump(), switched_on()] {
        table.record(Some(timeouts(60, 15)), at(1.0));
        let mut made = Vec::new();
        for second in 1..=121 {
            let entries: Vec<_> = (1..=1500).map(|id| read(id, 1000 * (second + 1))).collect();
            let now = f64::from(u32::try_from(second).expect("small"));
            dump(&mut table, now, &entries);
            made.push(table.records().len());
        }
        assert_eq!(made[..61].iter().sum::<usize>(), 1500, "first record of each flow");
        assert_eq!(made[61..].iter().sum::<usize>(), 1500, "second record of each flow");
        assert!(made.iter().all(|number| *number < 50), "{made:?}");
    }
}

#[test]
fn makes_no_records_without_a_collector() {
    let mut table = watching();
    event(&mut table, 1.0, &Event::New(uncounted(web(1))));
    event(&mut table, 2.0, &ended(counted(web(1), 1000, 1000)));
    assert_eq!(table.records(), []);
}

#[test]
fn a_record_includes_bytes_forwarded_by_ebpf() {
    let net = with_programs();
    let mut table = offload::table();
    table.record(Some(timeouts(60, 15)), at(1.0));
    offload::offloaded_flow(&mut table, web(1));
    let grown = |bytes| Counters { packets: bytes / 1000, bytes };
    table.count_offloaded(1, 0, grown(40_000), false, at(11.0));
    table.count_offloaded(1, 1, grown(2000), false, at(11.0));
    table.event(&ended(web(1)), at(12.0), &net);
    let records = table.records();
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!((bytes(record), record.offloaded), ([40_000, 2000], 42_000));
    assert_eq!((record.path, record.reason), (Path::Ebpf, None));
}

/// Entries of eBPF maps outlive the daemon, which has reported their bytes.
#[test]
fn excludes_ebpf_bytes_from_before_the_daemon() {
    let net = with_programs();
    let mut table = FlowTable::new();
    table.engine(offload::ebpf(), at(0.0));
    table.record(Some(timeouts(60, 15)), at(0.0));
    dump_in(&mut table, 1.0, &[counted(web(1), 1000, 2000)], &net);
    let grown = |bytes| Counters { packets: bytes / 1000, bytes };
    table.count_offloaded(1, 0, grown(40_000), true, at(2.0));
    table.count_offloaded(1, 1, grown(50_000), true, at(2.0));
    table.count_offloaded(1, 1, grown(3000), false, at(3.0));
    table.event(&ended(counted(web(1), 1000, 2000)), at(4.0), &net);
    // This flow is not in a dump before its end.
    offload::update(&mut table, 5.0, web(2), &net);
    table.count_offloaded(2, 0, grown(40_000), true, at(6.0));
    table.count_offloaded(2, 0, grown(4000), false, at(7.0));
    table.event(&ended(web(2)), at(8.0), &net);
    let of = |record: &FlowRecord| (bytes(record), record.grown[0].packets, record.offloaded);
    let found: Vec<_> = table.records().iter().map(of).collect();
    assert_eq!(found, [([0, 3000], 0, 3000), ([4000, 0], 4, 4000)]);
}

#[derive(Debug, Clone)]
enum Step {
    Dump { grown: [u64; 2], offloaded: bool },
    Wait(u8),
    Zero,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (any::<[u16; 2]>(), any::<bool>())
            .prop_map(|(grown, offloaded)| Step::Dump { grown: grown.map(u64::from), offloaded }),
        (1_u8..40).prop_map(Step::Wait),
        Just(Step::Zero),
    ]
}

proptest! {
    /// Sums and times of all records match the flow, without gaps in the bytes or overlaps in time.
    #[test]
    fn records_add_up(steps in prop::collection::vec(step(), 0..40), last in any::<[u16; 2]>()) {
        let mut table = recording();
        event(&mut table, 0.0, &Event::New(uncounted(web(1))));
        let (mut kernel, mut sent, mut now) = ([0_u64; 2], [0_u64; 2], 0.0);
        let mut records = Vec::new();
        for step in steps {
            now += 1.0;
            match step {
                Step::Dump { grown, offloaded: is_offloaded } => {
                    for i in 0..2 {
                        kernel[i] += grown[i];
                        sent[i] += grown[i];
                    }
                    let read = counted(web(1), kernel[0], kernel[1]);
                    dump(&mut table, now, &[if is_offloaded { offloaded(read) } else { read }]);
                }
                Step::Wait(seconds) => {
                    now += f64::from(seconds);
                    dump(&mut table, now, &[counted(web(1), kernel[0], kernel[1])]);
                }
                Step::Zero => {
                    let read = counted(web(1), kernel[0], kernel[1]);
                    table.reinspected(&read, at(now), &Net::default());
                    kernel = [0; 2];
                }
            }
            records.extend(table.records());
        }
        now += 1.0;
        for i in 0..2 {
            kernel[i] += u64::from(last[i]);
            sent[i] += u64::from(last[i]);
        }
        event(&mut table, now, &ended(counted(web(1), kernel[0], kernel[1])));
        records.extend(table.records());
        let sum = |i: usize| records.iter().map(|record| bytes(record)[i]).sum::<u64>();
        prop_assert_eq!([sum(0), sum(1)], sent);
        for record in &records {
            prop_assert!(record.start_ms <= record.end_ms);
            prop_assert!(record.offloaded <= bytes(record)[0] + bytes(record)[1]);
        }
        for pair in records.windows(2) {
            prop_assert!(pair[0].end_ms <= pair[1].start_ms, "{:?}", pair);
        }
    }
}
