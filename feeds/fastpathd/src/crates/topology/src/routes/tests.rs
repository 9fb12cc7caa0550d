// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;

use super::*;
use crate::fixture::route;

fn table(routes: impl IntoIterator<Item = Route>) -> Routes {
    let mut table = Routes::default();
    for route in routes {
        table.insert(route, false);
    }
    table
}

fn link(routes: &Routes, address: &str) -> Option<u32> {
    routes.find(address.parse().unwrap())?.index
}

#[test]
fn the_longest_prefix_wins() {
    let routes = table([
        route(1, "0.0.0.0/0", None),
        route(2, "10.0.0.0/8", None),
        route(3, "10.1.0.0/16", None),
        route(4, "10.1.2.3/32", None),
        route(5, "::/0", None),
        route(6, "2001:db8::/32", None),
    ]);
    for (address, index) in [
        ("192.0.2.1", 1),
        ("10.2.0.1", 2),
        ("10.1.2.4", 3),
        ("10.1.2.3", 4),
        ("2001:db9::1", 5),
        ("2001:db8:ffff::1", 6),
    ] {
        assert_eq!(link(&routes, address), Some(index), "{address}");
    }
}

#[test]
fn the_smaller_metric_wins_regardless_of_the_order() {
    let worse = Route { metric: 100, ..route(1, "0.0.0.0/0", None) };
    let better = Route { metric: 5, ..route(2, "0.0.0.0/0", None) };
    for order in [[worse.clone(), better.clone()], [better, worse]] {
        let mut routes = table(order);
        assert_eq!(link(&routes, "192.0.2.1"), Some(2));
        routes.drop_link(2);
        assert_eq!(link(&routes, "192.0.2.1"), Some(1));
        routes.drop_link(1);
        assert_eq!(link(&routes, "192.0.2.1"), None);
        assert_eq!(routes, Routes::default(), "empty tables are removed");
    }
}

#[test]
fn tables_are_consulted_in_the_order_local_main_default() {
    let local = Route { table: 255, kind: RouteKind::Local, ..route(1, "10.0.0.0/8", None) };
    let last = Route { table: 253, ..route(3, "0.0.0.0/0", None) };
    let policy = Route { table: 100, ..route(4, "10.0.0.1/32", None) };
    let routes = table([route(2, "10.0.0.1/32", None), last, local, policy]);
    assert_eq!(link(&routes, "10.0.0.1"), Some(1), "a shorter prefix in an earlier table");
    assert_eq!(link(&routes, "11.0.0.1"), Some(3));
    assert_eq!(routes.iter().count(), 3, "other tables are not modelled");
}

#[test]
fn a_replacement_removes_only_routes_with_the_same_metric() {
    let backup = Route { metric: 9, ..route(3, "0.0.0.0/0", None) };
    let mut routes = table([route(1, "0.0.0.0/0", Some("192.0.2.1")), backup.clone()]);
    assert!(routes.insert(route(1, "0.0.0.0/0", Some("192.0.2.2")), true));
    assert!(!routes.insert(route(1, "0.0.0.0/0", Some("192.0.2.2")), true), "a repetition");
    assert_eq!(routes.iter().count(), 2);
    assert!(!routes.remove(&route(1, "0.0.0.0/0", Some("192.0.2.1"))), "already gone");
    assert!(routes.remove(&route(1, "0.0.0.0/0", Some("192.0.2.2"))));
    assert_eq!(link(&routes, "192.0.2.9"), Some(3));
    assert!(routes.remove(&backup));
    assert_eq!(routes, Routes::default());
}

fn at(v6: bool, bits: u32) -> IpAddr {
    if v6 { IpAddr::V6((u128::from(bits) << 96).into()) } else { IpAddr::V4(bits.into()) }
}

fn any_route() -> impl Strategy<Value = Route> {
    // Few distinct bits, so that networks overlap.
    (any::<bool>(), 0..=32_u8, 0..16_u32, 0..3_u32, 0..4_u32).prop_map(
        |(v6, prefix, net, index, metric)| {
            let net = net << 28 | net << 2;
            let network = at(v6, net);
            Route { network, prefix, metric, ..route(index + 1, "0.0.0.0/0", None) }
        },
    )
}

/// Finds prefix length and metric of the route by a linear search.
fn naive(routes: &[Route], address: IpAddr) -> Option<(u8, u32)> {
    routes
        .iter()
        .filter(|route| route.network.is_ipv4() == address.is_ipv4())
        .filter(|route| {
            mask(bits(route.network), route.prefix) == mask(bits(address), route.prefix)
        })
        .map(|route| (route.prefix, route.metric))
        .min_by_key(|(prefix, metric)| (Reverse(*prefix), *metric))
}

proptest! {
    #[test]
    fn finds_the_same_route_as_a_linear_search(
        routes in prop::collection::vec(any_route(), 0..40),
        address: u32,
        v6: bool,
    ) {
        let address = at(v6, address);
        let found = table(routes.clone()).find(address).map(|route| (route.prefix, route.metric));
        prop_assert_eq!(found, naive(&routes, address));
    }

    #[test]
    fn removing_all_inserted_routes_empties_the_tables(
        routes in prop::collection::vec(any_route(), 0..40),
    ) {
        let mut table = table(routes.clone());
        for route in &routes {
            table.remove(route);
        }
        prop_assert_eq!(table, Routes::default());
    }
}
