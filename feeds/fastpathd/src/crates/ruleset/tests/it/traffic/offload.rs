// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks which flows are offloaded, and after which packet. Needs flowtables (the lab's gateway).

use std::collections::BTreeSet;
use std::process::Command;

use model::Action;
use ruleset::{
    Applied, Candidate, HostRules, InspectionRules, Nft, Protection, Settings, apply, plan,
};

use super::{closed, inspection, network, on_a_gateway, refill};

const SEEN: &str = "table inet t {\ncounter seen {\n}\nchain c {\n\
    type filter hook forward priority filter\ncounter name seen\n}\n}\n";

/// Returns the number of packets that reached the forward hook.
fn seen() -> u64 {
    let list = ["list", "counter", "inet", "t", "seen"];
    let listing = String::from_utf8(Command::new("nft").args(list).output().unwrap().stdout);
    let listing = listing.unwrap();
    let packets = listing.split_once("packets ").unwrap().1.split(' ').next();
    packets.unwrap().parse().unwrap()
}

/// Sends five packets in each direction; returns how many reach the forward hook.
fn seen_of_ten(connection: &network::Connection) -> u64 {
    let before = seen();
    assert!((0..5).all(|_| connection.send(100) && connection.reply(100)));
    seen() - before
}

fn candidate(device: &str) -> Candidate {
    Candidate { device: device.to_owned(), eligible: true, why: config::Cause::default() }
}

#[test]
fn offloads_only_connections_that_need_no_inspection() {
    on_a_gateway(|network, nft| async move {
        nft.run(SEEN).await.unwrap();
        let devices = [candidate("lan0"), candidate("wan0")];
        let excluded = config::parse_uci("config exclude\noption dest_port 3000\n").unwrap();
        let (settings, _) = Settings::from_uci(&excluded).unwrap();
        let put = async |inspection: InspectionRules| {
            let protection = Protection { inspection: Some(inspection), blocks: None };
            apply(&nft, &plan(&devices, &settings, &protection), None, &[]).await.unwrap()
        };
        if let Applied::WithoutFlowtable { why } = put(inspection()).await {
            eprintln!("skipped: flowtables are needed: {why}");
            return;
        }
        let connection = network.connection(true, 1000);
        assert_eq!(seen_of_ten(&connection), 10, "uninspected packets stay on the slow path");
        refill(&nft, "").await;
        assert_eq!(seen_of_ten(&connection), 10, "inspection continues");
        let excluded = network.connection(true, 3000);
        for connection in [&connection, &excluded] {
            assert!((0..12).all(|_| connection.send(1000)), "the budget is spent");
        }
        assert_eq!(seen_of_ten(&connection), 0);
        assert_eq!(seen_of_ten(&excluded), 10);

        // After a new table, one packet in each direction adds an active flow again.
        let always = InspectionRules { default: Action::Always, ..inspection() };
        assert_eq!(put(always).await, Applied::Replaced);
        refill(&nft, "").await;
        assert_eq!(seen_of_ten(&connection), 10, "action always");
        let free = InspectionRules { default: Action::None, ..closed() };
        assert_eq!(put(free).await, Applied::Replaced);
        assert_eq!(seen_of_ten(&connection), 2);
        let another = network.connection6(false, 2000);
        assert!(seen_of_ten(&another) < 4, "the third packet establishes the flow");
    });
}

#[test]
fn the_record_of_a_reply_lasts_until_inspection_ends() {
    on_a_gateway(|network, nft| async move {
        nft.run(SEEN).await.unwrap();
        let devices = [candidate("lan0"), candidate("wan0")];
        let protection = Protection { inspection: Some(inspection()), blocks: None };
        let plan = plan(&devices, &Settings::default(), &protection);
        if let Applied::WithoutFlowtable { why } = apply(&nft, &plan, None, &[]).await.unwrap() {
            eprintln!("skipped: flowtables are needed: {why}");
            return;
        }
        refill(&nft, "").await;
        let connection = network.connection(true, 1000);
        assert!(connection.send(100) && connection.reply(100));
        // Exceed the timeout of the records, but not the budget.
        for _ in 0..6 {
            std::thread::sleep(std::time::Duration::from_millis(500));
            assert!(connection.send(100));
        }
        assert!((0..12).all(|_| connection.send(1000)), "the budget is spent");
        let before = seen();
        assert!((0..5).all(|_| connection.send(100)));
        assert_eq!(seen() - before, 0);
    });
}

#[test]
fn first_packets_stay_on_the_slow_path() {
    on_a_gateway(|network, nft| async move {
        nft.run(SEEN).await.unwrap();
        let text = "config fastpath main\noption slow_packets 8\n\
            config exclude\noption dest_port 3000\noption slow_packets 21\n";
        let (settings, _) = Settings::from_uci(&config::parse_uci(text).unwrap()).unwrap();
        let devices = [candidate("lan0"), candidate("wan0")];
        // With blocks, a kernel without flowtables reports why it lacks them.
        let protection = Protection { inspection: None, blocks: Some(2) };
        let plan = plan(&devices, &settings, &protection);
        if let Applied::WithoutFlowtable { why } = apply(&nft, &plan, None, &[]).await.unwrap() {
            eprintln!("skipped: flowtables are needed: {why}");
            return;
        }
        for (port, packets) in [(1000, 8), (3000, 21)] {
            let (connection, before) = (network.connection(true, port), seen());
            assert!((0..25).all(|_| connection.send(100) && connection.reply(100)));
            assert_eq!(seen() - before, packets, "port {port}");
        }
    });
}

#[test]
fn flows_of_a_limited_host_stay_on_the_slow_path() {
    on_a_gateway(|network, nft| async move {
        nft.run(SEEN).await.unwrap();
        let devices = [candidate("lan0"), candidate("wan0")];
        let host = |inspect, limit| HostRules {
            mac: "02:00:00:00:01:02".to_owned(),
            addresses: BTreeSet::new(),
            limits: [limit, 0],
            inspect,
        };
        let free = InspectionRules { default: Action::None, ..closed() };
        let mut port = 1000;
        for inspection in [None, Some(free)] {
            let protection = Protection { inspection, blocks: Some(2) };
            let mut plan = plan(&devices, &Settings::default(), &protection);
            for (hosts, slow) in [(vec![], false), (vec![host(None, 10_000_000)], true)] {
                plan.hosts = hosts;
                let applied = apply(&nft, &plan, None, &[]).await.unwrap();
                if let Applied::WithoutFlowtable { why } = applied {
                    eprintln!("skipped: flowtables are needed: {why}");
                    return;
                }
                // From its side and from the other one.
                for from_left in [true, false] {
                    port += 1;
                    for connection in
                        [network.connection(from_left, port), network.connection6(from_left, port)]
                    {
                        let seen = seen_of_ten(&connection);
                        assert_eq!(seen == 10, slow, "{seen} of 10, {plan:?}");
                    }
                }
            }
        }
    });
}

/// An address of the host that is not known yet: the replies to it are inspected by policy.
#[test]
fn flows_of_a_host_that_is_always_inspected_stay_on_the_slow_path() {
    on_a_gateway(|network, nft| async move {
        nft.run(SEEN).await.unwrap();
        let devices = [candidate("lan0"), candidate("wan0")];
        let protection = Protection { inspection: Some(inspection()), blocks: None };
        let mut plan = plan(&devices, &Settings::default(), &protection);
        for (inspect, seen) in [(None, 0), (Some(Action::Always), 10)] {
            plan.hosts = vec![HostRules {
                mac: "02:00:00:00:01:02".to_owned(),
                addresses: BTreeSet::new(),
                limits: [0; 2],
                inspect,
            }];
            let applied = apply(&nft, &plan, None, &[]).await.unwrap();
            if let Applied::WithoutFlowtable { why } = applied {
                eprintln!("skipped: flowtables are needed: {why}");
                return;
            }
            refill(&nft, "").await;
            let connection = network.connection(true, 1000);
            assert!((0..12).all(|_| connection.send(1000) && connection.reply(1000)), "spent");
            assert_eq!(seen_of_ten(&connection), seen, "{inspect:?}");
        }
    });
}
