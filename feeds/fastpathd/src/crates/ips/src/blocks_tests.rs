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

fn nobody(_: IpAddr) -> bool {
    false
}

#[test]
fn a_block_begins_and_ends() {
    let mut blocks = Blocks::new(&settings(9));
    let expected = Block {
        address: ip("203.0.113.9"),
        sid: 7,
        reason: "bad".into(),
        since: at(5),
        until: at(605),
    };
    let blocked = blocks.add(at(5), ip("203.0.113.9"), RULE, nobody);
    assert_eq!(blocked, Blocked::Yes(expected.clone()));
    assert_eq!(blocks.add(at(6), ip("203.0.113.9"), RULE, nobody), Blocked::Already);
    assert_eq!(blocks.list(), [&expected]);
    blocks.expire(at(604));
    assert_eq!(blocks.len(), 1);
    blocks.expire(at(605));
    assert!(blocks.is_empty());
    let again = blocks.add(at(606), ip("203.0.113.9"), RULE, nobody);
    assert!(matches!(again, Blocked::Yes(_)));
}

#[test]
fn own_and_exempt_addresses_are_never_blocked() {
    let mut blocks = Blocks::new(&settings(9));
    let own = |address: IpAddr| address == ip("198.51.100.1");
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
        assert_eq!(blocks.adopt(at(0), ip(address), at(9), own), Err(why), "{address}");
    }
    assert_eq!((blocks.len(), blocks.refused()), (0, 13));
    assert!(matches!(blocks.add(at(0), ip("192.0.3.1"), RULE, own), Blocked::Yes(_)));
}

#[test]
fn a_full_list_refuses_the_newcomer() {
    let mut blocks = Blocks::new(&settings(2));
    for address in ["203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:db8::2"] {
        assert!(matches!(blocks.add(at(0), ip(address), RULE, nobody), Blocked::Yes(_)));
    }
    for address in ["203.0.113.3", "2001:db8::3"] {
        assert_eq!(blocks.add(at(1), ip(address), RULE, nobody), Blocked::No(Spared::Full));
    }
    assert!(blocks.release(ip("203.0.113.1")).is_some());
    assert!(blocks.release(ip("203.0.113.1")).is_none());
    assert!(matches!(blocks.add(at(1), ip("203.0.113.3"), RULE, nobody), Blocked::Yes(_)));
    // Expired entries free their places.
    assert!(matches!(blocks.add(at(600), ip("2001:db8::3"), RULE, nobody), Blocked::Yes(_)));
}

#[test]
fn what_the_kernel_still_holds_is_taken_over() {
    let mut blocks = Blocks::new(&settings(9));
    assert_eq!(blocks.adopt(at(10), ip("203.0.113.1"), at(30), nobody), Ok(()));
    assert_eq!(blocks.adopt(at(11), ip("203.0.113.1"), at(99), nobody), Ok(()));
    let block = blocks.list()[0].clone();
    assert_eq!((block.since, block.until, block.sid), (at(10), at(40), 0));
    assert_eq!(blocks.add(at(12), ip("203.0.113.1"), RULE, nobody), Blocked::Already);
}

#[test]
fn new_settings_end_what_they_do_not_allow() {
    let mut blocks = Blocks::new(&settings(9));
    for address in ["203.0.113.1", "203.0.114.1", "2001:db8::1"] {
        blocks.add(at(0), ip(address), RULE, nobody);
    }
    let exempt = vec!["203.0.113.0/24".parse().unwrap()];
    let more = Settings { block_exempt: exempt, ..settings(9) };
    assert_eq!(blocks.configure(&more), [ip("203.0.113.1")]);
    let off = Settings { block: false, ..settings(9) };
    assert_eq!(blocks.configure(&off), [ip("203.0.114.1"), ip("2001:db8::1")]);
    assert!(blocks.is_empty());
}

#[test]
fn a_lower_limit_ends_what_would_end_first() {
    let mut blocks = Blocks::new(&settings(9));
    for (second, address) in
        [(3, "203.0.113.1"), (1, "203.0.113.2"), (2, "203.0.113.3"), (0, "2001:db8::1")]
    {
        blocks.add(at(second), ip(address), RULE, nobody);
    }
    assert_eq!(blocks.configure(&settings(1)), [ip("203.0.113.3"), ip("203.0.113.2")]);
    assert_eq!(blocks.len(), 2);
}

#[test]
fn the_list_begins_with_the_newest() {
    let mut blocks = Blocks::new(&settings(9));
    for (second, address) in [(2, "203.0.113.2"), (1, "203.0.113.1"), (3, "203.0.113.3")] {
        blocks.add(at(second), ip(address), RULE, nobody);
    }
    let since: Vec<Duration> = blocks.list().iter().map(|block| block.since).collect();
    assert_eq!(since, [at(3), at(2), at(1)]);
}

proptest! {
    #[test]
    fn there_are_never_more_than_the_limit(
        steps in prop::collection::vec((any::<u8>(), any::<bool>(), 0_u64..400), 0..200),
        limit in 1_u32..20,
    ) {
        let mut blocks = Blocks::new(&settings(limit));
        let mut now = at(0);
        for (host, v6, pause) in steps {
            now += at(pause);
            let text = if v6 { format!("2001:db8::{host:x}") } else { format!("203.0.113.{host}") };
            let _ = blocks.add(now, ip(&text), RULE, nobody);
            let v4 = blocks.list().iter().filter(|block| block.address.is_ipv4()).count();
            let limit = usize::try_from(limit).unwrap();
            prop_assert!(v4 <= limit && blocks.len() - v4 <= limit);
            prop_assert!(blocks.list().iter().all(|block| block.until > now));
        }
    }
}
