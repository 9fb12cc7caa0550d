// SPDX-License-Identifier: GPL-2.0-or-later
//! With engine `ebpf`, connection marks show which directions have passed all rules.

use std::process::Command;

use model::Engine;
use ruleset::{Applied, Nft, NftCommand, Protection, Settings, apply, plan};

use super::on_a_gateway;

/// Bits of both directions.
const PASSED: u32 = 0x3000_0000;

/// A firewall, and a chain behind all rules that counts packets by their connection's mark.
const RULES: &str = "table inet t {
    counter one { }
    counter both { }
    ct expectation e { protocol udp; dport 2000; timeout 1m; size 8; l3proto ip; }
    chain firewall {
        type filter hook forward priority filter
        ct direction reply udp sport 1000 ct bytes < 1000 drop
        ct direction original udp dport 3000 ct expectation set \"e\"
    }
    chain after {
        type filter hook postrouting priority filter
        ct mark & 0x30000000 == 0x10000000 counter name one
        ct mark & 0x30000000 == 0x30000000 counter name both
    }
}
";

/// Returns the packets that passed all rules since the last reading, of connections that had passed
/// in one direction, and in both.
fn counted() -> [u64; 2] {
    ["one", "both"].map(|name| {
        let read = Command::new("nft").args(["reset", "counter", "inet", "t", name]).output();
        let text = String::from_utf8(read.unwrap().stdout).unwrap();
        let mut words = text.split_whitespace().skip_while(|word| *word != "packets").skip(1);
        words.next().unwrap().parse().unwrap()
    })
}

async fn put(nft: &NftCommand) {
    let settings = Settings { engine: Engine::Ebpf, ..Settings::default() };
    assert_eq!(settings.passed().unwrap().into_iter().sum::<u32>(), PASSED);
    let plan = plan(&[], &settings, &Protection::default());
    assert_eq!(apply(nft, &plan, None, &[]).await.unwrap(), Applied::Replaced);
    nft.run(RULES).await.unwrap();
}

#[test]
fn dropped_packets_do_not_count_as_passed() {
    on_a_gateway(|network, nft| async move {
        put(&nft).await;
        let connection = network.connection(true, 1000);
        assert!(connection.there(10) && !connection.back(10), "the firewall stops answers");
        assert!(connection.there(10));
        assert_eq!(counted(), [2, 0]);
        // After more bytes, the firewall accepts answers.
        assert!(connection.there(1000) && connection.back(10) && connection.there(10));
        assert_eq!(counted(), [1, 2]);
    });
}

#[test]
fn an_expected_connection_does_not_inherit_passed_from_its_master() {
    on_a_gateway(|network, nft| async move {
        put(&nft).await;
        let master = network.connection(true, 3000);
        assert!(master.there(10) && master.back(10) && master.there(10));
        assert_eq!(counted(), [1, 2]);
        let expected = network.connection(false, 2000);
        assert!(expected.there(10) && expected.there(10));
        assert_eq!(counted(), [2, 0]);
        assert!(expected.back(10));
        assert_eq!(counted(), [0, 1]);
    });
}
