// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::*;
use crate::parse_uci;

const DEFAULT_FIREWALL: &str = "
config defaults
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'REJECT'

config zone 'lan'
	option name 'lan'
	list network 'lan'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'ACCEPT'

config zone 'wan'
	option name 'wan'
	list network 'wan'
	list network 'wan6'
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'DROP'
	option masq '1'
	option mtu_fix '1'

config forwarding
	option src 'lan'
	option dest 'wan'

config rule
	option name 'Allow-Ping'
	option src 'wan'
	option proto 'icmp'
	option icmp_type 'echo-request'
	option family 'ipv4'
	option target 'ACCEPT'

config rule
	option name 'Allow-ICMPv6-Forward'
	option src 'wan'
	option dest '*'
	option proto 'icmp'
	list icmp_type 'echo-request'
	option target 'ACCEPT'

config rule
	option name 'Allow-IPSec-ESP'
	option src 'wan'
	option dest 'lan'
	option proto 'esp'
	option target 'ACCEPT'

config rule
	option name 'Allow-ISAKMP'
	option src 'wan'
	option dest 'lan'
	option dest_port '500'
	option proto 'udp'
	option target 'ACCEPT'
";

fn lab() -> Router {
    let network =
        "config interface lan\n option ipaddr 10.10.10.1\n option netmask 255.255.255.0\n";
    Router::of(Some(&uci::parse(network).unwrap()), &services(|_| None), &BTreeSet::new())
}

fn with(more: &str) -> Vec<Exposure> {
    exposures(&parse_uci(&format!("{DEFAULT_FIREWALL}{more}")).unwrap(), &lab())
}

/// Returns section type, source zone and target of each exposure.
fn exposed(more: &str) -> Vec<(&'static str, String, String)> {
    let name = |opening| match opening {
        Opening::Router => "router".to_owned(),
        Opening::Services(ports) => format!("{ports:?}"),
        Opening::Zone(to) | Opening::Host(to) => to,
    };
    with(more).into_iter().map(|e| (e.kind, e.zone, name(e.opening))).collect()
}

fn one(kind: &'static str, zone: &str, to: &str) -> Vec<(&'static str, String, String)> {
    vec![(kind, zone.to_owned(), to.to_owned())]
}

#[test]
fn the_default_firewall_has_no_exposure() {
    assert_eq!(with(""), []);
    assert_eq!(exposures(&Value::Null, &lab()), []);
    assert_eq!(exposures(&json!({"a": 3, "b": {".type": "zone"}}), &lab()), []);
}

#[test]
fn an_accepting_zone_opens_the_router() {
    for policy in ["ACCEPT", "accept", "Acc"] {
        let open = with(&format!("config zone 'wan'\n option input '{policy}'\n"));
        let [Exposure { section, kind: "zone", zone, opening: Opening::Router, .. }] = &open[..]
        else {
            panic!("{open:?}")
        };
        assert_eq!((&**section, &**zone), ("wan", "wan"));
    }
    assert_eq!(with("config zone 'wan'\n option input 'DROP'\n"), []);
    let off = "config zone 'wan'\n option input 'ACCEPT'\n option enabled '0'\n";
    assert_eq!(with(off), [], "not in force");
}

#[test]
fn a_zone_without_a_policy_uses_the_default_policy() {
    let file = |input: &str| {
        parse_uci(&format!(
            "config defaults\n option input '{input}'\nconfig zone 'w'\n option name 'wan'\n"
        ))
        .unwrap()
    };
    assert_eq!(exposures(&file("ACCEPT"), &lab())[0].section, "w");
    assert_eq!(exposures(&file("REJECT"), &lab()), []);
}

#[test]
fn a_forwarding_opens_its_destination_zone() {
    let forwarding = |src: &str, dest: &str| {
        exposed(&format!("config forwarding\n option src '{src}'\n option dest '{dest}'\n"))
    };
    assert_eq!(forwarding("wan", "lan"), one("forwarding", "wan", "lan"));
    assert_eq!(forwarding("*", "lan"), one("forwarding", "wan", "lan"));
    assert_eq!(forwarding("wan", "*"), one("forwarding", "wan", "*"));
    assert_eq!(forwarding("lan", "wan"), []);
    assert_eq!(forwarding("wan", "wan"), []);
    let off = "config forwarding\n option src 'wan'\n option dest 'lan'\n option enabled '0'\n";
    assert_eq!(exposed(off), []);
}

#[test]
fn a_default_policy_of_forwarding_opens_all_zones() {
    let mut file = parse_uci(DEFAULT_FIREWALL).unwrap();
    let sections = file.as_object_mut().unwrap();
    sections.values_mut().find(|s| s[".type"] == "defaults").unwrap()["forward"] = "ACCEPT".into();
    let found = exposures(&file, &lab());
    assert_eq!((found[0].kind, &found[0].opening), ("defaults", &Opening::Zone("*".into())));
}

#[test]
fn a_rule_without_a_port_opens_all_ports() {
    let rule = |options: &[(&str, &str)]| {
        let options: Vec<String> =
            options.iter().map(|(name, value)| format!(" option {name} '{value}'\n")).collect();
        exposed(&format!("config rule\n option target 'ACCEPT'\n{}", options.concat()))
    };
    assert_eq!(rule(&[("src", "wan")]), one("rule", "wan", "router"));
    assert_eq!(rule(&[("src", "*"), ("proto", "all")]), one("rule", "wan", "router"));
    assert_eq!(rule(&[("src", "wan"), ("dest", "lan")]), one("rule", "wan", "lan"));
    let narrowed = [
        ("dest_port", "51820"),
        ("src_ip", "192.0.2.1"),
        ("proto", "icmp"),
        ("target", "DROP"),
        ("enabled", "0"),
        ("ipset", "friends"),
    ];
    for narrow in narrowed {
        assert_eq!(rule(&[("src", "wan"), narrow]), [], "{narrow:?}");
    }
    assert_eq!(rule(&[("src", "lan")]), []);
    assert_eq!(rule(&[]), [], "without a zone it is for packets that the router sends");
}

#[test]
fn a_masquerading_zone_leads_to_the_internet_unless_through_another_zone() {
    let zone = |name: &str| {
        format!("config zone\n option name '{name}'\n option masq '1'\n option input 'ACCEPT'\n")
    };
    let forwarding = |src: &str, dest: &str| {
        format!("config forwarding\n option src {src}\n option dest {dest}\n")
    };
    assert_eq!(exposed(&zone("lte")), one("zone", "lte", "router"));
    let vpn = format!("{}{}", zone("vpn"), forwarding("vpn", "wan"));
    assert_eq!(exposed(&vpn), [], "a VPN's server");
    let opened = format!("{vpn}{}", forwarding("wan", "vpn"));
    assert_eq!(exposed(&opened), one("forwarding", "wan", "vpn"));
    let both = format!("{}{}{}", zone("a"), zone("b"), forwarding("a", "b"));
    assert_eq!(exposed(&both), one("zone", "b", "router"));
    let each_other = format!("{both}{}", forwarding("b", "a"));
    assert_eq!(exposed(&each_other).len(), 2, "either may be the outer one");
}

fn section(kind: &str, options: &[(&str, &str)]) -> Vec<(&'static str, String, String)> {
    let option = |(name, value): &(&str, &str)| format!(" option {name} '{value}'\n");
    let options: String = options.iter().map(option).collect();
    exposed(&format!("config {kind}\n{options}"))
}

#[test]
fn an_option_narrows_a_rule_only_if_it_excludes_packets() {
    let rule = |more: &[(&str, &str)]| {
        let all = [&[("src", "wan"), ("target", "ACCEPT"), ("proto", "tcp udp")], more].concat();
        section("rule", &all)
    };
    let zone = |more: &[(&str, &str)]| rule(&[&[("dest", "lan")], more].concat());
    for option in [
        ("dest_port", "1-65535"),
        ("dest_port", "1:32767 32768:65535"),
        ("dest_port", "!22"),
        ("dest_port", "1024-65535"),
        ("dest_port", "1-32767"),
        ("dest_port", "0-1023"),
        ("dest_port", "1:300 400:900"),
        ("src_port", "1-65535"),
        ("src_port", "53"),
        ("src_ip", "0.0.0.0/0"),
        ("src_ip", "0.0.0.0/1 128.0.0.0/1"),
        ("src_ip", "0.0.0.0/0.0.0.0"),
        ("src_ip", "0.0.0.0-255.255.255.255"),
        ("src_ip", "192.0.2.1 ::/0"),
        ("src_ip", "2000::/3"),
        ("src_ip", "::1/::ffff:ffff:ffff:ffff"),
        ("src_ip", "!192.0.2.1"),
        ("src_mac", "02:00:5e:00:53:01"),
        ("ipset", "!blocked"),
        ("mark", "0x0"),
        ("mark", "!1"),
        ("mark", "0x100/0x3f00"),
        ("dscp", "CS0"),
        ("limit", "10/second"),
        ("weekdays", "Mon Tue Wed Thu Fri Sat Sun"),
        ("start_time", "00:00:00"),
        ("icmp_type", "echo-request"),
        ("helper", "!ftp"),
        ("extra", "-m nothing"),
        ("unknown", "1"),
        ("device", "pppoe-wan"),
        ("proto", "!icmp"),
    ] {
        assert_eq!(rule(&[option]), one("rule", "wan", "router"), "{option:?}");
        assert_eq!(zone(&[option]), one("rule", "wan", "lan"), "{option:?}");
    }
    for dest in ["0.0.0.0/0", "10.10.10.0/24", "10.10.10.1-10.10.10.254", "!10.10.10.9", "lan"] {
        assert_eq!(zone(&[("dest_ip", dest)]), one("rule", "wan", "lan"), "{dest}");
        assert_eq!(rule(&[("dest_ip", dest)]), one("rule", "wan", "router"), "{dest}");
    }
    for option in [
        ("dest_port", "51820"),
        ("src_ip", "198.51.100.0/24"),
        ("src_ip", "10.0.0.0/255.0.0.0"),
        ("src_ip", "fc00::/7"),
        ("helper", "ftp"),
        ("ipset", "friends"),
    ] {
        assert_eq!(rule(&[option]), [], "{option:?}");
        assert_eq!(zone(&[option]), [], "{option:?}");
    }
    assert_eq!(zone(&[("dest_ip", "10.10.10.9")]), []);
    assert_eq!(zone(&[("dest_ip", "::9/::ffff:ffff:ffff:ffff")]), []);
    assert_eq!(rule(&[("dest_ip", "224.0.0.0/4")]), []);
    assert_eq!(zone(&[("dest_port", "22 80 443")]), []);
    assert_eq!(zone(&[("dest_port", "16384-32767")]), [], "telephony");
}

#[test]
fn a_rule_for_a_port_of_a_service_opens_the_service() {
    let rule = |proto: &str, port: &str| {
        let options = [("src", "wan"), ("target", "acc"), ("proto", proto), ("dest_port", port)];
        section("rule", &options)
    };
    assert_eq!(rule("tcp", "22 80 443"), one("rule", "wan", "{22, 80, 443}"));
    assert_eq!(rule("6", "9000-9200"), one("rule", "wan", "{9100}"));
    assert_eq!(rule("udp", "53"), one("rule", "wan", "{53}"));
    assert_eq!(rule("all", "51820"), one("rule", "wan", "router"), "no port counts for all");
    assert_eq!(rule("udp", "546"), []);
}

#[test]
fn reads_ports_of_services_from_their_files() {
    let files = [
        ("dropbear", "config dropbear\n option Port 2222\nconfig dropbear\n option Port 2223\n"),
        (
            "uhttpd",
            "config uhttpd main\n list listen_http 0.0.0.0:8081\n list listen_http \
            '[::]:8444'\n option listen_https '4443 0.0.0.0:444'\n",
        ),
        ("nginx", "config server _lan\n list listen '9443 ssl default_server'\n"),
        ("ttyd", "config ttyd\n option port 7682\n"),
        ("dhcp", "config dnsmasq\n option port 5353\nconfig dhcp lan\n option port 5354\n"),
        ("snmpd", "config agent\n option agentaddress UDP:1161,UDP6:1161\n"),
        ("other", "config dropbear\n option Port 2224\n"),
    ];
    let read = |name: &str| {
        let (_, text) = files.iter().find(|(file, _)| *file == name)?;
        Some(uci::parse(text).unwrap())
    };
    let found = services(read);
    let own: Vec<u16> = found.difference(&services(|_| None)).copied().collect();
    assert_eq!(own, [444, 1161, 2222, 2223, 4443, 5353, 7682, 8081, 8444, 9443]);
    let router = Router::of(None, &found, &BTreeSet::new());
    let opens = |options: &str| -> Vec<Opening> {
        let file = format!("{DEFAULT_FIREWALL}config {options}\n option src wan\n");
        exposures(&parse_uci(&file).unwrap(), &router).into_iter().map(|of| of.opening).collect()
    };
    let ssh: Vec<Opening> = vec![Opening::Services(BTreeSet::from([2222]))];
    for opening in [
        "rule\n option target ACCEPT\n option proto tcp\n option dest_port 2222",
        "rule\n option target ACCEPT\n option proto 6\n option dest_port 2220-2222",
        "redirect\n option proto tcp\n option src_dport 2222",
        "redirect\n option proto tcp\n option src_dport 4000\n option dest_port 2222",
    ] {
        assert_eq!(opens(opening), ssh, "{opening}");
    }
    let no: Vec<Opening> = Vec::new();
    assert_eq!(opens("rule\n option target ACCEPT\n option dest_port 2224"), no);
}

#[test]
fn a_redirect_to_the_router_opens_the_router() {
    let redirect = |more: &[(&str, &str)]| {
        section("redirect", &[&[("src", "wan"), ("proto", "tcp")], more].concat())
    };
    let router = one("redirect", "wan", "router");
    let ssh = one("redirect", "wan", "{22}");
    for host in
        ["10.10.10.1", "10.10.10.1/32", "127.0.0.1", "::1", "lan", "", "10.10.10.0-10.10.10.4"]
    {
        assert_eq!(redirect(&[("src_dport", "1-65535"), ("dest_ip", host)]), router, "{host}");
        assert_eq!(redirect(&[("src_dport", "22"), ("dest_ip", host)]), ssh, "{host}");
        let other = [("src_dport", "8022"), ("dest_port", "22"), ("dest_ip", host)];
        assert_eq!(redirect(&other), ssh, "{host}");
        assert_eq!(redirect(&[("src_dport", "51820"), ("dest_ip", host)]), [], "{host}");
    }
    let host = ("dest_ip", "10.10.10.9");
    assert_eq!(redirect(&[host, ("src_dport", "22")]), []);
    assert_eq!(redirect(&[host, ("src_dport", "1-65535")]), one("redirect", "wan", "10.10.10.9"));
    assert_eq!(redirect(&[host, ("proto", "all")]), one("redirect", "wan", "10.10.10.9"));
    assert_eq!(redirect(&[host]), one("redirect", "wan", "10.10.10.9"));
    assert_eq!(redirect(&[host, ("src_ip", "192.0.2.1")]), []);
    assert_eq!(redirect(&[host, ("target", "SNAT")]), []);
    assert_eq!(redirect(&[("target", "drop")]), router, "fw4 takes it for DNAT");
    assert_eq!(section("redirect", &[("src", "lan"), ("src_dport", "22")]), []);
}

#[test]
fn a_set_of_senders_narrows_a_rule() {
    let rule = |set: &str| {
        exposed(&format!(
            "config ipset\n option name a\n{set}\nconfig rule\n option src wan\n \
             option ipset a\n option target ACCEPT\n"
        ))
    };
    assert_eq!(rule(" list match src_net\n list entry 192.0.2.0/24"), []);
    assert_eq!(rule(" list match src_net\n option loadfile /etc/friends"), []);
    for wide in [
        " list match src_net\n list entry 0.0.0.0/1\n list entry 128.0.0.0/1",
        " list match dest_port\n list entry 22",
        " option match dest_ip\n list entry 192.0.2.1",
    ] {
        assert_eq!(rule(wide), one("rule", "wan", "router"), "{wide}");
    }
}

mod packets;

mod generated {
    use proptest::prelude::*;

    use super::*;

    /// Generates names and values of options that exclude nobody.
    fn open() -> impl Strategy<Value = (String, String)> {
        let cut = 1u16..u16::MAX;
        let ports = prop_oneof![
            Just("1-65535".to_owned()),
            Just("0:65535".to_owned()),
            cut.prop_map(|cut| format!("1-{cut} {}-65535", cut + 1)),
            any::<u16>().prop_map(|port| format!("!{port}")),
        ];
        let senders = proptest::collection::vec(any::<bool>(), 1..7).prop_map(|way| {
            // The blocks come from repeated halving, so together they cover all addresses.
            let (mut base, mut blocks) = (0u32, Vec::new());
            for (depth, upper) in way.iter().enumerate() {
                let bit = 1u32 << (31 - depth);
                let (left, right) = (base, base | bit);
                let (out, deeper) = if *upper { (left, right) } else { (right, left) };
                blocks.push(format!("{}/{}", std::net::Ipv4Addr::from_bits(out), depth + 1));
                base = deeper;
            }
            blocks.push(format!("{}/{}", std::net::Ipv4Addr::from_bits(base), way.len()));
            blocks.join(" ")
        });
        prop_oneof![
            ports.prop_map(|value| ("dest_port".to_owned(), value)),
            senders.prop_map(|value| ("src_ip".to_owned(), value)),
            any::<u16>().prop_map(|port| ("src_port".to_owned(), port.to_string())),
            "[a-z]{1,8}_x".prop_map(|name| (name, "1".to_owned())),
            any::<std::net::Ipv4Addr>().prop_map(|ip| ("src_ip".to_owned(), format!("!{ip}"))),
        ]
    }

    proptest! {
        #[test]
        fn options_that_exclude_nobody_leave_a_rule_exposed(
            options in proptest::collection::vec(open(), 0..4), to_zone: bool,
        ) {
            let mut all = vec![("src", "wan"), ("target", "ACCEPT"), ("proto", "tcp")];
            if to_zone {
                all.push(("dest", "lan"));
            }
            all.extend(options.iter().map(|(name, value)| (name.as_str(), value.as_str())));
            let to = if to_zone { "lan" } else { "router" };
            prop_assert_eq!(section("rule", &all), one("rule", "wan", to));
        }

        #[test]
        fn a_port_range_is_exposed_only_if_it_includes_a_service(
            first in 1u16..30000, more in 0u16..9000, not in any::<u16>(),
        ) {
            let ports = format!("{first}-{} !{not}", first + more);
            let options = [("src", "wan"), ("target", "ACCEPT"), ("dest_port", ports.as_str())];
            let opened: Vec<u16> = (first..=first + more).filter(|port| *port != not).collect();
            let service = lab().services.iter().any(|port| opened.contains(port));
            // More than half of the first 1,024 ports count as all.
            let most = opened.iter().filter(|port| **port < 1024).count() > 512;
            prop_assert_eq!(!section("rule", &options).is_empty(), service || most);
        }
    }
}
