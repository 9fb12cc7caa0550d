// SPDX-License-Identifier: GPL-2.0-or-later
//! Blocked addresses.

use std::thread;
use std::time::Duration;

use model::Action;
use ruleset::{Applied, BlockElement, BlockError, InspectionRules, Nft, apply, block, release};

use crate::{closed, counted, in_force, inspection, network, of, on_a_gateway, put};

fn of_address(connection: &network::Connection, seconds: u32) -> BlockElement {
    let comment = "sid 8100001".to_owned();
    BlockElement { address: connection.opener(), seconds, left: seconds, comment }
}

#[test]
fn a_blocked_address_is_dropped_until_it_is_released_or_its_time_is_over() {
    on_a_gateway(|network, nft| async move {
        let free = InspectionRules { default: Action::None, ..inspection() };
        put(&nft, &free).await;
        for connection in [network.connection(true, 1000), network.connection6(true, 1000)] {
            assert!(connection.there(1));
            block(&nft, &of_address(&connection, 600)).await.unwrap();
            assert!(!connection.there(1) && !connection.back(1));
            assert_eq!(release(&nft, connection.opener()).await, Ok(true));
            assert_eq!(release(&nft, connection.opener()).await, Ok(false));
            assert!(connection.there(1) && connection.back(1));
            block(&nft, &of_address(&connection, 600)).await.unwrap();
            block(&nft, &of_address(&connection, 1)).await.unwrap();
            assert!(!connection.there(1));
            thread::sleep(Duration::from_millis(1200));
            assert!(connection.there(1));
        }
        assert_eq!(counted(&nft, "blocked").await, 6);
    });
}

#[test]
fn blocks_outlive_the_gate_the_table_and_the_daemon() {
    on_a_gateway(|network, nft| async move {
        put(&nft, &inspection()).await;
        let connection = network.connection(true, 1000);
        block(&nft, &of_address(&connection, 600)).await.unwrap();
        thread::sleep(Duration::from_millis(1100));
        for (inspection, how) in [
            (inspection(), Applied::Unchanged),
            (closed(), Applied::Gate),
            (InspectionRules { budget_bytes: 7, ..inspection() }, Applied::Replaced),
        ] {
            assert_eq!(put(&nft, &inspection).await, how);
            let [blocked] = in_force(&nft).await.blocks.try_into().unwrap();
            assert!((590..600).contains(&blocked.left), "{blocked:?}");
            let given = of_address(&connection, 600);
            assert_eq!(BlockElement { left: 600, ..blocked }, given);
        }
        nft.run("flush ruleset\n").await.unwrap();
        let given = [of_address(&connection, 600)];
        apply(&nft, &of(&inspection()), None, &given).await.unwrap();
        assert!(!connection.there(1));
        nft.run("flush ruleset\n").await.unwrap();
        let error = block(&nft, &given[0]).await.unwrap_err();
        assert_eq!(error.to_string(), "table inet fastpath has no set blocked4");
    });
}

#[test]
fn more_blocks_than_allowed_are_refused() {
    on_a_gateway(|_, nft| async move {
        put(&nft, &inspection()).await;
        let of = |last: u8| BlockElement {
            address: [192, 0, 2, last].into(),
            seconds: 600,
            left: 600,
            comment: String::new(),
        };
        block(&nft, &of(1)).await.unwrap();
        block(&nft, &of(2)).await.unwrap();
        assert_eq!(block(&nft, &of(3)).await, Err(BlockError::Full(of(3).address)));
        block(&nft, &of(2)).await.unwrap();
        release(&nft, of(1).address).await.unwrap();
        block(&nft, &of(3)).await.unwrap();
        let mut addresses: Vec<_> =
            in_force(&nft).await.blocks.into_iter().map(|block| block.address).collect();
        addresses.sort();
        assert_eq!(addresses, [of(2).address, of(3).address]);
    });
}
