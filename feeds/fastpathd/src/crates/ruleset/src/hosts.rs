// SPDX-License-Identifier: GPL-2.0-or-later
//! Rate limits and inspection of single hosts. The MAC address selects packets from a host, its IP
//! addresses packets to it, whose MAC address is unknown at the forward hook.

use config::sort::Collect;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::IpAddr;

use model::Action;

use crate::paused::Element;
use crate::plan::Plan;
use crate::rules::{Chain, Rule};

/// Sets of MAC, IPv4 and IPv6 addresses.
pub(crate) type Sets = [&'static str; 3];

pub(crate) const ALWAYS: Sets = ["inspect", "inspect4", "inspect6"];
pub(crate) const NEVER: Sets = ["exempt", "exempt4", "exempt6"];
/// MAC addresses whose flows stay on the slow path.
pub(crate) const KEPT: &str = "kept";
/// Maps to limits, by MAC address of the sender and by address of the receiver.
pub(crate) const LIMITS: Sets = ["limit_up", "limit_down4", "limit_down6"];

/// Maximum size of a merged packet (GRO). A smaller bucket would never let it pass.
const MAX_PACKET: u32 = 65_536;

/// Settings of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRules {
    /// Lower case.
    pub mac: String,
    pub addresses: BTreeSet<IpAddr>,
    /// Limits of packets to and from the host in kbit/s; 0 for no limit.
    pub limits: [u32; 2],
    /// Action of inspection instead of that of the policies; `None` for the policies.
    pub inspect: Option<Action>,
}

impl HostRules {
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.limits != [0; 2]
    }

    /// Returns the names of the limits to and from the host.
    fn limits(&self) -> [Option<String>; 2] {
        let name =
            |prefix, limit| (limit != 0).then(|| format!("{prefix}_{}", self.mac.replace(':', "")));
        let [down, up] = self.limits;
        [name("down", down), name("up", up)]
    }
}

impl Plan {
    fn limited(&self) -> impl Iterator<Item = &HostRules> {
        self.hosts.iter().filter(|host| host.is_limited())
    }

    /// Returns the hosts with this action of inspection.
    fn inspected(&self, action: Action) -> impl Iterator<Item = &HostRules> {
        let hosts = self.hosts.iter().filter(|_| self.protection.inspection.is_some());
        hosts.filter(move |host| host.inspect == Some(action))
    }

    /// Returns the sets of the hosts with this action; `None` without any.
    pub(crate) fn inspected_sets(&self, action: Action) -> Option<Sets> {
        let sets = if action == Action::Always { ALWAYS } else { NEVER };
        self.inspected(action).next().map(|_| sets)
    }

    /// Returns the addresses of hosts with a limit.
    #[must_use]
    pub fn limited_addresses(&self) -> BTreeSet<IpAddr> {
        self.limited().flat_map(|host| &host.addresses).copied().into_set()
    }

    /// Returns the addresses of hosts with this action of inspection.
    #[must_use]
    pub fn inspected_addresses(&self, action: Action) -> BTreeSet<IpAddr> {
        self.inspected(action).flat_map(|host| &host.addresses).copied().into_set()
    }

    pub(crate) fn has_limits(&self) -> bool {
        self.limited().next().is_some()
    }

    /// Returns whether the flows of some hosts stay on the slow path.
    pub(crate) fn keeps_hosts(&self) -> bool {
        self.has_limits() || self.inspected(Action::Always).next().is_some()
    }
}

/// Returns the elements of all sets and maps of hosts.
pub(crate) fn elements(plan: &Plan) -> Vec<Element> {
    let mut all = Vec::new();
    for (sets, action) in [(ALWAYS, Action::Always), (NEVER, Action::None)] {
        for host in plan.inspected(action) {
            all.push((sets[0], host.mac.clone()));
            let of =
                |address: &IpAddr| (sets[1 + usize::from(address.is_ipv6())], address.to_string());
            all.extend(host.addresses.iter().map(of));
        }
    }
    all.extend(
        plan.limited().chain(plan.inspected(Action::Always)).map(|host| (KEPT, host.mac.clone())),
    );
    for host in plan.limited() {
        let [down, up] = host.limits();
        all.extend(up.map(|up| (LIMITS[0], entry(&host.mac, &up))));
        for (address, down) in host.addresses.iter().filter_map(|at| Some((at, down.as_ref()?))) {
            let map = LIMITS[1 + usize::from(address.is_ipv6())];
            all.push((map, entry(&address.to_string(), down)));
        }
    }
    all
}

/// Returns an element of a map.
pub(crate) fn entry(key: &str, limit: &str) -> String {
    format!("{key} : \"{limit}\"")
}

/// Renders the limits. A bucket holds the bytes of a second and the burst (`nft_limit_init`).
pub(crate) fn limits(plan: &Plan) -> String {
    let mut text = String::new();
    for host in plan.limited() {
        for (name, kbit) in host.limits().into_iter().zip(host.limits) {
            let Some(name) = name else { continue };
            let rate = kbit * 125;
            let burst = MAX_PACKET.saturating_sub(rate).max(1);
            let _ = write!(
                text,
                "\tlimit {name} {{\n\t\trate over {rate} bytes/second burst {burst} bytes\n\
                 \t\tcomment \"!fastpath: {kbit} kbit/s\"\n\t}}\n\n"
            );
        }
    }
    text
}

/// Returns what a change of elements cannot change.
pub(crate) fn fixed(plan: &Plan) -> String {
    let inspected = |action| plan.inspected(action).map(|host| &*host.mac);
    let macs: Vec<&str> =
        inspected(Action::Always).chain([""]).chain(inspected(Action::None)).collect();
    limits(plan) + &macs.join(" ")
}

pub(crate) fn chain() -> Chain {
    let [up, down4, down6] = LIMITS;
    let rules = [
        ("ether saddr", up, "from a host beyond its limit"),
        ("ip daddr", down4, "to a host beyond its limit"),
        ("ip6 daddr", down6, "to a host beyond its limit"),
    ];
    let drop = |(key, map, what)| Rule::new(format!("limit name {key} map @{map} drop"), what);
    Chain {
        name: "limited",
        comment: "!fastpath: behind the firewall, whose drops do not count",
        hook: Some(("forward", "filter + 5")),
        rules: rules.map(drop).into(),
    }
}

/// Returns rules with this verdict for packets from and to the hosts of these sets.
pub(crate) fn both_ways([mac, v4, v6]: Sets, verdict: &str, whose: &str) -> [Rule; 5] {
    let ends = [
        ("ether saddr", mac),
        ("ip saddr", v4),
        ("ip daddr", v4),
        ("ip6 saddr", v6),
        ("ip6 daddr", v6),
    ];
    ends.map(|(end, set)| {
        let what = if end.ends_with("saddr") { "from" } else { "to" };
        Rule::new(format!("{end} @{set} {verdict}"), &format!("{what} {whose}"))
    })
}
