// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks the connection marks of passed directions with engine `ebpf`.

use std::process::Command;

use model::Engine;
use ruleset::{Applied, Nft, NftCommand, Protection, Settings, apply, plan};

use super::on_a_gateway;

const PASSED: u32 = 0x3000_0000;

/// A firewall, and a last chain that counts packets by connection mark.
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

/// Returns and resets the packets of connections that have passed in one direction, and in both.
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
        assert!(connection.send(10) && !connection.reply(10), "the firewall drops replies");
        assert!(connection.send(10));
        assert_eq!(counted(), [2, 0]);
        // The firewall accepts replies after 1000 bytes.
        assert!(connection.send(1000) && connection.reply(10) && connection.send(10));
        assert_eq!(counted(), [1, 2]);
    });
}

#[test]
fn an_expected_connection_does_not_inherit_passed_from_its_master() {
    on_a_gateway(|network, nft| async move {
        put(&nft).await;
        let master = network.connection(true, 3000);
        assert!(master.send(10) && master.reply(10) && master.send(10));
        assert_eq!(counted(), [1, 2]);
        let expected = network.connection(false, 2000);
        assert!(expected.send(10) && expected.send(10));
        assert_eq!(counted(), [2, 0]);
        assert!(expected.reply(10));
        assert_eq!(counted(), [0, 1]);
    });
}
