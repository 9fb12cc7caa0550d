// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests route look-ups with the running kernel in a network namespace. Needs root and iproute2;
//! prints that it is skipped otherwise.

use crate::support::{address, in_namespace, ip, until};
use ctnetlink::Tuple;
use model::{Connection, NextHop, Routing};
use topology::{RouteLookup, Topology, Watcher};

/// A LAN and two WANs of both address families, with a default route to a router on each WAN.
const TWO_WANS: &str = "link add lan type veth peer name lan-end
link add wan1 type veth peer name wan1-end
link add wan2 type veth peer name wan2-end
link set lan up
link set lan-end up
link set wan1 up
link set wan1-end up
link set wan2 up
link set wan2-end up
addr add 10.10.10.1/24 dev lan
addr add 192.0.2.10/24 dev wan1
addr add 198.51.100.10/24 dev wan2
addr add 2001:db8:10::1/64 dev lan nodad
addr add 2001:db8:1::10/64 dev wan1 nodad
addr add 2001:db8:2::10/64 dev wan2 nodad
route add default via 192.0.2.1
route add default via 2001:db8:1::1
route add default via 198.51.100.1 table 2
route add default via 2001:db8:2::1 table 2
";

struct Router {
    watcher: Watcher,
    model: Topology,
    lookup: RouteLookup,
}

impl Router {
    async fn new() -> Self {
        for (setting, value) in [("ip_forward", "1"), ("conf/all/rp_filter", "0")] {
            std::fs::write(format!("/proc/sys/net/ipv4/{setting}"), value).unwrap();
        }
        std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1").unwrap();
        ip(TWO_WANS);
        let mut router = Self {
            watcher: Watcher::open().unwrap(),
            model: Topology::new(),
            lookup: RouteLookup::open().unwrap(),
        };
        let known = |model: &Topology| {
            model.side(address("2001:db8:ff::1"), None).is_some()
                && model.side(address("203.0.113.1"), None).is_some()
        };
        until(&mut router.watcher, &mut router.model, known).await;
        router
    }

    async fn policies(&mut self, count: usize) {
        until(&mut self.watcher, &mut self.model, |model| model.policies().len() == count).await;
    }

    async fn routing(&mut self, connection: &Connection, mark: u32) -> Routing {
        loop {
            let routing = self.model.routing(connection, mark);
            let Some(batch) = self.model.route_questions() else { return routing };
            let answers = self.lookup.ask(&batch.queries).await.unwrap();
            assert_eq!(answers.len(), batch.queries.len());
            self.model.routes_answered(&batch, &answers);
        }
    }

    fn next_hop(&self, device: &str, gateway: Option<&str>) -> NextHop {
        let device = self.model.link_named(device).unwrap().index;
        NextHop { device, gateway: gateway.map(address) }
    }

    fn by(&self, device: &str, gateway: &str) -> Routing {
        let hops = [self.next_hop("lan", None), self.next_hop(device, Some(gateway))];
        Routing::Kernel { hops, current: true }
    }
}

/// Returns a connection from the LAN to a web server, which sees the source `seen`.
fn web(src: &str, dst: &str, seen: &str) -> Connection {
    let (src, dst, seen) = (address(src), address(dst), address(seen));
    let orig = Tuple { src, dst, proto: 6, sport: 40_000, dport: 443 };
    let reply = Tuple { src: dst, dst: seen, proto: 6, sport: 443, dport: 40_000 };
    Connection { id: 1, zone: 0, orig, reply }
}

fn plain(src: &str) -> Connection {
    web(src, "203.0.113.1", src)
}

#[test]
fn the_kernel_is_not_asked_without_a_matching_rule() {
    in_namespace(|| async {
        let mut router = Router::new().await;
        assert_eq!(router.model.routing(&plain("10.10.10.2"), 0), Routing::Destination);
        assert_eq!(router.model.route_questions(), None);
        // This rule matches another source.
        ip("rule add from 10.10.10.9 lookup 2\n");
        router.policies(1).await;
        assert_eq!(router.model.routing(&plain("10.10.10.2"), 0), Routing::Destination);
        assert_eq!(router.model.route_questions(), None);
    });
}

#[test]
fn a_source_rule_routes_through_the_second_wan() {
    in_namespace(|| async {
        let mut router = Router::new().await;
        ip("rule add from 10.10.10.2 lookup 2\n");
        router.policies(1).await;
        let one = plain("10.10.10.2");
        assert_eq!(router.model.routing(&one, 0), Routing::Asked);
        assert_eq!(router.routing(&one, 0).await, router.by("wan2", "198.51.100.1"));
        assert_eq!(router.model.route_questions(), None, "known");
        // The source address belongs to the other WAN, as after a change of the WAN's address.
        let masqueraded = web("10.10.10.2", "203.0.113.1", "192.0.2.10");
        assert_eq!(router.routing(&masqueraded, 0).await, Routing::Unknown);

        ip("route replace default via 198.51.100.2 table 2\n");
        let outdated = |model: &Topology| {
            matches!(model.routing(&one, 0), Routing::Kernel { current: false, .. })
        };
        until(&mut router.watcher, &mut router.model, outdated).await;
        assert_eq!(router.routing(&one, 0).await, router.by("wan2", "198.51.100.2"));
        ip("route replace blackhole default table 2\n");
        until(&mut router.watcher, &mut router.model, outdated).await;
        assert_eq!(router.routing(&one, 0).await, Routing::Unknown);
        ip("rule del from 10.10.10.2 lookup 2\n");
        router.policies(0).await;
        assert_eq!(router.routing(&one, 0).await, Routing::Destination);
    });
}

#[test]
fn port_rules_are_queried_with_the_ports() {
    in_namespace(|| async {
        let mut router = Router::new().await;
        ip("rule add ipproto tcp dport 443 lookup 2\n");
        router.policies(1).await;
        let mut one = plain("10.10.10.2");
        assert_eq!(router.routing(&one, 0).await, router.by("wan2", "198.51.100.1"));
        (one.orig.dport, one.reply.sport) = (80, 80);
        assert_eq!(router.routing(&one, 0).await, router.by("wan1", "192.0.2.1"));
        (one.orig.proto, one.reply.proto) = (1, 1);
        assert_eq!(router.routing(&one, 0).await, Routing::Unknown);
    });
}

#[test]
fn a_mark_determines_the_route_if_the_source_address_proves_it() {
    in_namespace(|| async {
        let mut router = Router::new().await;
        ip("rule add fwmark 0x100/0x3f00 lookup 1\nrule add fwmark 0x200/0x3f00 lookup 2
rule add fwmark 0x3d00/0x3f00 blackhole\nroute add default via 192.0.2.1 table 1
route add 10.10.10.0/24 dev lan table 1\nroute add 10.10.10.0/24 dev lan table 2
rule add pref 1001 iif wan1 lookup main\nrule add pref 1002 iif wan2 lookup main\n");
        router.policies(5).await;
        let seen = |address| web("10.10.10.2", "203.0.113.1", address);
        let second = router.by("wan2", "198.51.100.1");
        // Bits outside the mask do not count.
        assert_eq!(router.routing(&seen("198.51.100.10"), 0x3000_0200).await, second);
        assert_eq!(router.routing(&seen("198.51.100.10"), 0).await, Routing::Unknown);
        assert_eq!(router.routing(&seen("192.0.2.10"), 0x200).await, Routing::Unknown);
        let first = router.by("wan1", "192.0.2.1");
        assert_eq!(router.routing(&seen("192.0.2.10"), 0x100).await, first);
        assert_eq!(
            router.routing(&seen("192.0.2.10"), 0).await,
            first,
            "the source address proves the mark"
        );
        assert_eq!(router.routing(&plain("10.10.10.2"), 0x200).await, Routing::Unknown);
    });
}

#[test]
fn routing_is_unknown_for_unsupported_routes() {
    in_namespace(|| async {
        let mut router = Router::new().await;
        ip("rule add from 10.10.10.0/24 lookup 3\n");
        router.policies(1).await;
        let one = plain("10.10.10.2");
        // Without a route in that table, the next rule decides.
        assert_eq!(router.routing(&one, 0).await, router.by("wan1", "192.0.2.1"));
        for route in [
            "unreachable default table 3",
            "prohibit default table 3",
            "default table 3 nexthop via 192.0.2.1 nexthop via 198.51.100.1",
            "default via 198.51.100.1 mtu 1300 table 3",
            "local default dev lo table 3",
        ] {
            ip(&format!("route replace {route}\n"));
            let outdated = |model: &Topology| {
                matches!(model.routing(&one, 0), Routing::Kernel { current: false, .. })
            };
            until(&mut router.watcher, &mut router.model, outdated).await;
            assert_eq!(router.routing(&one, 0).await, Routing::Unknown, "{route}");
            ip("route flush table 3\n");
            loop {
                for change in router.watcher.next().await.unwrap() {
                    router.model.apply(change);
                }
                if router.routing(&one, 0).await == router.by("wan1", "192.0.2.1") {
                    break;
                }
            }
        }
    });
}

#[test]
fn ipv6_rules_are_queried() {
    in_namespace(|| async {
        let mut router = Router::new().await;
        let rule = ["-6", "rule", "add", "from", "2001:db8:10::/64", "lookup", "2"];
        assert!(std::process::Command::new("ip").args(rule).status().unwrap().success());
        router.policies(1).await;
        let one = web("2001:db8:10::2", "2001:db8:ff::1", "2001:db8:10::2");
        assert_eq!(router.routing(&one, 0).await, router.by("wan2", "2001:db8:2::1"));
        ip("route append default via 2001:db8:2::2 table 2\n");
        let outdated = |model: &Topology| {
            matches!(model.routing(&one, 0), Routing::Kernel { current: false, .. })
        };
        until(&mut router.watcher, &mut router.model, outdated).await;
        assert_eq!(router.routing(&one, 0).await, Routing::Unknown, "two next hops");
        ip("route flush table 2\nroute add blackhole default table 2\n");
        loop {
            for change in router.watcher.next().await.unwrap() {
                router.model.apply(change);
            }
            if router.model.routes().count() > 0
                && router.routing(&one, 0).await == Routing::Unknown
            {
                break;
            }
        }
    });
}

#[test]
fn replies_determine_the_ingress_device_of_inbound_connections() {
    in_namespace(|| async {
        let mut router = Router::new().await;
        ip("rule add from 10.10.10.2 lookup 2\n");
        router.policies(1).await;
        let Connection { orig, reply, .. } = plain("10.10.10.2");
        let inward = Connection { id: 2, zone: 0, orig: reply, reply: orig };
        let routing = router.routing(&inward, 0).await;
        let Routing::Kernel { hops: [to_initiator, to_responder], .. } = routing else {
            panic!("{routing:?}")
        };
        assert_eq!(to_initiator, router.next_hop("wan2", Some("198.51.100.1")));
        assert_eq!(to_responder, router.next_hop("lan", None));
    });
}

#[test]
fn the_kernel_answers_thousands_of_queries() {
    in_namespace(|| async {
        let mut router = Router::new().await;
        ip("rule add from 10.10.0.0/16 lookup 2\n");
        router.policies(1).await;
        let sources = (10..=255).flat_map(|high| (2..10).map(move |low| (high, low)));
        let flows: Vec<Connection> =
            sources.map(|(high, low)| plain(&format!("10.10.{high}.{low}"))).collect();
        for flow in &flows {
            assert_eq!(router.model.routing(flow, 0), Routing::Asked);
        }
        let batch = router.model.route_questions().unwrap();
        let answers = router.lookup.ask(&batch.queries).await.unwrap();
        assert_eq!(answers.len(), batch.queries.len());
        router.model.routes_answered(&batch, &answers);
        let last = flows.iter().rev().find(|flow| flow.orig.src == address("10.10.10.9")).unwrap();
        assert_eq!(router.routing(last, 0).await, router.by("wan2", "198.51.100.1"));
    });
}
