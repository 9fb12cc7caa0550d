// SPDX-License-Identifier: GPL-2.0-or-later
//! Exit counters of the programs by ingress port.

use std::collections::BTreeMap;

use crate::layout::{EXIT_PORTS, Exits};

/// Exit counters by ifindex; element 0 sums all ports from [`EXIT_PORTS`] up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortExits(BTreeMap<u32, Exits>);

impl PortExits {
    pub fn add(&mut self, ifindex: u32, exits: &Exits) {
        if exits.seen() > 0 {
            let port = if ifindex < EXIT_PORTS { ifindex } else { 0 };
            sum(self.0.entry(port).or_default(), exits);
        }
    }

    #[must_use]
    pub fn total(&self) -> Exits {
        let mut total = Exits::default();
        self.0.values().for_each(|exits| sum(&mut total, exits));
        total
    }

    /// Iterates over the ports with packets, ordered by ifindex.
    pub fn ports(&self) -> impl Iterator<Item = (u32, &Exits)> {
        self.0.iter().map(|(ifindex, exits)| (*ifindex, exits))
    }
}

fn sum(into: &mut Exits, exits: &Exits) {
    for (sum, packets) in into.out.iter_mut().zip(exits.out) {
        *sum = sum.saturating_add(packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_ports_beyond_the_map_in_element_0() {
        let mut exits = PortExits::default();
        let mut one = Exits::default();
        (one.out[0], one.out[3]) = (1, 2);
        for ifindex in [2, 63, 64, 500] {
            exits.add(ifindex, &one);
        }
        exits.add(2, &one);
        exits.add(7, &Exits::default());
        let seen: Vec<_> = exits.ports().map(|(port, exits)| (port, exits.seen())).collect();
        assert_eq!(seen, [(0, 6), (2, 6), (63, 3)]);
        let total = exits.total();
        assert_eq!((total.seen(), total.out[0], total.out[3]), (15, 5, 10));
    }
}
