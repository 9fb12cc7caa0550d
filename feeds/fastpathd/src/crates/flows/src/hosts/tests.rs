// SPDX-License-Identifier: GPL-2.0-or-later

use std::net::Ipv4Addr;

use super::*;

fn host(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number))
}

fn named(hosts: &Hosts) -> Vec<IpAddr> {
    let mut found: Vec<_> = hosts.named().iter().map(|series| series.address).collect();
    found.sort_unstable();
    found
}

fn minutes(hosts: &mut Hosts, from: Millis, number: Millis) {
    for minute in from..from + number {
        hosts.second(minute * RANKING_INTERVAL_MS);
    }
}

/// Returns the growth of all series since an earlier state.
fn growth(before: &[HostTraffic], hosts: &Hosts, others: [u64; 2]) -> u64 {
    let sum = |bytes: [u64; 2]| bytes[0] + bytes[1];
    let of = |now: &HostTraffic| {
        let then = before.iter().find(|then| then.address == now.address);
        sum(now.bytes) - then.map_or(0, |then| sum(then.bytes))
    };
    hosts.named().iter().map(of).sum::<u64>() + sum(hosts.others()) - sum(others)
}

#[test]
fn the_first_hosts_get_a_series_with_their_first_byte() {
    let mut hosts = Hosts::default();
    hosts.limit(2);
    for number in 1..=3 {
        hosts.add(host(number), [10, 100]);
    }
    let first = HostTraffic { address: host(1), bytes: [10, 100] };
    assert_eq!(hosts.named(), [first, HostTraffic { address: host(2), ..first }]);
    assert_eq!(hosts.others(), [10, 100]);
}

#[test]
fn a_busier_host_replaces_an_idle_one() {
    let mut hosts = Hosts::default();
    hosts.limit(2);
    for number in 1..=3 {
        hosts.add(host(number), [0, 1_000_000]);
    }
    hosts.add(host(3), [0, 100_000]);
    minutes(&mut hosts, 1, 1);
    assert_eq!(named(&hosts), [host(1), host(2)], "a tenth more is not enough");
    hosts.add(host(3), [0, 1_000_000]);
    hosts.add(host(1), [0, 1]);
    minutes(&mut hosts, 2, 1);
    assert_eq!(named(&hosts), [host(1), host(3)]);
    // The host's earlier bytes stay in the shared series.
    assert_eq!(hosts.others(), [0, 2_100_000]);
    let new = hosts.named().iter().find(|series| series.address == host(3)).unwrap();
    assert_eq!(new.bytes, [0; 2]);
    let before = hosts.named().to_vec();
    hosts.add(host(2), [0, 7]);
    assert_eq!(hosts.named(), before);
    assert_eq!(hosts.others(), [0, 2_100_007]);
}

#[test]
fn counts_every_byte_in_exactly_one_series() {
    let mut hosts = Hosts::default();
    hosts.limit(5);
    let (mut added, mut seed) = (0, 1_u64);
    for minute in 1..200 {
        let (before, others) = (hosts.named().to_vec(), hosts.others());
        let mut new = 0;
        for _ in 0..40 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bytes = (seed >> 40) & 0xf_ffff;
            hosts.add(host(u32::try_from(seed >> 59).unwrap()), [bytes / 3, bytes]);
            new += bytes / 3 + bytes;
        }
        assert_eq!(growth(&before, &hosts, others), new, "minute {minute}");
        added += new;
        minutes(&mut hosts, minute, 1);
        assert_eq!(hosts.named().len(), 5);
    }
    assert!(added > 0);
}

#[test]
fn hosts_are_bounded_and_idle_ones_evicted() {
    let mut hosts = Hosts::default();
    for number in 0..100_000 {
        hosts.add(host(number), [0, 1000]);
    }
    assert_eq!(hosts.known.len(), MAX_HOSTS);
    assert_eq!(hosts.named().len(), DEFAULT_SERIES);
    assert_eq!(hosts.others()[1], (100_000 - DEFAULT_SERIES as u64) * 1000);
    minutes(&mut hosts, 1, 1);
    assert_eq!(hosts.known.len(), DEFAULT_SERIES);
    hosts.add(host(99_999), [0, 1_000_000]);
    minutes(&mut hosts, 2, 1);
    assert!(named(&hosts).contains(&host(99_999)));
}

#[test]
fn a_limit_of_zero_disables_series() {
    let mut hosts = Hosts::default();
    hosts.add(host(1), [1, 2]);
    hosts.limit(0);
    hosts.add(host(1), [1, 2]);
    assert_eq!((hosts.named(), hosts.others()), (&[][..], [1, 2]));
    assert!(hosts.known.is_empty());
}
