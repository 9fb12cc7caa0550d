// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::fixture::inspection;

#[test]
fn exempt_networks_do_not_overlap() {
    let all = ["10.1.0.0/16", "10.0.0.0/8", "10.1.2.3", "192.0.2.0/24", "10.0.0.0/8", "::1"];
    let exempt = all.map(|text| text.parse().unwrap()).into();
    let inspection = InspectionRules { exempt, ..inspection() };
    let texts = |ipv4| inspection.exempt_of(ipv4).iter().map(Network::to_string).collect();
    let v4: Vec<String> = texts(true);
    assert_eq!(v4, ["10.0.0.0/8", "192.0.2.0/24"]);
    let v6: Vec<String> = texts(false);
    assert_eq!(v6, ["::1/128"]);
}

#[test]
fn queue_numbers_end_at_the_kernels_limit() {
    let queues = |first, count| Queues { first, count, spread: Spread::Hash };
    assert_eq!(queues(0, 4).last(), 3);
    assert_eq!(queues(7, 1).last(), 7);
    assert_eq!(queues(7, 0).last(), 7);
    assert_eq!(queues(65_530, 100).last(), 65_535);
}
