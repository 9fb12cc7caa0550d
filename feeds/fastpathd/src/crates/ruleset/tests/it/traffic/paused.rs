// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks that packets from and to paused hosts are dropped.

use ruleset::{Applied, Nft, Paused, Plan, Protection, Settings, apply, plan};

use super::{in_force, on_a_gateway};

fn pausing(macs: &[&str], addresses: &[&str]) -> Plan {
    let paused = Paused {
        macs: macs.iter().map(|&mac| mac.to_owned()).collect(),
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
    };
    let plan = plan(&[], &Settings::default(), &Protection::default());
    Plan { paused: Some(paused), ..plan }
}

#[test]
fn a_paused_host_neither_sends_nor_receives_forwarded_packets() {
    on_a_gateway(|network, nft| async move {
        let none = pausing(&[], &[]);
        assert_eq!(apply(&nft, &none, None, &[]).await, Ok(Applied::Replaced));
        let connections = [network.connection(true, 1000), network.connection6(true, 1000)];
        let [to_left, own] = [network.connection(false, 2000), network.asks_gateway(53)];
        for connection in connections.iter().chain([&to_left]) {
            assert!(connection.send(1) && connection.reply(1));
        }
        let left = pausing(&["02:00:00:00:01:02"], &[]);
        assert_eq!(apply(&nft, &left, Some(&none), &[]).await, Ok(Applied::Devices));
        for connection in &connections {
            assert!(!connection.send(1) && connection.reply(1), "only its MAC is known");
        }
        // 2001:db8::192.0.2.1 and ::192.0.2.1 have other texts in other programs.
        let addresses = ["10.1.0.2", "fd00:1::2", "::192.0.2.1", "2001:db8::c000:201"];
        let all = pausing(&["02:00:00:00:01:02"], &addresses);
        assert_eq!(apply(&nft, &all, Some(&left), &[]).await, Ok(Applied::Devices));
        for connection in connections.iter().chain([&to_left]) {
            assert!(!connection.send(1) && !connection.reply(1));
        }
        assert!(own.send(1) && own.reply(1), "the router itself answers");
        assert_eq!(apply(&nft, &all, None, &[]).await, Ok(Applied::Unchanged));
        // Another program removes an element.
        nft.run("delete element inet fastpath paused4 { 10.1.0.2 }\n").await.unwrap();
        assert_eq!(apply(&nft, &all, Some(&all), &[]).await, Ok(Applied::Devices));
        assert!(in_force(&nft).await.matches(&all) && !to_left.send(1));
        assert_eq!(apply(&nft, &none, Some(&all), &[]).await, Ok(Applied::Devices));
        for connection in connections.iter().chain([&to_left]) {
            assert!(connection.send(1) && connection.reply(1));
        }
    });
}

#[test]
fn nft_changes_512_hosts_with_64_addresses_in_one_script() {
    on_a_gateway(|_, nft| async move {
        let mut plan = pausing(&[], &[]);
        apply(&nft, &plan, None, &[]).await.unwrap();
        let paused = plan.paused.as_mut().unwrap();
        for host in 0..512_u32 {
            let [.., high, low] = host.to_be_bytes();
            paused.macs.insert(format!("06:00:00:00:{high:02x}:{low:02x}"));
            paused.addresses.insert([10, 9, high, low].into());
            let address = |at: u16| [0x2001, 0xdb8, 9, u16::from(high), u16::from(low), 0, 0, at];
            paused.addresses.extend((1..64).map(|at| std::net::IpAddr::from(address(at))));
        }
        assert_eq!(apply(&nft, &plan, None, &[]).await, Ok(Applied::Devices));
        assert_eq!(apply(&nft, &plan, None, &[]).await, Ok(Applied::Unchanged));
    });
}
