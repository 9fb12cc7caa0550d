// SPDX-License-Identifier: GPL-2.0-or-later
//! Effect of the rules on packets in the real kernel.
//!
//! The tests need root and iproute2; [`offload`] also needs flowtables. Otherwise they are skipped
//! with a message. Rules in the gate replace Suricata's verdict. Kernels with NFQUEUE (the lab's
//! gateway) also test queues without a listener.

mod blocks;
mod hosts;
mod mirror;
mod names;
mod network;
mod offload;
mod passed;
mod paused;

use std::future::Future;
use std::process::Command;
use std::thread;

use model::{Action, DevicePolicy, Gate, Spread};
use network::Network;
use ruleset::{
    Applied, InForce, InspectionRules, Marks, Nft, NftCommand, Plan, Protection, Queues, Settings,
    apply, plan, read_back,
};

/// Runs the test on a thread in the gateway's network namespace.
fn on_a_gateway<F: Future<Output = ()>>(
    test: impl FnOnce(Network, NftCommand) -> F + Send + 'static,
) {
    let ran = thread::spawn(move || {
        let Some(network) = Network::new() else { return };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(test(network, NftCommand::default()));
    });
    ran.join().unwrap();
}

fn inspection() -> InspectionRules {
    InspectionRules {
        marks: Marks::within(0x6000_0000).unwrap(),
        fail_open: true,
        default: Action::Inspect,
        policies: Vec::new(),
        exempt: Vec::new(),
        budget_bytes: 10_000,
        budget_packets: 0,
        queues: Queues { first: 0, count: 2, spread: Spread::Hash },
        gate: Gate::Open,
    }
}

fn closed() -> InspectionRules {
    InspectionRules { gate: Gate::Closed, ..inspection() }
}

/// Returns a plan without a flowtable; two sources of each family may be blocked.
fn plan_for(inspection: &InspectionRules) -> Plan {
    let protection = Protection { inspection: Some(inspection.clone()), blocks: Some(2) };
    plan(&[], &Settings::default(), &protection)
}

fn policy(from: Option<&str>, to: Option<&str>, action: Action) -> DevicePolicy {
    let devices = |name: Option<&str>| name.map(|name| [name.to_owned()].into());
    DevicePolicy { name: String::new(), action, from: devices(from), to: devices(to) }
}

async fn put(nft: &NftCommand, inspection: &InspectionRules) -> Applied {
    apply(nft, &plan_for(inspection), None, &[]).await.unwrap()
}

async fn in_force(nft: &NftCommand) -> InForce {
    read_back(nft).await.unwrap().unwrap()
}

async fn counted(nft: &NftCommand, name: &str) -> u64 {
    in_force(nft).await.counters[name].packets
}

/// Replaces the gate's rule; an empty gate accepts packets like Suricata.
async fn refill(nft: &NftCommand, rule: &str) {
    let add = if rule.is_empty() { "" } else { "add rule inet fastpath ips_queue " };
    nft.run(&format!("flush chain inet fastpath ips_queue\n{add}{rule}\n")).await.unwrap();
}

#[test]
fn an_open_gate_accepts_and_a_closed_gate_drops() {
    on_a_gateway(|network, nft| async move {
        assert_eq!(put(&nft, &inspection()).await, Applied::Replaced);
        let [v4, v6] = [network.connection(true, 1000), network.connection6(true, 1000)];
        for connection in [&v4, &v6] {
            assert!(connection.send(100) && connection.reply(100));
        }
        assert_eq!(counted(&nft, "uninspected").await, 4);
        assert_eq!(in_force(&nft).await.counters["uninspected"].bytes, 4 * 100 + 2 * 28 + 2 * 48);

        assert_eq!(put(&nft, &closed()).await, Applied::Gate);
        assert!(!v4.send(100) && !v6.reply(100));
        assert_eq!(counted(&nft, "refused").await, 2);
        assert_eq!(counted(&nft, "uninspected").await, 4, "counters are kept");
        assert_eq!(put(&nft, &inspection()).await, Applied::Gate);
        assert!(v4.send(100) && v6.reply(100));
        assert_eq!(put(&nft, &inspection()).await, Applied::Unchanged);
    });
}

#[test]
fn restores_a_gate_that_another_program_changed() {
    on_a_gateway(|_, nft| async move {
        put(&nft, &closed()).await;
        refill(&nft, "accept").await;
        assert_eq!(put(&nft, &closed()).await, Applied::Gate);
        refill(&nft, "").await;
        assert!(!in_force(&nft).await.matches(&plan_for(&closed())));
        assert_eq!(put(&nft, &closed()).await, Applied::Gate);
    });
}

#[test]
fn uninspected_packets_spend_no_budget() {
    on_a_gateway(|network, nft| async move {
        put(&nft, &inspection()).await;
        let connection = network.connection(true, 1000);
        assert!((0..20).all(|_| connection.send(1000)));
        assert_eq!(counted(&nft, "spent").await, 0);
        put(&nft, &closed()).await;
        assert!(!connection.send(1000));
    });
}

#[test]
fn a_spent_budget_ends_inspection_in_both_directions() {
    on_a_gateway(|network, nft| async move {
        put(&nft, &inspection()).await;
        refill(&nft, "").await;
        let up = network.connection(true, 1000);
        let down = network.connection6(true, 2000);
        let little = network.connection(true, 3000);
        assert!(down.send(1) && little.send(1));
        // With headers, the tenth packet reaches the 10,000 bytes.
        for packet in 1..=10 {
            assert!(up.send(980) && down.reply(980));
            let spent = if packet < 10 { 0 } else { 2 };
            assert_eq!(counted(&nft, "spent").await, spent, "packet {packet}");
        }
        put(&nft, &closed()).await;
        assert!(up.send(10) && up.reply(10) && down.send(10) && down.reply(10));
        assert!(!little.send(10) && !little.reply(10));
        assert_eq!(counted(&nft, "spent").await, 2, "once per connection");
    });
}

#[test]
fn a_packet_budget_ends_inspection() {
    on_a_gateway(|network, nft| async move {
        let three = InspectionRules { budget_bytes: 0, budget_packets: 3, ..inspection() };
        put(&nft, &three).await;
        refill(&nft, "").await;
        let connection = network.connection(true, 1000);
        assert!(connection.send(1400) && connection.reply(1400));
        assert_eq!(counted(&nft, "spent").await, 0);
        assert!(connection.send(1));
        assert_eq!(counted(&nft, "spent").await, 1);
    });
}

#[test]
fn dropped_packets_spend_no_budget() {
    on_a_gateway(|network, nft| async move {
        put(&nft, &closed()).await;
        let connection = network.connection(true, 1000);
        assert!((0..8).all(|_| !connection.send(1400)));
        refill(&nft, "").await;
        assert_eq!(counted(&nft, "spent").await, 0);
        put(&nft, &closed()).await;
        assert!(!connection.send(1));
    });
}

#[test]
fn suricatas_bypass_mark_ends_inspection() {
    on_a_gateway(|network, nft| async move {
        put(&nft, &inspection()).await;
        let connection = network.connection(true, 1000);
        refill(&nft, "").await;
        assert!(connection.send(1));
        // Set the mark on one packet, like Suricata's verdict.
        refill(&nft, "meta mark set meta mark | 0x40000000").await;
        assert!(connection.reply(1));
        put(&nft, &closed()).await;
        assert!(connection.send(1) && connection.reply(1));
        assert_eq!(counted(&nft, "bypassed").await, 1);
        assert_eq!(counted(&nft, "spent").await, 0);

        // The action "always" ignores the bypass mark.
        let always = InspectionRules { default: Action::Always, ..closed() };
        assert_eq!(put(&nft, &always).await, Applied::Replaced);
        assert!(!connection.send(1) && !connection.reply(1));
    });
}

#[test]
fn a_policy_matches_the_initiator() {
    on_a_gateway(|network, nft| async move {
        let policies = vec![policy(Some("wan0"), Some("lan0"), Action::None)];
        put(&nft, &InspectionRules { policies, ..closed() }).await;
        let outward = network.connection(true, 1000);
        assert!(!outward.send(1));
        let inward = network.connection(false, 2000);
        assert!(inward.send(1) && inward.reply(1) && inward.send(1));
        let inward6 = network.connection6(false, 2000);
        assert!(inward6.send(1) && inward6.reply(1));
    });
}

#[test]
fn the_first_matching_policy_applies() {
    on_a_gateway(|network, nft| async move {
        let policies = vec![
            policy(Some("elsewhere"), None, Action::Always),
            policy(Some("lan0"), None, Action::None),
            policy(None, None, Action::Always),
        ];
        put(&nft, &InspectionRules { policies, default: Action::None, ..closed() }).await;
        let [outward, inward] = [network.connection(true, 1000), network.connection(false, 2000)];
        assert!(outward.send(1) && outward.reply(1));
        assert!(!inward.send(1));
    });
}

#[test]
fn an_exempt_host_is_never_inspected() {
    on_a_gateway(|network, nft| async move {
        let exempt = ["10.2.0.2", "fd00:1::/64"].map(|text| text.parse().unwrap()).into();
        let always = InspectionRules { exempt, default: Action::Always, ..closed() };
        put(&nft, &always).await;
        for connection in [network.connection(true, 1000), network.connection6(false, 1000)] {
            assert!(connection.send(1) && connection.reply(1));
        }
        let exempt = vec!["10.2.0.3".parse().unwrap()];
        put(&nft, &InspectionRules { exempt, ..always }).await;
        assert!(!network.connection(true, 2000).send(1));
    });
}

#[test]
fn untracked_packets_are_inspected() {
    on_a_gateway(|network, nft| async move {
        nft.run(
            "table inet t {\nchain c {\ntype filter hook prerouting priority raw\n\
             udp dport 1000 notrack\n}\n}\n",
        )
        .await
        .unwrap();
        let policies = vec![policy(Some("wan0"), None, Action::None)];
        put(&nft, &InspectionRules { policies, ..closed() }).await;
        let connection = network.connection(true, 1000);
        assert!(!connection.send(1));
        assert!(connection.reply(1), "conntrack does not identify it as a reply");
    });
}

#[test]
fn an_expected_connection_does_not_inherit_the_spent_budget() {
    on_a_gateway(|network, nft| async move {
        put(&nft, &InspectionRules { budget_bytes: 1, ..inspection() }).await;
        refill(&nft, "").await;
        nft.run(
            "table ip t {\nct expectation e {\nprotocol udp\ndport 2000\ntimeout 1m\nsize 8\n\
             l3proto ip\n}\nchain c {\ntype filter hook forward priority filter\n\
             udp dport 1000 ct expectation set \"e\"\n}\n}\n",
        )
        .await
        .unwrap();
        let master = network.connection(true, 1000);
        assert!(master.send(10) && master.reply(10) && master.send(10));
        assert_eq!(counted(&nft, "spent").await, 1);
        put(&nft, &closed()).await;
        assert!(master.send(10));
        assert!(!network.connection(false, 2000).send(10));
    });
}

#[test]
fn clears_our_mark_bits_and_keeps_others() {
    on_a_gateway(|network, nft| async move {
        nft.run(
            "table inet t {\ncounter good {\n}\ncounter bad {\n}\n\
             chain before {\ntype filter hook prerouting priority mangle\n\
             meta mark set 0x40000007\n}\n\
             chain after {\ntype filter hook postrouting priority mangle\n\
             meta mark 0x00000007 counter name good\n\
             meta mark & 0x78000000 != 0 counter name bad\n}\n}\n",
        )
        .await
        .unwrap();
        let connection = network.connection(true, 1000);
        let free = InspectionRules { default: Action::None, ..inspection() };
        for inspection in [inspection(), free] {
            put(&nft, &inspection).await;
            assert!(connection.send(1) && connection.reply(1));
        }
        put(&nft, &inspection()).await;
        refill(&nft, "").await;
        assert!(connection.send(1));
        assert_eq!(counted(&nft, "bypassed").await, 0, "other programs' bits are ignored");
        refill(&nft, "meta mark set meta mark | 0x40000000").await;
        assert!(connection.send(1) && connection.reply(1));
        let list = ["list", "table", "inet", "t"];
        let listing = Command::new("nft").args(list).output().unwrap();
        let listing = String::from_utf8(listing.stdout).unwrap();
        assert!(listing.contains("packets 7 bytes"), "{listing}");
        assert!(listing.contains("packets 0 bytes"), "{listing}");
    });
}

#[test]
fn a_queue_without_listener_fails_open_or_closed() {
    on_a_gateway(|network, nft| async move {
        let open = InspectionRules { gate: Gate::Queue, ..inspection() };
        let applied = apply(&nft, &plan_for(&open), None, &[]).await;
        if let Err(error) = applied {
            let text = error.to_string();
            assert!(text.starts_with("the kernel cannot queue packets"), "{text}");
            assert_eq!(read_back(&nft).await, Ok(None));
            eprintln!("skipped but for that: {text}");
            return;
        }
        let connection = network.connection(true, 1000);
        assert!(connection.send(1) && connection.reply(1));
        assert_eq!(counted(&nft, "inspected").await, 2);
        let fanout = Queues { first: 3, count: 2, spread: Spread::Fanout };
        assert_eq!(
            put(&nft, &InspectionRules { queues: fanout, ..open.clone() }).await,
            Applied::Gate
        );
        assert!(connection.send(1));
        let fail_closed = InspectionRules { fail_open: false, ..open };
        assert_eq!(put(&nft, &fail_closed).await, Applied::Gate);
        assert!(!connection.send(1));
    });
}
