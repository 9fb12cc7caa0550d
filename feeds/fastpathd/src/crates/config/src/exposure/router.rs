// SPDX-License-Identifier: GPL-2.0-or-later
//! The router by `/etc/config/network` and the files of services: its addresses, the ports of its
//! services, and the interfaces that lead to the Internet.

use std::collections::BTreeSet;
use std::net::IpAddr;

use uci::{Package, Section};

use super::reach::are_most;
use super::text;
use crate::fw4::{self, Addresses};

/// The router's own addresses, and the ports of its administrative services.
#[derive(Debug, Clone)]
pub struct Router {
    /// Addresses of its interfaces.
    pub addresses: BTreeSet<IpAddr>,
    pub services: BTreeSet<u16>,
    /// Interfaces that lead to the Internet, even if they do not exist.
    lines: BTreeSet<String>,
    /// Devices of these interfaces.
    devices: BTreeSet<String>,
    /// Enabled interfaces, and interfaces with hosts behind them.
    present: BTreeSet<String>,
    inner: BTreeSet<String>,
}

/// Interfaces that lead to the Internet by `OpenWrt`'s naming.
const LINES: &[&str] = &["wan", "wan6"];
/// Protocols of interfaces that lead to the Internet.
#[rustfmt::skip]
const LINE_PROTOCOLS: &[&str] = &[
    "3g", "464xlat", "6in4", "6rd", "6to4", "directip", "dslite", "map", "mbim", "modemmanager",
    "ncm", "pppoa", "pppoe", "qmi", "wwan",
];

/// Default ports of SSH, telnet, DNS, TFTP, SNMP, `UPnP`, the page and metrics.
const SERVICES: &[u16] = &[22, 23, 53, 69, 80, 161, 443, 1900, 5351, 7681, 8080, 8443, 9100];
/// Files with ports of administrative services: type of the section, options.
const LISTENERS: &[(&str, &str, &[&str])] = &[
    ("dhcp", "dnsmasq", &["port"]),
    ("dropbear", "dropbear", &["Port"]),
    ("nginx", "server", &["listen"]),
    ("prometheus-node-exporter-lua", "prometheus-node-exporter-lua", &["listen_port"]),
    ("snmpd", "agent", &["agentaddress"]),
    ("ttyd", "ttyd", &["port"]),
    ("uhttpd", "uhttpd", &["listen_http", "listen_https"]),
];

impl Default for Router {
    fn default() -> Self {
        let services = SERVICES.iter().copied().collect();
        Self::of(None, &services, &BTreeSet::new())
    }
}

/// Returns the ports of administrative services: the default ones, and the ports in the files that
/// `read` finds.
#[must_use]
pub fn services(read: impl Fn(&str) -> Option<Package>) -> BTreeSet<u16> {
    let mut ports = Router::default().services;
    for (config, ..) in LISTENERS {
        ports.extend(read(config).iter().flat_map(|package| listens(config, package)));
    }
    ports
}

/// Returns the ports in the file of a service: `8443`, `[::]:8443`, `443 ssl`, `UDP:161`.
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

/// Returns whether packets of a WAN interface arrive at another device than the named one.
#[must_use]
pub fn has_own_device(line: &Section) -> bool {
    LINE_PROTOCOLS.contains(&text(line, "proto"))
}

impl Router {
    /// Returns the router with the interfaces of `/etc/config/network` and these service ports.
    /// Interfaces in `lines` lead to the Internet regardless of their protocol.
    #[must_use]
    pub fn of(
        network: Option<&Package>,
        services: &BTreeSet<u16>,
        lines: &BTreeSet<String>,
    ) -> Self {
        let lines = lines.iter().map(String::as_str).chain(LINES.iter().copied());
        let mut router = Self {
            addresses: BTreeSet::new(),
            services: services.clone(),
            lines: lines.map(str::to_owned).collect(),
            devices: LINES.iter().map(|line| format!("pppoe-{line}")).collect(),
            present: BTreeSet::new(),
            inner: BTreeSet::new(),
        };
        for interface in network.into_iter().flat_map(|network| network.of("interface")) {
            router.add(interface);
        }
        router
    }

    fn add(&mut self, interface: &Section) {
        for option in ["ipaddr", "ip6addr", "addresses"] {
            let words = interface.words(option).into_iter();
            let address = |word: &str| word.split('/').next()?.parse::<IpAddr>().ok();
            self.addresses.extend(words.filter_map(address));
        }
        let (name, proto) = (&interface.name, text(interface, "proto"));
        let device = text(interface, "device");
        let below = device.strip_prefix('@').unwrap_or_default();
        if LINE_PROTOCOLS.contains(&proto) || self.lines.contains(below) {
            self.lines.insert(name.clone());
        }
        if self.lines.contains(name) {
            self.devices.extend([device.to_owned(), format!("{proto}-{name}")]);
        } else if proto == "static" && text(interface, "gateway").is_empty() {
            self.inner.insert(name.clone());
        }
        if !interface.is_on("disabled", false) {
            self.present.insert(name.clone());
        }
    }

    /// Returns whether a zone includes packets of a WAN interface: by its name, by its device, or
    /// because nothing excludes them.
    pub(super) fn has_line(&self, zone: &Section) -> bool {
        let (networks, devices) = (zone.words("network"), zone.words("device"));
        let is_negated = |word: &&str| fw4::negation(word).0;
        let is_device = |word: &&str| match word.strip_suffix('+') {
            Some(beginning) => self.devices.iter().any(|device| device.starts_with(beginning)),
            None => self.devices.contains(*word),
        };
        let by_name = networks.iter().any(|network| self.lines.contains(*network));
        let named = networks.iter().chain(&devices).any(|word| !is_negated(word));
        let subnets = zone.words("subnet");
        let rest = networks.iter().chain(&devices).any(is_negated)
            || (!subnets.is_empty() && are_most(&subnets));
        by_name || devices.iter().any(is_device) || (!named && rest)
    }

    /// Returns whether a zone has hosts behind the router, too.
    pub(super) fn has_hosts(&self, zone: &Section) -> bool {
        zone.words("network").iter().any(|network| self.inner.contains(*network))
    }

    /// Returns the enabled WAN interfaces that are in none of these zones.
    pub(super) fn loose<'a>(&'a self, zones: &'a [&Section]) -> impl Iterator<Item = &'a String> {
        let in_zone =
            |line: &String| zones.iter().any(|zone| zone.words("network").contains(&&**line));
        self.lines.intersection(&self.present).filter(move |line| !in_zone(line))
    }

    /// Returns whether a redirect to this host ends at the router. The name of a network means the
    /// router's address in it.
    pub(super) fn has(&self, host: &str) -> bool {
        let own = |address: IpAddr| {
            address.is_loopback() || address.is_unspecified() || self.addresses.contains(&address)
        };
        match fw4::addresses(host) {
            None => true,
            Some(Addresses::Masked { address, .. }) => own(address),
            Some(range @ Addresses::Range(first, _)) => {
                own(first) || self.addresses.iter().any(|address| range.contains(*address))
            }
        }
    }
}
