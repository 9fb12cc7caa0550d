// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds queueing disciplines and policers that offloaded packets bypass, and devices with ingress
//! packets that SQM redirects.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::Topology;
use crate::types::{LinkKind, Name, QueueingDiscipline};

/// Queues of the lowest device that offloaded packets pass. They bypass all queues of the devices
/// above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueUse {
    /// Egress packets pass the queue.
    pub leaving: bool,
    /// Ingress packets pass the filters.
    pub incoming: bool,
}

impl QueueUse {
    /// Flowtable: sends frames with `dev_queue_xmit` of the lowest device, and its ingress hook
    /// runs after traffic control (`__netif_receive_skb_core`). Redirected packets do not reach the
    /// hook, see [`Topology::is_redirected`].
    pub const FLOWTABLE: Self = Self { leaving: true, incoming: true };
}

/// Returns the first queue that packets over `links` bypass. Items are a link's index and whether
/// the link is the lowest.
pub fn bypassed_queue(
    queues: &[QueueingDiscipline],
    links: impl IntoIterator<Item = (u32, bool)>,
    kept: QueueUse,
) -> Option<&QueueingDiscipline> {
    links.into_iter().find_map(|(index, lowest)| {
        let met = |queue: &QueueingDiscipline| {
            lowest && if queue.incoming { kept.incoming } else { kept.leaving }
        };
        queues.iter().find(|queue| queue.index == index && !met(queue))
    })
}

/// Prefix of SQM's ifb; the device's name follows, truncated to [`MAX_IFB_LEN`] in total.
const IFB: &str = "ifb4";
const MAX_IFB_LEN: usize = 15;

impl Topology {
    /// Returns whether SQM redirects the device's ingress packets to its ifb. Redirected packets
    /// have `tc_skip_classify` set, so `__netif_receive_skb_core` skips the flowtable's hook.
    /// Redirection by other programs is not detected.
    #[must_use]
    pub fn is_redirected(&self, device: &str) -> bool {
        if self.queues().is_empty() {
            return false;
        }
        let Some(link) = self.link_named(device) else { return false };
        let at_ingress = |queue: &QueueingDiscipline| {
            queue.index == link.index && queue.incoming && &*queue.kind == "ingress"
        };
        let ifb: String = format!("{IFB}{device}").chars().take(MAX_IFB_LEN).collect();
        self.queues().iter().any(at_ingress) && self.link_named(&ifb).is_some()
    }

    /// Returns the devices above the lowest with packets that would bypass a queue in a flowtable,
    /// each with one such queue.
    #[must_use]
    pub fn shaped(&self) -> BTreeMap<Name, QueueingDiscipline> {
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
    use crate::fixture::{gateway, link};

    fn shaped(queues: &[(&str, bool)]) -> Vec<String> {
        let mut model = gateway();
        let queue = |(device, incoming): &(&str, bool)| QueueingDiscipline {
            index: model.link_named(device).unwrap().index,
            incoming: *incoming,
            kind: "tbf".into(),
            by_mark: true,
        };
        let queues = queues.iter().map(queue).collect();
        model.apply(Change::Queues(queues));
        model.shaped().keys().map(ToString::to_string).collect()
    }

    #[test]
    fn a_queue_above_the_lowest_device_is_bypassed() {
        assert_eq!(shaped(&[("pppoe-wan", false)]), ["pppoe-wan"]);
        assert_eq!(shaped(&[("pppoe-wan", true)]), ["pppoe-wan"]);
        assert_eq!(shaped(&[("br-lan.10", false)]), ["br-lan.10"]);
    }

    #[test]
    fn a_bypassed_queue_counts_for_all_devices_above_it() {
        assert_eq!(shaped(&[("wan.35", false)]), ["pppoe-wan", "wan.35"]);
        assert_eq!(shaped(&[("br-lan", true)]), ["br-lan", "br-lan.10", "br-lan.20"]);
    }

    #[test]
    fn sqm_redirects_ingress_packets_to_its_ifb() {
        let mut model = gateway();
        let index = |model: &Topology, name| model.link_named(name).unwrap().index;
        let ingress = QueueingDiscipline {
            index: index(&model, "wan"),
            incoming: true,
            kind: "ingress".into(),
            by_mark: false,
        };
        model.apply(Change::Queues(vec![ingress.clone()]));
        assert!(!model.is_redirected("wan"), "a policer");
        model.apply(Change::Link(link(90, "ifb4wan")));
        assert!(model.is_redirected("wan"));
        for other in ["lan1", "wan.35", "pppoe-wan", "none"] {
            assert!(!model.is_redirected(other), "{other}");
        }
        let clsact = QueueingDiscipline { kind: "clsact".into(), ..ingress.clone() };
        let root = QueueingDiscipline { incoming: false, kind: "cake".into(), ..ingress };
        model.apply(Change::Queues(vec![clsact, root]));
        assert!(!model.is_redirected("wan"), "SQM's filter is on neither");
    }

    #[test]
    fn the_name_of_a_long_ifb_is_truncated() {
        let mut model = gateway();
        model.apply(Change::Link(link(91, "a-long-device")));
        model.apply(Change::Link(link(92, "ifb4a-long-devi")));
        let kind = "ingress".into();
        let queue = QueueingDiscipline { index: 91, incoming: true, kind, by_mark: false };
        model.apply(Change::Queues(vec![queue]));
        assert!(model.is_redirected("a-long-device"));
    }

    #[test]
    fn offloaded_packets_pass_the_queues_of_the_lowest_devices() {
        let both = [("wan", false), ("wan", true), ("lan1", false), ("lan2", true)];
        assert_eq!(shaped(&both), Vec::<String>::new());
        let queue = |incoming| {
            let kind = "cake".into();
            [QueueingDiscipline { index: 3, incoming, kind, by_mark: false }]
        };
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
