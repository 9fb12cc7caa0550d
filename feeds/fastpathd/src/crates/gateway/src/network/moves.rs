// SPDX-License-Identifier: GPL-2.0-or-later
//! Records the hosts that moved to another port or MAC within the last hour.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use flows::{HostMove, MoveKind, Now};
use serde::Serialize;
use topology::{Mac, Topology};

use crate::network::stations::{Moved, forwards_to};

const HOUR: Duration = Duration::from_secs(3600);
/// Limit of hosts. A full table evicts the host whose last move is oldest.
const MAX_HOSTS: usize = 256;
/// Moves within `RESTLESS_WINDOW` after which the flowtable is not renewed for a host.
const RESTLESS_MOVES: usize = 4;
const RESTLESS_WINDOW: Duration = Duration::from_secs(60);
const MAX_RESTLESS: usize = 256;
/// Limit of moves per host; only a flapping host has more.
const MAX_MOVES: usize = 64;

/// A host that moved within the last hour (`topology.json`, `RoamingHost`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RoamingHost {
    /// MAC of a host that moved to another port; empty for a host that changed its MAC.
    mac: String,
    addresses: Vec<IpAddr>,
    kind: MoveKind,
    moves: usize,
    last_ms: u64,
    from: String,
    to: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum HostKey {
    Station(Mac),
    Neighbour(IpAddr),
}

#[derive(Debug)]
struct Move {
    at: Now,
    from: String,
    to: String,
}

#[derive(Debug)]
struct Host {
    /// Addresses at the last move.
    addresses: Vec<IpAddr>,
    kind: MoveKind,
    /// Recorded moves, oldest first; at least one.
    moves: VecDeque<Move>,
}

#[derive(Debug, Default)]
pub(crate) struct Moves {
    hosts: BTreeMap<HostKey, Host>,
}

impl Moves {
    /// Records moves, with port names from `topology`.
    pub(crate) fn note(&mut self, moved: &[Moved], topology: &Topology, now: Now) {
        for one in moved {
            let (key, kind, addresses, from, to) = match *one {
                Moved::Station { mac, from, to } => {
                    let its = topology.neighbours().filter(|each| each.mac == Some(mac));
                    let addresses = its.map(|each| each.address);
                    let addresses = addresses.filter(|each| forwards_to(*each)).collect();
                    let [from, to] = [from, to].map(|index| port_name(topology, index));
                    (HostKey::Station(mac), MoveKind::Port, addresses, from, to)
                }
                Moved::Neighbour { address, from, to } => {
                    let [from, to] = [from, to].map(|mac| mac.to_string());
                    (HostKey::Neighbour(address), MoveKind::Mac, vec![address], from, to)
                }
            };
            self.expire(now);
            if !self.hosts.contains_key(&key) && self.hosts.len() >= MAX_HOSTS {
                self.evict_oldest();
            }
            let host = self.hosts.entry(key).or_insert_with(|| Host {
                addresses: Vec::new(),
                kind,
                moves: VecDeque::new(),
            });
            host.addresses = addresses;
            if host.moves.len() == MAX_MOVES {
                host.moves.pop_front();
            }
            host.moves.push_back(Move { at: now, from, to });
        }
    }

    fn expire(&mut self, now: Now) {
        self.hosts.retain(|_, host| {
            host.moves.retain(|each| is_recent(each, now));
            !host.moves.is_empty()
        });
    }

    fn evict_oldest(&mut self) {
        let last = |host: &Host| host.moves.back().map(|each| each.at.mono);
        let oldest = self.hosts.iter().min_by_key(|(_, host)| last(host)).map(|(key, _)| *key);
        oldest.map(|key| self.hosts.remove(&key));
    }

    /// Returns the addresses of hosts that keep moving. Excludes routers, because flows through
    /// them have other addresses.
    pub(crate) fn restless(&self, topology: &Topology, now: Now) -> BTreeSet<IpAddr> {
        let lately = |each: &&Move| now.mono.saturating_sub(each.at.mono) < RESTLESS_WINDOW;
        let often = self
            .hosts
            .values()
            .filter(|host| host.moves.iter().filter(lately).count() >= RESTLESS_MOVES);
        let mut found: BTreeSet<IpAddr> =
            often.flat_map(|host| host.addresses.iter().copied()).into_set();
        for router in topology.routes().filter_map(|route| route.gateway) {
            found.remove(&router);
        }
        while found.len() > MAX_RESTLESS {
            found.pop_last();
        }
        found
    }

    /// Returns the newest `limit` moves of these addresses since `since_ms`, oldest first.
    pub(crate) fn of(
        &self,
        addresses: &[IpAddr],
        since_ms: u64,
        limit: usize,
        now: Now,
    ) -> Vec<HostMove> {
        let mut found = Vec::new();
        for host in self.hosts.values() {
            let Some(address) = host.addresses.iter().find(|each| addresses.contains(each)) else {
                continue;
            };
            for each in host.moves.iter().filter(|each| is_recent(each, now)) {
                let at_ms = now.unix_ms_at(each.at);
                let (from, to) = (each.from.clone(), each.to.clone());
                found.push(HostMove { at_ms, kind: host.kind, address: *address, from, to });
            }
        }
        found.retain(|each| each.at_ms >= since_ms);
        config::sort::by_key(&mut found, |each| each.at_ms);
        found.split_off(found.len().saturating_sub(limit))
    }

    /// Returns the hosts that moved within the last hour, most moves first.
    pub(crate) fn roaming(&self, now: Now) -> Vec<RoamingHost> {
        let mut hosts: Vec<RoamingHost> =
            self.hosts.iter().filter_map(|(key, host)| roaming(key, host, now)).collect();
        config::sort::by(&mut hosts, |a, b| b.moves.cmp(&a.moves).then(b.last_ms.cmp(&a.last_ms)));
        hosts
    }
}

fn roaming(key: &HostKey, host: &Host, now: Now) -> Option<RoamingHost> {
    let moves = host.moves.iter().filter(|each| is_recent(each, now)).count();
    let last = host.moves.back().filter(|_| moves > 0)?;
    let mac = match key {
        HostKey::Station(mac) => mac.to_string(),
        HostKey::Neighbour(_) => String::new(),
    };
    Some(RoamingHost {
        mac,
        addresses: host.addresses.clone(),
        kind: host.kind,
        moves,
        last_ms: now.unix_ms_at(last.at),
        from: last.from.clone(),
        to: last.to.clone(),
    })
}

fn is_recent(each: &Move, now: Now) -> bool {
    now.mono.saturating_sub(each.at.mono) < HOUR
}

/// Returns the name of a port, or its index if the port is gone.
fn port_name(topology: &Topology, index: u32) -> String {
    topology.link(index).map_or_else(|| index.to_string(), |link| link.name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Now {
        Now { mono: Duration::from_secs(seconds), unix_ms: seconds * 1000 }
    }

    fn moved(last: u8) -> Moved {
        let mac = |last| Mac([2, 0, 0, 0, 1, last]);
        let address = IpAddr::from([10, 0, 0, last]);
        Moved::Neighbour { address, from: mac(last), to: mac(200) }
    }

    fn counts(moves: &Moves, seconds: u64) -> Vec<(IpAddr, usize)> {
        let hosts = moves.roaming(at(seconds)).into_iter();
        hosts.map(|host| (host.addresses[0], host.moves)).collect()
    }

    #[test]
    fn a_move_is_kept_for_an_hour() {
        let (mut moves, topology) = (Moves::default(), Topology::default());
        moves.note(&[moved(9)], &topology, at(10));
        moves.note(&[moved(9), moved(8)], &topology, at(20));
        let [nine, eight] = [9, 8].map(|last| IpAddr::from([10, 0, 0, last]));
        assert_eq!(counts(&moves, 30), [(nine, 2), (eight, 1)]);
        assert_eq!(moves.of(&[nine], 0, 16, at(30)).len(), 2);
        assert_eq!(moves.of(&[nine], 0, 1, at(30))[0].at_ms, 20_000, "the newest");
        assert_eq!(moves.of(&[nine], 15_000, 16, at(30)).len(), 1, "since the flow began");
        assert_eq!(moves.of(&[IpAddr::from([10, 0, 0, 7])], 0, 16, at(30)), []);
        assert_eq!(counts(&moves, 3615), [(eight, 1), (nine, 1)], "as many moves: by address");
        assert_eq!(counts(&moves, 3620), []);
        moves.note(&[moved(7)], &topology, at(4000));
        assert_eq!(moves.hosts.len(), 1);
    }

    #[test]
    fn hosts_and_moves_are_bounded() {
        let (mut moves, topology) = (Moves::default(), Topology::default());
        for second in 0..200 {
            moves.note(&[moved(1)], &topology, at(second));
        }
        assert_eq!(counts(&moves, 200)[0].1, MAX_MOVES);
        for number in 0..1000_u32 {
            let [_, _, a, b] = number.to_be_bytes();
            let mac = Mac([2, 0, 0, 0, a, b]);
            let address = IpAddr::from([10, 9, a, b]);
            let one = Moved::Neighbour { address, from: mac, to: Mac([2; 6]) };
            moves.note(&[one], &topology, at(300 + u64::from(number)));
        }
        assert!(moves.hosts.len() <= MAX_HOSTS, "{}", moves.hosts.len());
        assert!(!moves.of(&[IpAddr::from([10, 9, 3, 231])], 0, 16, at(1301)).is_empty());
    }

    #[test]
    fn a_full_table_evicts_one_host_for_a_new_one() {
        let (mut moves, topology) = (Moves::default(), Topology::default());
        let all: Vec<Moved> = (0..=255).map(moved).collect();
        moves.note(&all, &topology, at(10));
        moves.note(&[moved(9)], &topology, at(20));
        assert_eq!(moves.hosts.len(), MAX_HOSTS, "a known host evicts no other");
        let other = Moved::Neighbour {
            address: IpAddr::from([10, 9, 0, 1]),
            from: Mac([2; 6]),
            to: Mac([4; 6]),
        };
        moves.note(&[other], &topology, at(30));
        assert_eq!(moves.hosts.len(), MAX_HOSTS);
        assert_eq!(counts(&moves, 40)[0], (IpAddr::from([10, 0, 0, 9]), 2));
    }
}
