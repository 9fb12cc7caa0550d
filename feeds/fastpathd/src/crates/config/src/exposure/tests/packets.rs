// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests exposures by zones of WAN interfaces, denials, address families and marks.

use super::*;

#[test]
fn a_zone_with_devices_or_addresses_of_a_wan_leads_to_the_internet() {
    let network = uci::parse(
        "config interface lan\n option proto static\n option ipaddr 10.10.10.1\n\
         config interface wan\n option proto dhcp\n option device eth1\n\
         config interface up\n option proto static\n option device @wan\n\
         config interface lte\n option proto qmi\n option device /dev/cdc-wdm0\n\
         config interface moved\n option proto dhcp\n\
         config interface vpn\n option proto wireguard\n list addresses 10.9.0.1/24\n",
    );
    let lines = BTreeSet::from(["moved".to_owned()]);
    let router = Router::of(Some(&network.unwrap()), &services(|_| None), &lines);
    let open = |zone: &str| {
        let file = format!(
            "{DEFAULT_FIREWALL}config zone a\n option name a\n option input ACCEPT\n{zone}"
        );
        let found = exposures(&parse_uci(&file).unwrap(), &router);
        found.into_iter().filter(|of| of.section == "a").count()
    };
    for outer in [
        " list network lan\n list network lte",
        " option network 'up'",
        " list network moved",
        " list device eth1",
        " list device pppoe-wan",
        " list device 'eth+'",
        " list device '+'",
        " list device '!br-lan'",
        " list network '!lan'",
        " list subnet 0.0.0.0/0",
        " list subnet '!10.10.10.0/24'",
    ] {
        assert_eq!(open(outer), 1, "{outer}");
    }
    for inner in [
        " list network lan",
        " list network vpn",
        " list device br-lan",
        " list device 'tun+'",
        " list subnet 10.10.20.0/24",
        " list network lan\n list subnet 0.0.0.0/0",
        " list network lan\n list device '!eth1'",
        "",
    ] {
        assert_eq!(open(inner), 0, "{inner}");
    }
    let to_vpn =
        "config redirect\n option src wan\n option src_dport 22\n option dest_ip 10.9.0.1\n";
    let found = exposures(&parse_uci(&format!("{DEFAULT_FIREWALL}{to_vpn}")).unwrap(), &router);
    assert_eq!(found.len(), 1, "it is the router's address");
    let hosts = "config zone w\n option name wan\n option forward ACCEPT\n list network lan\n";
    let found = exposures(&parse_uci(&format!("{DEFAULT_FIREWALL}{hosts}")).unwrap(), &router);
    assert_eq!(found[0].opening, Opening::Zone("wan".to_owned()), "{found:?}");
}

#[test]
fn a_wan_interface_without_a_zone_has_the_default_policies() {
    let network = uci::parse("config interface wan\nconfig interface wan6\n option disabled 1\n");
    let router = Router::of(Some(&network.unwrap()), &services(|_| None), &BTreeSet::new());
    let open = |policy: &str, zone: &str| {
        let file = format!("config defaults\n option {policy}\n{zone}");
        let found = exposures(&parse_uci(&file).unwrap(), &router);
        found.iter().map(|of| format!("{} {}", of.zone, of.opening.target())).collect::<Vec<_>>()
    };
    let zone = "config zone\n option name wan\n option network wan\n option input DROP\n";
    assert_eq!(open("input ACCEPT", ""), ["wan "]);
    assert_eq!(open("forward ACCEPT", ""), ["wan *"]);
    assert_eq!(open("input ACCEPT", zone), [""; 0]);
    assert_eq!(open("input ACCEPT", &format!("{zone} option enabled 0\n")), ["wan "]);
    assert_eq!(open("input REJECT", ""), [""; 0]);
}

#[test]
fn an_earlier_denial_closes_an_opening() {
    let open = |rules: &[&str]| {
        let rule = |rule: &&str| {
            let options = rule.split(' ').map(|option| {
                let (name, value) = option.split_once('=').unwrap();
                format!(" option {name} '{}'\n", value.replace('+', " "))
            });
            format!("config rule\n{}", options.collect::<String>())
        };
        let found = exposed(&rules.iter().map(rule).collect::<String>());
        found.into_iter().map(|(_, _, to)| to).collect::<Vec<_>>()
    };
    let ssh = "src=wan proto=tcp dest_port=22 target=ACCEPT";
    for closed in [
        "src=wan target=DROP",
        "src=* target=rej proto=all",
        "src=wan target=DROP proto=tcp dest_port=20-30",
        "src=wan target=DROP proto=tcp+icmp dest_port=22",
        "src=wan target=DROP proto=6 family=ipv4 name=a",
    ] {
        let six = if closed.contains("ipv4") { vec!["{22}"] } else { vec![] };
        assert_eq!(open(&[closed, ssh]), six, "{closed}");
        let behind: &[&str] = if closed.contains("src=*") { &[] } else { &["{22}"] };
        assert_eq!(open(&[ssh, closed]), behind, "{closed}");
    }
    for partial in [
        "src=lan target=DROP",
        "src=wan target=DROP dest=lan",
        "src=wan target=DROP proto=udp",
        "src=wan target=DROP dest_port=80",
        "src=wan target=DROP src_ip=192.0.2.0/24",
        "src=wan target=DROP src_ip=0.0.0.0/4+2000::/4",
        "src=wan target=DROP src_ip=!128.0.0.0/1+!2000::/4",
        "src=wan target=DROP src_port=1-1023",
        "src=wan target=DROP limit=1/second",
        "src=wan target=DROP start_time=08:00:00",
        "src=wan target=DROP mark=1",
        "src=wan target=DROP dest_ip=10.10.10.1",
        "src=wan target=DROP enabled=0",
        "src=wan target=DROP proto=!icmp",
        "src=wan target=MARK set_mark=1",
        "src=wan",
    ] {
        assert_eq!(open(&[partial, ssh]), ["{22}"], "{partial}");
    }
    let to_lan = "src=wan dest=lan proto=all target=ACCEPT";
    assert_eq!(open(&["src=wan dest=* proto=all target=DROP", to_lan]), [""; 0]);
    assert_eq!(open(&["src=wan dest=lan proto=tcp dest_port=22 target=DROP", to_lan]), ["lan"]);
    let all = "src=wan proto=all target=ACCEPT";
    assert_eq!(open(&["src=wan proto=tcp+udp dest_port=1-1023 target=DROP", all]), ["router"]);
    assert_eq!(open(&["src=wan proto=tcp+udp target=DROP", all]), ["router"], "GRE and others");
}

#[test]
fn senders_narrow_each_address_family_separately() {
    let families = |options: &str| {
        let file = format!("config rule\n option src wan\n option target ACCEPT\n{options}");
        let of = |exposure: &Exposure| {
            let on = |ipv4| exposure.packets.iter().any(|packet| packet.is_ipv4 == ipv4);
            (on(true), on(false))
        };
        with(&file).iter().map(of).collect::<Vec<_>>()
    };
    for (options, expected) in [
        ("", Some((true, true))),
        (" option family ipv4", Some((true, false))),
        (" option family inet6", Some((false, true))),
        (" option family any", Some((true, true))),
        (" list src_ip 192.0.2.1\n list src_ip ::/0", Some((false, true))),
        (" list src_ip 192.0.2.1\n list src_ip !2001:db8::1", Some((false, true))),
        (" list src_ip !192.0.2.1", Some((true, false))),
        (" list src_ip 192.0.2.1\n list src_ip vpn", None),
        (" option src_ip vpn", Some((true, true))),
        (" list dest_ip 0.0.0.0/0", Some((true, false))),
        (" option src_ip 192.0.2.1\n option family ipv4", None),
    ] {
        assert_eq!(families(options), expected.into_iter().collect::<Vec<_>>(), "{options}");
    }
}

// mwan3 and pbr mark packets from the Internet.
#[test]
fn a_mark_does_not_narrow_a_rule() {
    for mark in ["0X0", "0x00/0xff", "00", "0", "!0x10", "0x10", "0x100/0x3f00"] {
        let rule = "config rule\n option src wan\n option target ACCEPT\n option mark";
        let rule = format!("{rule} '{mark}'\n");
        assert_eq!(exposed(&rule), one("rule", "wan", "router"), "{mark}");
    }
}
