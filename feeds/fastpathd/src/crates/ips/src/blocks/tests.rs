// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;

use super::*;

const RULE: (u32, &str) = (7, "bad");

fn settings(limit: u32) -> Settings {
    Settings {
        block: true,
        block_limit: limit,
        block_exempt: vec!["192.0.2.0/24".parse().unwrap(), "2001:db8:1::/48".parse().unwrap()],
        ..Settings::default()
    }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn net(text: &str) -> Network {
    text.parse().unwrap()
}

fn not_own(_: Network) -> bool {
    false
}

#[test]
fn a_block_ends_after_its_time() {
    let mut blocks = Blocks::new(&settings(9));
    let expected = Block {
        source: net("203.0.113.9"),
        sid: 7,
        reason: "bad".into(),
        since: at(5),
        until: at(605),
    };
    let blocked = blocks.add(at(5), ip("203.0.113.9"), RULE, not_own);
    assert_eq!(blocked, Blocked::Yes(expected.clone()));
    assert_eq!(blocks.add(at(6), ip("203.0.113.9"), RULE, not_own), Blocked::Already);
    assert_eq!(blocks.list(), [&expected]);
    blocks.expire(at(604));
    assert_eq!(blocks.len(), 1);
    blocks.expire(at(605));
    assert!(blocks.is_empty());
    let again = blocks.add(at(606), ip("203.0.113.9"), RULE, not_own);
    assert!(matches!(again, Blocked::Yes(_)));
}

#[test]
fn own_and_exempt_addresses_are_never_blocked() {
    let mut blocks = Blocks::new(&settings(9));
    let own = |source: Network| source.contains(ip("198.51.100.1"));
    for (address, why) in [
        ("198.51.100.1", Spared::Own),
        ("::ffff:198.51.100.1", Spared::Own),
        ("0.0.0.0", Spared::Own),
        ("127.0.0.1", Spared::Own),
        ("169.254.1.1", Spared::Own),
        ("224.0.0.1", Spared::Own),
        ("255.255.255.255", Spared::Own),
        ("::", Spared::Own),
        ("::1", Spared::Own),
        ("fe80::1", Spared::Own),
        ("ff02::1", Spared::Own),
        ("192.0.2.77", Spared::Exempt),
        ("2001:db8:1:2::3", Spared::Exempt),
    ] {
        let blocked = blocks.add(at(0), ip(address), RULE, own);
        assert_eq!(blocked, Blocked::No(why), "{address}");
        let source = Network::host(ip(address).to_canonical());
        assert_eq!(blocks.adopt(at(0), source, at(9), own), Err(why), "{address}");
    }
    assert_eq!((blocks.len(), blocks.refused()), (0, 13));
    assert!(matches!(blocks.add(at(0), ip("192.0.3.1"), RULE, own), Blocked::Yes(_)));
}

#[test]
fn a_full_list_refuses_new_sources() {
    let mut blocks = Blocks::new(&settings(2));
    for address in ["203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:db8:0:1::1"] {
        assert!(matches!(blocks.add(at(0), ip(address), RULE, not_own), Blocked::Yes(_)));
    }
    for address in ["203.0.113.3", "2001:db8:0:2::1"] {
        assert_eq!(blocks.add(at(1), ip(address), RULE, not_own), Blocked::No(Spared::Full));
    }
    assert!(blocks.release(ip("203.0.113.1")).is_some());
    assert!(blocks.release(ip("203.0.113.1")).is_none());
    assert!(matches!(blocks.add(at(1), ip("203.0.113.3"), RULE, not_own), Blocked::Yes(_)));
    assert!(matches!(blocks.add(at(600), ip("2001:db8:0:2::1"), RULE, not_own), Blocked::Yes(_)));
}

#[test]
fn adopts_blocks_that_the_kernel_still_holds() {
    let mut blocks = Blocks::new(&settings(9));
    assert_eq!(blocks.adopt(at(10), net("203.0.113.1"), at(30), not_own), Ok(()));
    assert_eq!(blocks.adopt(at(11), net("203.0.113.1"), at(99), not_own), Ok(()));
    let block = blocks.list()[0].clone();
    assert_eq!((block.since, block.until, block.sid), (at(10), at(40), 0));
    assert_eq!(blocks.add(at(12), ip("203.0.113.1"), RULE, not_own), Blocked::Already);
}

#[test]
fn new_settings_end_blocks_of_exempt_sources() {
    let mut blocks = Blocks::new(&settings(9));
    for address in ["203.0.113.1", "203.0.114.1", "2001:db8::1"] {
        blocks.add(at(0), ip(address), RULE, not_own);
    }
    let exempt = vec!["203.0.113.0/24".parse().unwrap()];
    let more = Settings { block_exempt: exempt, ..settings(9) };
    assert_eq!(blocks.configure(&more), [net("203.0.113.1")]);
    let off = Settings { block: false, ..settings(9) };
    assert_eq!(blocks.configure(&off), [net("203.0.114.1"), net("2001:db8::/64")]);
    assert!(blocks.is_empty());
}

#[test]
fn a_lower_limit_ends_the_blocks_that_expire_first() {
    let mut blocks = Blocks::new(&settings(9));
    for (second, address) in
        [(3, "203.0.113.1"), (1, "203.0.113.2"), (2, "203.0.113.3"), (0, "2001:db8::1")]
    {
        blocks.add(at(second), ip(address), RULE, not_own);
    }
    assert_eq!(blocks.configure(&settings(1)), [net("203.0.113.3"), net("203.0.113.2")]);
    assert_eq!(blocks.len(), 2);
}

#[test]
fn lists_the_newest_block_first() {
    let mut blocks = Blocks::new(&settings(9));
    for (second, address) in [(2, "203.0.113.2"), (1, "203.0.113.1"), (3, "203.0.113.3")] {
        blocks.add(at(second), ip(address), RULE, not_own);
    }
    let since: Vec<Duration> = blocks.list().iter().map(|block| block.since).collect();
    assert_eq!(since, [at(3), at(2), at(1)]);
}

fn blocked(blocks: &mut Blocks, address: &str) -> Option<Network> {
    match blocks.add(at(0), ip(address), RULE, not_own) {
        Blocked::Yes(block) => Some(block.source),
        Blocked::Already | Blocked::No(_) => None,
    }
}

#[test]
fn blocks_the_64_of_an_ipv6_source() {
    let mut blocks = Blocks::new(&settings(9));
    assert_eq!(blocked(&mut blocks, "2001:db8:7:8:9::1"), Some(net("2001:db8:7:8::/64")));
    let again = blocks.add(at(0), ip("2001:db8:7:8::5"), RULE, not_own);
    assert_eq!(again, Blocked::Already);
    assert_eq!(blocks.release(ip("2001:db8:7:8::6")).unwrap().source, net("2001:db8:7:8::/64"));
    assert!(blocks.is_empty());
}

#[test]
fn blocks_a_single_ipv6_address_if_its_64_has_own_or_exempt_ones() {
    let exempt = Settings { block_exempt: vec![net("2001:db8:5::53")], ..settings(99) };
    let mut blocks = Blocks::new(&exempt);
    // The router has an address in this /64, so hosts of its own network use it.
    let own = |source: Network| source.contains(ip("2001:db8:6::1"));
    let block = blocks.add(at(0), ip("2001:db8:6::bad"), RULE, own);
    assert!(matches!(block, Blocked::Yes(block) if block.source == net("2001:db8:6::bad")));
    let gateway = blocks.add(at(0), ip("2001:db8:6::1"), RULE, own);
    assert_eq!(gateway, Blocked::No(Spared::Own));
    for address in ["2001:db8:5::bad", "64:ff9b::203.0.113.9"] {
        assert_eq!(blocked(&mut blocks, address), Some(net(address)));
    }
    // The kernel's set may contain a single address of a /64.
    assert_eq!(blocks.adopt(at(0), net("2001:db8:8::1"), at(9), not_own), Ok(()));
    assert_eq!(blocked(&mut blocks, "2001:db8:8::2"), Some(net("2001:db8:8::2")));
}

#[test]
fn an_exempt_host_ends_the_block_of_its_64() {
    let mut blocks = Blocks::new(&settings(9));
    blocked(&mut blocks, "2001:db8:7::1");
    let exempt = Settings { block_exempt: vec![net("2001:db8:7::2")], ..settings(9) };
    assert_eq!(blocks.configure(&exempt), [net("2001:db8:7::/64")]);
}

#[test]
fn one_network_cannot_fill_the_list() {
    let mut blocks = Blocks::new(&settings(1024));
    let many =
        (0..=255_u8).filter(|host| blocked(&mut blocks, &format!("203.0.113.{host}")).is_some());
    assert_eq!(many.count(), 64, "a /24");
    let many =
        (0..1000).filter(|n| blocked(&mut blocks, &format!("2001:db8:7:{n:x}::1")).is_some());
    assert_eq!(many.count(), 64, "a /48");
    let refused = blocks.add(at(0), ip("203.0.113.77"), RULE, not_own);
    assert!(matches!(refused, Blocked::Already | Blocked::No(Spared::Share)), "{refused:?}");
    let many = (0..100_u8)
        .flat_map(|n| [(n, 1), (n, 2), (n, 3), (n, 4)])
        .filter(|(n, host)| blocked(&mut blocks, &format!("198.51.{n}.{host}")).is_some());
    assert_eq!(many.count(), 256, "a /16");
    assert_eq!(
        blocked(&mut blocks, "192.0.3.1"),
        Some(net("192.0.3.1")),
        "another network can be blocked"
    );
    assert_eq!(blocked(&mut blocks, "2001:db9::1"), Some(net("2001:db9::/64")));
    // A short list has a minimum share.
    let mut short = Blocks::new(&settings(8));
    let many =
        (0..=255_u8).filter(|host| blocked(&mut short, &format!("203.0.113.{host}")).is_some());
    assert_eq!(many.count(), 4);
}

proptest! {
    #[test]
    fn blocks_never_overlap(
        steps in prop::collection::vec((0_u8..3, 0_u16..4, 0_u16..4, any::<bool>()), 0..60),
    ) {
        let mut blocks = Blocks::new(&settings(99));
        for (kind, subnet, host, own) in steps {
            let address = ip(&format!("2001:db8:7:{subnet}::{host}"));
            match kind {
                0 => drop(blocks.add(at(0), address, RULE, |net| own && net.prefix < 128)),
                1 => drop(blocks.adopt(at(0), Network::of(address, 64).unwrap(), at(9), not_own)),
                _ => drop(blocks.adopt(at(0), Network::host(address), at(9), not_own)),
            }
            let list = blocks.list();
            for (index, one) in list.iter().enumerate() {
                for other in &list[index + 1..] {
                    prop_assert!(!overlap(one.source, other.source), "{one:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn never_exceeds_the_limit(
        steps in prop::collection::vec((any::<u8>(), any::<bool>(), 0_u64..400), 0..200),
        limit in 1_u32..20,
    ) {
        let mut blocks = Blocks::new(&settings(limit));
        let mut now = at(0);
        for (host, v6, pause) in steps {
            now += at(pause);
            let v6_text = format!("2001:db8:0:{host:x}::1");
            let text = if v6 { v6_text } else { format!("203.0.113.{host}") };
            let _ = blocks.add(now, ip(&text), RULE, not_own);
            let v4 = blocks.list().iter().filter(|block| block.source.address.is_ipv4()).count();
            let limit = usize::try_from(limit).unwrap();
            prop_assert!(v4 <= limit && blocks.len() - v4 <= limit);
            prop_assert!(blocks.list().iter().all(|block| block.until > now));
        }
    }
}
