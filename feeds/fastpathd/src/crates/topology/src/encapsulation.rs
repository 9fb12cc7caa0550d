// SPDX-License-Identifier: GPL-2.0-or-later
//! Headers between the Ethernet addresses and the IP header that a flowtable cannot look up.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::Topology;
use crate::side::MAX_DEPTH;
use crate::types::{Link, LinkKind, Name};

/// Headers in an entry of a flowtable (`NF_FLOW_TABLE_ENCAP_MAX`, Linux 6.12).
const MAX_HEADERS: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Header {
    Tag { vid: u16, service: bool },
    Session,
}

impl Topology {
    /// Returns the routed layer 3 devices with headers that a flowtable cannot look up, each with
    /// all devices that its packets pass.
    ///
    /// The kernel adds their flows nevertheless, with the innermost headers only
    /// (`nft_dev_path_info`). Packets to such a device would be offloaded, packets from it would
    /// not, and frames that lack the outermost tag would match the entry.
    #[must_use]
    pub fn encapsulated(&self) -> BTreeMap<Name, BTreeSet<Name>> {
        let mut stacks = self.stacks();
        stacks.retain(|top, _| {
            self.link_named(top).is_some_and(|link| !self.is_readable(link, Vec::new(), 0))
        });
        stacks
    }

    /// Returns whether a flowtable can look up frames with these headers, innermost first, and
    /// those of `link` and the devices below.
    fn is_readable(&self, link: &Link, mut headers: Vec<Header>, depth: usize) -> bool {
        match link.kind {
            _ if depth == MAX_DEPTH => return false,
            LinkKind::Bridge { vlan_filtering } => {
                let mut ports = self.links().filter(|port| port.master == Some(link.index));
                return ports.all(|port| {
                    let headers = self.at_port(link, port, vlan_filtering, headers.clone());
                    headers.is_none_or(|headers| self.is_readable(port, headers, depth + 1))
                });
            }
            LinkKind::Vlan { id, service } => headers.push(Header::Tag { vid: id, service }),
            LinkKind::Ppp => headers.push(Header::Session),
            LinkKind::Ethernet | LinkKind::Loopback | LinkKind::Other(_) => {
                return fits(&headers);
            }
        }
        self.lower(link.index).is_none_or(|lower| self.is_readable(lower, headers, depth + 1))
    }

    /// Returns the headers at a port of a bridge, or `None` if the port is not in their VLAN.
    fn at_port(
        &self,
        bridge: &Link,
        port: &Link,
        vlan_filtering: bool,
        mut headers: Vec<Header>,
    ) -> Option<Vec<Header>> {
        let tag = match headers.last() {
            Some(Header::Tag { vid, .. }) => *vid,
            Some(Header::Session) | None => 0,
        };
        let inside = if vlan_filtering { self.inside(bridge, tag) } else { 0 };
        if inside != 0 {
            let member = self.port_vlans(port.index).iter().find(|vlan| vlan.vid == inside)?;
            match (member.tagged, tag) {
                (true, 0) => headers.push(Header::Tag { vid: inside, service: false }),
                (false, 1..) => drop(headers.pop()),
                (true, _) | (false, 0) => {}
            }
        }
        Some(headers)
    }
}

/// Returns whether a flowtable can look up these headers, innermost first. It reads any outermost
/// tag, but behind it only 802.1Q and PPPoE (`nf_flow_tuple_encap`).
fn fits(headers: &[Header]) -> bool {
    let service = |header: &Header| matches!(header, Header::Tag { service: true, .. });
    headers.len() <= MAX_HEADERS && !headers.iter().rev().skip(1).any(service)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::fixture;
    use crate::types::{BridgeVlan, PortVlan};

    fn tag(index: u32, name: &str, service: bool, lower: u32) -> Change {
        let kind = LinkKind::Vlan { id: 10 * u16::try_from(index).unwrap(), service };
        Change::Link(Link { kind, ..fixture::vlan(index, name, 0, lower) })
    }

    /// Returns the devices that a flowtable cannot look up.
    fn unreadable(changes: impl IntoIterator<Item = Change>) -> Vec<String> {
        let found = fixture::model(changes).encapsulated();
        found.into_keys().map(|name| name.to_string()).collect()
    }

    fn wan_with_tags(services: [bool; 2], top: Change) -> Vec<String> {
        let [outer, inner] = services;
        let wan = Change::Link(fixture::link(1, "wan"));
        unreadable([wan, tag(2, "outer", outer, 1), tag(3, "inner", inner, 2), top])
    }

    #[test]
    fn reads_two_tags_if_the_inner_one_is_802_1q() {
        let address = || fixture::address(3, "192.0.2.2/24");
        assert_eq!(wan_with_tags([true, false], address()), [""; 0]);
        assert_eq!(wan_with_tags([false, false], address()), [""; 0]);
        assert_eq!(wan_with_tags([false, true], address()), ["inner"]);
    }

    #[test]
    fn reads_pppoe_in_one_tag_and_not_in_two() {
        let session = |lower: &str| {
            [
                Change::Link(fixture::link(1, "wan")),
                tag(2, "outer", true, 1),
                tag(3, "inner", false, 2),
                Change::Link(fixture::ppp(4, "pppoe-wan")),
                Change::Pppoe(vec![fixture::session(1, lower)], Vec::new()),
                fixture::address(4, "198.51.100.10/32"),
            ]
        };
        assert_eq!(unreadable(session("outer")), [""; 0]);
        assert_eq!(unreadable(session("inner")), ["pppoe-wan"]);
        let stacks = fixture::model(session("inner")).encapsulated();
        let stack: Vec<_> = stacks["pppoe-wan"].iter().map(|name| &**name).collect();
        assert_eq!(stack, ["inner", "outer", "pppoe-wan", "wan"]);
    }

    #[test]
    fn counts_the_tag_that_a_bridge_adds_or_removes() {
        let through = |tagged| {
            let vlans = vec![PortVlan { vid: 30, tagged, pvid: !tagged }];
            let member = |index| BridgeVlan { index, vlans: vlans.clone() };
            unreadable([
                Change::Link(fixture::bridge(1, "br", true)),
                Change::Link(fixture::port(2, "lan1", 1)),
                tag(3, "br.30", false, 1),
                tag(4, "br.30.40", false, 3),
                tag(5, "br.30.40.50", false, 4),
                fixture::address(5, "10.0.0.1/24"),
                Change::BridgeVlans(vec![member(1), member(2)]),
            ])
        };
        assert_eq!(through(true), ["br.30.40.50"]);
        assert_eq!(through(false), [""; 0]);
    }

    #[test]
    fn reads_the_headers_of_the_recorded_gateway() {
        assert!(fixture::gateway().encapsulated().is_empty());
    }
}
