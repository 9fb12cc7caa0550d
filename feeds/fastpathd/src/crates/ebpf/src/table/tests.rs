// SPDX-License-Identifier: GPL-2.0-or-later

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Instant;

use ctnetlink::Tuple;
use model::NextHop;
use proptest::prelude::*;

use super::*;
use crate::connection::Stage;
use crate::dependency::Dependency;
use crate::entry_side::{Encapsulation, EntrySide, Hook};

const TIMEOUTS: Timeouts =
    Timeouts { tcp: Duration::from_secs(7440), udp: Duration::from_secs(120) };

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn endpoint(device: u32, mac: u8) -> Endpoint {
    let side = EntrySide {
        device,
        hook: Hook::Tc,
        encapsulation: Encapsulation::default(),
        local: [2, 0, 0, 0, 0, 1],
        next_hop: Some([2, 0, 0, 0, 1, mac]),
        priorities: [[0; 4]; 2],
        classified: false,
        mtu: 1500,
    };
    Endpoint {
        side,
        route: None,
        dependencies: vec![Dependency::Link(device), Dependency::Station(9, [2, 0, 0, 0, 1, mac])],
    }
}

fn host(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

/// Returns a destination without its own next hop.
fn destination(last: u8) -> Destination {
    Destination { address: host(last), route: None }
}

/// Returns connection `id` from `10.0.0.from` to `10.0.0.to`.
fn connection(id: u64, from: u8, to: u8, proto: u8) -> Connection {
    let port = u16::try_from(id % 50_000).unwrap() + 1000;
    let orig = Tuple { src: host(from), dst: host(to), proto, sport: port, dport: 443 };
    let reply = Tuple { src: host(to), dst: host(from), proto, sport: 443, dport: port };
    Connection { id, zone: 0, orig, reply }
}

/// A table, and the maps as the engine fills them.
struct World {
    table: ConnectionTable,
    maps: HashMap<Key, Counters>,
}

impl World {
    fn new(capacity: usize) -> Self {
        Self { table: ConnectionTable::new(capacity), maps: HashMap::new() }
    }

    fn leave(&mut self, id: u64) {
        for key in self.table.leave(id).unwrap().keys {
            self.maps.remove(&key).unwrap();
        }
    }

    fn install(&mut self, connection: Connection, now: u64) -> Result<[Key; 2], InstallRefusal> {
        let ends = [endpoint(1, 1), endpoint(2, 2)];
        let taken = self.table.install(connection, ends, s(now))?;
        Ok(self.put(taken))
    }

    fn put(&mut self, taken: Installation) -> [Key; 2] {
        if let Some(id) = taken.evicted {
            self.leave(id);
        }
        taken.entries.map(|(key, _)| {
            assert_eq!(self.maps.insert(key, Counters::default()), None);
            key
        })
    }

    fn pass(&mut self, key: &Key, packets: u64) {
        let counters = self.maps.get_mut(key).unwrap();
        counters.packets += packets;
        counters.bytes += packets * 100;
    }

    fn read(&mut self, now: u64) -> Vec<EntryGrowth> {
        let reading =
            |counters: &Counters| EntryReading { counters: *counters, ..EntryReading::default() };
        let table = &mut self.table;
        let found =
            self.maps.iter().filter_map(|(key, c)| table.read(key, reading(c), s(now))).collect();
        table.rank(s(now));
        found
    }
}

#[test]
fn reports_the_growth_of_counters() {
    let mut world = World::new(64);
    let [there, back] = world.install(connection(7, 1, 2, 6), 0).unwrap();
    assert_eq!(world.read(1), []);
    world.pass(&there, 3);
    let grown = Counters { packets: 3, bytes: 300 };
    assert_eq!(
        world.read(2),
        [EntryGrowth { id: 7, direction: 0, grown, stage: Stage::Waiting, inherited: false }]
    );
    world.pass(&back, 1);
    let grown = Counters { packets: 1, bytes: 100 };
    assert_eq!(
        world.read(3),
        [EntryGrowth { id: 7, direction: 1, grown, stage: Stage::Waiting, inherited: false }]
    );
    assert_eq!(world.read(4), []);
    let counters = Counters { packets: 1, bytes: 100 };
    let closing = EntryReading { counters, stage: Stage::Closing, ..EntryReading::default() };
    assert!(world.table.read(&back, closing, s(4)).unwrap().stage.is_over());
}

/// Otherwise a flood into a full map searches all candidates of the other one for each connection.
#[test]
fn a_full_map_does_not_search_the_candidates_of_the_other_family() {
    let refusals = |idle: u16| {
        let mut table = ConnectionTable::new(usize::from(idle) * 2);
        let ends = || [endpoint(1, 1), endpoint(2, 2)];
        for number in 0..idle {
            let one = connection(number.into(), 1, 2, 17);
            let v6 = |low| IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, number, low));
            let (orig, reply) = (one.orig, one.reply);
            let orig = Tuple { src: v6(1), dst: v6(2), ..orig };
            let reply = Tuple { src: v6(2), dst: v6(1), ..reply };
            table.install(Connection { orig, reply, ..one }, ends(), s(0)).unwrap();
            let from = u8::try_from(number / 50_000).unwrap() + 1;
            let busy = connection(u64::from(number) + 100_000, from, 9, 17);
            table.install(busy, ends(), s(40)).unwrap();
        }
        table.rank(s(40));
        let start = Instant::now();
        for id in 0..200 {
            let refused = table.install(connection(200_000 + id, 7, 8, 17), ends(), s(40));
            assert!(matches!(refused, Err(InstallRefusal::Full)));
        }
        start.elapsed()
    };
    let (few, many) = (refusals(1_000), refusals(10_000));
    let noise = Duration::from_millis(20);
    assert!(many < 5 * few + noise, "{few:?} with 1,000 candidates, {many:?} with 10,000");
}

#[test]
fn a_change_removes_only_connections_that_depend_on_it() {
    let mut world = World::new(64);
    world.install(connection(1, 1, 2, 6), 0).unwrap();
    world.install(connection(2, 1, 3, 6), 0).unwrap();
    let ends = [endpoint(4, 7), endpoint(2, 2)];
    world.table.install(connection(3, 8, 9, 6), ends, s(0)).unwrap();
    let touched = |world: &World, change: DependencyChange| {
        let destinations = world.table.touched(&[change]);
        let mut found: Vec<IpAddr> =
            destinations.iter().map(|destination| destination.address).collect();
        found.sort();
        found
    };
    assert_eq!(touched(&world, DependencyChange::Dependency(Dependency::Link(4))), [host(8)]);
    let station = Dependency::Station(9, [2, 0, 0, 0, 1, 2]);
    assert_eq!(touched(&world, DependencyChange::Dependency(station)), [host(2), host(3), host(9)]);
    assert_eq!(touched(&world, DependencyChange::Route(host(8), 31)), [host(8), host(9)]);
    assert!(touched(&world, DependencyChange::Vlans).is_empty());
    assert_eq!(touched(&world, DependencyChange::All).len(), 5);
    // Only the dependencies of the endpoint change.
    let same = Endpoint { dependencies: vec![Dependency::Vlans(5)], ..endpoint(2, 2) };
    assert!(world.table.moved(destination(2), Some(same)).is_empty());
    assert_eq!(touched(&world, DependencyChange::Vlans), [host(2)]);
    let known = world.table.endpoint(&destination(2)).map(|end| &end.dependencies[..]);
    assert_eq!(known, Some(&[Dependency::Vlans(5)][..]));
    assert_eq!(world.table.moved(destination(2), Some(endpoint(5, 2))), [1]);
    let mut gone = world.table.moved(destination(1), None);
    gone.sort_unstable();
    assert_eq!(gone, [1, 2]);
    for id in [1, 2, 3] {
        assert!(world.table.leave(id).is_some());
        assert!(world.table.leave(id).is_none());
    }
    assert_eq!(world.table.touched(&[DependencyChange::All]), []);
    assert_eq!(world.table.endpoint(&destination(2)), None);
    assert!(world.table.is_empty());
}

#[test]
fn an_address_may_have_several_next_hops() {
    let mut world = World::new(64);
    let next_hop = |device| Some(NextHop { device, gateway: None });
    let by = |device| Endpoint { route: next_hop(device), ..endpoint(device, 2) };
    world.table.install(connection(1, 1, 2, 6), [endpoint(1, 1), by(5)], s(0)).unwrap();
    world.table.install(connection(2, 3, 2, 6), [endpoint(1, 3), by(6)], s(0)).unwrap();
    let link = |device| DependencyChange::Dependency(Dependency::Link(device));
    let second = Destination { address: host(2), route: next_hop(6) };
    assert_eq!(world.table.touched(&[link(6)]), [second]);
    assert_eq!(world.table.moved(second, None), [2]);
    let routes = [DependencyChange::Route(host(2), 32)];
    assert_eq!(world.table.touched(&routes), [], "the flow table handles the next hop");
    assert!(world.table.leave(2).is_some());
    assert_eq!(world.table.touched(&[link(6)]), []);
    assert_eq!(world.table.touched(&[link(5)]).len(), 1);
}

#[test]
fn refuses_a_second_flow_with_the_same_tuple() {
    let mut world = World::new(64);
    world.install(connection(1, 1, 2, 6), 0).unwrap();
    let twin = Connection { zone: 5, id: 2, ..connection(1, 1, 2, 6) };
    assert_eq!(world.install(twin, 0), Err(InstallRefusal::DuplicateTuple));
    assert_eq!(world.table.len(), 1);
}

#[test]
fn evicts_the_connection_that_has_been_idle_longest() {
    let mut world = World::new(4);
    let [first, _] = world.install(connection(1, 1, 2, 6), 0).unwrap();
    let [second, _] = world.install(connection(2, 1, 2, 6), 0).unwrap();
    world.pass(&first, 100);
    world.pass(&second, 100);
    world.read(1);
    world.pass(&first, 1);
    world.read(2);
    assert_eq!(world.install(connection(3, 1, 2, 6), 2), Err(InstallRefusal::Full));
    world.read(40);
    world.install(connection(3, 1, 2, 6), 40).unwrap();
    assert!(world.table.has(1) && !world.table.has(2));
    assert_eq!(world.table.evicted(), 1);
}

#[test]
fn a_scan_evicts_only_its_own_connections() {
    let mut world = World::new(40);
    let mut real = Vec::new();
    for id in 0..10 {
        real.push(world.install(connection(id, 1, 2, 17), 0).unwrap()[0]);
    }
    for key in &real {
        world.pass(key, 1000);
    }
    world.read(1);
    let mut id = 100;
    for now in 2..30 {
        for _ in 0..50 {
            id += 1;
            if let Ok([key, _]) = world.install(connection(id, 3, 2, 17), now) {
                world.pass(&key, 1);
            }
        }
        world.read(now);
    }
    assert!((0..10).all(|id| world.table.has(id)));
    assert!(world.table.evicted() > 10, "{}", world.table.evicted());
}

#[test]
fn extends_the_conntrack_timeout_while_packets_arrive() {
    let mut world = World::new(64);
    let [udp, _] = world.install(connection(1, 1, 2, 17), 0).unwrap();
    let extensions = |world: &mut World, now: u64| -> Vec<Duration> {
        let extension = |key| world.table.extension(key, s(now), &TIMEOUTS);
        world.maps.keys().filter_map(extension).map(|extension| extension.left).collect()
    };
    world.read(1);
    assert_eq!(extensions(&mut world, 1), []);
    let mut until = 0;
    for now in 2..400 {
        world.pass(&udp, 1);
        world.read(now);
        for left in extensions(&mut world, now) {
            assert_eq!(left, s(120));
            until = now + 120;
        }
        assert!(until >= now + 60, "at {now} it lives until {until}");
    }
    // Idle since 399, so conntrack must expire the connection at 519.
    for now in 400..520 {
        world.read(now);
        until = extensions(&mut world, now).first().map_or(until, |left| now + left.as_secs());
    }
    assert_eq!(until, 519);
}

#[test]
fn extends_the_timeout_of_a_removed_connection() {
    let mut world = World::new(64);
    let [there, _] = world.install(connection(1, 1, 2, 6), 0).unwrap();
    assert_eq!(world.table.last_extension(1, s(5), &TIMEOUTS), None);
    world.pass(&there, 1);
    world.read(5);
    let last = world.table.last_extension(1, s(15), &TIMEOUTS).unwrap();
    assert_eq!(last.left, s(7430));
}

#[test]
fn counts_dropped_packets_by_rule_until_they_expire() {
    let mut world = World::new(64);
    let ends = [endpoint(1, 1), endpoint(2, 2)];
    let taken = world.table.reject(connection(1, 1, 2, 6), ends, 2_100_498, s(60), s(0)).unwrap();
    assert!(taken.entries.iter().all(|(_, entry)| entry.drop == Some(2_100_498)));
    let [key, _] = world.put(taken);
    world.pass(&key, 5);
    assert_eq!(world.read(1), []);
    assert_eq!(world.table.dropped(), [(2_100_498, Counters { packets: 5, bytes: 500 })]);
    assert_eq!(world.table.extension(&key, s(1), &TIMEOUTS), None);
    assert!(world.table.expired(s(59)).is_empty());
    assert_eq!(world.table.expired(s(60)), [1]);
}

#[test]
fn dropped_connections_use_at_most_a_sixteenth_of_each_map() {
    let mut table = ConnectionTable::new(64);
    let reject = |table: &mut ConnectionTable, connection: Connection| {
        let ends = [endpoint(1, 1), endpoint(2, 2)];
        table.reject(connection, ends, 1, s(60), s(0)).map(|_| ())
    };
    let refused = |table: &mut ConnectionTable, of: &dyn Fn(u64) -> Connection| {
        (0..10).filter(|id| reject(table, of(*id)) == Err(InstallRefusal::Full)).count()
    };
    let v4 = |id| connection(id, 1, 2, 6);
    assert_eq!(refused(&mut table, &v4), 8);
    assert_eq!(table.used, [4, 0]);
    table.leave(0).unwrap();
    assert_eq!(reject(&mut table, v4(10)), Ok(()));
    assert_eq!(reject(&mut table, v4(11)), Err(InstallRefusal::Full));
    // The IPv6 map has its own limit.
    let v6 = |id| {
        let six = |tuple: Tuple| {
            let of = |address: IpAddr| match address {
                IpAddr::V4(address) => address.to_ipv6_compatible().into(),
                IpAddr::V6(_) => address,
            };
            Tuple { src: of(tuple.src), dst: of(tuple.dst), ..tuple }
        };
        let connection = connection(100 + id, 1, 2, 6);
        Connection { orig: six(connection.orig), reply: six(connection.reply), ..connection }
    };
    assert_eq!(refused(&mut table, &v6), 8);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Take(u64, u8, u8),
    Leave(u64),
    Pass(u64, u64),
    Move(u8, u32),
    Second,
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0..40_u64;
    prop_oneof![
        4 => (id.clone(), 1..6_u8, 6..9_u8).prop_map(|(id, from, to)| Step::Take(id, from, to)),
        1 => id.clone().prop_map(Step::Leave),
        3 => (id, 1..40_u64).prop_map(|(id, packets)| Step::Pass(id, packets)),
        1 => (1..9_u8, 1..4_u32).prop_map(|(host, device)| Step::Move(host, device)),
        2 => Just(Step::Second),
    ]
}

proptest! {
    #[test]
    fn the_table_matches_the_maps(steps in proptest::collection::vec(step(), 1..200)) {
        let mut world = World::new(24);
        let mut now = 0;
        let mut sums: HashMap<u64, u64> = HashMap::new();
        let mut passed: HashMap<u64, u64> = HashMap::new();
        for step in steps {
            match step {
                Step::Take(id, from, to) => {
                    if world.install(connection(id, from, to, 6), now).is_ok() {
                        sums.remove(&id);
                        passed.remove(&id);
                    }
                }
                Step::Leave(id) if world.table.has(id) => world.leave(id),
                Step::Leave(_) => {}
                Step::Pass(id, packets) => {
                    let held = world.table.connections.get(&id).map(|held| held.keys[0]);
                    if let Some(key) = held {
                        world.pass(&key, packets);
                        *passed.entry(id).or_default() += packets;
                    }
                }
                Step::Move(last, device) => {
                    for id in world.table.moved(destination(last), Some(endpoint(device, 1))) {
                        world.leave(id);
                    }
                }
                Step::Second => {
                    now += 7;
                    for growth in world.read(now) {
                        *sums.entry(growth.id).or_default() += growth.grown.packets;
                    }
                    for id in world.table.all() {
                        prop_assert_eq!(sums.get(&id), passed.get(&id));
                    }
                }
            }
            prop_assert!(world.maps.len() <= 24);
            prop_assert_eq!(world.maps.len(), world.table.len() * 2);
            prop_assert!(world.maps.keys().all(|key| world.table.knows(key)));
        }
        for id in world.table.all() {
            world.leave(id);
        }
        prop_assert!(world.maps.is_empty() && world.table.stations.is_empty());
        prop_assert_eq!(world.table.used, [0, 0]);
    }
}
