// SPDX-License-Identifier: GPL-2.0-or-later
//! Addresses, service ports and WAN interfaces of the router, from `/etc/config`.

use crate::sort::Collect;
use std::collections::BTreeSet;
use std::net::IpAddr;

use uci::{Package, Section};

use super::reach::are_most;
use super::text;
use crate::fw4::{self, Addresses};

#[derive(Debug, Clone)]
pub struct Router {
    pub addresses: BTreeSet<IpAddr>,
    pub services: BTreeSet<u16>,
    /// Names of WAN interfaces, whether they exist or not.
    wans: BTreeSet<String>,
    devices: BTreeSet<String>,
    enabled: BTreeSet<String>,
    /// Interfaces with hosts behind the router.
    inner: BTreeSet<String>,
}

/// Interfaces that lead to the Internet by `OpenWrt`'s convention.
const WANS: &[&str] = &["wan", "wan6"];
/// Protocols of interfaces that lead to the Internet.
#[rustfmt::skip]
const WAN_PROTOCOLS: &[&str] = &[
    "3g", "464xlat", "6in4", "6rd", "6to4", "directip", "dslite", "map", "mbim", "modemmanager",
    "ncm", "pppoa", "pppoe", "qmi", "wwan",
];

/// Default ports of SSH, telnet, DNS, TFTP, SNMP, `UPnP`, the page and metrics.
const SERVICES: &[u16] = &[22, 23, 53, 69, 80, 161, 443, 1900, 5351, 7681, 8080, 8443, 9100];
/// Files with ports of administrative services: package, section type and options.
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
        let services = SERVICES.iter().copied().into_set();
        Self::of(None, &services, &BTreeSet::new())
    }
}

/// Returns the ports of administrative services: the default ports, and the ports in the services'
/// files.
#[must_use]
pub fn services(read: impl Fn(&str) -> Option<Package>) -> BTreeSet<u16> {
    let mut ports = Router::default().services;
    for (config, ..) in LISTENERS {
        ports.extend(read(config).iter().flat_map(|package| listens(config, package)));
    }
    ports
}

/// Returns the ports in a service's file. Parses `8443`, `[::]:8443`, `443 ssl` and `UDP:161`.
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

/// Returns whether a WAN interface creates a device of its own above the configured one.
#[must_use]
pub fn has_own_device(wan: &Section) -> bool {
    WAN_PROTOCOLS.contains(&text(wan, "proto"))
}

impl Router {
    /// Builds a router from `/etc/config/network` and its service ports. Interfaces in `wans` lead
    /// to the Internet regardless of their protocol.
    #[must_use]
    pub fn of(
        network: Option<&Package>,
        services: &BTreeSet<u16>,
        wans: &BTreeSet<String>,
    ) -> Self {
        let wans = wans.iter().map(String::as_str).chain(WANS.iter().copied());
        let mut router = Self {
            addresses: BTreeSet::new(),
            services: services.clone(),
            wans: wans.map(str::to_owned).into_set(),
            devices: WANS.iter().map(|wan| format!("pppoe-{wan}")).into_set(),
            enabled: BTreeSet::new(),
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
        if WAN_PROTOCOLS.contains(&proto) || self.wans.contains(below) {
            self.wans.insert(name.clone());
        }
        if self.wans.contains(name) {
            self.devices.extend([device.to_owned(), format!("{proto}-{name}")]);
        } else if proto == "static" && text(interface, "gateway").is_empty() {
            self.inner.insert(name.clone());
        }
        if !interface.is_on("disabled", false) {
            self.enabled.insert(name.clone());
        }
    }

    /// Returns whether a zone includes packets of a WAN interface: by the interface, by its device,
    /// or because the zone matches nearly all packets.
    pub(super) fn has_wan(&self, zone: &Section) -> bool {
        let (networks, devices) = (zone.words("network"), zone.words("device"));
        let is_negated = |word: &&str| fw4::negation(word).0;
        let is_device = |word: &&str| match word.strip_suffix('+') {
            Some(beginning) => self.devices.iter().any(|device| device.starts_with(beginning)),
            None => self.devices.contains(*word),
        };
        let by_name = networks.iter().any(|network| self.wans.contains(*network));
        let named = networks.iter().chain(&devices).any(|word| !is_negated(word));
        let subnets = zone.words("subnet");
        let rest = networks.iter().chain(&devices).any(is_negated)
            || (!subnets.is_empty() && are_most(&subnets));
        by_name || devices.iter().any(is_device) || (!named && rest)
    }

    /// Returns whether a zone has hosts behind the router.
    pub(super) fn has_hosts(&self, zone: &Section) -> bool {
        zone.words("network").iter().any(|network| self.inner.contains(*network))
    }

    /// Returns the enabled WAN interfaces outside of these zones.
    pub(super) fn unzoned_wans<'a>(
        &'a self,
        zones: &'a [&Section],
    ) -> impl Iterator<Item = &'a String> {
        let in_zone =
            |wan: &String| zones.iter().any(|zone| zone.words("network").contains(&&**wan));
        self.wans.intersection(&self.enabled).filter(move |wan| !in_zone(wan))
    }

    /// Returns whether a redirect to this host ends at the router. A network's name stands for the
    /// router's address in that network.
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
