// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the watcher with the running kernel in a network namespace. Needs root and iproute2;
//! prints that it is skipped otherwise.

use std::process::Command;
use std::time::Duration;

use crate::support::{address, in_namespace, ip, until};
use topology::{Change, Topology, Watcher};

const PAIR: &str = "link add near type veth peer name far
link set near up
link set far up
addr add 10.0.0.1/24 dev near
";

#[test]
fn the_first_change_is_a_full_read() {
    in_namespace(|| async {
        ip(PAIR);
        ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev near nud permanent
route add 192.0.2.0/24 via 10.0.0.2
route add default nexthop via 10.0.0.3 weight 1 nexthop via 10.0.0.4 weight 1
");
        let mut watcher = Watcher::open().unwrap();
        let first = watcher.next().await.unwrap();
        assert!(matches!(&first[..], [Change::Full(_)]));
        let mut model = Topology::new();
        for change in first {
            model.apply(change);
        }
        assert!(model.is_local(address("10.0.0.1")) && model.is_local(address("10.0.0.255")));
        let host = model.side(address("10.0.0.2"), None).unwrap();
        assert_eq!(
            (&*host.device, host.port.as_deref(), host.neighbour),
            ("near", Some("near"), true)
        );
        assert_eq!(model.side(address("192.0.2.9"), None).unwrap(), host, "through the router");
        let internet = model.side(address("198.51.100.1"), None).unwrap();
        assert!(!internet.neighbour, "the first of two routers is unresolved");
        let eligible: Vec<_> =
            model.lowest().into_iter().filter(|lowest| lowest.eligible).collect();
        assert_eq!(eligible.len(), 1);
        assert_eq!(&*eligible[0].device, "near");
    });
}

#[test]
fn events_update_the_model_after_the_full_read() {
    in_namespace(|| async {
        // Disable IPv6, because its delayed events would raise the generation.
        std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
        let mut watcher = Watcher::open().unwrap();
        let mut model = Topology::new();
        until(&mut watcher, &mut model, |model| model.link_named("lo").is_some()).await;

        ip(PAIR);
        let routed = |model: &Topology| model.side(address("10.0.0.2"), None).is_some();
        until(&mut watcher, &mut model, routed).await;
        assert!(model.is_local(address("10.0.0.1")));

        ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev near nud reachable\n");
        let resolved = |model: &Topology| model.side(address("10.0.0.2"), None).unwrap().neighbour;
        until(&mut watcher, &mut model, resolved).await;
        // The kernel reports operstate 6 (RFC 2863: up) with a delay of up to a second.
        let is_up = |model: &Topology, name| model.link_named(name).unwrap().operstate == 6;
        let both_up = |model: &Topology| is_up(model, "near") && is_up(model, "far");
        until(&mut watcher, &mut model, both_up).await;
        let generation = model.generation();
        ip("neigh change 10.0.0.2 lladdr 02:00:00:00:00:02 dev near nud stale
neigh add 10.0.0.9 dev near nud none
neigh change 10.0.0.2 lladdr 02:00:00:00:00:02 dev near nud reachable
link set far mtu 1400
");
        let shrunk = |model: &Topology| model.link_named("far").unwrap().mtu == 1400;
        until(&mut watcher, &mut model, shrunk).await;
        assert_eq!(model.generation(), generation + 1, "only the MTU counts");

        // The kernel sends no event for IPv4 routes that it removes with a link that goes down.
        ip("route add 192.0.2.0/24 via 10.0.0.2\n");
        until(&mut watcher, &mut model, |model| model.side(address("192.0.2.1"), None).is_some())
            .await;
        ip("link set near down\n");
        until(&mut watcher, &mut model, |model| model.side(address("192.0.2.1"), None).is_none())
            .await;

        ip("link del near\n");
        until(&mut watcher, &mut model, |model| model.link_named("near").is_none()).await;
        assert!(!model.is_local(address("10.0.0.1")));
        assert_eq!(model.routes().filter(|route| route.network.is_ipv4()).count(), 0);
    });
}

#[test]
fn events_update_routing_rules() {
    in_namespace(|| async {
        ip(PAIR);
        ip("addr add 10.1.0.1/24 dev far\n");
        let (here, there) = (address("10.0.0.2"), address("10.1.0.2"));
        let mut watcher = Watcher::open().unwrap();
        let mut model = Topology::new();
        until(&mut watcher, &mut model, |model| model.side(there, None).is_some()).await;
        assert!(!model.is_policy_routed(here, there), "{:?}", model.policies());

        ip("rule add from 10.0.0.0/24 lookup 100\n");
        until(&mut watcher, &mut model, |model| model.is_policy_routed(here, there)).await;
        assert_eq!(model.policies(), ["32765: from 10.0.0.0/24 lookup 100"]);
        ip("rule del from 10.0.0.0/24 lookup 100\nrule add not fwmark 0xca6c lookup 100\n");
        let inverted = |model: &Topology| model.policies() == ["32765: not from all … lookup 100"];
        until(&mut watcher, &mut model, inverted).await;
        assert!(model.is_policy_routed(here, there));
        ip("rule del not fwmark 0xca6c lookup 100\n");
        let six = ["-6", "rule", "add", "from", "all", "lookup", "100"];
        assert!(Command::new("ip").args(six).status().unwrap().success());
        until(&mut watcher, &mut model, |model| !model.is_policy_routed(here, there)).await;
        let v6 = |last: u8| address(&format!("2001:db8::{last}"));
        until(&mut watcher, &mut model, |model| model.is_policy_routed(v6(1), v6(2))).await;
    });
}

#[test]
fn events_update_a_replaced_route() {
    in_namespace(|| async {
        ip(PAIR);
        ip("addr add 10.1.0.1/24 dev far\nroute add 192.0.2.0/24 via 10.0.0.2\n");
        let mut watcher = Watcher::open().unwrap();
        let mut model = Topology::new();
        let by = |device: &'static str| {
            move |model: &Topology| {
                model.side(address("192.0.2.1"), None).is_some_and(|side| &*side.device == device)
            }
        };
        until(&mut watcher, &mut model, by("near")).await;
        ip("route replace 192.0.2.0/24 via 10.1.0.2\n");
        until(&mut watcher, &mut model, by("far")).await;
        ip("route del 192.0.2.0/24\n");
        until(&mut watcher, &mut model, |model| model.side(address("192.0.2.1"), None).is_none())
            .await;
    });
}

#[test]
fn lost_events_cause_a_full_read() {
    in_namespace(|| async {
        ip(PAIR);
        let mut watcher = Watcher::open().unwrap();
        let mut model = Topology::new();
        until(&mut watcher, &mut model, |model| model.link_named("near").is_some()).await;

        // Send more events than the socket can hold.
        let neighbours = (0..12_000).map(|number| {
            let (high, low) = (number / 250, number % 250 + 1);
            format!("neigh add 10.9.{high}.{low} lladdr 02:00:00:00:00:02 dev near nud permanent\n")
        });
        ip(&neighbours.collect::<String>());
        let changes = watcher.next().await.unwrap();
        assert_eq!(watcher.resyncs(), 1);
        assert!(matches!(&changes[..], [Change::Full(_)]), "{} changes", changes.len());
        for change in changes {
            model.apply(change);
        }
        assert_eq!(model.neighbours().filter(|have| have.address.is_ipv4()).count(), 12_000);

        ip("addr add 10.3.0.1/24 dev near\n");
        until(&mut watcher, &mut model, |model| model.is_local(address("10.3.0.1"))).await;
    });
}

#[test]
fn cancelling_next_loses_no_changes() {
    in_namespace(|| async {
        let mut watcher = Watcher::open().unwrap();
        let mut model = Topology::new();
        until(&mut watcher, &mut model, |model| model.link_named("lo").is_some()).await;
        for number in 0..20 {
            let wait = Duration::from_micros(number * 50);
            let _ = tokio::time::timeout(wait, watcher.next()).await.map(|changes| {
                for change in changes.unwrap() {
                    model.apply(change);
                }
            });
            ip(&format!("link add d{number} type veth peer name e{number}\n"));
        }
        until(&mut watcher, &mut model, |model| model.links().count() == 41).await;
    });
}

/// A VLAN-aware bridge with hosts behind its ports, like the gateway's.
const BRIDGE: &str = "link add name br0 type bridge vlan_filtering 1 vlan_default_pvid 0
link add lan1 type veth peer name h1
link add lan2 type veth peer name h2
link set lan1 master br0
link set lan2 master br0
link add link br0 name br0.10 type vlan id 10
link set br0 up
link set lan1 up
link set lan2 up
link set h1 up
link set h2 up
link set br0.10 up
addr add 10.0.10.1/24 dev br0.10
neigh add 10.0.10.5 lladdr 02:00:00:00:00:05 dev br0.10 nud permanent
";

fn bridge(lines: &str) {
    for line in lines.lines() {
        let status = Command::new("bridge").args(line.split(' ')).status().unwrap();
        assert!(status.success(), "bridge refused: {line}");
    }
}

fn has_vlan_filtering() -> bool {
    let add = "link add name br0 type bridge vlan_filtering 1";
    let tried = Command::new("ip").args(add.split(' ')).output().unwrap();
    if tried.status.success() {
        ip("link del br0\n");
        return true;
    }
    let message = String::from_utf8_lossy(&tried.stderr).into_owned();
    eprintln!("skipped: no VLAN-aware bridges in this kernel: {}", message.trim());
    false
}

fn port(model: &Topology) -> Option<String> {
    model.side(address("10.0.10.5"), None)?.port.map(|port| port.to_string())
}

#[test]
fn events_update_a_vlan_aware_bridge() {
    in_namespace(|| async {
        if !has_vlan_filtering() {
            return;
        }
        ip(BRIDGE);
        let mut watcher = Watcher::open().unwrap();
        let mut model = Topology::new();
        until(&mut watcher, &mut model, |model| model.link_named("br0.10").is_some()).await;
        let eligible = |model: &Topology| {
            let all = model.lowest().into_iter().filter(|lowest| lowest.eligible);
            all.map(|lowest| lowest.device.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(eligible(&model), [""; 0], "no port is in VLAN 10 yet");

        bridge("vlan add dev lan1 vid 10 pvid untagged\nvlan add dev lan2 vid 9-12");
        until(&mut watcher, &mut model, |model| eligible(model) == ["lan1", "lan2"]).await;
        let bridges = model.bridges();
        let vids = |name: &str| -> Vec<(u16, bool, bool)> {
            let ports = &bridges.first().unwrap().ports;
            let port = ports.iter().find(|port| &*port.name == name).unwrap();
            port.vlans.iter().map(|vlan| (vlan.vid, vlan.tagged, vlan.pvid)).collect()
        };
        assert_eq!(vids("lan1"), [(10, false, true)]);
        assert_eq!(vids("lan2"), [9, 10, 11, 12].map(|vid| (vid, true, false)));

        bridge("fdb add 02:00:00:00:00:05 dev lan2 master static vlan 10");
        until(&mut watcher, &mut model, |model| port(model).as_deref() == Some("lan2")).await;
        let side = model.side(address("10.0.10.5"), None).unwrap();
        assert_eq!((&*side.device, side.vlan, side.neighbour), ("br0.10", 10, true));
        bridge("fdb replace 02:00:00:00:00:05 dev lan1 master static vlan 10");
        until(&mut watcher, &mut model, |model| port(model).as_deref() == Some("lan1")).await;
        bridge("fdb del 02:00:00:00:00:05 dev lan1 master vlan 10");
        until(&mut watcher, &mut model, |model| port(model).is_none()).await;

        bridge("vlan del dev lan1 vid 10");
        until(&mut watcher, &mut model, |model| eligible(model) == ["lan2"]).await;
        ip("link set lan2 nomaster\n");
        until(&mut watcher, &mut model, |model| eligible(model).is_empty()).await;
        assert!(model.link_named("lan2").is_some(), "the port left its bridge, but still exists");
    });
}
