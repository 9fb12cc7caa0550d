// SPDX-License-Identifier: GPL-2.0-or-later
//! Secrets in UCI values and sections, masked before they leave the router. The list of secret
//! options is in `crates/config/src/secret.rs`; of an interface only options on a list are shown.

pub(crate) use config::secret::{MASK, has_mask, is_secret};

use ::uci::{Section, Setting};

/// The kind of section whose options are those of its protocol, from packages of others.
pub(crate) const INTERFACE: &str = "interface";

/// Options of an interface that hold no secret, of `OpenWrt`'s own protocols.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "ac", "ac_mac", "addresses", "allow_roaming", "allowedauth", "apn", "auth", "auto",
    "broadcast", "classlessroute", "clientid", "customroutes", "defaultroute", "delay",
    "delegate", "demand", "device", "df", "dhcp", "dhcpv6", "disabled", "dns", "dns_metric",
    "dns_search", "encaplimit", "encaplimit_dslite", "encaplimit_map", "extendprefix",
    "fakeroutes", "force_link", "forceprefix", "fwmark", "gateway", "holdoff", "host_uniq",
    "hostname", "iface_464xlat", "iface_dslite", "iface_map", "ifname", "igmp_snooping",
    "ip4prefixlen", "ip4table", "ip6addr", "ip6assign", "ip6class", "ip6gw", "ip6hint",
    "ip6ifaceid", "ip6prefix", "ip6prefixlen", "ip6table", "ip6weight", "ipaddr", "iptype",
    "ipv6", "keepalive", "keepalive_adaptive", "listen_port", "macaddr", "maxfail", "metric",
    "modes", "mtu", "mtu6", "netmask", "network", "nohostip", "nohostroute", "norelease",
    "noslaaconly", "padi_attempts", "padi_timeout", "pdp", "pdptype", "peer6addr", "peeraddr",
    "peerdns", "persist", "plmn", "port", "profile", "proto", "ra_holdoff", "reqaddress",
    "reqopts", "reqprefix", "server", "service", "soltimeout", "sourcefilter", "stp", "tos",
    "ttl", "tunlink", "tunnelid", "type", "userclass", "username", "vendorclass", "vendorid",
    "vid", "zone",
];

/// Whether a value of a section of this kind is not shown at all. A protocol may have any option:
/// those of an interface are shown only if they are known.
pub(crate) fn is_hidden(kind: &str, option: &str) -> bool {
    is_secret(option) || (kind == INTERFACE && !HARMLESS.contains(&option))
}

/// A value as it may be shown. The text of a secret is never part of it, nor its length.
pub(crate) fn masked(kind: &str, option: &str, setting: &Setting) -> Setting {
    let shown = |text: &String| {
        if is_hidden(kind, option) { MASK.to_owned() } else { config::secret::shown(option, text) }
    };
    match setting {
        Setting::Text(text) => Setting::Text(shown(text)),
        Setting::List(list) => Setting::List(list.iter().map(shown).collect()),
    }
}

/// A section as it may be shown.
pub(crate) fn masked_section(section: &Section) -> Section {
    let mut shown = section.clone();
    for (option, setting) in &mut shown.options {
        *setting = masked(&section.kind, option, setting);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_text_nor_length_is_shown() {
        let text = |text: &str| Setting::Text(text.to_owned());
        assert_eq!(masked("", "password", &text("geheim")), text(MASK));
        let list = Setting::List(vec!["a".into(), "bb".into()]);
        assert_eq!(masked("", "key", &list), Setting::List(vec![MASK.into(), MASK.into()]));
        assert_eq!(masked("bridge-vlan", "ports", &list), list);
    }

    /// A text that only resembles a URL, or has several in it, may have a password anywhere.
    #[test]
    fn a_url_with_a_mistake_in_it_is_masked_whole() {
        for url in ["ann:geheim@rules.example/x", "https://a/ https://ann:geheim@b.example/"] {
            let shown = masked("source", "url", &Setting::Text(url.to_owned()));
            assert_eq!(shown, Setting::Text(MASK.into()), "{url}");
        }
    }

    /// With a list of secret options alone, those of a protocol that it does not know are shown.
    #[test]
    fn of_an_interface_only_known_options_are_shown() {
        let text = |text: &str| Setting::Text(text.to_owned());
        for option in ["password", "updatekey", "otp_seed", "pin2", "community", "sendopts"] {
            assert_eq!(masked("interface", option, &text("geheim")), text(MASK), "{option}");
        }
        for option in ["proto", "ipaddr", "username", "listen_port", "dns"] {
            assert_eq!(masked("interface", option, &text("x")), text("x"), "{option}");
        }
        assert_eq!(masked("rule", "src", &text("lan")), text("lan"));
    }
}
