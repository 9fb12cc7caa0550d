// SPDX-License-Identifier: GPL-2.0-or-later

use proptest::prelude::*;
use serde_json::json;

use super::{Bound, Flow, State, Tuple, counts, end, entries};

/// A table of `mtk_ppe_debugfs.c`: a flow with source NAT in both directions, IPv6, a UDP flow that
/// is not bound, kinds without ports or addresses.
pub(crate) const MEDIATEK: &str = include_str!("mediatek.txt");

/// Lines of `airoha_ppe_debugfs.c`, with its column `data`.
const AIROHA: &str = include_str!("airoha.txt");

fn tuple(src: &str, dst: &str) -> Tuple {
    let end = |text: &str| end(text).unwrap();
    Tuple { src: end(src), dst: end(dst) }
}

/// Returns the flow of the first entries of [`MEDIATEK`].
pub(crate) fn flow() -> serde_json::Value {
    json!({
        "proto": "tcp", "src": "192.168.1.20", "sport": 50000, "dst": "198.51.100.7", "dport": 443,
        "nat_src": "203.0.113.2", "nat_sport": 50000, "nat_dst": "198.51.100.7", "nat_dport": 443,
    })
}

fn read(flow: &serde_json::Value) -> Result<Flow, &'static str> {
    Flow::read(|name| &flow[name])
}

#[test]
fn reads_the_entries_of_mediatek() {
    let all: Vec<_> = entries(MEDIATEK).collect();
    assert_eq!(all.len(), 6);
    let (client, server) = ("192.168.1.20:50000", "198.51.100.7:443");
    assert_eq!((all[0].index, all[0].state, all[0].kind), (0x123, State::Bound, "IPv4 5T"));
    assert_eq!(all[0].original, Some(tuple(client, server)));
    assert_eq!(all[0].new, Some(tuple("203.0.113.2:50000", server)));
    assert_eq!((all[0].udp, all[2].udp), (Some(false), Some(true)));
    assert_eq!((all[2].state, all[2].new), (State::Unbound, None), "remains of another entry");
    let ends = all[3].original.unwrap();
    assert_eq!(ends.src, ("2001:db8::20".parse().unwrap(), Some(50000)));
    assert_eq!(all[4].original.unwrap().dst, ("2001:db8:ffff::7".parse().unwrap(), None));
    assert_eq!((all[5].kind, all[5].original), ("UNKNOWN", None));
    assert_eq!(counts(MEDIATEK), (3, 2));
}

#[test]
fn reads_the_entries_of_airoha() {
    let all: Vec<_> = entries(AIROHA).collect();
    assert_eq!((all[0].index, all[0].kind, all[0].udp), (0x10, "DS-LITE", Some(true)));
    assert_eq!(all[0].new, Some(tuple("203.0.113.2:50000", "198.51.100.7:443")));
    assert_eq!((all[1].state, all[1].kind), (State::Unbound, "L2B"));
    assert_eq!(counts(AIROHA), (1, 1));
}

#[test]
fn finds_both_directions_of_a_flow() {
    let tcp = read(&flow()).unwrap();
    let found: Vec<_> = entries(MEDIATEK).map(|entry| tcp.direction(&entry)).collect();
    assert_eq!(found, [Some("up"), Some("down"), None, None, None, None]);
    let udp = Flow { udp: true, ..tcp };
    assert!(entries(MEDIATEK).all(|entry| udp.direction(&entry).is_none()), "another protocol");
    let mut bound = Bound::default();
    bound.add(MEDIATEK);
    assert!(bound.holds(&tcp) && !bound.holds(&udp));
    assert_eq!(tcp.to_string(), "tcp 192.168.1.20:50000 → 198.51.100.7:443");
}

#[test]
fn an_unbound_entry_holds_no_flow() {
    let mut bound = Bound::default();
    bound.add(&MEDIATEK.replace("BND", "UNB"));
    assert!(!bound.holds(&read(&flow()).unwrap()));
}

#[test]
fn names_an_invalid_field_of_a_flow() {
    for (field, value) in [
        ("proto", json!("icmp")),
        ("src", json!("lan1")),
        ("nat_dst", json!(null)),
        ("sport", json!(65536)),
        ("nat_dport", json!("443")),
    ] {
        let mut flow = flow();
        flow[field] = value;
        assert_eq!(read(&flow), Err(field));
    }
}

#[test]
fn accepts_new_columns_and_skips_long_and_other_lines() {
    let line = MEDIATEK.lines().next().unwrap();
    let newer = line.replace(" orig=", " queue=3 orig=").replace(" ib1=", " a=b->c x ib1=");
    let all: Vec<_> = entries(&newer).collect();
    assert_eq!(all, entries(line).collect::<Vec<_>>());
    let long = format!("{line} {}", "x".repeat(1024));
    let other = ["", "\0", "index state", "zz BND IPv4 5T orig=", "00123 BND", &long].join("\n");
    assert_eq!(entries(&other).count(), 0);
    assert_eq!(entries(&format!("{line}\n").repeat(70_000)).count(), 65_536);
}

fn line() -> impl Strategy<Value = String> {
    let v4 = "([0-9]{1,3}\\.){3}[0-9]{1,3}(:[0-9]{1,6})?";
    let v6 = "([0-9a-f]{4}:){7}[0-9a-f]{4}(:[0-9]{1,6})?";
    let end = || prop_oneof![v4, v6, Just("(null)".to_owned())];
    let state = prop_oneof![Just("BND"), Just("UNB"), Just("FIN"), Just("INV"), Just("UNK")];
    (any::<u16>(), state, "IPv[46] [35]T|L2B|", end(), end(), any::<u32>()).prop_map(
        |(index, state, kind, src, dst, ib1)| {
            format!(
                "{index:05x} {state} {kind:>7} orig={src}->{dst} new={dst}->{src} ib1={ib1:08x}"
            )
        },
    )
}

proptest! {
    #[test]
    fn reads_every_printed_entry(lines in prop::collection::vec(line(), 0..8)) {
        let text = lines.join("\n");
        let all: Vec<_> = entries(&text).collect();
        prop_assert_eq!(all.len(), lines.len());
        for (entry, line) in all.iter().zip(&lines) {
            let start = format!("{:05x} {} {:>7} ", entry.index, entry.state, entry.kind);
            prop_assert!(line.starts_with(&start), "{}", line);
        }
    }

    #[test]
    fn accepts_damaged_lines_without_a_panic(
        line in line(), at: prop::sample::Index, cut: prop::sample::Index, damage in "\\PC{0,4}",
    ) {
        let (at, cut) = (at.index(line.len()), cut.index(line.len()));
        let text = format!("{}{damage}{}", &line[..at.min(cut)], &line[at.max(cut)..]);
        prop_assert!(entries(&text).count() <= text.lines().count());
    }

    #[test]
    fn accepts_any_text_without_a_panic(text: String) {
        prop_assert!(entries(&text).count() <= text.lines().count());
    }
}
