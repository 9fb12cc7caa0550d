// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks that packets of blocked sources are dropped.

use std::thread;
use std::time::Duration;

use config::Network;
use model::Action;
use ruleset::{Applied, BlockElement, BlockError, InspectionRules, Nft, apply, block, release};

use super::{closed, counted, in_force, inspection, network, on_a_gateway, plan_for, put};

/// Returns a block of the initiator's IPv4 address or IPv6 /64.
fn block_of(connection: &network::Connection, seconds: u32) -> BlockElement {
    let comment = "sid 8100001".to_owned();
    let initiator = connection.initiator();
    let source = Network::of(initiator, if initiator.is_ipv4() { 32 } else { 64 }).unwrap();
    BlockElement { source, seconds, left: seconds, comment }
}

#[test]
fn drops_a_blocked_source_until_release_or_timeout() {
    on_a_gateway(|network, nft| async move {
        let free = InspectionRules { default: Action::None, ..inspection() };
        put(&nft, &free).await;
        for connection in [network.connection(true, 1000), network.connection6(true, 1000)] {
            assert!(connection.send(1));
            block(&nft, &block_of(&connection, 600)).await.unwrap();
            assert!(!connection.send(1) && !connection.reply(1));
            assert_eq!(release(&nft, block_of(&connection, 1).source).await, Ok(true));
            assert_eq!(release(&nft, block_of(&connection, 1).source).await, Ok(false));
            assert!(connection.send(1) && connection.reply(1));
            block(&nft, &block_of(&connection, 600)).await.unwrap();
            block(&nft, &block_of(&connection, 1)).await.unwrap();
            assert!(!connection.send(1));
            thread::sleep(Duration::from_millis(1200));
            assert!(connection.send(1));
            block(&nft, &block_of(&connection, 600)).await.unwrap();
            assert!(!connection.send(1));
        }
        assert_eq!(counted(&nft, "blocked").await, 8);
    });
}

#[test]
fn blocks_survive_changes_of_gate_and_table() {
    on_a_gateway(|network, nft| async move {
        put(&nft, &inspection()).await;
        let connection = network.connection(true, 1000);
        block(&nft, &block_of(&connection, 600)).await.unwrap();
        thread::sleep(Duration::from_millis(1100));
        for (inspection, how) in [
            (inspection(), Applied::Unchanged),
            (closed(), Applied::Gate),
            (InspectionRules { budget_bytes: 7, ..inspection() }, Applied::Replaced),
        ] {
            assert_eq!(put(&nft, &inspection).await, how);
            let [blocked] = in_force(&nft).await.blocks.unwrap().try_into().unwrap();
            assert!((590..600).contains(&blocked.left), "{blocked:?}");
            let given = block_of(&connection, 600);
            assert_eq!(BlockElement { left: 600, ..blocked }, given);
        }
        nft.run("flush ruleset\n").await.unwrap();
        let given = [block_of(&connection, 600)];
        apply(&nft, &plan_for(&inspection()), None, &given).await.unwrap();
        assert!(!connection.send(1));
        nft.run("flush ruleset\n").await.unwrap();
        let error = block(&nft, &given[0]).await.unwrap_err();
        assert_eq!(error.to_string(), "table inet fastpath has no set blocked4");
    });
}

#[test]
fn rejects_more_blocks_than_the_limit() {
    on_a_gateway(|_, nft| async move {
        put(&nft, &inspection()).await;
        let of = |last: u8| BlockElement {
            source: Network::host([192, 0, 2, last].into()),
            seconds: 600,
            left: 600,
            comment: String::new(),
        };
        block(&nft, &of(1)).await.unwrap();
        block(&nft, &of(2)).await.unwrap();
        assert_eq!(block(&nft, &of(3)).await, Err(BlockError::Full(of(3).source)));
        block(&nft, &of(2)).await.unwrap();
        release(&nft, of(1).source).await.unwrap();
        block(&nft, &of(3)).await.unwrap();
        let mut sources: Vec<_> =
            in_force(&nft).await.blocks.unwrap().into_iter().map(|block| block.source).collect();
        sources.sort_by_key(|source| source.address);
        assert_eq!(sources, [of(2).source, of(3).source]);
    });
}

#[test]
fn the_limit_applies_to_ipv6_networks() {
    on_a_gateway(|_, nft| async move {
        put(&nft, &inspection()).await;
        let of = |number: u16| BlockElement {
            source: Network::of([0x2001, 0xdb8, 0, number, 0, 0, 0, 0].into(), 64).unwrap(),
            seconds: 600,
            left: 600,
            comment: String::new(),
        };
        let mut blocked = 0;
        while block(&nft, &of(blocked)).await.is_ok() {
            blocked += 1;
            assert!(blocked < 100, "no limit");
        }
        // Newer kernels count intervals; older ones count their ends.
        assert!((2..=6).contains(&blocked), "{blocked}");
        assert_eq!(block(&nft, &of(99)).await, Err(BlockError::Full(of(99).source)));
        block(&nft, &of(0)).await.unwrap();
        assert_eq!(release(&nft, of(0).source).await, Ok(true));
        assert_eq!(release(&nft, of(0).source).await, Ok(false));
        block(&nft, &of(99)).await.unwrap();
    });
}
