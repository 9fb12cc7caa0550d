// SPDX-License-Identifier: GPL-2.0-or-later
//! Whom and what a rule or redirect lets in. Options that exclude nobody, or that the sender
//! chooses, do not narrow it: source ports, times, limits of rates, DSCP, the neighbour's MAC
//! address, options that fw4 does not know.

use std::collections::BTreeSet;
use std::net::IpAddr;

use uci::{Package, Section};

use super::{Opening, text};
use crate::fw4::{self, Addresses, Protocol, Transport};

/// The router's own addresses, and the ports of the services that administrate it.
#[derive(Debug, Clone)]
pub struct Router {
    /// Addresses of its interfaces.
    pub addresses: BTreeSet<IpAddr>,
    /// Ports of its services.
    pub services: BTreeSet<u16>,
}

/// SSH, telnet, DNS, TFTP, SNMP, `UPnP`, the page and metrics, where they listen by default.
const SERVICES: &[u16] = &[22, 23, 53, 69, 80, 161, 443, 1900, 5351, 7681, 8080, 8443, 9100];
/// Files with ports of such services: type of the section, options.
const LISTENERS: &[(&str, &str, &[&str])] = &[
    ("dhcp", "dnsmasq", &["port"]),
    ("dropbear", "dropbear", &["Port"]),
    ("nginx", "server", &["listen"]),
    ("prometheus-node-exporter-lua", "prometheus-node-exporter-lua", &["listen_port"]),
    ("snmpd", "agent", &["agentaddress"]),
    ("ttyd", "ttyd", &["port"]),
    ("uhttpd", "uhttpd", &["listen_http", "listen_https"]),
];
/// More of the 65,536 ports than this count as all.
const MOST_PORTS: usize = 0x8000;
/// Senders of more addresses than a /8 of IPv4 or a /16 of IPv6 count as anybody.
const MOST_IPV4: u128 = 1 << (128 - 8);
const MOST_IPV6: u128 = 1 << (128 - 16);
/// The first and the last address of `2000::/3`.
const INTERNET: (u128, u128) = (0x2 << 124, (0x4 << 124) - 1);
/// Destinations of at most so many addresses are single hosts.
const HOSTS: u128 = 16;
/// Protocols without ports that open no service by themselves: ICMP, IGMP, and those of tunnels and
/// routing, which need a peer that is configured.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "icmp", "1", "icmpv6", "ipv6-icmp", "58", "igmp", "2", "ipencap", "4", "ipv6", "41", "gre",
    "47",
    "esp", "50", "ah", "51", "ospf", "89", "ipip", "94", "pim", "103", "vrrp", "112", "l2tp", "115",
];

impl Default for Router {
    fn default() -> Self {
        Self { addresses: BTreeSet::new(), services: SERVICES.iter().copied().collect() }
    }
}

/// The ports where services that administrate the router listen: the usual ones, and those of the
/// files that `read` finds.
#[must_use]
pub fn services(read: impl Fn(&str) -> Option<Package>) -> BTreeSet<u16> {
    let mut ports = Router::default().services;
    for (config, ..) in LISTENERS {
        ports.extend(read(config).iter().flat_map(|package| listens(config, package)));
    }
    ports
}

/// The ports in a file of such services: `8443`, `[::]:8443`, `443 ssl`, `UDP:161`.
#[must_use]
pub fn listens(config: &str, package: &Package) -> BTreeSet<u16> {
    let mut ports = BTreeSet::new();
    for (_, kind, options) in LISTENERS.iter().filter(|(of, ..)| *of == config) {
        let entries = package
            .of(kind)
            .flat_map(|section| options.iter().filter_map(|option| section.options.get(*option)));
        let words = entries.flat_map(uci::Setting::texts).flat_map(|text| text.split([' ', ',']));
        ports.extend(words.filter_map(|word| word.rsplit(':').next()?.parse::<u16>().ok()));
    }
    ports.remove(&0);
    ports
}

impl Router {
    /// With the addresses that `/etc/config/network` gives it, and these ports of its services.
    #[must_use]
    pub fn of(network: Option<&Package>, services: &BTreeSet<u16>) -> Self {
        let mut router = Self { addresses: BTreeSet::new(), services: services.clone() };
        for interface in network.into_iter().flat_map(|network| network.of("interface")) {
            for option in ["ipaddr", "ip6addr"] {
                let words = interface.words(option).into_iter();
                let address = |word: &str| word.split('/').next()?.parse::<IpAddr>().ok();
                router.addresses.extend(words.filter_map(address));
            }
        }
        router
    }

    /// Whether a redirect to this host ends here. The name of a network is the router's address in
    /// it.
    fn has(&self, host: &str) -> bool {
        let own = |address| address_is_own(address, &self.addresses);
        match fw4::addresses(host) {
            None => true,
            Some(Addresses::Masked { address, .. }) => own(address),
            Some(range @ Addresses::Range(first, _)) => {
                own(first) || self.addresses.iter().any(|address| range.contains(*address))
            }
        }
    }
}

fn address_is_own(address: IpAddr, own: &BTreeSet<IpAddr>) -> bool {
    address.is_loopback() || own.contains(&address)
}

/// Whether a rule without a destination is for strangers. Multicast has no service that answers
/// them; any other address is one of the router.
fn is_for_anybody(firewall: &Package, rule: &Section) -> bool {
    let multicast = |word: &str| {
        matches!(subnet(word), Some(Addresses::Masked { address, mask })
            if address.is_multicast() && mask.leading_ones() >= 4)
    };
    let destinations = rule.words("dest_ip");
    let narrow = !destinations.is_empty() && destinations.into_iter().all(multicast);
    !narrow && anybody(firewall, rule)
}

/// What a rule without a destination lets strangers in to, if they reach the router's services.
pub(super) fn enters(firewall: &Package, rule: &Section, router: &Router) -> Option<Opening> {
    let to_router = || Protocols::of(rule).to_router(&Ports::of(&rule.words("dest_port")), router);
    is_for_anybody(firewall, rule).then(to_router)?
}

/// Whether a rule that accepts without a destination lets strangers in to a port of the router.
pub(super) fn admits(firewall: &Package, rule: &Section, transport: Transport, port: u16) -> bool {
    is_for_anybody(firewall, rule) && fw4::takes(rule, transport, port)
}

/// Whether a rule lets strangers in to a zone, not only to single hosts or ports.
pub(super) fn passes(firewall: &Package, rule: &Section) -> bool {
    let protocols = Protocols::of(rule);
    anybody(firewall, rule)
        && !single_hosts(&rule.words("dest_ip"))
        && (protocols.without_ports
            || (protocols.with_ports && Ports::of(&rule.words("dest_port")).are_all()))
}

/// The opening by a redirect, if it leads strangers to the router's services or to all ports of a
/// host.
pub(super) fn redirected(
    firewall: &Package,
    redirect: &Section,
    router: &Router,
) -> Option<Opening> {
    if fw4::is_short_for(text(redirect, "target"), "snat") || !anybody(firewall, redirect) {
        return None;
    }
    let host = text(redirect, "dest_ip");
    let to = redirect.words("dest_port");
    let ports = Ports::of(&if to.is_empty() { redirect.words("src_dport") } else { to });
    let protocols = Protocols::of(redirect);
    if router.has(host) {
        return protocols.to_router(&ports, router);
    }
    let all = protocols.without_ports || (protocols.with_ports && ports.are_all());
    all.then(|| Opening::Host(host.to_owned()))
}

/// The protocols of a section that carry connections. fw4 heeds ports for TCP and UDP alone.
struct Protocols {
    with_ports: bool,
    without_ports: bool,
}

impl Protocols {
    fn of(section: &Section) -> Self {
        let words = section.words("proto");
        let mut found = Self { with_ports: words.is_empty(), without_ports: false };
        for word in words {
            match fw4::negation(word) {
                // This fw4 ignores the `!`; one that heeds it takes all protocols but one.
                (true, _) => found.without_ports = true,
                (false, word) => match fw4::protocol(word) {
                    Protocol::Any => found.without_ports = true,
                    Protocol::One(_) | Protocol::Both => found.with_ports = true,
                    Protocol::Other(name) => {
                        let harmless =
                            HARMLESS.iter().any(|known| known.eq_ignore_ascii_case(name));
                        found.without_ports |= !harmless;
                    }
                },
            }
        }
        found
    }

    /// The opening if these reach the router itself on these ports.
    fn to_router(&self, ports: &Ports, router: &Router) -> Option<Opening> {
        if self.without_ports || (self.with_ports && ports.are_all()) {
            Some(Opening::Router)
        } else {
            let reached = ports.services(router);
            (self.with_ports && !reached.is_empty()).then_some(Opening::Services(reached))
        }
    }
}

/// Whether its conditions are met by nearly everyone on the Internet.
fn anybody(firewall: &Package, section: &Section) -> bool {
    let positive = |option: &str| {
        let word = fw4::negation(text(section, option));
        (!word.0 && !word.1.is_empty()).then_some(word.1)
    };
    let marked = positive("mark").is_some_and(|mark| {
        let value = mark.split('/').next().unwrap_or_default();
        // Packets of strangers have no mark.
        !value.trim_start_matches("0x").trim_start_matches('0').is_empty()
    });
    !marked
        && positive("helper").is_none()
        && senders(&section.words("src_ip"))
        && positive("ipset").is_none_or(|set| !is_narrow(firewall, set))
}

/// Whether a set is one of few senders: a set of ports or destinations is not, nor one that lists
/// everything.
fn is_narrow(firewall: &Package, ipset: &str) -> bool {
    let mut words = ipset.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let name = words.next().unwrap_or_default();
    let direction = words.next();
    let Some(set) = firewall.of("ipset").find(|set| text(set, "name") == name) else { return true };
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
    by_sender && (first.is_empty() || !senders(&first))
}

/// An entry of addresses without its `!`.
fn subnet(word: &str) -> Option<Addresses> {
    fw4::addresses(fw4::negation(word).1)
}

/// Whether these senders are nearly everyone of a family. Without any the option is not set.
fn senders(words: &[&str]) -> bool {
    let mut included = words.iter().filter(|word| !fw4::negation(word).0).peekable();
    // Negations alone leave out single networks.
    if included.peek().is_none() {
        return true;
    }
    let (mut four, mut six) = (0u128, 0u128);
    // The name of a network stands for its addresses, which are few.
    for of in included.filter_map(|word| subnet(word)) {
        let sum = if of.is_ipv4() { &mut four } else { &mut six };
        *sum = sum.saturating_add(size(of));
    }
    four > MOST_IPV4 || six > MOST_IPV6
}

/// How many addresses of the Internet these are, at the scale of IPv6 for both families.
fn size(of: Addresses) -> u128 {
    let (first, last) = match of {
        // A sender chooses the end of its address, so only the beginning of a mask counts.
        Addresses::Masked { address, mask } => {
            let host = u128::MAX.checked_shr(mask.leading_ones()).unwrap_or(0);
            (fw4::upper(address) & !host, fw4::upper(address) | host)
        }
        Addresses::Range(first, last) => (fw4::upper(first), fw4::upper(last)),
    };
    let (low, high) = if of.is_ipv4() { (0, u128::MAX) } else { INTERNET };
    last.min(high).saturating_sub(first.max(low))
}

/// Whether destinations are only single hosts, none of them negated.
fn single_hosts(words: &[&str]) -> bool {
    let single = |word: &&str| {
        let few = match subnet(word) {
            Some(Addresses::Masked { address, mask }) => {
                let below = if address.is_ipv4() { u128::MAX >> 32 } else { 0 };
                // Or the end of an IPv6 address behind any prefix.
                (mask | below).count_zeros() <= HOSTS.ilog2() || mask.trailing_ones() >= 64
            }
            Some(Addresses::Range(first, last)) => {
                let shift = if first.is_ipv4() { 96 } else { 0 };
                fw4::upper(last).saturating_sub(fw4::upper(first)) >> shift < HOSTS
            }
            None => false,
        };
        few && !fw4::negation(word).0
    };
    !words.is_empty() && words.iter().all(single)
}

/// Ports by number.
struct Ports(Vec<bool>);

impl Ports {
    /// Of an option: those it lists, less those it negates. Without any, or where one cannot be
    /// read, all.
    fn of(words: &[&str]) -> Self {
        let read = |word: &&str| {
            let (negated, word) = fw4::negation(word);
            fw4::ports(word).map(|range| (negated, range))
        };
        let Some(ranges) = words.iter().map(read).collect::<Option<Vec<_>>>() else {
            return Self(vec![true; 0x1_0000]);
        };
        let listed = ranges.iter().any(|(negated, _)| !negated);
        let mut ports = vec![!listed; 0x1_0000];
        for wanted in [false, true] {
            for (_, range) in ranges.iter().filter(|(negated, _)| *negated == wanted) {
                ports[usize::from(*range.start())..=usize::from(*range.end())].fill(!wanted);
            }
        }
        Self(ports)
    }

    fn are_all(&self) -> bool {
        self.0.iter().filter(|on| **on).count() > MOST_PORTS
    }

    fn services(&self, router: &Router) -> BTreeSet<u16> {
        router.services.iter().copied().filter(|port| self.0[usize::from(*port)]).collect()
    }
}
