// SPDX-License-Identifier: GPL-2.0-or-later
//! Queues and limits of the owner's that packets bypass when they skip the stack. The one
//! definition for all engines.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::Topology;
use crate::types::{LinkKind, Name, Queue};

/// What packets still meet of the lowest device's queues. Of those above it they meet none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueUse {
    /// What leaves goes through its queue.
    pub leaving: bool,
    /// What comes in has been through its filters.
    pub incoming: bool,
}

impl QueueUse {
    /// By a flowtable: it hands frames to `dev_queue_xmit` of the lowest device, and its hook at
    /// ingress is behind that of traffic control (`__netif_receive_skb_core`).
    pub const FLOWTABLE: Self = Self { leaving: true, incoming: true };
}

/// The first of these queues that packets over `links` go past. Each link has its index, and
/// whether it is the lowest one.
pub fn bypassed_queue(
    queues: &[Queue],
    links: impl IntoIterator<Item = (u32, bool)>,
    kept: QueueUse,
) -> Option<&Queue> {
    links.into_iter().find_map(|(index, lowest)| {
        let met =
            |queue: &Queue| lowest && if queue.incoming { kept.incoming } else { kept.leaving };
        queues.iter().find(|queue| queue.index == index && !met(queue))
    })
}

impl Topology {
    /// The layer 3 devices (and what stands between them and the lowest) whose packets a flowtable
    /// would carry past a queue, each with one such queue.
    #[must_use]
    pub fn shaped(&self) -> BTreeMap<Name, Queue> {
        let mut found = BTreeMap::new();
        if self.queues().is_empty() {
            return found;
        }
        let upper = |kind: &_| {
            matches!(kind, LinkKind::Vlan { .. } | LinkKind::Ppp | LinkKind::Bridge { .. })
        };
        for link in self.links().filter(|link| upper(&link.kind)) {
            let (mut links, mut lowest) = (BTreeSet::new(), BTreeMap::new());
            self.descend(link, 0, &link.name, &mut links, &mut lowest);
            let links = links.into_iter().map(|index| (index, lowest.contains_key(&index)));
            if let Some(queue) = bypassed_queue(self.queues(), links, QueueUse::FLOWTABLE) {
                found.insert(link.name.clone(), queue.clone());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::fixture::gateway;

    fn shaped(queues: &[(&str, bool)]) -> Vec<String> {
        let mut model = gateway();
        let queue = |(device, incoming): &(&str, bool)| Queue {
            index: model.link_named(device).unwrap().index,
            incoming: *incoming,
            kind: "tbf".into(),
        };
        let queues = queues.iter().map(queue).collect();
        model.apply(Change::Queues(queues));
        model.shaped().keys().map(ToString::to_string).collect()
    }

    #[test]
    fn a_queue_above_the_lowest_device_is_gone_past() {
        assert_eq!(shaped(&[("pppoe-wan", false)]), ["pppoe-wan"]);
        assert_eq!(shaped(&[("pppoe-wan", true)]), ["pppoe-wan"]);
        assert_eq!(shaped(&[("br-lan.10", false)]), ["br-lan.10"]);
    }

    #[test]
    fn it_counts_for_all_that_stands_above() {
        assert_eq!(shaped(&[("wan.35", false)]), ["pppoe-wan", "wan.35"]);
        assert_eq!(shaped(&[("br-lan", true)]), ["br-lan", "br-lan.10", "br-lan.20"]);
    }

    #[test]
    fn the_lowest_devices_are_kept_by_a_flowtable() {
        let both = [("wan", false), ("wan", true), ("lan1", false), ("lan2", true)];
        assert_eq!(shaped(&both), Vec::<String>::new());
        let queue = |incoming| [Queue { index: 3, incoming, kind: "cake".into() }];
        for (leaving, incoming) in [(false, false), (true, false), (false, true)] {
            let kept = QueueUse { leaving, incoming };
            for comes in [false, true] {
                let queues = queue(comes);
                let met = if comes { incoming } else { leaving };
                assert_eq!(bypassed_queue(&queues, [(3, true)], kept).is_none(), met);
                assert!(bypassed_queue(&queues, [(3, false)], kept).is_some(), "above the lowest");
            }
            assert_eq!(bypassed_queue(&queue(false), [(4, false)], kept), None, "another device");
        }
    }
}
