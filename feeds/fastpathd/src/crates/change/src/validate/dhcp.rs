// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks `/etc/config/dhcp`: pools (interface, `start`, `limit`, `leasetime`) and static leases
//! (MAC address, name, an IPv4 address that is given once).

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::Report;
use super::common::{is_host, is_mac};
use super::interface::unknown_interface;

pub(super) fn judge(report: &mut Report<'_>) {
    let interfaces = report.others("network", "interface");
    for pool in report.of("dhcp") {
        // Without an interface of its own it is the one of its name.
        let name = pool.text("interface").unwrap_or(&pool.name);
        if !interfaces.iter().any(|interface| interface.name == name) {
            unknown_interface(report, pool, "interface", name);
        }
        report.number(pool, "start", 0..=16_777_215);
        report.number(pool, "limit", 0..=16_777_215);
        report.text(pool, "leasetime", "a time such as 12h, or infinite", is_time);
        report.switches(pool, &["ignore", "force", "dynamicdhcp"]);
    }
    let mut taken = BTreeSet::new();
    for host in report.of("host") {
        report.each(host, "mac", "a MAC address", is_mac);
        report.text(host, "name", "a name of a host", is_host);
        let ip = host.text("ip").filter(|ip| *ip != "ignore");
        let Some(ip) = ip else { continue };
        if ip.parse::<Ipv4Addr>().is_err() {
            report.wrong(host, "ip", ip, "an IPv4 address");
        } else if !taken.insert(ip) {
            let text = format!("{ip} is given to another host already");
            report.note(host, "ip", "duplicate", &[("value", ip)], &text);
        }
    }
}

fn is_time(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd', 'w']).unwrap_or(text);
    text == "infinite" || config::number(number).is_ok_and(|time| time > 0)
}
