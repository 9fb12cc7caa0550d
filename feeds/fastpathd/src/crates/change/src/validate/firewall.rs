// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks `/etc/config/firewall`: names, lists, zones, forwardings, rules and redirects.

use std::collections::{BTreeMap, BTreeSet};

use super::Report;
use super::interface::unknown_interface;
use ::uci::Section;
use config::{Fault, fw4};

const POLICIES: &[&str] = &["ACCEPT", "REJECT", "DROP"];
const TARGETS: &[&str] = &["ACCEPT", "REJECT", "DROP", "NOTRACK", "HELPER", "MARK", "DSCP"];
/// Protocols of fw4 and of `OpenWrt`'s `/etc/protocols`.
#[rustfmt::skip]
const PROTOCOLS: &[&str] = &[
    "all", "any", "*", "tcpudp", "ip", "icmp", "igmp", "ggp", "ipencap", "st", "tcp", "egp", "igp",
    "pup", "udp", "hmp", "xns-idp", "rdp", "iso-tp4", "dccp", "xtp", "ddp", "idpr-cmtp", "ipv6",
    "ipv6-route", "ipv6-frag", "idrp", "rsvp", "gre", "esp", "ah", "skip", "ipv6-icmp", "icmpv6",
    "ipv6-nonxt", "ipv6-opts", "rspf", "vmtp", "eigrp", "ospf", "ax.25", "ipip", "etherip", "encap",
    "pim", "ipcomp", "vrrp", "l2tp", "isis", "sctp", "fc", "mh", "mobility-header", "udplite",
    "mpls-in-ip", "manet", "hip", "shim6", "wesp", "rohc",
];
/// Maximum length of a zone's name, in bytes. fw4 uses the name in chains and log prefixes.
const MAX_ZONE_LEN: usize = 11;
/// Maximum length of a section's name, in bytes. nft comments have at most 128 bytes, and fw4 adds
/// the prefix `!fw4: ` and, for a reflected redirect, the suffix ` (reflection)`.
const MAX_NAME_LEN: usize = 122;
const MAX_REFLECTED_NAME_LEN: usize = 109;

fn is_one_of(words: &'static [&'static str]) -> impl Fn(&str) -> bool {
    |text| words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Accepts abbreviations like fw4.
fn is_short_for(words: &'static [&'static str]) -> impl Fn(&str) -> bool {
    |text| words.iter().any(|word| fw4::is_short_for(text, word))
}

pub(super) fn judge(report: &mut Report<'_>) {
    lists_and_names(report);
    let zones = report.of("zone");
    zone_sections(report, &zones);
    let mut names: BTreeSet<&str> = BTreeSet::new();
    names.extend(zones.iter().filter_map(|zone| zone.text("name")));
    for forwarding in report.of("forwarding") {
        for option in ["src", "dest"] {
            zone(report, forwarding, option, &names, true);
        }
    }
    for rule in report.of("rule") {
        zone(report, rule, "src", &names, false);
        zone(report, rule, "dest", &names, false);
        report.text(rule, "target", "a target of fw4's", is_short_for(TARGETS));
        matches(report, rule);
    }
    for section in report.of("redirect") {
        zone(report, section, "src", &names, false);
        zone(report, section, "dest", &names, false);
        redirect(report, section);
        matches(report, section);
    }
    for defaults in report.of("defaults") {
        policies(report, defaults);
    }
}

/// Reports lists and long names. fw4 skips a section with an unexpected list, and nft refuses all
/// rules if one name is too long.
fn lists_and_names(report: &mut Report<'_>) {
    let all = report.packages.get(report.config).map_or(&[][..], |package| &package.sections);
    for section in all {
        for option in fw4::wrong_lists(section) {
            report.fault(section, option, &Fault::ListGiven);
        }
        let longest = match &*section.kind {
            "redirect" if section.is_on("reflection", true) => MAX_REFLECTED_NAME_LEN,
            "rule" | "redirect" | "nat" | "forwarding" => MAX_NAME_LEN,
            _ => continue,
        };
        if section.text("name").is_some_and(|name| name.len() > longest) {
            report.fault(section, "name", &Fault::TooLong { longest });
        }
    }
}

fn zone_sections<'a>(report: &mut Report<'a>, zones: &[&'a Section]) {
    let mut interfaces: BTreeMap<&str, &str> = BTreeMap::new();
    let mut names = BTreeSet::new();
    let there = report.others("network", "interface");
    for section in zones {
        let name = section.text("name").unwrap_or_default();
        if name.len() > MAX_ZONE_LEN || !fw4::is_identifier(name) {
            let expected =
                "a name of at most 11 letters, digits, _ and -, with a letter or _ first";
            report.wrong(section, "name", name, expected);
        } else if !names.insert(name) {
            let text = format!("there is another zone '{name}'");
            report.note(section, "name", "duplicate", &[("value", name)], &text);
        }
        for interface in section.words("network") {
            if !there.iter().any(|of| of.name == interface) {
                unknown_interface(report, section, "network", interface);
            }
            if let Some(other) = interfaces.insert(interface, name) {
                let text = format!("interface '{interface}' is in the zone '{other}' already");
                let params = [("interface", interface), ("zone", other)];
                report.note(section, "network", "zone-twice", &params, &text);
            }
        }
        policies(report, section);
        report.switches(section, &["masq", "masq6", "mtu_fix", "auto_helper"]);
    }
}

fn policies(report: &mut Report<'_>, section: &Section) {
    for option in ["input", "output", "forward"] {
        report.text(section, option, "ACCEPT, REJECT or DROP", is_short_for(POLICIES));
    }
}

fn zone(
    report: &mut Report<'_>,
    section: &Section,
    option: &str,
    zones: &BTreeSet<&str>,
    needed: bool,
) {
    let name = section.text(option).unwrap_or_default();
    let none = name.is_empty() && !needed;
    if !none && !zones.contains(name) && (name != "*" || needed) {
        let text = format!("there is no zone '{}'", name.escape_debug());
        report.note(section, option, "unknown-zone", &[("zone", name)], &text);
    }
}

/// Checks a redirect. fw4 forwards to the router if a redirect has no host.
fn redirect(report: &mut Report<'_>, section: &Section) {
    report.text(section, "target", "DNAT or SNAT", is_short_for(&["DNAT", "SNAT"]));
    report.text(section, "src_dport", "a port or a range of them", |text| {
        // Port 0 is invalid, although fw4 accepts it.
        is_ports(text) && text != "0"
    });
    for option in ["src_ip", "src_dip", "dest_ip", "src_port"] {
        report.text(section, option, "one entry", |text| !text.trim().contains(' '));
    }
    // Unlike a rule, a redirect has only one destination port.
    report.text(section, "dest_port", "one port or range", |text| !text.contains(' '));
    let none = |option: &str| section.words(option).is_empty();
    if section.text("target").is_some_and(|target| fw4::is_short_for(target, "SNAT")) {
        for option in ["dest", "src_dip"].into_iter().filter(|option| none(option)) {
            report.note(section, option, "missing", &[], "is missing");
        }
        return;
    }
    if none("src") {
        let text = "is missing: the zone from which connections are redirected";
        report.note(section, "src", "missing", &[], text);
    } else if section.text("src") == Some("*") {
        let text = "a port forward is for the connections of one zone";
        report.note(section, "src", "unknown-zone", &[("zone", "*")], text);
    }
    // A port forward without a destination zone leads to the router.
    if none("dest_ip") && (!none("dest") || none("src_dport")) {
        let text = "a port forward needs the address of a host";
        report.note(section, "dest_ip", "forward-host", &[], text);
    }
}

fn plain(text: &str) -> &str {
    fw4::negation(text).1
}

fn is_protocol(text: &str) -> bool {
    is_one_of(PROTOCOLS)(text) || config::number(text).is_ok_and(|number| number <= 255)
}

fn is_ports(text: &str) -> bool {
    fw4::ports(plain(text)).is_some()
}

fn matches(report: &mut Report<'_>, section: &Section) {
    let there = report.others("network", "interface");
    let known = report.packages.contains_key("network");
    let is_network = |text: &str| {
        let text = plain(text);
        fw4::addresses(text).is_some()
            || !known
            || there.iter().any(|interface| interface.name == text)
    };
    for option in ["src_ip", "src_dip", "dest_ip"] {
        report.each(section, option, "an address or a network", is_network);
    }
    for option in ["src_port", "dest_port"] {
        report.each(section, option, "a port or a range of them", is_ports);
    }
    report.each(section, "src_mac", "a MAC address", |text| fw4::is_mac(plain(text)));
    report.each(section, "proto", "a protocol", |text| is_protocol(plain(text)));
    report.switches(section, &["enabled"]);
    report.text(section, "family", "any, ipv4 or ipv6", fw4::is_family);
    let has_port = ["src_port", "dest_port", "src_dport"]
        .iter()
        .any(|option| section.options.contains_key(*option));
    let with_ports = |word: &&str| {
        fw4::protocol(plain(word)).has_ports() || is_one_of(&["sctp", "udplite"])(word)
    };
    let protos = section.words("proto");
    let known = protos.iter().all(|proto| is_protocol(plain(proto)));
    if has_port && known && !protos.is_empty() && !protos.iter().all(with_ports) {
        let text = "only TCP and UDP have ports";
        report.note(section, "proto", "no-ports", &[], text);
    }
}
