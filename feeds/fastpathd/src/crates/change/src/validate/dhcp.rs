// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks `/etc/config/dhcp`: pools, static leases, local names, and upstream DNS servers.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use super::Report;
use super::common::{is_address, is_host, netmask, v4};
use super::interface::unknown_interface;
use ::uci::Section;

pub(super) fn judge(report: &mut Report<'_>) {
    let interfaces = report.others("network", "interface");
    for pool in report.of("dhcp") {
        // Without an option `interface`, the pool's name is the interface.
        let name = pool.text("interface").unwrap_or(&pool.name);
        if !interfaces.iter().any(|interface| interface.name == name) {
            unknown_interface(report, pool, "interface", name);
        }
        report.number(pool, "start", 0..=16_777_215);
        report.number(pool, "limit", 0..=16_777_215);
        report.text(pool, "leasetime", "a time such as 12h, or infinite", is_time);
        report.switches(pool, &["ignore", "force", "dynamicdhcp"]);
        for option in ["ra", "dhcpv6", "ndp"] {
            report.text(pool, option, "server, relay, hybrid or disabled", |mode| {
                ["server", "relay", "hybrid", "disabled"].contains(&mode)
            });
        }
        report.each(pool, "dns", "an IP address", is_address);
        let interface = interfaces.iter().find(|interface| interface.name == name);
        if let Some(interface) = interface.filter(|_| is_served(pool)) {
            range(report, pool, interface);
        }
    }
    leases(report, &interfaces);
    for name in report.of("domain") {
        report.each(name, "name", "a name of a host", is_host);
        report.text(name, "ip", "an IP address", is_address);
    }
    for resolver in report.of("dnsmasq") {
        let expected = "a DNS server such as 9.9.9.9, 9.9.9.9#53 or /example.com/192.0.2.1";
        report.each(resolver, "server", expected, is_upstream);
    }
}

fn is_served(pool: &Section) -> bool {
    let is_ignored = pool.text("ignore").is_some_and(|text| config::switch(text) == Ok(true));
    !is_ignored && pool.text("dhcpv4") != Some("disabled")
}

/// Reports a pool without an address in the network of its interface, which dnsmasq skips.
fn range(report: &mut Report<'_>, pool: &Section, interface: &Section) {
    let Some((_, network)) = networks(interface).into_iter().next() else { return };
    let hosts = u32::MAX.checked_shr(network.prefix.into()).unwrap_or(0);
    let number = |option, default| pool.text(option).map_or(Ok(default), config::number);
    let (Ok(start), Ok(limit)) = (number("start", 100), number("limit", 150)) else { return };
    if start == 0 || start >= hosts {
        let expected = "the number of a host in the network of the interface";
        report.wrong(pool, "start", &start.to_string(), expected);
    } else if limit == 0 {
        report.wrong(pool, "limit", "0", "a number of at least 1");
    }
}

/// Returns whether dnsmasq's option `server` accepts a text: an address with port and source, or
/// an address, `#` or nothing for domains.
fn is_upstream(text: &str) -> bool {
    let (domains, server) = match text.strip_prefix('/') {
        Some(rest) => match rest.rsplit_once('/') {
            Some((domains, server)) => (domains, server),
            None => return false,
        },
        None => ("", text),
    };
    let of_domains = text.starts_with('/');
    if of_domains && (server.is_empty() || server == "#") {
        return true;
    }
    let name = |domain: &str| domain.is_empty() || is_host(domain.trim_start_matches(['*', '.']));
    let (server, source) = server.split_once('@').map_or((server, None), |(a, b)| (a, Some(b)));
    let (address, port) = server.split_once('#').map_or((server, "53"), |(a, b)| (a, b));
    let address = address.split_once('%').map_or(address, |(address, _)| address);
    domains.split('/').all(name)
        && address.parse::<IpAddr>().is_ok()
        && config::number(port).is_ok_and(|port| (1..=65_535).contains(&port))
        && source.is_none_or(|source| !source.is_empty())
}

fn leases(report: &mut Report<'_>, interfaces: &[&Section]) {
    let networks: Vec<_> = interfaces.iter().flat_map(|interface| networks(interface)).collect();
    let (mut taken, mut macs) = (BTreeSet::new(), Vec::new());
    for host in report.of("host") {
        report.each(host, "mac", "a MAC address", is_lease_mac);
        let address = host.text("ip").and_then(|ip| ip.parse::<Ipv4Addr>().ok());
        let network = address.and_then(|ip| {
            networks.iter().map(|(_, network)| *network).find(|of| of.contains(ip.into()))
        });
        for mac in host.words("mac") {
            // A MAC address may have one lease per network.
            let is_other = |of: &Option<config::Network>| {
                of.is_some_and(|of| network.is_some_and(|own| own != of))
            };
            let bytes = bytes_of(mac);
            let is_taken = macs.iter().any(|(known, of)| *known == bytes && !is_other(of));
            macs.push((bytes, network));
            if is_taken {
                let text = format!("{} has another host already", mac.escape_debug());
                report.note(host, "mac", "duplicate", &[("value", mac)], &text);
            }
        }
        report.text(host, "name", "a name of a host", is_host);
        if ["mac", "duid", "name"].iter().all(|option| host.words(option).is_empty()) {
            report.note(host, "mac", "missing", &[], "is missing");
        }
        let ip = host.text("ip").filter(|ip| *ip != "ignore");
        let Some(ip) = ip else { continue };
        let Some(address) = address else {
            report.wrong(host, "ip", ip, "an IPv4 address");
            continue;
        };
        if networks.iter().any(|(own, _)| *own == address) {
            report.wrong(host, "ip", ip, "an address of a host: it is the router's");
        } else if !networks.is_empty() && !network.is_some_and(|of| is_of_host(address, of)) {
            report.wrong(host, "ip", ip, "an address in a network of the router");
        } else if !taken.insert(ip) {
            let text = format!("{ip} is given to another host already");
            report.note(host, "ip", "duplicate", &[("value", ip)], &text);
        }
    }
}

fn networks(interface: &Section) -> Vec<(Ipv4Addr, config::Network)> {
    let mask = interface.text("netmask").and_then(netmask);
    let network = |text: &str| {
        let (address, prefix) = v4(text)?;
        Some((address, config::Network::of(address.into(), prefix.or(mask)?)?))
    };
    interface.words("ipaddr").into_iter().filter_map(network).collect()
}

/// Returns whether an address is neither the network nor the broadcast address.
fn is_of_host(address: Ipv4Addr, network: config::Network) -> bool {
    let host = u32::MAX.checked_shr(network.prefix.into()).unwrap_or(0);
    let own = address.to_bits() & host;
    host <= 1 || (own != 0 && own != host)
}

/// Returns the bytes of a MAC address in a canonical form.
fn bytes_of(mac: &str) -> Vec<String> {
    let bytes = mac.split([':', '-']);
    bytes.map(|byte| format!("{:0>2}", byte.to_ascii_lowercase())).collect()
}

/// Returns whether dnsmasq accepts a MAC address. `*` matches any byte.
fn is_lease_mac(text: &str) -> bool {
    config::fw4::is_mac(&text.replace('*', "0"))
}

fn is_time(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd', 'w']).unwrap_or(text);
    text == "infinite" || config::number(number).is_ok_and(|time| time > 0)
}
