// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::plan::Device;

fn plan() -> Plan {
    let device = |index, name: &str| Device { index, name: name.into() };
    Plan {
        interface: "wan".to_owned(),
        port: device(3, "wan"),
        sources: vec![device(3, "wan")],
        hosts: vec![device(1, "lan1")],
        download: 50_000,
        upload: 10_000,
        overhead: 4,
        mpu: 84,
        included: 8,
    }
}

fn number(options: &[u8], kind: u16) -> u32 {
    word_at(attribute(options, kind).unwrap(), 0).unwrap()
}

#[test]
fn each_direction_has_its_own_rate_and_host_fairness() {
    let (down, up) = (cake(&plan(), true), cake(&plan(), false));
    let rate = |options| attribute(options, 2).map(|value| value.try_into().unwrap());
    assert_eq!(rate(&down).map(u64::from_ne_bytes), Some(6_250_000));
    assert_eq!(rate(&up).map(u64::from_ne_bytes), Some(1_250_000));
    // dual-dsthost nonat, dual-srchost nat.
    assert_eq!([5, 11, 15].map(|kind| number(&down, kind)), [6, 0, 0]);
    assert_eq!([5, 11, 15].map(|kind| number(&up, kind)), [5, 1, 0]);
    // At the port, packets include the PPPoE header.
    assert_eq!(number(&down, 6), 4);
    assert_eq!(number(&up, 6).cast_signed(), -4);
    for options in [down, up] {
        assert_eq!((number(&options, 3), number(&options, 13)), (3, 0), "besteffort nowash");
    }
}

#[test]
fn compares_only_configured_options() {
    let options = cake(&plan(), true);
    let mut more = options.clone();
    push_attribute(&mut more, 7, &100_u32.to_ne_bytes());
    let qdisc = Qdisc::parse(&root(9, &more)).unwrap();
    assert!(qdisc.is_ours() && qdisc.has(&options) && qdisc.index == 9);
    assert!(!qdisc.has(&cake(&Plan { download: 40_000, ..plan() }, true)));
    let mut theirs = root(9, &more);
    theirs[8..12].copy_from_slice(&0x8005_0000_u32.to_ne_bytes());
    assert!(!Qdisc::parse(&theirs).unwrap().is_ours(), "another handle");
    assert_eq!(Qdisc::parse(&[0; 19]), None);
}

#[test]
fn parses_generated_filters() {
    assert_eq!(redirected(&redirect(1, "pppoe-wan", 31)), Some(("pppoe-wan".to_owned(), 31)));
    assert_eq!(redirected(&pass(1)), Some((IFB.to_owned(), 0)));
    let mut other = redirect(1, "wan", 31);
    other[16..20].copy_from_slice(&(9_u32 << 16).to_ne_bytes());
    assert!(!is_ours(&other));
    assert_eq!(redirected(&other), None);
}
