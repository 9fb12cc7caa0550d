// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks that the router's own DNS is inspected.

use model::Action;
use ruleset::{Applied, InspectionRules, Nft};

use super::{closed, counted, inspection, on_a_gateway, policy, put};

#[test]
fn dns_passes_the_gate_in_both_hooks_and_directions() {
    on_a_gateway(|network, nft| async move {
        put(&nft, &inspection()).await;
        let (host, server) = (network.asks_gateway(53), network.gateway_asks(53));
        for connection in [&host, &server] {
            assert!(connection.send(100) && connection.reply(100));
        }
        assert_eq!(counted(&nft, "uninspected").await, 4);
        let other = network.asks_gateway(54);
        assert!(other.send(100) && other.reply(100));
        assert_eq!(counted(&nft, "uninspected").await, 4, "not DNS");
        let drop = "flush chain inet fastpath ips_names\nadd rule inet fastpath ips_names drop\n";
        nft.run(drop).await.unwrap();
        assert!(!host.send(100) && !server.reply(100));
        assert!(other.send(100));
        assert_eq!(put(&nft, &inspection()).await, Applied::Gate, "the drop rule is foreign");
        assert!(host.send(100) && server.reply(100));
    });
}

/// The router needs DNS to download the rules that Suricata needs.
#[test]
fn dns_passes_a_closed_gate() {
    on_a_gateway(|network, nft| async move {
        put(&nft, &closed()).await;
        for connection in [network.asks_gateway(53), network.gateway_asks(53)] {
            assert!(connection.send(100) && connection.reply(100));
        }
        assert_eq!(counted(&nft, "uninspected").await, 4);
        assert_eq!(counted(&nft, "refused").await, 0);
    });
}

#[test]
fn policies_and_exemptions_apply_to_dns() {
    on_a_gateway(|network, nft| async move {
        let (host, server) = (network.asks_gateway(53), network.gateway_asks(53));
        let one = |from, to, action| vec![policy(from, to, action)];
        for (policies, packets) in [
            (one(Some("lan0"), None, Action::None), 2),
            (one(None, Some("wan0"), Action::None), 2),
            (one(Some("lan0"), Some("wan0"), Action::None), 4),
            (one(None, None, Action::None), 0),
        ] {
            put(&nft, &InspectionRules { policies: policies.clone(), ..inspection() }).await;
            for connection in [&host, &server] {
                assert!(connection.send(100) && connection.reply(100));
            }
            assert_eq!(counted(&nft, "uninspected").await, packets, "{policies:?}");
        }
        let exempt = vec!["10.1.0.2/32".parse().unwrap(), "10.2.0.2/32".parse().unwrap()];
        put(&nft, &InspectionRules { exempt, ..inspection() }).await;
        assert!(host.send(100) && host.reply(100) && server.send(100) && server.reply(100));
        assert_eq!(counted(&nft, "uninspected").await, 0);
    });
}
