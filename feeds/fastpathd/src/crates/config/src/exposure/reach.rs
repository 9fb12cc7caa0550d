// SPDX-License-Identifier: GPL-2.0-or-later
//! Senders and packets that a rule or redirect admits. Options that a sender controls or that
//! exclude nobody do not narrow a rule: source ports, times, rate limits, DSCP, MAC addresses,
//! marks, and options unknown to fw4.

use crate::sort::Collect;
use std::collections::BTreeSet;

use uci::{Package, Section};

use super::{Router, text};
use crate::fw4::{self, Addresses, Protocol, Transport};

/// More than half of all ports, or of the well-known ports, count as all ports.
const ALL_PORTS: usize = 0x1_0000;
const WELL_KNOWN: usize = 1024;
/// Senders count as everyone above a /8 of IPv4 or a /16 of IPv6.
const MAX_IPV4: u128 = 1 << (128 - 8);
const MAX_IPV6: u128 = 1 << (128 - 16);
/// First and last address of `2000::/3`.
const INTERNET: (u128, u128) = (0x2 << 124, (0x4 << 124) - 1);
/// Maximum number of addresses that count as single hosts.
const MAX_HOSTS: u128 = 16;
/// Protocols without ports that cannot reach a service: ICMP, IGMP, and protocols of tunnels and
/// routing, which need a configured peer.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "icmp", "1", "icmpv6", "ipv6-icmp", "58", "igmp", "2", "ipencap", "4", "ipv6", "41", "gre",
    "47",
    "esp", "50", "ah", "51", "ospf", "89", "ipip", "94", "pim", "103", "vrrp", "112", "l2tp", "115",
];

/// A class of packets from the Internet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packet {
    pub is_ipv4: bool,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// To a service of the router.
    Service(Transport, u16),
    /// To any other port.
    Ports(Transport),
    /// Protocols other than TCP and UDP.
    Other,
}

pub type Packets = BTreeSet<Packet>;

pub(super) fn everything(families: Families, router: &Router) -> Packets {
    families.of(&all_kinds(&Ports::of(&[]), router))
}

fn all_kinds(ports: &Ports, router: &Router) -> BTreeSet<Kind> {
    let mut kinds = BTreeSet::from([Kind::Other]);
    kinds.extend([Transport::Tcp, Transport::Udp].map(|of| ports.kinds(of, router)).concat());
    kinds
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Families {
    four: bool,
    six: bool,
}

impl Families {
    pub(super) const BOTH: Self = Self { four: true, six: true };

    /// Parses an option `family` like fw4.
    pub(super) fn named(text: Option<&str>) -> Self {
        let Some(text) = text else { return Self::BOTH };
        match (text == "inet" || text.contains('4'), text.contains('6')) {
            (true, _) => Self { four: true, six: false },
            (false, six) => Self { four: !six, six: true },
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { four: self.four && other.four, six: self.six && other.six }
    }

    fn of(self, kinds: &BTreeSet<Kind>) -> Packets {
        let families = [(true, self.four), (false, self.six)].into_iter().filter(|(_, on)| *on);
        let packets = |is_ipv4| kinds.iter().map(move |kind| Packet { is_ipv4, kind: *kind });
        families.flat_map(|(is_ipv4, _)| packets(is_ipv4)).into_set()
    }
}

/// Returns whether all destinations are multicast. Services do not answer strangers there.
fn is_multicast(rule: &Section) -> bool {
    let multicast = |word: &str| {
        matches!(subnet(word), Some(Addresses::Masked { address, mask })
            if address.is_multicast() && mask.leading_ones() >= 4)
    };
    let destinations = rule.words("dest_ip");
    !destinations.is_empty() && destinations.into_iter().all(multicast)
}

/// Returns the packets that a rule without a destination zone admits to the router.
pub(super) fn enters(firewall: &Package, rule: &Section, router: &Router) -> Packets {
    let kinds = kinds(rule, &Ports::of(&rule.words("dest_port")), router);
    let families = strangers(firewall, rule).and(Families::named(rule.text("family")));
    if is_multicast(rule) { Packets::new() } else { families.of(&kinds) }
}

/// Returns whether an accepting rule without a destination zone admits strangers to a port.
pub(super) fn admits(firewall: &Package, rule: &Section, transport: Transport, port: u16) -> bool {
    let families = strangers(firewall, rule);
    (families.four || families.six) && !is_multicast(rule) && fw4::takes(rule, transport, port)
}

/// Returns the packets that a rule admits to a zone. Empty if the rule opens only hosts or ports.
pub(super) fn passes(firewall: &Package, rule: &Section, router: &Router) -> Packets {
    if single_hosts(&rule.words("dest_ip")) {
        return Packets::new();
    }
    let families = strangers(firewall, rule).and(Families::named(rule.text("family")));
    let mut kinds = kinds(rule, &Ports::of(&rule.words("dest_port")), router);
    kinds.retain(|kind| !matches!(kind, Kind::Service(..)));
    families.of(&kinds)
}

/// Options that [`denies`] evaluates or that do not matter. Other options may narrow a denial.
#[rustfmt::skip]
const DENIALS: &[&str] = &[
    "_name", "comment", "counter", "dest", "dest_port", "enabled", "family", "log", "log_limit",
    "name", "proto", "src", "target",
];

/// Returns the packets that a rule certainly drops or rejects, from all senders.
pub(super) fn denies(rule: &Section, router: &Router) -> Packets {
    let protocols = rule.words("proto");
    let is_all = |word: &&str| fw4::protocol(word) == Protocol::Any;
    let all_ports = Ports::of(&rule.words("dest_port"));
    if !rule.options.keys().all(|option| DENIALS.contains(&option.as_str()))
        || protocols.iter().any(|word| fw4::negation(word).0)
        || !rule.words("dest_port").iter().all(|word| fw4::ports(fw4::negation(word).1).is_some())
    {
        return Packets::new();
    }
    let mut kinds = kinds(rule, &all_ports, router);
    kinds.retain(|kind| match kind {
        Kind::Service(..) => true,
        Kind::Ports(_) => all_ports.0[1..].iter().all(|on| *on),
        Kind::Other => protocols.iter().any(is_all),
    });
    Families::named(rule.text("family")).of(&kinds)
}

pub(super) enum Target {
    Router,
    Host(String),
}

/// Returns the target of a redirect, and the packets from the Internet that reach it.
pub(super) fn redirected(
    firewall: &Package,
    redirect: &Section,
    router: &Router,
) -> Option<(Target, Packets)> {
    if fw4::is_short_for(text(redirect, "target"), "snat") {
        return None;
    }
    let host = text(redirect, "dest_ip");
    let to = redirect.words("dest_port");
    let ports = Ports::of(&if to.is_empty() { redirect.words("src_dport") } else { to });
    let mut kinds = kinds(redirect, &ports, router);
    // fw4 limits a redirect without addresses and family to IPv4.
    let addressed =
        ["src_ip", "src_dip", "dest_ip"].iter().any(|of| !text(redirect, of).is_empty());
    let family = redirect.text("family").or((!addressed).then_some("ipv4"));
    let families = strangers(firewall, redirect).and(Families::named(family));
    if router.has(host) {
        return Some((Target::Router, families.of(&kinds)));
    }
    kinds.retain(|kind| !matches!(kind, Kind::Service(..)));
    Some((Target::Host(host.to_owned()), families.of(&kinds)))
}

/// Returns the kinds of packets that a section passes to these ports.
fn kinds(section: &Section, ports: &Ports, router: &Router) -> BTreeSet<Kind> {
    let words = section.words("proto");
    let mut kinds = BTreeSet::new();
    let both = || [Transport::Tcp, Transport::Udp].map(|of| ports.kinds(of, router)).concat();
    if words.is_empty() {
        kinds.extend(both());
    }
    for word in words {
        match fw4::negation(word) {
            // fw4 ignores the `!`, but a later version may match all other protocols.
            (true, _) => kinds.extend(all_kinds(&Ports::of(&[]), router)),
            (false, word) => match fw4::protocol(word) {
                Protocol::Any => kinds.extend(all_kinds(&Ports::of(&[]), router)),
                Protocol::One(of) => kinds.extend(ports.kinds(of, router)),
                Protocol::Both => kinds.extend(both()),
                Protocol::Other(name)
                    if HARMLESS.iter().any(|known| known.eq_ignore_ascii_case(name)) => {}
                Protocol::Other(_) => {
                    kinds.insert(Kind::Other);
                }
            },
        }
    }
    kinds
}

/// Returns the families in which a section admits nearly all senders on the Internet.
fn strangers(firewall: &Package, section: &Section) -> Families {
    const NOBODY: Families = Families { four: false, six: false };
    let helper = fw4::negation(text(section, "helper"));
    if !helper.0 && !helper.1.is_empty() {
        return NOBODY;
    }
    let set = fw4::negation(text(section, "ipset"));
    let by_set = if set.1.is_empty() {
        Families::BOTH
    } else if !set.0 && is_narrow(firewall, set.1) {
        NOBODY
    } else {
        set_named(firewall, set.1)
            .map_or(Families::BOTH, |set| Families::named(Some(set.text("family").unwrap_or("4"))))
    };
    let has = |wanted: Wanted| {
        let of = |option: &str, wanted| listed(&section.words(option), wanted);
        of("src_ip", wanted).and(of("dest_ip", Wanted::Any)).and(of("src_dip", Wanted::Any))
    };
    has(Wanted::Most).and(by_set)
}

/// Returns whether a set limits the senders to few addresses.
fn is_narrow(firewall: &Package, ipset: &str) -> bool {
    let direction = ipset.split([' ', '\t', ',']).filter(|word| !word.is_empty()).nth(1);
    let Some(set) = set_named(firewall, ipset) else { return true };
    let by_sender = set.words("match").iter().enumerate().any(|(place, field)| {
        let of_address = ["ip", "net", "set"].iter().any(|kind| field.ends_with(kind));
        let from = match direction.filter(|_| place == 0) {
            Some(direction) => direction == "src",
            None => !field.starts_with('d'),
        };
        of_address && from
    });
    let entries = set.options.get("entry").map_or(&[][..], uci::Setting::texts);
    let first: Vec<&str> = entries.iter().filter_map(|of| of.split_whitespace().next()).collect();
    let wide = listed(&first, Wanted::Most);
    by_sender && (first.is_empty() || !(wide.four || wide.six))
}

fn set_named<'a>(firewall: &'a Package, ipset: &str) -> Option<&'a Section> {
    let name = ipset.split([' ', '\t', ',']).find(|word| !word.is_empty()).unwrap_or_default();
    firewall.of("ipset").find(|set| text(set, "name") == name)
}

/// Parses an entry of addresses, ignoring its `!`.
fn subnet(word: &str) -> Option<Addresses> {
    fw4::addresses(fw4::negation(word).1)
}

/// Number of a family's addresses that an option must list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Any,
    /// Nearly all.
    Most,
}

/// Returns the families with the wanted number of listed addresses. Only negations list nearly all
/// addresses. As in fw4, a family without entries counts only if the other family has none either.
fn listed(words: &[&str], wanted: Wanted) -> Families {
    let entries: Vec<(bool, Option<Addresses>)> =
        words.iter().map(|word| (fw4::negation(word).0, subnet(word))).collect();
    let named = entries.iter().all(|(_, of)| of.is_none());
    let of_family = |is_ipv4: bool, most: u128| {
        let known = entries.iter().filter_map(|(negated, of)| Some((*negated, (*of)?)));
        let known: Vec<_> = known.filter(|(_, of)| of.is_ipv4() == is_ipv4).collect();
        let included = known.iter().filter(|(negated, _)| !negated).map(|(_, of)| size(*of));
        let sum = included.clone().fold(0u128, u128::saturating_add);
        let enough = wanted == Wanted::Any || included.count() == 0 || sum > most;
        if known.is_empty() { named } else { enough }
    };
    Families { four: of_family(true, MAX_IPV4), six: of_family(false, MAX_IPV6) }
}

/// Returns whether a list includes nearly all addresses of a family.
pub(super) fn are_most(words: &[&str]) -> bool {
    let families = listed(words, Wanted::Most);
    families.four || families.six
}

/// Returns the number of Internet addresses, scaled to 128 bits for both families.
fn size(of: Addresses) -> u128 {
    let (first, last) = match of {
        // Senders choose the end of their address, so only the leading ones of a mask count.
        Addresses::Masked { address, mask } => {
            let host = u128::MAX.checked_shr(mask.leading_ones()).unwrap_or(0);
            (fw4::upper(address) & !host, fw4::upper(address) | host)
        }
        Addresses::Range(first, last) => (fw4::upper(first), fw4::upper(last)),
    };
    let (low, high) = if of.is_ipv4() { (0, u128::MAX) } else { INTERNET };
    last.min(high).saturating_sub(first.max(low))
}

/// Returns whether destinations are only single hosts, without negations.
fn single_hosts(words: &[&str]) -> bool {
    let single = |word: &&str| {
        let few = match subnet(word) {
            Some(Addresses::Masked { address, mask }) => {
                let below = if address.is_ipv4() { u128::MAX >> 32 } else { 0 };
                // A mask of the last 64 bits matches one IPv6 host behind any prefix.
                (mask | below).count_zeros() <= MAX_HOSTS.ilog2() || mask.trailing_ones() >= 64
            }
            Some(Addresses::Range(first, last)) => {
                let shift = if first.is_ipv4() { 96 } else { 0 };
                fw4::upper(last).saturating_sub(fw4::upper(first)) >> shift < MAX_HOSTS
            }
            None => false,
        };
        few && !fw4::negation(word).0
    };
    !words.is_empty() && words.iter().all(single)
}

/// One boolean per port number.
struct Ports(Vec<bool>);

impl Ports {
    /// Returns the listed ports minus the negated ones. Returns all ports if the list is empty or
    /// an entry is invalid.
    fn of(words: &[&str]) -> Self {
        let read = |word: &&str| {
            let (negated, word) = fw4::negation(word);
            fw4::ports(word).map(|range| (negated, range))
        };
        let Some(ranges) = words.iter().map(read).collect::<Option<Vec<_>>>() else {
            return Self(vec![true; ALL_PORTS]);
        };
        let listed = ranges.iter().any(|(negated, _)| !negated);
        let mut ports = vec![!listed; ALL_PORTS];
        for wanted in [false, true] {
            for (_, range) in ranges.iter().filter(|(negated, _)| *negated == wanted) {
                ports[usize::from(*range.start())..=usize::from(*range.end())].fill(!wanted);
            }
        }
        Self(ports)
    }

    fn are_all(&self) -> bool {
        let are_most = |ports: &[bool]| ports.iter().filter(|on| **on).count() > ports.len() / 2;
        are_most(&self.0) || are_most(&self.0[..WELL_KNOWN])
    }

    /// Returns the services among the ports, and [`Kind::Ports`] if nearly all ports are included.
    fn kinds(&self, of: Transport, router: &Router) -> Vec<Kind> {
        let services = router.services.iter().filter(|port| self.0[usize::from(**port)]);
        let mut kinds: Vec<Kind> = services.map(|port| Kind::Service(of, *port)).collect();
        kinds.extend(self.are_all().then_some(Kind::Ports(of)));
        kinds
    }
}
