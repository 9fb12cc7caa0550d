// SPDX-License-Identifier: GPL-2.0-or-later
//! Flows by their ends: what an alert or the owner of a block knows of a connection.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};

use ctnetlink::Tuple;
use hashbrown::HashTable;

use crate::flow::Flow;
use crate::proto::has_ports;
use crate::table::FlowTable;

/// How many of the newest flows are searched for one of a protocol without ports. They live
/// short, and a flood of alerts must not cost more.
const PORTLESS_AMONG: usize = 4096;

/// Both ends of a connection, whoever opened it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    proto: u8,
    low: SocketAddr,
    high: SocketAddr,
}

impl Pair {
    fn new(proto: u8, a: SocketAddr, b: SocketAddr) -> Self {
        Self { proto, low: a.min(b), high: a.max(b) }
    }
}

/// As whom the packets of a flow know its ends.
#[derive(Debug, Clone, Copy)]
enum View {
    /// As the opener sends them.
    Sent = 0,
    /// As the forward hook sees them: destination translated, source not yet.
    Forwarded = 1,
    /// As the other end sees them.
    Received = 2,
}

impl View {
    /// The ends of `flow`, seen so.
    fn pair(self, flow: &Flow) -> Pair {
        let opener = SocketAddr::new(flow.orig.src, flow.orig.sport);
        let server = SocketAddr::new(flow.reply.src, flow.reply.sport);
        let (a, b) = match self {
            Self::Sent => (opener, SocketAddr::new(flow.orig.dst, flow.orig.dport)),
            Self::Forwarded => (opener, server),
            Self::Received => (SocketAddr::new(flow.reply.dst, flow.reply.dport), server),
        };
        Pair::new(flow.orig.proto, a, b)
    }

    /// The views of `flow` that differ: one, where no address is translated.
    fn of(flow: &Flow) -> impl Iterator<Item = Self> {
        let middle = Self::Forwarded.pair(flow);
        let others = [Self::Sent, Self::Received].into_iter();
        let others = others.filter(move |view| view.pair(flow) != middle);
        std::iter::once(Self::Forwarded).chain(others)
    }
}

/// A position in the table of flows and a view, in 32 bits: a billion flows would not fit into
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place(u32);

impl Place {
    fn new(position: usize, view: View) -> Self {
        Self(u32::try_from(position << 2 | view as usize).unwrap_or(u32::MAX))
    }

    fn position(self) -> usize {
        (self.0 >> 2) as usize
    }

    fn pair(self, flows: &[Flow]) -> Pair {
        let view = match self.0 & 3 {
            0 => View::Sent,
            1 => View::Forwarded,
            _ => View::Received,
        };
        view.pair(&flows[self.position()])
    }
}

/// The flows by each view of their ends. Protocols without ports are left out: all pings between
/// two hosts would have the same.
#[derive(Debug, Default)]
pub(crate) struct ByEnds {
    places: HashTable<Place>,
    /// Keyed: strangers choose addresses and ports.
    hasher: RandomState,
}

impl ByEnds {
    pub(crate) fn insert(&mut self, flows: &[Flow], position: usize) {
        if !has_ports(flows[position].orig.proto) {
            return;
        }
        for view in View::of(&flows[position]) {
            let place = Place::new(position, view);
            let hasher = &self.hasher;
            let hash = |place: &Place| hasher.hash_one(place.pair(flows));
            self.places.insert_unique(hash(&place), place, hash);
        }
    }

    pub(crate) fn remove(&mut self, flows: &[Flow], position: usize) {
        self.change(flows, position, None);
    }

    /// The flow at `from` will be at `to`.
    pub(crate) fn moved(&mut self, flows: &[Flow], from: usize, to: usize) {
        self.change(flows, from, Some(to));
    }

    fn change(&mut self, flows: &[Flow], from: usize, to: Option<usize>) {
        if !has_ports(flows[from].orig.proto) {
            return;
        }
        for view in View::of(&flows[from]) {
            let old = Place::new(from, view);
            let hash = self.hasher.hash_one(old.pair(flows));
            if let Ok(mut entry) = self.places.find_entry(hash, |place| *place == old) {
                match to {
                    Some(to) => *entry.get_mut() = Place::new(to, view),
                    None => drop(entry.remove()),
                }
            }
        }
    }

    /// Gives memory back.
    pub(crate) fn shrink(&mut self, flows: &[Flow]) {
        let hasher = &self.hasher;
        let most = self.places.len() * 2;
        self.places.shrink_to(most, |place| hasher.hash_one(place.pair(flows)));
    }

    fn find(&self, flows: &[Flow], pair: &Pair) -> Option<usize> {
        let found =
            self.places.find(self.hasher.hash_one(pair), |place| place.pair(flows) == *pair);
        found.map(|place| place.position())
    }
}

impl FlowTable {
    /// The id of the flow between these ends, in either direction, and with the addresses as the
    /// opener sends them, as the forward hook sees them (after destination and before source
    /// NAT: that is where Suricata is in line) or as the other end sees them. Of a protocol
    /// without ports the ports do not matter, and only the newest thousands are searched.
    #[must_use]
    pub fn find(&self, proto: u8, a: SocketAddr, b: SocketAddr) -> Option<u64> {
        if has_ports(proto) {
            let found = self.ends.find(&self.flows, &Pair::new(proto, a, b));
            return found.map(|position| self.flows[position].id);
        }
        let wanted = [a.ip(), b.ip()];
        let same = |pair: Pair| {
            let ends = [pair.low.ip(), pair.high.ip()];
            ends == wanted || ends == [wanted[1], wanted[0]]
        };
        let mut newest = self.flows.iter().rev().take(PORTLESS_AMONG);
        let views = [View::Forwarded, View::Sent, View::Received];
        let found = newest.find(|flow| {
            flow.orig.proto == proto && views.into_iter().any(|view| same(view.pair(flow)))
        });
        found.map(|flow| flow.id)
    }

    /// The flows that have `address` at either end, before or after NAT, by zone and original
    /// direction, for [`ctnetlink::delete`].
    #[must_use]
    pub fn flows_of(&self, address: IpAddr) -> Vec<(u16, Tuple)> {
        let flows = self.flows.iter().filter(|flow| flow.addresses().contains(&address));
        flows.map(|flow| (flow.zone, flow.orig)).collect()
    }
}
