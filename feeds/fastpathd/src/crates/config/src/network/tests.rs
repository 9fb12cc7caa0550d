// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_prefix_longer_than_the_address_is_refused() {
    assert_eq!(Network::of(ip("10.0.0.0"), 33), None);
    assert!(Network::of(ip("::"), 128).is_some());
    assert_eq!(Network::of(ip("::"), 129), None);
}

#[test]
fn networks_contain_their_addresses() {
    for (network, inside, outside) in [
        ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
        ("192.0.2.7/32", "192.0.2.7", "192.0.2.6"),
        ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
        ("0.0.0.0/0", "255.255.255.255", "::"),
        ("::/0", "ffff::", "0.0.0.0"),
        ("2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"),
        ("2001:db8::/127", "2001:db8::1", "2001:db8::2"),
        ("2001:db8::1/128", "2001:db8::1", "2001:db8::2"),
    ] {
        let network: Network = network.parse().unwrap();
        assert!(network.contains(ip(inside)), "{network}");
        assert!(!network.contains(ip(outside)), "{network}");
    }
}

proptest! {
    #[test]
    fn ipv4_compares_prefix_bits(net in any::<u32>(), host in any::<u32>(), len in 0_u8..=32) {
        let v4 = |bits: u32| IpAddr::V4(bits.into());
        let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
        let network = Network::of(v4(net), len).unwrap();
        prop_assert_eq!(network.address, v4(net & mask));
        prop_assert_eq!(network.contains(v4(host)), net & mask == host & mask);
        prop_assert!(network.contains(v4(net & mask | host & !mask)));
    }

    #[test]
    fn ipv6_compares_prefix_bits(net in any::<u128>(), host in any::<u128>(), len in 0_u8..=128) {
        let v6 = |bits: u128| IpAddr::V6(bits.into());
        let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
        let network = Network::of(v6(net), len).unwrap();
        prop_assert_eq!(network.address, v6(net & mask));
        prop_assert_eq!(network.contains(v6(host)), net & mask == host & mask);
        prop_assert!(network.contains(v6(net & mask | host & !mask)));
    }
}

#[test]
fn brief_omits_the_prefix_length_of_one_address() {
    let brief = |text: &str| text.parse::<Network>().unwrap().brief();
    assert_eq!(Network::host("2001:db8::1".parse().unwrap()).prefix, 128);
    for (text, expected) in [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1/32", "192.0.2.1"),
        ("192.0.2.0/24", "192.0.2.0/24"),
        ("2001:db8::1/128", "2001:db8::1"),
        ("2001:db8::/64", "2001:db8::/64"),
    ] {
        assert_eq!(brief(text), expected);
    }
}
