// SPDX-License-Identifier: GPL-2.0-or-later
//! Decodes routing rules (`ip rule`), and decides whether a rule may divert a packet from the
//! default tables.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use config::Network;
use netlink::attributes;

use crate::prefix::ip;
use crate::routes::{DEFAULT, LOCAL, MAIN};
use crate::selectors::{Mark, Selectors};
use crate::types::Name;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleAction {
    Lookup(u32),
    Goto,
    /// Any action that finds no route: unreachable, prohibit, blackhole, nop.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoutingRule {
    /// True for IPv6, false for IPv4.
    pub ipv6: bool,
    /// Lower values are evaluated first.
    pub priority: u32,
    pub action: RuleAction,
    /// The conditions are negated (`not`).
    pub invert: bool,
    pub from: Option<Network>,
    pub to: Option<Network>,
    /// Ingress device; `lo` for packets of the router.
    pub iif: Option<Name>,
    /// Device that a local socket is bound to; forwarded packets have none.
    pub oif: Option<Name>,
    /// Matches packets of devices in a VRF (`l3mdev`).
    pub vrf: bool,
    pub selectors: Selectors,
}

/// A forwarded packet outside any VRF, as rules see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet<'a> {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    /// `None` if unknown.
    pub(crate) iif: Option<&'a str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    pub(crate) layer4: bool,
    pub(crate) marks: Vec<Mark>,
}

impl RoutingRule {
    /// Decodes the payload of `RTM_NEWRULE`. `None` for multicast routing, which has other
    /// families.
    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        const HEADER: usize = 12;
        const INVERT: u32 = 2;
        let (header, attrs) = payload.split_first_chunk::<HEADER>()?;
        let [family, to_len, from_len, tos, table, _, _, action, flags @ ..] = *header;
        let ipv6 = match i32::from(family) {
            libc::AF_INET => false,
            libc::AF_INET6 => true,
            _ => return None,
        };
        let any =
            if ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { IpAddr::from(Ipv4Addr::UNSPECIFIED) };
        let mut table = u32::from(table);
        let mut rule = Self {
            ipv6,
            priority: 0,
            action: RuleAction::Other,
            invert: u32::from_ne_bytes(flags) & INVERT != 0,
            from: (from_len != 0).then_some(Network { address: any, prefix: from_len }),
            to: (to_len != 0).then_some(Network { address: any, prefix: to_len }),
            iif: None,
            oif: None,
            vrf: false,
            selectors: Selectors { unknown: tos != 0, ..Selectors::default() },
        };
        for (kind, value) in attributes(attrs) {
            rule.take(kind, value, &mut table);
        }
        rule.action = match action {
            1 => RuleAction::Lookup(table),
            2 => RuleAction::Goto,
            _ => RuleAction::Other,
        };
        Some(rule)
    }

    fn take(&mut self, kind: u16, value: &[u8], table: &mut u32) {
        let word = || value.first_chunk().map_or(0, |word| u32::from_ne_bytes(*word));
        let name = || Some(str::from_utf8(value).ok()?.trim_end_matches('\0').into());
        let put = |network: &mut Option<Network>| {
            if let (Some(network), Some(address)) = (network, ip(value)) {
                network.address = address;
            }
        };
        match kind {
            1 => put(&mut self.to),
            2 => put(&mut self.from),
            3 => self.iif = name(),
            6 => self.priority = word(),
            15 => *table = word(),
            17 => self.oif = name(),
            19 => self.vrf = value != [0],
            // `FRA_GOTO`, `FRA_FLOW`, `FRA_PAD`, `FRA_PROTOCOL`.
            4 | 11 | 18 | 21 => {}
            _ => self.selectors.take(kind, value),
        }
    }

    /// Returns the table of a rule without conditions.
    fn plain(&self) -> Option<u32> {
        let conditional = self.invert || self.vrf || self.selectors.any() || self.from.is_some();
        match self.action {
            _ if conditional || self.to.is_some() || self.iif.is_some() || self.oif.is_some() => {
                None
            }
            RuleAction::Lookup(table) => Some(table),
            RuleAction::Goto | RuleAction::Other => None,
        }
    }

    fn is_default(&self) -> bool {
        let defaults = [(0, LOCAL), (32766, MAIN), (32767, DEFAULT)];
        self.plain().is_some_and(|table| defaults.contains(&(self.priority, table)))
    }

    /// Returns false only if the rule certainly does not match.
    fn may_match(&self, packet: &Packet<'_>) -> bool {
        if self.invert {
            return true;
        }
        let fits = |of: Option<Network>, address| of.is_none_or(|of| of.contains(address));
        let ingress = match (&self.iif, packet.iif) {
            (Some(iif), Some(device)) => **iif == *device,
            (Some(iif), None) => &**iif != "lo",
            (None, _) => true,
        };
        ingress
            && self.oif.is_none()
            && !self.vrf
            && fits(self.from, packet.from)
            && fits(self.to, packet.to)
    }
}

impl fmt::Display for RoutingRule {
    /// Formats the known parts of the rule like `ip rule`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.priority)?;
        if self.invert {
            write!(f, " not")?;
        }
        match self.from {
            Some(prefix) => write!(f, " from {prefix}")?,
            None => write!(f, " from all")?,
        }
        if let Some(prefix) = self.to {
            write!(f, " to {prefix}")?;
        }
        for (word, name) in [("iif", &self.iif), ("oif", &self.oif)] {
            if let Some(name) = name {
                write!(f, " {word} {name}")?;
            }
        }
        if self.selectors.any() {
            write!(f, " …")?;
        }
        match self.action {
            _ if self.vrf => write!(f, " lookup [l3mdev-table]"),
            RuleAction::Lookup(table) => write!(f, " lookup {table}"),
            RuleAction::Goto => write!(f, " goto"),
            RuleAction::Other => Ok(()),
        }
    }
}

/// All rules, of each address family in the order in which the kernel evaluates them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rules(Vec<RoutingRule>);

impl Rules {
    pub(crate) fn new(rules: Vec<RoutingRule>) -> Self {
        Self(rules)
    }

    /// Returns whether a rule may divert the packet from `found`, the first default table with a
    /// route. A kernel without rules uses the three tables in order.
    pub(crate) fn divert(&self, packet: &Packet<'_>, found: Option<u32>) -> bool {
        let mut rules = self.0.iter().filter(|rule| rule.ipv6 == packet.to.is_ipv6()).peekable();
        if rules.peek().is_none() {
            return false;
        }
        let place = |table: u32| [LOCAL, MAIN, DEFAULT].iter().position(|t| *t == table);
        let asked = found.and_then(place).unwrap_or(3);
        for rule in rules {
            match rule.plain() {
                Some(table) if Some(table) == found => return false,
                // This table has no route for the packet.
                Some(table) if place(table).is_some_and(|at| at < asked) => {}
                Some(_) => return true,
                // A refusal does not matter without a route.
                None if found.is_none() && rule.action == RuleAction::Other => {}
                None if rule.may_match(packet) => return true,
                None => {}
            }
        }
        // The rule for the route's table is missing.
        found.is_some()
    }

    /// Returns the conditions besides addresses and ingress device that may affect the packet.
    /// `None` if the kernel's answer for one packet may not hold for the whole flow.
    pub(crate) fn conditions(&self, packet: &Packet<'_>) -> Option<Conditions> {
        let mut found = Conditions::default();
        let of_family = self.0.iter().filter(|rule| rule.ipv6 == packet.to.is_ipv6());
        for rule in of_family.filter(|rule| rule.may_match(packet)) {
            if rule.selectors.unknown {
                return None;
            }
            found.layer4 |= rule.selectors.layer4;
            found.marks.extend(rule.selectors.mark);
        }
        Some(found)
    }

    /// Returns the rules other than the defaults that can match forwarded packets.
    pub(crate) fn custom(&self, vrf: bool) -> impl Iterator<Item = &RoutingRule> {
        self.0.iter().filter(move |rule| {
            // netifd adds one rule per device that refuses packets without a route, after all
            // tables.
            let refuses = rule.action == RuleAction::Other && rule.priority > 32767;
            let local = rule.oif.is_some() || rule.iif.as_deref() == Some("lo");
            let inert = !rule.invert && (local || (rule.vrf && !vrf));
            !rule.is_default() && !refuses && !inert
        })
    }
}

#[cfg(test)]
mod tests;
