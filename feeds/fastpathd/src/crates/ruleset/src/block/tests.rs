// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use model::Engine;

use crate::apply::{Applied, apply, read_back};
use crate::fake::FakeNft;
use crate::plan::{Plan, Protection, plan};
use crate::settings::Settings;

fn net(text: &str) -> Network {
    text.parse().unwrap()
}

fn of(source: &str, seconds: u32, left: u32) -> BlockElement {
    BlockElement { source: net(source), seconds, left, comment: "sid 8100001".to_owned() }
}

fn with_blocks() -> Plan {
    let protection = Protection { inspection: None, blocks: Some(3) };
    let settings = Settings { engine: Engine::Off, ..Settings::default() };
    plan(&[], &settings, &protection)
}

async fn blocked(nft: &FakeNft) -> Vec<BlockElement> {
    read_back(nft).await.unwrap().expect("a table").blocks.expect("sets of blocked sources")
}

#[tokio::test]
async fn blocks_renews_and_releases_a_source() {
    let nft = FakeNft::with(&[]);
    apply(&nft, &with_blocks(), None, &[]).await.unwrap();
    block(&nft, &of("192.0.2.1", 600, 600)).await.unwrap();
    block(&nft, &of("2001:db8::/64", 600, 600)).await.unwrap();
    block(&nft, &of("192.0.2.1", 900, 900)).await.unwrap();
    let want = [of("192.0.2.1", 900, 900), of("2001:db8::/64", 600, 600)];
    assert_eq!(blocked(&nft).await, want);
    assert_eq!(release(&nft, net("192.0.2.1")).await, Ok(true));
    assert_eq!(release(&nft, net("192.0.2.1")).await, Ok(false));
    assert_eq!(blocked(&nft).await, want[1..]);
}

#[tokio::test]
async fn reports_a_full_and_a_missing_set() {
    let nft = FakeNft::with(&[]);
    let one = of("192.0.2.9", 600, 600);
    let error = block(&nft, &one).await.unwrap_err();
    assert_eq!(error.to_string(), "table inet fastpath has no set blocked4");
    apply(&nft, &with_blocks(), None, &[]).await.unwrap();
    for address in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
        block(&nft, &of(address, 600, 600)).await.unwrap();
    }
    assert_eq!(block(&nft, &one).await, Err(BlockError::Full(one.source)));
    nft.broken.set(true);
    assert!(matches!(block(&nft, &one).await, Err(BlockError::Nft(_))));
    assert!(matches!(release(&nft, one.source).await, Err(BlockError::Nft(_))));
}

#[tokio::test]
async fn blocks_survive_a_new_table() {
    let nft = FakeNft::with(&[]);
    let given = [of("192.0.2.1", 600, 321), of("2001:db8::/64", 600, 9)];
    apply(&nft, &with_blocks(), None, &given).await.unwrap();
    assert_eq!(blocked(&nft).await, given, "a new table contains the given blocks");
    release(&nft, net("2001:db8::/64")).await.unwrap();
    let other = Plan { mark_mask: 1, ..with_blocks() };
    assert_eq!(apply(&nft, &other, None, &given).await, Ok(Applied::Replaced));
    assert_eq!(blocked(&nft).await, given[..1], "the kernel's set takes precedence");
}

#[test]
fn formats_elements_that_nft_accepts() {
    assert_eq!(
        element(&of("192.0.2.1", 600, 321)),
        "192.0.2.1 timeout 600s expires 321s comment \"sid 8100001\""
    );
    let hostile = BlockElement { comment: "a\"; drop\n\\".to_owned(), ..of("::1", 0, 7) };
    assert_eq!(element(&hostile), "::1 timeout 1s comment \"a?; drop??\"");
    let long = BlockElement { comment: "ü".repeat(100), ..of("::1", 5, 0) };
    assert_eq!(element(&long), format!("::1 timeout 5s expires 1s comment \"{}\"", "ü".repeat(32)));
    let mute = BlockElement { comment: String::new(), ..of("::1", 5, 9) };
    assert_eq!(element(&mute), "::1 timeout 5s");
}
