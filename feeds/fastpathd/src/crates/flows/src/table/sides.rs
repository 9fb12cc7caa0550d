// SPDX-License-Identifier: GPL-2.0-or-later
//! Cache of the sides of addresses. A side takes a dozen look-ups in the network's tables, and
//! hosts have many flows.

use std::collections::HashMap;
use std::net::IpAddr;

use model::NextHop;

use crate::intern::Number;
use crate::network::Network;
use crate::table::FlowTable;

/// Maximum addresses, about 1 MB. A full cache is cleared.
const MAX_SIDES: usize = 16_384;

#[derive(Debug, Default)]
pub(super) struct SideCache {
    /// Generation of the network that all sides belong to.
    generation: u64,
    sides: HashMap<(IpAddr, Option<NextHop>), Number>,
}

impl FlowTable {
    /// Returns the number of the side of an address; 0 without a route.
    pub(super) fn side_of(
        &mut self,
        address: IpAddr,
        next_hop: Option<NextHop>,
        net: &dyn Network,
    ) -> Number {
        let cache = &mut self.side_cache;
        if cache.generation != net.generation() || cache.sides.len() >= MAX_SIDES {
            cache.generation = net.generation();
            cache.sides.clear();
        }
        let sides = &mut self.sides;
        *cache
            .sides
            .entry((address, next_hop))
            .or_insert_with(|| net.side(address, next_hop).map_or(0, |side| sides.number(side)))
    }
}
