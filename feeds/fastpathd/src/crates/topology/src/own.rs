// SPDX-License-Identifier: GPL-2.0-or-later
//! MAC addresses for which the stack accepts frames that a port receives.

use config::sort::Collect;
use std::collections::BTreeSet;

use crate::model::Topology;
use crate::types::{Link, LinkKind, Mac};

impl Topology {
    /// Returns the MAC addresses of the port and of the devices above it that are up: its bridge or
    /// bond, VLAN devices, macvlan. The other ports of the bridge do not count: the stack drops
    /// frames to their addresses.
    #[must_use]
    pub fn own_macs(&self, port: &str) -> BTreeSet<Mac> {
        let Some(port) = self.link_named(port) else { return BTreeSet::new() };
        let mut found = vec![port];
        let mut next = 0;
        while let Some(below) = found.get(next).copied() {
            next += 1;
            let above = self.links().filter(|link| is_above(link, below));
            let new: Vec<&Link> = above
                .filter(|link| link.up && !found.iter().any(|known| known.index == link.index))
                .collect();
            found.extend(new);
        }
        found.into_iter().filter_map(|link| link.mac).into_set()
    }
}

fn is_above(link: &Link, below: &Link) -> bool {
    let on_top = match &link.kind {
        LinkKind::Vlan { .. } => true,
        LinkKind::Other(kind) => matches!(&**kind, "macvlan" | "macvtap"),
        LinkKind::Ethernet | LinkKind::Bridge { .. } | LinkKind::Ppp | LinkKind::Loopback => false,
    };
    below.master == Some(link.index) || (on_top && link.lower == Some(below.index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::fixture::{link, model, other, vlan};

    fn macs(model: &Topology, port: &str) -> Vec<u8> {
        model.own_macs(port).iter().map(|mac| mac.0[5]).collect()
    }

    #[test]
    fn own_macs_include_the_port_and_the_devices_above_it() {
        let bridge = |index, name| Link {
            kind: LinkKind::Bridge { vlan_filtering: true },
            ..link(index, name)
        };
        let member = |index, name| Link { master: Some(9), ..link(index, name) };
        let on = |lower, link: Link| Link { lower: Some(lower), ..link };
        let mut down = vlan(12, "br-lan.30", 30, 9);
        down.up = false;
        let all = [
            member(2, "lan1"),
            member(3, "lan2"),
            bridge(9, "br-lan"),
            vlan(10, "br-lan.10", 10, 9),
            on(10, other(11, "vrrp", "macvlan")),
            down,
            link(4, "wan"),
            vlan(14, "wan.35", 35, 4),
            // `IFLA_LINK` of a veth or a tunnel is not a lower device.
            on(4, other(15, "veth0", "veth")),
            on(4, other(16, "gre1", "gretap")),
        ];
        let model = model(all.map(Change::Link));
        assert_eq!(macs(&model, "lan1"), [2, 9, 10, 11]);
        assert_eq!(macs(&model, "lan2"), [3, 9, 10, 11]);
        assert_eq!(macs(&model, "wan"), [4, 14]);
        assert!(macs(&model, "none").is_empty());
    }
}
