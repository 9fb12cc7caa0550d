// SPDX-License-Identifier: GPL-2.0-or-later
//! Determines whether fw4's input rules and zone policies in UCI let an administrator reach the
//! page.

use std::net::IpAddr;

use config::Network;
use config::exposure::accepts;
use config::fw4::{self, Addresses, Transport};

use crate::administrator::Administrator;
use crate::validate::networks;
use ::uci::{Package, Packages, Section};

/// Options that restrict a rule to some of an administrator's connections.
#[rustfmt::skip]
const CONDITIONS: &[&str] = &[
    "device", "dscp", "helper", "ipset", "limit", "mark", "src_mac", "src_port", "start_date",
    "start_time", "stop_date", "stop_time", "weekdays",
];

/// Returns whether the firewall admits the administrator's connection at an interface.
pub(crate) fn is_open(packages: &Packages, interface: &Section, admin: &Administrator) -> bool {
    // Without the file, no firewall is active.
    let Some(firewall) = packages.get("firewall") else { return true };
    let zone = firewall.of("zone").find(|zone| covers(zone, interface));
    let name = zone.and_then(|zone| zone.text("name"));
    // Rules for all zones precede rules for single zones in fw4's chains.
    let mut verdicts = [Some("*"), name].into_iter().flatten().filter_map(|src| {
        let mut rules = firewall.of("rule").filter(|rule| rule.text("src") == Some(src));
        rules.find(|rule| matches(packages, rule, admin)).and_then(verdict)
    });
    let policy = || zone.and_then(|zone| zone.text("input")).or(default(firewall));
    verdicts.next().unwrap_or_else(|| policy().is_some_and(accepts))
}

fn default(firewall: &Package) -> Option<&str> {
    firewall.of("defaults").next().and_then(|defaults| defaults.text("input"))
}

/// Returns whether fw4 uses the zone and the zone includes the interface.
fn covers(zone: &Section, interface: &Section) -> bool {
    let device = interface.text("device").unwrap_or_default();
    let has_device = |name: &&str| match name.strip_suffix('+') {
        Some(begin) => !begin.is_empty() && device.starts_with(begin),
        None => *name == device,
    };
    zone.text("name").is_some_and(fw4::is_identifier)
        && fw4::is_in_force(zone)
        && (zone.words("network").contains(&&*interface.name)
            || (!device.is_empty() && zone.words("device").iter().any(has_device)))
}

/// Returns whether a rule accepts. `None` if the rule neither accepts nor denies.
fn verdict(rule: &Section) -> Option<bool> {
    let target = rule.text("target")?;
    let refuses = ["reject", "drop"].iter().any(|word| fw4::is_short_for(target, word));
    if accepts(target) { Some(true) } else { refuses.then_some(false) }
}

/// Returns whether an input rule matches the administrator's connection.
fn matches(packages: &Packages, rule: &Section, admin: &Administrator) -> bool {
    let family = match rule.text("family") {
        Some("inet") => admin.client.is_ipv4(),
        Some(family) if family.contains('4') => admin.client.is_ipv4(),
        Some(family) if family.contains('6') => admin.client.is_ipv6(),
        Some(family) => fw4::is_family(family),
        None => true,
    };
    let has = |option: &str, address: IpAddr| {
        let network = |name: &str| subnets(packages, name);
        fw4::has_address(&rule.words(option), address, network).unwrap_or(false)
    };
    verdict(rule).is_some()
        && family
        && fw4::is_in_force(rule)
        && !rule.options.contains_key("dest")
        && !CONDITIONS.iter().any(|option| rule.options.contains_key(*option))
        && fw4::takes(rule, Transport::Tcp, admin.port)
        && has("src_ip", admin.client)
        && has("dest_ip", admin.router)
}

/// Returns the subnets of a network in `/etc/config/network`. `None` if there are none.
fn subnets(packages: &Packages, name: &str) -> Option<Vec<Addresses>> {
    let interface = packages.get("network")?.section(name)?;
    let of = |(_, network): (IpAddr, Network)| fw4::addresses(&network.to_string());
    let found: Vec<Addresses> = networks(interface).into_iter().filter_map(of).collect();
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests;
