// SPDX-License-Identifier: GPL-2.0-or-later
//! Index of flows by protocol and both ends, before, during and after NAT. Used to find the flow of
//! an alert. Protocols without ports are not indexed.

use std::hash::{BuildHasher, Hash, Hasher};
use std::net::IpAddr;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::flow::Flow;
use crate::proto::has_ports;

type End = (IpAddr, u16);

/// Protocol and both ends of a connection, independent of the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndPair {
    proto: u8,
    pub(crate) low: End,
    pub(crate) high: End,
}

impl EndPair {
    pub(crate) fn new(proto: u8, a: End, b: End) -> Self {
        Self { proto, low: a.min(b), high: a.max(b) }
    }
}

impl Hash for EndPair {
    /// Hashes three integers, which is three times as fast as the derived implementation.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let bits = |address| match address {
            IpAddr::V4(v4) => u128::from(v4.to_bits()),
            IpAddr::V6(v6) => v6.to_bits(),
        };
        state.write_u128(bits(self.low.0));
        state.write_u128(bits(self.high.0));
        let [low, high] = [self.low.1, self.high.1].map(u64::from);
        state.write_u64(u64::from(self.proto) << 32 | low << 16 | high);
    }
}

/// Point of observation, which determines the addresses of translated packets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum View {
    /// Before NAT, as the initiator sends packets.
    Sent = 0,
    /// In the forward hook: after destination NAT, before source NAT.
    Forwarded = 1,
    /// After NAT, as the responder receives packets.
    Received = 2,
}

impl View {
    pub(crate) fn pair(self, flow: &Flow) -> EndPair {
        let (orig, reply) = (&flow.orig, &flow.reply);
        let (opener, server) = ((orig.src, orig.sport), (reply.src, reply.sport));
        let (a, b) = match self {
            Self::Sent => (opener, (orig.dst, orig.dport)),
            Self::Forwarded => (opener, server),
            Self::Received => ((reply.dst, reply.dport), server),
        };
        EndPair::new(orig.proto, a, b)
    }

    /// Returns the views of `flow` with different ends; a single view without NAT.
    fn of(flow: &Flow) -> impl Iterator<Item = Self> {
        let (orig, reply) = (&flow.orig, &flow.reply);
        let called = (orig.dst, orig.dport) == (reply.src, reply.sport);
        let answered = (orig.src, orig.sport) == (reply.dst, reply.dport);
        let sent = (!called).then_some(Self::Sent);
        let received = (!answered).then_some(Self::Received);
        [Some(Self::Forwarded), sent, received].into_iter().flatten()
    }
}

/// Position of a flow and a view, packed into 32 bits; sufficient for a billion flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ViewOf(u32);

impl ViewOf {
    fn new(position: usize, view: View) -> Self {
        Self(u32::try_from(position << 2 | view as usize).unwrap_or(u32::MAX))
    }

    fn position(self) -> usize {
        (self.0 >> 2) as usize
    }

    fn pair(self, flows: &[Flow]) -> EndPair {
        let view = match self.0 & 3 {
            0 => View::Sent,
            1 => View::Forwarded,
            _ => View::Received,
        };
        view.pair(&flows[self.position()])
    }
}

/// Index entry. Caches the hash of the pair, so that growing the index reads no flows.
#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u32,
    place: ViewOf,
}

/// Copies `hash` into both halves, because the hash table uses the highest and the lowest bits.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

/// Flows by the ends in each view. Excludes protocols without ports, because all pings between two
/// hosts would share a key.
#[derive(Debug, Default)]
pub(crate) struct ByEnds {
    slots: HashTable<Slot>,
    hasher: DefaultHashBuilder,
}

impl ByEnds {
    pub(crate) fn insert(&mut self, flows: &[Flow], position: usize) {
        let flow = &flows[position];
        if !has_ports(flow.orig.proto) {
            return;
        }
        for view in View::of(flow) {
            let hash = self.hash(&view.pair(flow));
            let slot = Slot { hash, place: ViewOf::new(position, view) };
            self.slots.insert_unique(spread(hash), slot, |slot| spread(slot.hash));
        }
    }

    pub(crate) fn remove(&mut self, flows: &[Flow], position: usize) {
        self.change(flows, position, None);
    }

    /// Updates the position of a flow. Called before the flow moves.
    pub(crate) fn moved(&mut self, flows: &[Flow], from: usize, to: usize) {
        self.change(flows, from, Some(to));
    }

    fn change(&mut self, flows: &[Flow], from: usize, to: Option<usize>) {
        let flow = &flows[from];
        if !has_ports(flow.orig.proto) {
            return;
        }
        for view in View::of(flow) {
            let old = ViewOf::new(from, view);
            let hash = spread(self.hash(&view.pair(flow)));
            if let Ok(mut entry) = self.slots.find_entry(hash, |slot| slot.place == old) {
                match to {
                    Some(to) => entry.get_mut().place = ViewOf::new(to, view),
                    None => drop(entry.remove()),
                }
            }
        }
    }

    pub(crate) fn shrink(&mut self) {
        self.slots.shrink_to(self.slots.len() * 2, |slot| spread(slot.hash));
    }

    pub(crate) fn find(&self, flows: &[Flow], pair: &EndPair) -> Option<usize> {
        let hash = self.hash(pair);
        let same = |slot: &Slot| slot.hash == hash && slot.place.pair(flows) == *pair;
        self.slots.find(spread(hash), same).map(|slot| slot.place.position())
    }

    fn hash(&self, pair: &EndPair) -> u32 {
        (self.hasher.hash_one(pair) >> 32) as u32
    }
}
