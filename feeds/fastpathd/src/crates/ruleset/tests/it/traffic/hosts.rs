// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks limits and inspection of single hosts.

use model::Action;
use ruleset::{Applied, HostRules, InspectionRules, Nft, Plan, Protection, Settings, apply, plan};

use super::network::Connection;
use super::{counted, in_force, inspection, on_a_gateway, plan_for, refill};

const LEFT: &str = "02:00:00:00:01:02";

fn left(limits: [u32; 2], inspect: Option<Action>, addresses: &[&str]) -> HostRules {
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    HostRules { mac: LEFT.to_owned(), addresses, limits, inspect }
}

fn limiting(hosts: Vec<HostRules>) -> Plan {
    Plan { hosts, ..plan(&[], &Settings::default(), &Protection::default()) }
}

/// Sends packets of 1,000 bytes until one is dropped; returns how many passed.
fn passed(send: impl Fn() -> bool) -> usize {
    (0..200).take_while(|_| send()).count()
}

#[test]
fn all_addresses_of_a_host_share_the_bucket_of_each_direction() {
    on_a_gateway(|network, nft| async move {
        let v4 = network.connection(true, 1000);
        let v6 = network.connection6(true, 1000);
        let to_left = network.connection(false, 2000);
        let own = network.asks_gateway(53);
        // 8 kbit/s: the bucket of 64 KiB refills with 1,000 bytes a second.
        let known = limiting(vec![left([8, 8], None, &["10.1.0.2", "fd00:1::2"])]);
        assert_eq!(apply(&nft, &known, None, &[]).await, Ok(Applied::Replaced));
        for _ in 0..20 {
            assert!(v4.send(1000) && v6.send(1000));
        }
        let more = passed(|| v4.send(1000));
        assert!((22..=26).contains(&more), "{more} more passed from the host");
        let other = passed(|| v6.send(1000));
        assert!(other < 5, "{other} passed from its other address: not the same bucket");
        let down = passed(|| v6.reply(1000));
        assert!((61..=66).contains(&down), "{down} passed to the host");
        assert!(passed(|| v4.reply(1000)) + passed(|| to_left.send(1000)) < 5);
        assert!(own.send(1000) && own.reply(1000), "the router itself");
        assert_eq!(apply(&nft, &known, None, &[]).await, Ok(Applied::Unchanged));

        // Only its MAC is known, and only packets from it are limited.
        let up = limiting(vec![left([8, 8], None, &[])]);
        assert_eq!(apply(&nft, &up, Some(&known), &[]).await, Ok(Applied::Devices));
        assert_eq!(passed(|| v4.reply(1000)), 200);
        let more = passed(|| v4.send(1000));
        assert!(more < 40, "{more} passed: the bucket was filled");
        nft.run("add element inet fastpath limit_down4 { 10.1.0.2 : \"down_020000000102\" }\n")
            .await
            .unwrap();
        assert_eq!(apply(&nft, &up, Some(&up), &[]).await, Ok(Applied::Devices));
        assert!(in_force(&nft).await.matches(&up) && v4.reply(1000));

        let other = limiting(vec![left([8, 9], None, &[])]);
        assert_eq!(apply(&nft, &other, Some(&up), &[]).await, Ok(Applied::Replaced));
        let removed = apply(&nft, &limiting(vec![]), Some(&other), &[]).await;
        assert_eq!(removed, Ok(Applied::Removed), "no rule is needed");
        assert_eq!(passed(|| v4.send(1000)), 200);
    });
}

#[test]
fn a_host_is_inspected_always_or_never_whatever_the_policy() {
    on_a_gateway(|network, nft| async move {
        let connections: Vec<Connection> = vec![
            network.connection(true, 1000),
            network.connection6(true, 1001),
            network.connection(false, 1002),
        ];
        let all = ["10.1.0.2", "fd00:1::2"];
        for (inspect, default, mark, at_gate) in [
            (None, Action::Inspect, false, 2),
            (Some(Action::None), Action::Always, false, 0),
            (Some(Action::Always), Action::None, false, 2),
            (Some(Action::Always), Action::Inspect, true, 2),
            (None, Action::Inspect, true, 0),
        ] {
            let rules = InspectionRules { default, ..inspection() };
            let mut plan = plan_for(&rules);
            plan.hosts = vec![left([0, 0], inspect, &all)];
            apply(&nft, &plan, None, &[]).await.unwrap();
            if mark {
                // Set the bypass mark, like Suricata's verdict.
                let bypass = rules.marks.bypass();
                refill(&nft, &format!("meta mark set meta mark | {bypass:#x}")).await;
                assert!(connections.iter().all(|each| each.send(10)));
                apply(&nft, &plan, None, &[]).await.unwrap();
            }
            for connection in &connections {
                let before = counted(&nft, "uninspected").await;
                assert!(connection.send(10) && connection.reply(10));
                let seen = counted(&nft, "uninspected").await - before;
                assert_eq!(seen, at_gate, "{inspect:?} {default:?} {mark} {:?}", connection.ends());
            }
        }
    });
}

#[test]
fn nft_loads_512_limited_hosts_with_64_addresses() {
    on_a_gateway(|_, nft| async move {
        let host = |host: u32| {
            let [.., high, low] = host.to_be_bytes();
            let address = |at: u16| [0x2001, 0xdb8, 9, u16::from(high), u16::from(low), 0, 0, at];
            let mut addresses: std::collections::BTreeSet<_> =
                (1..64).map(|at| std::net::IpAddr::from(address(at))).collect();
            addresses.insert([10, 9, high, low].into());
            let mac = format!("06:00:00:00:{high:02x}:{low:02x}");
            HostRules { mac, addresses, limits: [5000, 1000], inspect: None }
        };
        let plan = limiting((0..512).map(host).collect());
        let began = std::time::Instant::now();
        assert_eq!(apply(&nft, &plan, None, &[]).await, Ok(Applied::Replaced));
        eprintln!("loaded and read back in {:?}", began.elapsed());
        assert_eq!(apply(&nft, &plan, None, &[]).await, Ok(Applied::Unchanged));
    });
}
