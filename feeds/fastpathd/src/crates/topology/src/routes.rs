// SPDX-License-Identifier: GPL-2.0-or-later
//! Longest prefix match over the tables local, main and default, with metrics.
//!
//! Policy routing (other rules and tables, VRFs) is not modelled: the kernel is asked instead, and
//! a flow without an answer is shown with the route of the default tables. See
//! [`Topology::is_policy_routed`](crate::Topology::is_policy_routed).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

use hashbrown::HashMap;

use crate::prefix::{bits, mask};
use crate::types::{Route, RouteKind};

pub(crate) const LOCAL: u32 = 255;
pub(crate) const MAIN: u32 = 254;
pub(crate) const DEFAULT: u32 = 253;

/// One table of one address family, by prefix length (longest first), then by network. Routes to
/// one network are sorted by metric.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Table(BTreeMap<Reverse<u8>, HashMap<u128, Vec<Route>>>);

impl Table {
    fn insert(&mut self, route: Route, replace: bool) -> bool {
        let net = mask(bits(route.network), route.prefix);
        let same = self.0.entry(Reverse(route.prefix)).or_default().entry(net).or_default();
        let before = same.len();
        if replace {
            let like = |old: &Route| old.metric == route.metric && old.source == route.source;
            same.retain(|old| !like(old) || *old == route);
        }
        let removed = same.len() != before;
        if same.contains(&route) {
            return removed;
        }
        let at = same.partition_point(|old| old.metric <= route.metric);
        same.insert(at, route);
        true
    }

    fn remove(&mut self, route: &Route) -> bool {
        let net = mask(bits(route.network), route.prefix);
        let Some(level) = self.0.get_mut(&Reverse(route.prefix)) else { return false };
        let Some(same) = level.get_mut(&net) else { return false };
        let before = same.len();
        same.retain(|old| old != route);
        let removed = same.len() != before;
        if same.is_empty() {
            level.remove(&net);
        }
        if level.is_empty() {
            self.0.remove(&Reverse(route.prefix));
        }
        removed
    }

    /// Returns the routes with the longest matching prefix.
    fn best(&self, address: u128) -> Option<&[Route]> {
        self.0.iter().find_map(|(Reverse(prefix), level)| {
            Some(level.get(&mask(address, *prefix))?.as_slice())
        })
    }

    fn iter(&self) -> impl Iterator<Item = &Route> {
        self.0.values().flat_map(HashMap::values).flatten()
    }
}

/// All routes, in the order in which the kernel consults their tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Routes {
    v4: [Table; 3],
    v6: [Table; 3],
}

impl Routes {
    fn table(&mut self, route: &Route) -> Option<&mut Table> {
        let place = match route.table {
            LOCAL => 0,
            MAIN => 1,
            DEFAULT => 2,
            _ => return None,
        };
        let family = if route.network.is_ipv4() { &mut self.v4 } else { &mut self.v6 };
        family.get_mut(place)
    }

    pub(crate) fn insert(&mut self, route: Route, replace: bool) -> bool {
        self.table(&route).is_some_and(|table| table.insert(route, replace))
    }

    pub(crate) fn remove(&mut self, route: &Route) -> bool {
        self.table(route).is_some_and(|table| table.remove(route))
    }

    pub(crate) fn drop_link(&mut self, index: u32) {
        for table in self.v4.iter_mut().chain(&mut self.v6) {
            let gone: Vec<Route> =
                table.iter().filter(|route| route.index == Some(index)).cloned().collect();
            for route in &gone {
                table.remove(route);
            }
        }
    }

    /// Returns the routes with the longest matching prefix, in the first table with a match.
    fn best(&self, address: IpAddr) -> &[Route] {
        let tables = if address.is_ipv4() { &self.v4 } else { &self.v6 };
        let address = bits(address);
        tables.iter().find_map(|table| table.best(address)).unwrap_or_default()
    }

    /// Returns the route to the address; `None` without a route, or if it refuses.
    pub(crate) fn find(&self, address: IpAddr) -> Option<&Route> {
        let route = self.best(address).first()?;
        (route.kind != RouteKind::Refuse).then_some(route)
    }

    /// Returns whether the next hop depends on more than the destination: on a hash (multipath), or
    /// on the source. Source routes with the same next hop do not count: netifd adds one for each
    /// address and prefix of a WAN.
    pub(crate) fn depends(&self, from: IpAddr, to: IpAddr) -> bool {
        let best = self.best(to);
        let Some(first) = best.first() else { return false };
        let next_hop = |route: &Route| (route.kind, route.index, route.gateway);
        let fits = |route: &Route| route.source.is_none_or(|source| source.contains(from));
        let by_source = best.iter().any(|route| route.source.is_some());
        let one =
            best.iter().all(|route| next_hop(route) == next_hop(first)) && best.iter().any(fits);
        first.several || (by_source && !one)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Route> {
        self.v4.iter().chain(&self.v6).flat_map(Table::iter)
    }
}

#[cfg(test)]
mod tests;
