// SPDX-License-Identifier: GPL-2.0-or-later

use std::net::{IpAddr, Ipv4Addr};

use ctnetlink::Tuple;

use super::*;
use crate::dependency::Dependency;
use crate::entry_side::{Encapsulation, EntrySide, Hook};
use crate::fake::Fake;

pub(super) const TIMEOUTS: Timeouts =
    Timeouts { tcp: Duration::from_secs(7440), udp: Duration::from_secs(120) };

pub(super) fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(super) fn endpoint(device: u32) -> Endpoint {
    let side = EntrySide {
        device,
        hook: Hook::Tc,
        encapsulation: Encapsulation::default(),
        local: [2, 0, 0, 0, 0, 1],
        next_hop: Some([2, 0, 0, 0, 1, 1]),
        priorities: [[0; 4]; 2],
        classified: false,
        mtu: 1500,
    };
    Endpoint { side, route: None, dependencies: vec![Dependency::Link(device)] }
}

const INSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const OUTSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9));

pub(super) fn connection(id: u64) -> Connection {
    let port = 1000 + u16::try_from(id).unwrap();
    let orig = Tuple { src: INSIDE, dst: OUTSIDE, proto: 17, sport: port, dport: 443 };
    let reply = Tuple { src: OUTSIDE, dst: INSIDE, proto: 17, sport: 443, dport: port };
    Connection { id, zone: 0, orig, reply }
}

pub(super) fn engine(maps: &Fake) -> OffloadEngine {
    let mut engine = OffloadEngine::new(Box::new(maps.clone()), 64, TIMEOUTS);
    finish(&mut engine);
    engine
}

pub(super) fn finish(engine: &mut OffloadEngine) {
    while engine.step(STEP, s(0)).unwrap() {}
}

pub(super) fn install(engine: &mut OffloadEngine, id: u64) {
    engine.install(connection(id), [endpoint(1), endpoint(2)], s(0)).unwrap();
}

fn grown(report: &Report) -> [u64; 2] {
    let mut sums = [0; 2];
    for growth in &report.grown {
        sums[growth.direction] += growth.grown.packets;
    }
    sums
}

#[test]
fn counts_packets_and_extends_the_timeout_until_removal() {
    let maps = Fake::default();
    let mut engine = engine(&maps);
    install(&mut engine, 1);
    install(&mut engine, 1);
    assert_eq!(maps.with(|inside| inside.flows.len()), 2);
    maps.pass(5, |key| key.src == INSIDE);
    engine.second(s(1)).unwrap();
    let report = engine.report();
    assert_eq!(grown(&report), [5, 0]);
    assert_eq!(report.extensions.len(), 1);
    maps.pass(3, |_| true);
    engine.remove(1, s(2));
    let report = engine.report();
    assert_eq!(grown(&report), [3, 3]);
    assert_eq!(report.removed, [(1, RemovalCause::Requested)]);
    assert_eq!(report.extensions.iter().map(|e| e.left).collect::<Vec<_>>(), [s(120)]);
    assert!(maps.with(|inside| inside.flows.is_empty() && inside.beats == 1));
    engine.remove(1, s(2));
    assert_eq!(engine.report(), Report::default());
}

#[test]
fn growth_clears_only_the_growth_of_the_report() {
    let maps = Fake::default();
    let mut engine = engine(&maps);
    install(&mut engine, 1);
    maps.pass(5, |key| key.src == INSIDE);
    engine.remove(1, s(1));
    assert_eq!(engine.growth().len(), 1);
    let report = engine.report();
    assert_eq!(report.grown, []);
    assert_eq!(report.removed, [(1, RemovalCause::Requested)]);
    assert_eq!(report.extensions.len(), 1);
}

#[test]
fn a_fin_ends_both_directions() {
    let maps = Fake::default();
    let mut engine = engine(&maps);
    install(&mut engine, 1);
    stage(&maps, Stage::Closing);
    engine.second(s(1)).unwrap();
    assert_eq!(engine.report().removed, [(1, RemovalCause::Closing)]);
    assert!(maps.with(|inside| inside.flows.is_empty()));
}

#[test]
fn entries_forward_only_between_start_and_end() {
    let maps = Fake::default();
    let mut engine = engine(&maps);
    assert!(!engine.start(1, s(0)).unwrap(), "not installed");
    install(&mut engine, 1);
    assert!(!engine.is_open(1));
    assert!(engine.start(1, s(0)).unwrap() && engine.is_open(1));
    maps.pass(1, |_| true);
    engine.second(s(1)).unwrap();
    engine.report();
    maps.pass(1, |_| true);
    stage(&maps, Stage::Restarted);
    assert!(!engine.is_open(1));
    engine.second(s(2)).unwrap();
    let report = engine.report();
    assert_eq!(report.removed, [(1, RemovalCause::Restarted)]);
    assert_eq!((grown(&report), report.extensions.len()), ([1, 1], 0), "counted, not extended");
    install(&mut engine, 1);
    maps.with(|inside| {
        let (_, (_, read)) = inside.flows.iter_mut().next().unwrap();
        read.stage = Stage::Restarted;
    });
    assert!(!engine.start(1, s(3)).unwrap());
    assert_eq!(engine.report().removed, [(1, RemovalCause::Restarted)]);
    assert!(maps.with(|inside| inside.flows.is_empty()));
}

/// Sets the stage of all entries, as the programs do.
fn stage(maps: &Fake, stage: Stage) {
    maps.with(|inside| inside.flows.values_mut().for_each(|(_, read)| read.stage = stage));
}

type End = fn(&mut OffloadEngine, &Fake);

/// Without a position, any RST would end the connection.
#[test]
fn keeps_tcp_positions_when_a_connection_is_installed_again() {
    let maps = Fake::default();
    let mut engine = engine(&maps);
    let mut connection = connection(1);
    (connection.orig.proto, connection.reply.proto) = (6, 6);
    let put = |engine: &mut OffloadEngine| {
        engine.install(connection, [endpoint(1), endpoint(2)], s(0)).unwrap();
    };
    let position = |from: IpAddr| Position {
        used: 7,
        seq_high: [1, 2],
        ack: if from == INSIDE { [3, 4, 5, 6] } else { [7, 8, 9, 10] },
    };
    let all = || {
        maps.with(|inside| {
            let at = |(key, (_, read)): (&Key, &(Entry, EntryReading))| (key.src, read.position);
            inside.flows.iter().map(at).collect::<HashMap<_, _>>()
        })
    };
    put(&mut engine);
    assert!(all().values().all(|at| *at == Position::default()));
    let set = || {
        maps.with(|inside| {
            for (key, (_, read)) in &mut inside.flows {
                read.position = position(key.src);
            }
        });
    };
    set();
    engine.remove(1, s(1));
    put(&mut engine);
    let known = HashMap::from([INSIDE, OUTSIDE].map(|from| (from, position(from))));
    assert_eq!(all(), known);
    // The next engine reads the positions from the maps.
    let mut next = self::engine(&maps);
    put(&mut next);
    assert_eq!(all(), known);
    // A new connection with the same tuple starts without positions.
    let ends: [End; 4] = [
        |next, maps| {
            stage(maps, Stage::Closing);
            next.second(s(1)).unwrap();
        },
        |next, maps| {
            stage(maps, Stage::Closing);
            next.remove(1, s(1));
        },
        |next, maps| {
            stage(maps, Stage::Restarted);
            next.remove(1, s(1));
        },
        |next, _| {
            next.remove(1, s(1));
            next.forget(1, s(1));
        },
    ];
    for end in ends {
        set();
        end(&mut next, &maps);
        put(&mut next);
        assert!(all().values().all(|at| *at == Position::default()));
    }
    set();
    stage(&maps, Stage::Closing);
    let mut last = self::engine(&maps);
    put(&mut last);
    assert!(all().values().all(|at| *at == Position::default()), "ended between two engines");
}

#[test]
fn removes_connections_with_a_changed_endpoint() {
    let maps = Fake::default();
    let mut engine = engine(&maps);
    install(&mut engine, 1);
    let change = [DependencyChange::Dependency(Dependency::Link(2))];
    engine.changed(&change, |_| Some(endpoint(2)), s(1));
    assert_eq!(engine.report(), Report::default());
    let asked = std::cell::RefCell::new(Vec::new());
    let moved = |destination: Destination| {
        asked.borrow_mut().push(destination.address);
        Some(endpoint(3))
    };
    engine.changed(&change, moved, s(1));
    assert_eq!(*asked.borrow(), [OUTSIDE]);
    assert_eq!(engine.report().removed, [(1, RemovalCause::Moved)]);
    assert!(maps.with(|inside| inside.flows.is_empty()));
}

#[test]
fn a_failed_installation_leaves_no_entry() {
    let maps = Fake::default();
    let mut engine = engine(&maps);
    // Refuse the second entry, for packets to port 1001.
    maps.with(|inside| inside.refused = Some(1001));
    let failed = engine.install(connection(1), [endpoint(1), endpoint(2)], s(0));
    assert!(matches!(failed, Err(InstallError::Kernel(MapError::Put(_)))));
    assert!(maps.with(|inside| inside.flows.is_empty()) && engine.table().is_empty());
    maps.with(|inside| inside.room = 1);
    let failed = engine.install(connection(2), [endpoint(1), endpoint(2)], s(0));
    assert!(matches!(failed, Err(InstallError::Refused(InstallRefusal::Full))));
    assert!(maps.with(|inside| inside.flows.is_empty()) && engine.table().is_empty());
}

#[test]
fn the_next_engine_adopts_entries_in_the_maps() {
    let maps = Fake::default();
    let mut before = engine(&maps);
    install(&mut before, 1);
    install(&mut before, 2);
    maps.pass(7, |key| key.sport == 1001);
    drop(before);
    let mut engine = engine(&maps);
    // The programs forward packets before an engine adopts the entries.
    maps.pass(3, |key| key.sport == 1001);
    // The next daemon assigns another ID to the connection.
    engine
        .install(Connection { id: 9, ..connection(1) }, [endpoint(1), endpoint(2)], s(0))
        .unwrap();
    let report = engine.report();
    assert_eq!(grown(&report), [10, 0]);
    let inherited = report.grown.iter().filter(|growth| growth.inherited);
    assert_eq!(inherited.map(|growth| growth.grown.packets).collect::<Vec<_>>(), [7]);
    assert_eq!(engine.remove_stale(), 2);
    finish(&mut engine);
    assert_eq!(engine.remove_stale(), 0);
    maps.pass(1, |_| true);
    engine.second(s(1)).unwrap();
    assert_eq!(grown(&engine.report()), [1, 1]);
    assert_eq!(maps.with(|inside| inside.flows.len()), 2);
}

#[test]
fn drops_packets_of_a_rejected_connection_until_it_expires() {
    let maps = Fake::default();
    let mut engine = engine(&maps);
    install(&mut engine, 1);
    maps.pass(1, |_| true);
    engine.reject(connection(1), [endpoint(1), endpoint(2)], 4711, s(60), s(1)).unwrap();
    assert_eq!(grown(&engine.report()), [1, 1]);
    assert!(maps.with(|inside| inside.flows.values().all(|(entry, _)| entry.drop == Some(4711))));
    maps.pass(2, |_| true);
    engine.second(s(59)).unwrap();
    assert_eq!(engine.report(), Report::default());
    assert_eq!(engine.table().dropped(), [(4711, Counters { packets: 4, bytes: 400 })]);
    engine.second(s(60)).unwrap();
    assert_eq!(engine.report().removed, [(1, RemovalCause::Expired)]);
    assert!(maps.with(|inside| inside.flows.is_empty()));
}

#[test]
fn remove_all_also_removes_stale_entries() {
    let maps = Fake::default();
    let mut before = engine(&maps);
    install(&mut before, 1);
    drop(before);
    let mut engine = engine(&maps);
    install(&mut engine, 2);
    engine.remove_all(s(1));
    assert!(maps.with(|inside| inside.flows.is_empty()));
    let other = self::engine(&Fake::default());
    assert_eq!(other.after(engine.report()).report().removed, [(2, RemovalCause::Moved)]);
}

#[test]
fn a_second_reads_a_part_of_many_connections_and_all_within_twenty() {
    let connections = 30_000_u16;
    let maps = Fake::default();
    let capacity = usize::from(connections) * 2;
    let mut engine = OffloadEngine::new(Box::new(maps.clone()), capacity, TIMEOUTS);
    finish(&mut engine);
    (0..connections).for_each(|id| install(&mut engine, id.into()));
    maps.pass(1, |_| true);
    let mut read = Vec::new();
    for now in 1..=3 {
        engine.second(s(now)).unwrap();
        let report = engine.report();
        read.push(grown(&report).iter().sum::<u64>());
        assert!(!report.extensions.is_empty(), "conntrack has not seen these packets");
    }
    assert_eq!(read, [20_000; 3]);
    maps.pass(1, |_| true);
    engine.second(s(4)).unwrap();
    assert_eq!(grown(&engine.report()).iter().sum::<u64>(), 20_000, "the next pass");
    assert_eq!(maps.with(|inside| inside.beats), 4);
    let per_second = |connections: usize| READS_PER_SECOND.max(2 * connections / MAX_PASS_S);
    assert!(2_000_000 / per_second(1_000_000) <= 20);
}
