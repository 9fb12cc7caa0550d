// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks `/etc/config/dhcp`: pools and static leases.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::Report;
use super::common::{is_host, netmask, v4};
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
    }
    leases(report, &interfaces);
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
