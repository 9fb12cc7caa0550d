// SPDX-License-Identifier: GPL-2.0-or-later
use topology::{Address, Change, Mac, PppoeSession, VlanPriorities};

use super::*;

fn link(index: u32, name: &str, kind: LinkKind, lower: Option<u32>) -> Link {
    let hardware = if kind == LinkKind::Ppp { libc::ARPHRD_PPP } else { libc::ARPHRD_ETHER };
    Link {
        index,
        name: name.into(),
        kind,
        mac: None,
        mtu: 1500,
        mtu6: 1500,
        up: true,
        carrier: true,
        operstate: 6,
        master: None,
        lower,
        hardware,
        point_to_point: false,
        checksums: false,
        priorities: VlanPriorities::default(),
    }
}

fn vlan(id: u16) -> LinkKind {
    LinkKind::Vlan { id, service: false }
}

/// Returns `lan1` and `lan2` with addresses, and `wan` with VLAN 35 and optionally a PPPoE session.
fn gateway(session: bool) -> Topology {
    let mut topology = Topology::new();
    topology.apply(Change::Link(link(1, "lan1", LinkKind::Ethernet, None)));
    topology.apply(Change::Link(link(2, "lan2", LinkKind::Ethernet, None)));
    topology.apply(Change::Link(link(3, "wan", LinkKind::Ethernet, None)));
    topology.apply(Change::Link(link(4, "wan.35", vlan(35), Some(3))));
    address(&mut topology, 1, "10.0.1.1");
    address(&mut topology, 2, "10.0.2.1");
    if session {
        topology.apply(Change::Link(link(5, "pppoe-wan", LinkKind::Ppp, None)));
        let session = PppoeSession { id: 1, peer: Mac([2; 6]), device: "wan.35".into() };
        topology.apply(Change::Pppoe(vec![session], Vec::new()));
        address(&mut topology, 5, "198.51.100.7");
    } else {
        address(&mut topology, 4, "198.51.100.7");
    }
    topology
}

fn address(topology: &mut Topology, index: u32, text: &str) {
    let address = text.parse().unwrap();
    topology.apply(Change::Address(Address { index, address, prefix: 24, peer: None }));
}

fn settings() -> Settings {
    let settings = Settings::default();
    Settings { enabled: true, download: 50_000, upload: 10_000, ..settings }
}

const PPPOE_WAN: Wan<'_> =
    Wan { name: "wan", device: "pppoe-wan", lower: "wan.35", proto: "pppoe" };
const VLAN_WAN: Wan<'_> = Wan { name: "wan", device: "wan.35", lower: "wan.35", proto: "dhcp" };

fn names(devices: &[Device]) -> Vec<&str> {
    devices.iter().map(|device| &*device.name).collect()
}

#[test]
fn limits_a_session_over_a_vlan_at_its_port() {
    let plan = plan(&gateway(true), PPPOE_WAN, &settings(), |_| false).unwrap();
    assert_eq!((&*plan.port.name, plan.port.index), ("wan", 3));
    assert_eq!(names(&plan.sources), ["pppoe-wan", "wan.35", "wan"]);
    assert_eq!(names(&plan.hosts), ["lan1", "lan2"]);
    assert_eq!((plan.overhead, plan.mpu, plan.included), (50, 84, 8));
    assert_eq!((plan.download, plan.upload), (50_000, 10_000));
}

#[test]
fn the_overhead_depends_on_the_encapsulation() {
    let plan_of = |settings: &Settings| plan(&gateway(false), VLAN_WAN, settings, |_| false);
    let plan = plan_of(&settings()).unwrap();
    assert_eq!((plan.overhead, plan.mpu, plan.included), (42, 84, 0));
    assert_eq!(names(&plan.sources), ["wan.35", "wan"]);
    let own = Settings { overhead: Some(30), ..settings() };
    let plan = plan_of(&own).unwrap();
    assert_eq!((plan.overhead, plan.mpu), (30, 0));
}

#[test]
fn a_session_that_is_down_keeps_port_and_overhead() {
    let mut topology = gateway(true);
    let up = plan(&topology, PPPOE_WAN, &settings(), |_| false).unwrap();
    topology.apply(Change::LinkGone(5));
    topology.apply(Change::Pppoe(Vec::new(), Vec::new()));
    let down = plan(&topology, PPPOE_WAN, &settings(), |_| false).unwrap();
    assert_eq!((down.port, down.overhead), (up.port, up.overhead));
    assert_eq!(names(&down.sources), ["wan.35", "wan"]);
}

/// netifd reports no lower device for modems, tunnels and some other protocols.
#[test]
fn a_wan_without_a_lower_device_has_no_session() {
    for (proto, lower) in [("qmi", ""), ("ncm", ""), ("wwan", ""), ("dhcp", "wan"), ("6in4", "")] {
        let wan = Wan { name: "wan", device: "wan.35", lower, proto };
        let plan = plan(&gateway(false), wan, &settings(), |_| false).unwrap();
        assert_eq!((plan.overhead, plan.included), (42, 0), "{proto}");
    }
}

/// netifd binds the tunnels of DS-Lite and MAP-E to the WAN's device.
#[test]
fn the_download_includes_a_tunnel_bound_to_the_wan() {
    let mut topology = gateway(true);
    for (index, name, lower) in [(6, "ds-lite", Some(5)), (7, "vpn", Some(5)), (8, "free", None)] {
        let mut tunnel = link(index, name, LinkKind::Other("ip6tnl".into()), lower);
        tunnel.hardware = libc::ARPHRD_TUNNEL6;
        topology.apply(Change::Link(tunnel));
        address(&mut topology, index, "192.0.0.2");
    }
    let plan = plan(&topology, PPPOE_WAN, &settings(), |name| name == "vpn").unwrap();
    let sources: Vec<&str> = plan.sources.iter().map(|source| &*source.name).collect();
    assert_eq!(sources, ["pppoe-wan", "wan.35", "wan", "ds-lite"]);
}

#[test]
fn rejects_a_port_shared_with_another_network() {
    let mut topology = gateway(true);
    topology.apply(Change::Link(link(6, "wan.10", vlan(10), Some(3))));
    let shared =
        |topology: &Topology| plan(topology, PPPOE_WAN, &settings(), |name| name == "wan.10");
    let reason = shared(&topology).unwrap_err();
    let devices = "wan.10".to_owned();
    assert_eq!(reason, LatencyReason::PortShared { port: "wan".to_owned(), devices });
    topology.apply(Change::LinkGone(6));
    assert!(shared(&topology).is_ok());
}

#[test]
fn rejects_a_wan_without_an_exclusive_port() {
    let no_port = Err(LatencyReason::NoPort { interface: "wan".to_owned() });
    let missing = Wan { name: "wan", device: "wan.7", lower: "wan.7", proto: "dhcp" };
    assert_eq!(plan(&gateway(true), missing, &settings(), |_| false), no_port);
    let mut topology = gateway(false);
    let mut port = link(3, "wan", LinkKind::Ethernet, None);
    topology.apply(Change::Link(link(7, "br", LinkKind::Bridge { vlan_filtering: false }, None)));
    port.master = Some(7);
    topology.apply(Change::Link(port));
    assert_eq!(plan(&topology, VLAN_WAN, &settings(), |_| false), no_port);
}

#[test]
fn rejects_a_router_without_another_port() {
    let mut topology = gateway(true);
    topology.apply(Change::LinkGone(1));
    topology.apply(Change::LinkGone(2));
    let reason = plan(&topology, PPPOE_WAN, &settings(), |_| false);
    assert_eq!(reason, Err(LatencyReason::NoHosts));
}
