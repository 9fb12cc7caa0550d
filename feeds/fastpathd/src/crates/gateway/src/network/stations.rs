// SPDX-License-Identifier: GPL-2.0-or-later
//! Detects stations that move to another port of a bridge, and addresses that move to another MAC.
//!
//! A flowtable entry keeps its port and MAC while packets arrive, so packets to a station that has
//! moved would go to its old port.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::net::IpAddr;

use topology::{Change, Mac, NeighbourState, Topology};

/// Limit of stations of each kind. Any host can invent MACs, so a full table is cleared.
const MAX_STATIONS: usize = 8192;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    /// A station behind a bridge has moved to another port.
    Station { mac: Mac, from: u32, to: u32 },
    /// A neighbour has another MAC.
    Neighbour { address: IpAddr, from: Mac, to: Mac },
}

/// Last known ports and MACs of stations. A bridge ages out a station after five minutes in which
/// the flowtable forwards all of its packets, so the kernel's tables do not suffice.
#[derive(Debug, Default)]
pub(crate) struct Stations {
    /// Port by bridge, MAC and VLAN.
    ports: HashMap<(u32, Mac, u16), u32>,
    /// MAC by link and address.
    macs: HashMap<(u32, IpAddr), Mac>,
}

impl Stations {
    /// Learns from a change of the network, and adds stations that have moved to `moved`.
    pub(crate) fn learn(&mut self, change: &Change, moved: &mut Vec<Moved>) {
        match change {
            Change::Full(all) => {
                for change in all {
                    self.learn(change, moved);
                }
            }
            Change::Fdb(entry) if !entry.own && entry.port != entry.bridge => {
                let (mac, to) = (entry.mac, entry.port);
                if let Some(from) = put(&mut self.ports, (entry.bridge, mac, entry.vlan), to) {
                    moved.push(Moved::Station { mac, from, to });
                }
            }
            Change::Neighbour(neighbour) if neighbour.state == NeighbourState::Valid => {
                let address = neighbour.address;
                let Some(to) = neighbour.mac else { return };
                if let Some(from) = put(&mut self.macs, (neighbour.index, address), to) {
                    moved.push(Moved::Neighbour { address, from, to });
                }
            }
            Change::LinkGone(index) => {
                // The kernel has dropped the flowtable's entries over this link.
                self.ports.retain(|(bridge, ..), port| bridge != index && port != index);
                self.macs.retain(|(link, _), _| link != index);
            }
            // Stations that are gone are kept; the other changes concern no station.
            Change::Fdb(_)
            | Change::FdbGone(_)
            | Change::Neighbour(_)
            | Change::NeighbourGone(..)
            | Change::Link(_)
            | Change::BridgeVlans(_)
            | Change::Queues(_)
            | Change::Pppoe(..)
            | Change::Address(_)
            | Change::AddressGone(_)
            | Change::Route(_)
            | Change::RouteReplaced(_)
            | Change::RouteGone(_)
            | Change::Routes(_)
            | Change::Rules(_) => {}
        }
    }
}

/// Inserts a value. Returns the previous value if it differs.
fn put<K: Eq + Hash, V: Copy + PartialEq>(
    known: &mut HashMap<K, V>,
    key: K,
    value: V,
) -> Option<V> {
    if known.len() >= MAX_STATIONS && !known.contains_key(&key) {
        known.clear();
    }
    known.insert(key, value).filter(|before| *before != value)
}

/// Returns true if the addresses behind this station are known, and `known` contains all of them.
pub(crate) fn all_within(one: &Moved, known: &BTreeSet<IpAddr>, topology: &Topology) -> bool {
    let found = addresses(&[*one], topology);
    found.is_some_and(|found| {
        let mut forwarded = found.iter().filter(|each| forwards_to(**each)).peekable();
        forwarded.peek().is_some() && forwarded.all(|each| known.contains(each))
    })
}

/// Returns the addresses behind stations that have moved; `None` if one is a router.
pub(crate) fn addresses(moved: &[Moved], topology: &Topology) -> Option<Vec<IpAddr>> {
    let mut found = Vec::new();
    for one in moved {
        match one {
            Moved::Neighbour { address, .. } => found.push(*address),
            Moved::Station { mac, .. } => {
                let its = topology.neighbours().filter(|neighbour| neighbour.mac == Some(*mac));
                found.extend(its.map(|neighbour| neighbour.address));
            }
        }
    }
    let router =
        topology.routes().filter_map(|route| route.gateway).any(|via| found.contains(&via));
    (!router).then_some(found)
}

/// Returns false for link-local, multicast and broadcast addresses.
pub(crate) fn forwards_to(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => !a.is_multicast() && !a.is_link_local() && !a.is_broadcast(),
        IpAddr::V6(a) => !a.is_multicast() && !a.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use topology::{FdbEntry, Neighbour};

    use super::*;

    const HOST: Mac = Mac([2, 0, 0, 0, 1, 10]);

    fn seen(port: u32) -> FdbEntry {
        FdbEntry { bridge: 4, port, mac: HOST, vlan: 10, own: false }
    }

    fn neighbour(last: u8, state: NeighbourState) -> Change {
        let mac = (state == NeighbourState::Valid).then_some(Mac([2, 0, 0, 0, 1, last]));
        Change::Neighbour(Neighbour { index: 5, address: "10.0.0.9".parse().unwrap(), mac, state })
    }

    fn moves(stations: &mut Stations, changes: &[Change]) -> Vec<Moved> {
        let mut moved = Vec::new();
        for change in changes {
            stations.learn(change, &mut moved);
        }
        moved
    }

    #[test]
    fn a_station_moves_when_it_is_seen_on_another_port() {
        let mut stations = Stations::default();
        assert_eq!(moves(&mut stations, &[Change::Fdb(seen(1)), Change::Fdb(seen(1))]), []);
        let moved = Moved::Station { mac: HOST, from: 1, to: 3 };
        assert_eq!(moves(&mut stations, &[Change::Fdb(seen(3))]), [moved]);
        let other = FdbEntry { vlan: 20, ..seen(1) };
        let own = FdbEntry { own: true, ..seen(1) };
        assert_eq!(moves(&mut stations, &[Change::Fdb(other), Change::Fdb(own)]), []);
    }

    #[test]
    fn a_move_is_detected_after_the_bridge_aged_out_the_station() {
        let mut stations = Stations::default();
        let gone = [Change::Fdb(seen(1)), Change::FdbGone(seen(1))];
        assert_eq!(moves(&mut stations, &gone), []);
        let all = Change::Full(vec![Change::Fdb(seen(3))]);
        let moved = Moved::Station { mac: HOST, from: 1, to: 3 };
        assert_eq!(moves(&mut stations, &[all]), [moved]);
    }

    #[test]
    fn stations_of_a_removed_port_are_dropped() {
        let mut stations = Stations::default();
        assert_eq!(moves(&mut stations, &[Change::Fdb(seen(1)), Change::LinkGone(1)]), []);
        assert_eq!(moves(&mut stations, &[Change::Fdb(seen(3))]), []);
    }

    #[test]
    fn a_neighbour_moves_to_another_mac() {
        use NeighbourState::{Invalid, Valid};
        let mut stations = Stations::default();
        let first = [neighbour(1, Valid), neighbour(1, Invalid), neighbour(1, Valid)];
        assert_eq!(moves(&mut stations, &first), []);
        let address = "10.0.0.9".parse().unwrap();
        let [from, to] = [1, 2].map(|last| Mac([2, 0, 0, 0, 1, last]));
        let then = [neighbour(1, Invalid), neighbour(2, Valid)];
        assert_eq!(moves(&mut stations, &then), [Moved::Neighbour { address, from, to }]);
    }

    #[test]
    fn the_number_of_stations_is_limited() {
        let mut stations = Stations::default();
        for number in 0..20_000_u32 {
            let [_, _, a, b] = number.to_be_bytes();
            let entry = FdbEntry { mac: Mac([2, 0, 0, 0, a, b]), ..seen(1) };
            assert_eq!(moves(&mut stations, &[Change::Fdb(entry)]), []);
        }
        assert!(stations.ports.len() <= MAX_STATIONS);
    }
}
