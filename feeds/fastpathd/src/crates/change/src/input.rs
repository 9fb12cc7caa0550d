// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether an administrator may reach the page through fw4's input rules and zone policies, as far
//! as they are in UCI: which rules match, and which options leave a rule out. Used by `cuts.rs`.

use config::Network;

use crate::administrator::Administrator;
use ::uci::{Package, Packages, Section};

/// Whether a connection from the administrator to the page is let in by an interface.
pub(crate) fn is_open(packages: &Packages, interface: &Section, admin: &Administrator) -> bool {
    // Without the file there is no firewall.
    let Some(firewall) = packages.get("firewall") else { return true };
    let zone = firewall.of("zone").find(|zone| zone.words("network").contains(&&*interface.name));
    let name = zone.and_then(|zone| zone.text("name"));
    let matching = firewall.of("rule").find(|rule| matches(rule, name, admin));
    if let Some(rule) = matching {
        return is_accept(rule.text("target"));
    }
    match zone.and_then(|zone| zone.text("input")) {
        Some(policy) => is_accept(Some(policy)),
        None => defaults(firewall),
    }
}

fn is_accept(target: Option<&str>) -> bool {
    target.is_some_and(|target| target.eq_ignore_ascii_case("ACCEPT"))
}

fn defaults(firewall: &Package) -> bool {
    is_accept(firewall.of("defaults").next().and_then(|defaults| defaults.text("input")))
}

/// Whether a rule for input decides about it.
fn matches(rule: &Section, zone: Option<&str>, admin: &Administrator) -> bool {
    let source = rule.text("src");
    let from = source == Some("*") || (source.is_some() && source == zone);
    let decides = ["ACCEPT", "REJECT", "DROP"]
        .iter()
        .any(|word| rule.text("target").is_some_and(|target| target.eq_ignore_ascii_case(word)));
    let family = match rule.text("family") {
        Some("ipv4") => admin.client.is_ipv4(),
        Some("ipv6") => admin.client.is_ipv6(),
        _ => true,
    };
    // fw4 takes tcp and udp when a rule names no protocol.
    let protos = rule.words("proto");
    let tcp = protos.is_empty()
        || protos.iter().any(|proto| matches!(*proto, "tcp" | "tcpudp" | "all" | "any" | "*"));
    let elsewhere = ["src_mac", "src_port", "ipset", "mark", "dest_ip", "start_time"];
    from && decides
        && family
        && tcp
        && rule.is_on("enabled", true)
        && rule.text("dest").is_none()
        && !elsewhere.iter().any(|option| rule.options.contains_key(*option))
        && has_port(rule, admin.port)
        && has_source(rule, admin)
}

fn has_port(rule: &Section, port: u16) -> bool {
    let ports = rule.words("dest_port");
    let inside = |text: &&str| {
        let (first, last) = text.split_once(['-', ':']).unwrap_or((text, text));
        let (first, last) = (first.parse::<u16>(), last.parse::<u16>());
        matches!((first, last), (Ok(first), Ok(last)) if (first..=last).contains(&port))
    };
    ports.is_empty() || ports.iter().any(inside)
}

fn has_source(rule: &Section, admin: &Administrator) -> bool {
    let sources = rule.words("src_ip");
    let inside =
        |text: &&str| text.parse::<Network>().is_ok_and(|network| network.contains(admin.client));
    sources.is_empty() || sources.iter().any(inside)
}
