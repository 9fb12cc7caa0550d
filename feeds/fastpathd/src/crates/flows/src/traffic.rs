// SPDX-License-Identifier: GPL-2.0-or-later
//! Forwarded bytes and packets by path, direction and pair of firewall zones, for metrics. Includes
//! ended flows, so sums never decrease.

use std::net::IpAddr;
use std::rc::Rc;

use ctnetlink::Counters;
use hashbrown::HashMap;

use crate::accounts::ByPath;
use crate::flow::Flow;
use crate::hosts::Hosts;
use crate::intern::{Interner, Number};
use crate::network::{Side, inside_ends};
use crate::path::Path;

/// Maximum pairs of zones counted separately. Six zones have 36 pairs.
const MAX_PAIRS: usize = 48;
const OTHER: &str = "other";
/// Maximum hosts in [`HostGrowth`], about 1 MB. The bytes of others are summed.
const MAX_GROWN: usize = 8192;

/// Growth of a flow that is credited to a path.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Credit {
    pub(crate) path: Path,
    /// 0 from the initiator, 1 to the initiator.
    pub(crate) direction: usize,
    pub(crate) counters: Counters,
}

/// Traffic of one pair of zones.
#[derive(Debug)]
struct Pair {
    /// Zones of initiator and responder.
    zones: [Number; 2],
    sums: ByPath<[Counters; 2]>,
}

/// Forwarded traffic of one pair of zones.
#[derive(Debug, Clone, Copy)]
pub struct ZoneTraffic<'a> {
    /// Zone of the initiator; empty if there is none.
    pub in_zone: &'a str,
    /// Zone of the responder; empty if there is none.
    pub out_zone: &'a str,
    sums: &'a ByPath<[Counters; 2]>,
}

impl ZoneTraffic<'_> {
    /// Returns the traffic of a path, from and to the initiator.
    #[must_use]
    pub fn on(&self, path: Path) -> [Counters; 2] {
        self.sums[path as usize]
    }
}

/// Bytes of a host, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostBytes {
    pub sent: u64,
    pub received: u64,
    /// Part of both that was offloaded.
    pub offloaded: u64,
}

impl HostBytes {
    pub fn add(&mut self, other: Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
        self.offloaded = self.offloaded.saturating_add(other.offloaded);
    }
}

/// Forwarded bytes of the hosts behind the router, since they were last taken.
#[derive(Debug, Default)]
pub struct HostGrowth {
    pub hosts: HashMap<IpAddr, HostBytes>,
    /// Bytes of hosts above the limit.
    pub others: HostBytes,
}

impl HostGrowth {
    fn add(&mut self, address: IpAddr, bytes: HostBytes) {
        let full = self.hosts.len() >= MAX_GROWN && !self.hosts.contains_key(&address);
        let sum = if full { &mut self.others } else { self.hosts.entry(address).or_default() };
        sum.add(bytes);
    }
}

/// Sums of forwarded traffic by pair of zones and by host.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    zones: Interner<Rc<str>>,
    /// Zone of each side, in the order of side numbers from 1.
    of_side: Vec<Number>,
    /// Pairs in the order of their first traffic. The pair of [`OTHER`] sums all further pairs.
    pairs: Vec<Pair>,
    pub(crate) hosts: Hosts,
    pub(crate) growth: HostGrowth,
}

impl Traffic {
    /// Adds the growth of a forwarded flow.
    pub(crate) fn add(&mut self, flow: &Flow, sides: &Interner<Side>, credits: &[Credit]) {
        let (mut grown, mut offloaded) = ([0_u64; 2], 0_u64);
        for Credit { direction, counters, path } in credits {
            grown[*direction] = grown[*direction].saturating_add(counters.bytes);
            if path.offloaded() {
                offloaded = offloaded.saturating_add(counters.bytes);
            }
        }
        if grown == [0; 2] {
            return;
        }
        let ends = [flow.initiator, flow.responder];
        let zones = ends.map(|end| self.zone(end, sides));
        let sums = self.sums(zones);
        for credit in credits {
            let sum = &mut sums[credit.path as usize][credit.direction];
            sum.bytes = sum.bytes.saturating_add(credit.counters.bytes);
            sum.packets = sum.packets.saturating_add(credit.counters.packets);
        }
        let [initiator, responder] = ends.map(|end| sides.get(end));
        let [initiator, responder] = inside_ends(initiator, responder);
        let [up, down] = grown;
        if initiator {
            self.hosts.add(flow.orig.src, [up, down]);
            let bytes = HostBytes { sent: up, received: down, offloaded };
            self.growth.add(flow.orig.src, bytes);
        }
        if responder {
            self.hosts.add(flow.reply.src, [down, up]);
            let bytes = HostBytes { sent: down, received: up, offloaded };
            self.growth.add(flow.reply.src, bytes);
        }
    }

    /// Returns the number of the zone of a side; 0 for an unknown side.
    fn zone(&mut self, side: Number, sides: &Interner<Side>) -> Number {
        for new in &sides.values()[self.of_side.len()..] {
            self.of_side.push(self.zones.number(Rc::clone(&new.zone)));
        }
        let known = usize::try_from(side).ok().and_then(|side| side.checked_sub(1));
        known.and_then(|side| self.of_side.get(side)).copied().unwrap_or(0)
    }

    fn sums(&mut self, zones: [Number; 2]) -> &mut ByPath<[Counters; 2]> {
        let find = |pairs: &[Pair], zones| pairs.iter().position(|pair| pair.zones == zones);
        let at = find(&self.pairs, zones).unwrap_or_else(|| {
            let full = self.pairs.len() + 1 >= MAX_PAIRS;
            let zones = if full { [self.zones.number(Rc::from(OTHER)); 2] } else { zones };
            // A real zone may also be named `other`.
            find(&self.pairs, zones).unwrap_or_else(|| {
                self.pairs.push(Pair { zones, sums: ByPath::default() });
                self.pairs.len() - 1
            })
        });
        &mut self.pairs[at].sums
    }

    pub(crate) fn between_zones(&self) -> impl Iterator<Item = ZoneTraffic<'_>> {
        self.pairs.iter().map(|pair| {
            let [in_zone, out_zone] =
                pair.zones.map(|zone| self.zones.get(zone).map_or("", |zone| zone));
            ZoneTraffic { in_zone, out_zone, sums: &pair.sums }
        })
    }
}
