// SPDX-License-Identifier: GPL-2.0-or-later
//! Compares matches with a search in the formatted address or port.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use crate::text::Numbers;

fn in_address(word: &str, address: &str) -> bool {
    Numbers::new(word).in_address(address.parse().expect("an address"))
}

#[test]
fn matches_a_part_of_an_ipv4_address() {
    for word in ["10", "10.", ".20", "10.2", "0.20.3", "10.20.30.40", ".40", "0.4", "1", ".20."] {
        assert!(in_address(word, "10.20.30.40"), "{word}");
    }
    for word in ["10.20.3.40", "50", "..", "10..20", "10.20.30.40.", "0.0.", "20.10", "a", ""] {
        assert!(!in_address(word, "10.20.30.40"), "{word}");
    }
}

#[test]
fn matches_a_part_of_an_ipv6_address() {
    for word in ["2001:db8", "db8", "b8:", "2001:", "beef", "ee", "::beef", ":0:0", "8::", "db8::b"]
    {
        assert!(in_address(word, "2001:db8::beef"), "{word}");
    }
    for word in ["2001:b8", "cafe", "2001::db8", "beef:", "12345", "::beef:", "g", ":443"] {
        assert!(!in_address(word, "2001:db8::beef"), "{word}");
    }
    assert!(in_address("2001:0db8::beef", "2001:db8::beef"), "a whole address in any notation");
}

#[test]
fn matches_addresses_within_a_network() {
    assert!(in_address("10.0.0.0/8", "10.20.30.40") && !in_address("10.0.0.0/8", "11.0.0.0"));
    assert!(in_address("0.0.0.0/0", "1.2.3.4") && !in_address("0.0.0.0/0", "::1"));
    assert!(in_address("2001:db8::/32", "2001:db8:1::1"));
    assert!(!in_address("10.0.0.0/33", "10.0.0.0") && !in_address("10/8", "10.0.0.0"));
}

#[test]
fn a_term_with_a_colon_matches_exactly_one_port() {
    let word = Numbers::new(":443");
    assert!(word.in_port(443) && !word.in_port(4430) && !word.in_port(44));
    assert!(Numbers::new(":70000").none() || !Numbers::new(":70000").in_port(4464));
}

#[test]
fn names_match_no_address_or_port() {
    for word in ["wan", "desk-3", "tcp", "br-lan.10", ""] {
        assert!(Numbers::new(word).none(), "{word}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn ports_match_like_their_text(port in any::<u16>(), word in "[0-9]{1,6}") {
        prop_assert_eq!(Numbers::new(&word).in_port(port), port.to_string().contains(&word));
    }

    #[test]
    fn ports_match_any_part(port in any::<u16>(), from in 0_usize..5, len in 1_usize..5) {
        let text = port.to_string();
        if let Some(word) = text.get(from..from + len) {
            prop_assert!(Numbers::new(word).in_port(port));
        }
    }

    #[test]
    fn ipv4_addresses_match_like_their_text(bits in any::<u32>(), word in "[0-9.]{1,9}") {
        let address = Ipv4Addr::from_bits(bits);
        let found = Numbers::new(&word).in_address(IpAddr::V4(address));
        prop_assert_eq!(found, address.to_string().contains(&word), "{} in {}", word, address);
    }

    #[test]
    fn ipv4_matches_any_part(bits in any::<u32>(), from in 0_usize..14, len in 1_usize..16) {
        let text = Ipv4Addr::from_bits(bits).to_string();
        if let Some(word) = text.get(from..from + len) {
            prop_assert!(in_address(word, &text), "{} in {}", word, text);
        }
    }

    #[test]
    fn ipv6_matches_any_part(
        groups in any::<[u16; 8]>(),
        zeros in any::<[bool; 8]>(),
        from in 0_usize..38,
        len in 1_usize..40,
    ) {
        let groups: [u16; 8] =
            std::array::from_fn(|i| if zeros[i] { groups[i] & 0xf } else { groups[i] });
        let text = Ipv6Addr::from(groups).to_string();
        if let Some(word) = text.get(from..from + len).filter(|word| !word.contains('.')) {
            // A term such as ":443" matches only ports.
            let port = word.strip_prefix(':').is_some_and(|rest| rest.parse::<u16>().is_ok());
            prop_assert!(port || in_address(word, &text), "{} in {}", word, text);
        }
    }

    #[test]
    fn accepts_any_word(word in "\\PC{0,20}", bits in any::<u128>(), port in any::<u16>()) {
        let numbers = Numbers::new(&word.to_lowercase());
        let _ = numbers.in_address(IpAddr::V6(Ipv6Addr::from_bits(bits)));
        let _ = numbers.in_port(port);
    }
}
