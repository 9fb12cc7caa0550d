// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds flows by their ends, by address, or by zone.

use std::net::{IpAddr, SocketAddr};

use config::Network;
use hashbrown::HashMap;
use model::Connection;

use crate::ends::{EndPair, View};
use crate::flow::Flow;
use crate::proto::{TCP, UDP, has_ports};
use crate::table::FlowTable;

/// Newest flows searched for a protocol without ports, which is not indexed. Limits the cost of a
/// flood of alerts.
const PORTLESS_AMONG: usize = 4096;

impl FlowTable {
    /// Returns the id of the flow between these ends, in either direction: before NAT, after NAT,
    /// or at the forward hook, where Suricata is inline. For protocols without ports, ignores the
    /// ports and searches only the newest flows.
    #[must_use]
    pub fn find(&self, proto: u8, a: SocketAddr, b: SocketAddr) -> Option<u64> {
        if has_ports(proto) {
            let found = self
                .ends
                .find(&self.flows, &EndPair::new(proto, (a.ip(), a.port()), (b.ip(), b.port())));
            return found.map(|position| self.flows[position].id);
        }
        let wanted = [a.ip(), b.ip()];
        let same = |pair: EndPair| {
            let ends = [pair.low.0, pair.high.0];
            ends == wanted || ends == [wanted[1], wanted[0]]
        };
        let mut newest = self.flows.iter().rev().take(PORTLESS_AMONG);
        let views = [View::Forwarded, View::Sent, View::Received];
        let found = newest.find(|flow| {
            flow.orig.proto == proto && views.into_iter().any(|view| same(view.pair(flow)))
        });
        found.map(|flow| flow.id)
    }

    /// Returns connections with an address in `network`, before or after NAT.
    #[must_use]
    pub fn connections_of(&self, network: Network) -> Vec<Connection> {
        let of = |flow: &&Flow| flow.addresses().iter().any(|one| network.contains(*one));
        let flows = self.flows.iter().filter(of);
        flows.map(Flow::connection).collect()
    }

    /// Returns forwarded connections between these pairs of initiator and responder zone; `None`
    /// matches any zone.
    #[must_use]
    pub fn connections_between(&self, pairs: &[[Option<&str>; 2]]) -> Vec<Connection> {
        let between = |flow: &&Flow| {
            let zones = [flow.initiator, flow.responder]
                .map(|side| self.sides.get(side).map_or("", |side| &*side.zone));
            let is = |wanted: Option<&str>, zone| wanted.is_none_or(|wanted| wanted == zone);
            pairs.iter().any(|[from, to]| is(*from, zones[0]) && is(*to, zones[1]))
        };
        let forwarded = self.flows.iter().filter(|flow| flow.forwarded());
        forwarded.filter(between).map(Flow::connection).collect()
    }

    /// Returns forwarded connections with an end that is `wanted` and not behind the WAN.
    pub fn connections_with(&self, mut wanted: impl FnMut(IpAddr) -> bool) -> Vec<Connection> {
        let mut known: HashMap<IpAddr, bool> = HashMap::new();
        let with = |flow: &&Flow| {
            let ends = [(flow.initiator, flow.orig.src), (flow.responder, flow.reply.src)];
            ends.into_iter().any(|(side, address)| {
                !self.sides.get(side).is_some_and(|side| side.outer)
                    && *known.entry(address).or_insert_with(|| wanted(address))
            })
        };
        let forwarded = self.flows.iter().filter(|flow| flow.forwarded());
        forwarded.filter(with).map(Flow::connection).collect()
    }

    #[must_use]
    pub fn forwards_within(&self, networks: &[Network]) -> bool {
        let within = |one: &IpAddr| networks.iter().any(|network| network.contains(*one));
        let mut flows = self.flows.iter().filter(|flow| flow.forwarded());
        flows
            .any(|flow| matches!(flow.orig.proto, TCP | UDP) && flow.addresses().iter().any(within))
    }

    /// Returns whether a forwarded TCP or UDP flow exists, with one of these addresses if given.
    #[must_use]
    pub fn forwards(&self, addresses: Option<&[IpAddr]>) -> bool {
        let its = |flow: &Flow| {
            addresses.is_none_or(|wanted| flow.addresses().iter().any(|one| wanted.contains(one)))
        };
        let mut flows = self.flows.iter().filter(|flow| flow.forwarded());
        flows.any(|flow| matches!(flow.orig.proto, TCP | UDP) && its(flow))
    }
}
