// SPDX-License-Identifier: GPL-2.0-or-later
//! Decodes rtnetlink messages into changes; `rules.rs` decodes routing rules.
//!
//! `netlink-bindings`, generated from the kernel's specifications, decodes most attributes. The
//! specifications lack VLANs of bridge ports, `RTA_VIA` and `RTA_MULTIPATH`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use config::Network;
use netlink::{Message, attribute, attributes};
use netlink_bindings::rt_addr::{AddrAttrs, Ifaddrmsg};
use netlink_bindings::rt_link::{
    Ifinfomsg, IterableLinkAttrs, IterableLinkinfoVlanAttrs, LinkAttrs, LinkinfoDataMsg,
};
use netlink_bindings::rt_neigh::{Ndmsg, NeighbourAttrs};
use netlink_bindings::rt_route::{RouteAttrs, Rtmsg};

use crate::change::Change;
use crate::prefix::ip;
use crate::rules::RoutingRule;
use crate::types::{
    Address, BridgeVlan, FdbEntry, Link, LinkKind, Mac, Name, Neighbour, NeighbourState, PortVlan,
    QueueingDiscipline, Route, RouteKind, VlanPriorities,
};

const ETH_P_8021AD: u16 = 0x88a8;
const RTM_NEWVLAN: u16 = 112;
const RTM_DELVLAN: u16 = 113;
const BRIDGE: u8 = 7; // AF_BRIDGE
/// From `include/uapi/linux/rtnetlink.h`; libc has it only for glibc, and `OpenWrt` has musl.
const RTA_VIA: u16 = 18;
/// Attribute within `RTA_METRICS`.
const RTAX_MTU: u16 = 2;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    Change(Change),
    /// VLANs of a bridge port. A dump has all of them; an event may have only changed ones, so they
    /// must be read again.
    Vlans(Option<BridgeVlan>),
    /// A configured queueing discipline in a dump. An event shows only that one changed.
    Queue(Option<QueueingDiscipline>),
    /// A route that affects other routes, which the message does not show.
    Routes,
    /// A routing rule in a dump. An event shows only that one changed.
    Rule(Option<RoutingRule>),
    /// Any other message.
    Nothing,
}

/// Decodes a message; a truncated or invalid one is [`Decoded::Nothing`].
pub(crate) fn decode(message: &Message<'_>) -> Decoded {
    let decoded = match message.kind {
        libc::RTM_NEWLINK | libc::RTM_DELLINK => link_message(message),
        libc::RTM_NEWADDR => address(message.payload).map(Change::Address).map(Decoded::Change),
        libc::RTM_DELADDR => address(message.payload).map(Change::AddressGone).map(Decoded::Change),
        libc::RTM_NEWROUTE | libc::RTM_DELROUTE => route_message(message),
        libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH => neighbour_message(message),
        libc::RTM_NEWQDISC | libc::RTM_DELQDISC => Some(Decoded::Queue(queue(message.payload))),
        libc::RTM_NEWRULE | libc::RTM_DELRULE => {
            Some(Decoded::Rule(RoutingRule::decode(message.payload)))
        }
        RTM_NEWVLAN | RTM_DELVLAN => Some(Decoded::Vlans(None)),
        _ => None,
    };
    decoded.unwrap_or(Decoded::Nothing)
}

fn mac(bytes: &[u8]) -> Option<Mac> {
    bytes.try_into().ok().map(Mac)
}

fn positive(index: i32) -> Option<u32> {
    u32::try_from(index).ok().filter(|index| *index != 0)
}

fn link_message(message: &Message<'_>) -> Option<Decoded> {
    let (header, attrs) = message.payload.split_at_checked(Ifinfomsg::len())?;
    let header = Ifinfomsg::new_from_slice(header)?;
    let index = positive(header.ifi_index)?;
    if header.ifi_family == BRIDGE {
        // RTM_DELLINK of this family means that the port left its bridge; the link remains.
        let vlans = (message.kind == libc::RTM_NEWLINK).then(|| port_vlans(index, attrs));
        return Some(Decoded::Vlans(vlans));
    }
    if message.kind == libc::RTM_DELLINK {
        return Some(Decoded::Change(Change::LinkGone(index)));
    }
    let link = link(&header, index, LinkAttrs::new(attrs))?;
    let mtu6 = mtu6(attrs).unwrap_or(link.mtu6);
    Some(Decoded::Change(Change::Link(Link { mtu6, ..link })))
}

/// Returns the IPv6 MTU from `IFLA_INET6_CONF`, an array of settings of 32 bits each.
fn mtu6(attrs: &[u8]) -> Option<u32> {
    const AF_SPEC: u16 = 26;
    const AF_INET6: u16 = 10;
    const CONF: u16 = 2;
    const MTU6: usize = 2;
    let of_ipv6 = attribute(attribute(attrs, AF_SPEC)?, AF_INET6)?;
    let value = attribute(of_ipv6, CONF)?.get(4 * MTU6..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*value)).filter(|mtu| *mtu != 0)
}

fn link(header: &Ifinfomsg, index: u32, attrs: IterableLinkAttrs<'_>) -> Option<Link> {
    const IFF_UP: u32 = 1;
    const IFF_POINTOPOINT: u32 = 1 << 4;
    const IFF_RUNNING: u32 = 1 << 6;
    const IFF_NOARP: u32 = 1 << 7;
    let mut name = None;
    let mut foreign = false;
    let mut info = None;
    let mut link = Link {
        index,
        name: Name::from(""),
        kind: LinkKind::Ethernet,
        mac: None,
        mtu: 0,
        mtu6: u32::MAX,
        up: header.ifi_flags & IFF_UP != 0,
        carrier: header.ifi_flags & IFF_RUNNING != 0,
        operstate: 0,
        master: None,
        lower: None,
        hardware: header.ifi_type,
        point_to_point: header.ifi_flags & (IFF_POINTOPOINT | IFF_NOARP) != 0,
        priorities: VlanPriorities::default(),
    };
    for attr in attrs.flatten() {
        match attr {
            LinkAttrs::Ifname(text) => name = text.to_str().ok(),
            LinkAttrs::Address(bytes) => link.mac = mac(bytes),
            LinkAttrs::Mtu(mtu) => link.mtu = mtu,
            LinkAttrs::Carrier(carrier) => link.carrier = carrier != 0,
            LinkAttrs::Operstate(state) => link.operstate = state,
            LinkAttrs::Master(master) => link.master = Some(master).filter(|index| *index != 0),
            LinkAttrs::Link(lower) => link.lower = Some(lower).filter(|lower| *lower != 0),
            // The index of the lower device belongs to another namespace.
            LinkAttrs::LinkNetnsid(_) => foreign = true,
            LinkAttrs::Linkinfo(attrs) => info = Some(attrs),
            _ => {}
        }
    }
    link.name = name.filter(|name| !name.is_empty())?.into();
    let text = info.as_ref().and_then(|info| info.get_kind().ok()?.to_str().ok());
    let data = || info.as_ref().and_then(|info| info.get_data().ok());
    link.kind = kind(header.ifi_type, text, data());
    if let Some(LinkinfoDataMsg::Vlan(attrs)) = data() {
        link.priorities = priorities(&attrs);
    }
    if foreign || link.lower == Some(index) {
        link.lower = None;
    }
    Some(link)
}

fn kind(hardware: u16, text: Option<&str>, data: Option<LinkinfoDataMsg<'_>>) -> LinkKind {
    match (text, data) {
        (Some("bridge"), Some(LinkinfoDataMsg::Bridge(attrs))) => LinkKind::Bridge {
            vlan_filtering: attrs.get_vlan_filtering().is_ok_and(|filtering| filtering != 0),
        },
        (Some("bridge"), _) => LinkKind::Bridge { vlan_filtering: false },
        (Some("vlan"), Some(LinkinfoDataMsg::Vlan(attrs))) => LinkKind::Vlan {
            id: attrs.get_id().unwrap_or_default(),
            service: attrs.get_protocol().is_ok_and(|protocol| protocol == ETH_P_8021AD),
        },
        (Some("ppp"), _) => LinkKind::Ppp,
        (Some(other), _) => LinkKind::Other(other.into()),
        (None, _) => match hardware {
            libc::ARPHRD_LOOPBACK => LinkKind::Loopback,
            libc::ARPHRD_PPP => LinkKind::Ppp,
            libc::ARPHRD_ETHER => LinkKind::Ethernet,
            // Old tunnels and modems have a hardware type only.
            other => LinkKind::Other(format!("hardware type {other}").into()),
        },
    }
}

fn priorities(vlan: &IterableLinkinfoVlanAttrs<'_>) -> VlanPriorities {
    /// `rt_tos2priority` of the service bits 0x00, 0x08, 0x10 and 0x18: best effort, bulk,
    /// interactive, interactive bulk.
    const PRIORITIES: [u32; 4] = [0, 2, 6, 4];
    let mut found = VlanPriorities::default();
    for mapping in vlan.get_egress_qos().into_iter().flat_map(|map| map.get_mapping()) {
        for (priority, egress) in PRIORITIES.into_iter().zip(&mut found.egress) {
            if mapping.from == priority {
                *egress = u8::try_from(mapping.to & 7).unwrap_or(0);
            }
        }
    }
    let mut ingress = vlan.get_ingress_qos().into_iter().flat_map(|map| map.get_mapping());
    found.ingress = ingress.any(|mapping| mapping.to != 0);
    found
}

const USUAL: [&str; 8] =
    ["bfifo", "fq", "fq_codel", "mq", "noop", "noqueue", "pfifo", "pfifo_fast"];

/// Returns whether the kernel or a distribution sets this queueing discipline by default.
#[must_use]
pub fn is_default_queue(kind: &str) -> bool {
    USUAL.contains(&kind)
}

/// Decodes `struct tcmsg` and `TCA_KIND`; `None` for default disciplines and invalid messages.
fn queue(payload: &[u8]) -> Option<QueueingDiscipline> {
    const TCMSG: usize = 20;
    const TCA_KIND: u16 = 1;
    const TCA_OPTIONS: u16 = 2;
    const TCA_CAKE_FWMARK: u16 = 18;
    const TC_H_INGRESS: u32 = 0xffff_fff1;
    let (header, attrs) = payload.split_at_checked(TCMSG)?;
    let word = |at: usize| Some(u32::from_ne_bytes(*header.get(at..)?.first_chunk()?));
    let (index, parent) = (word(4)?, word(12)?);
    let (_, kind) = attributes(attrs).find(|(kind, _)| *kind == TCA_KIND)?;
    let kind = str::from_utf8(kind).ok()?.trim_end_matches('\0');
    let usual = kind.is_empty() || is_default_queue(kind);
    let fwmark = attribute(attrs, TCA_OPTIONS).and_then(|cake| attribute(cake, TCA_CAKE_FWMARK));
    (!usual).then(|| QueueingDiscipline {
        index,
        incoming: parent == TC_H_INGRESS,
        kind: kind.into(),
        by_mark: match kind {
            "cake" => fwmark.is_some_and(|mask| mask.iter().any(|byte| *byte != 0)),
            "clsact" | "ingress" => false,
            _ => true,
        },
    })
}

/// Decodes `IFLA_AF_SPEC` of an `AF_BRIDGE` message: a list of `IFLA_BRIDGE_VLAN_INFO`, with a
/// range of VLANs as two entries for its ends.
fn port_vlans(index: u32, attrs: &[u8]) -> BridgeVlan {
    const IFLA_AF_SPEC: u16 = 26;
    const IFLA_BRIDGE_VLAN_INFO: u16 = 2;
    const PVID: u16 = 1 << 1;
    const UNTAGGED: u16 = 1 << 2;
    const RANGE_BEGIN: u16 = 1 << 3;
    const RANGE_END: u16 = 1 << 4;
    let mut vlans = Vec::new();
    let mut begin = None;
    for (_, spec) in attributes(attrs).filter(|(kind, _)| *kind == IFLA_AF_SPEC) {
        for (_, info) in attributes(spec).filter(|(kind, _)| *kind == IFLA_BRIDGE_VLAN_INFO) {
            let &[f0, f1, v0, v1] = info else { continue };
            let flags = u16::from_ne_bytes([f0, f1]);
            let vid = u16::from_ne_bytes([v0, v1]);
            if flags & RANGE_BEGIN != 0 {
                begin = Some(vid);
                continue;
            }
            let first = begin.take().filter(|_| flags & RANGE_END != 0).unwrap_or(vid);
            // 4094 is the highest VLAN, so damaged messages cannot produce longer ranges.
            vlans.extend((first..=vid.min(4094)).map(|vid| PortVlan {
                vid,
                tagged: flags & UNTAGGED == 0,
                pvid: flags & PVID != 0,
            }));
        }
    }
    vlans.sort_unstable();
    vlans.dedup();
    BridgeVlan { index, vlans }
}

fn address(payload: &[u8]) -> Option<Address> {
    let (header, attrs) = payload.split_at_checked(Ifaddrmsg::len())?;
    let header = Ifaddrmsg::new_from_slice(header)?;
    let attrs = AddrAttrs::new(attrs);
    let (local, far) = (attrs.get_local().ok(), attrs.get_address().ok());
    // IPv4 always has both attributes, equal unless the link is point-to-point; IPv6 has IFA_LOCAL
    // only on point-to-point links.
    let own = local.or(far)?;
    Some(Address {
        index: header.ifa_index,
        address: own,
        prefix: header.ifa_prefixlen,
        peer: far.filter(|far| *far != own),
    })
}

fn route_message(message: &Message<'_>) -> Option<Decoded> {
    const RTM_F_CLONED: u32 = 1 << 9;
    let (header, attrs) = message.payload.split_at_checked(Rtmsg::len())?;
    let header = Rtmsg::new_from_slice(header)?;
    // Skip entries of the route cache (cloned), and routes for packets with a type of service.
    if header.rtm_flags & RTM_F_CLONED != 0 || header.rtm_tos != 0 {
        return None;
    }
    let multipath = attributes(attrs).any(|(kind, _)| kind == libc::RTA_MULTIPATH);
    let event = message.flags & MULTI == 0;
    if multipath && event {
        return Some(Decoded::Routes);
    }
    let route = route(&header, attrs)?;
    let change = match message.kind {
        libc::RTM_DELROUTE => Change::RouteGone(route),
        _ if event && message.flags & REPLACE != 0 => Change::RouteReplaced(route),
        _ => Change::Route(route),
    };
    Some(Decoded::Change(change))
}

/// `NLM_F_MULTI`: part of a dump.
const MULTI: u16 = 2;
/// `NLM_F_REPLACE` in an event: the route replaced other routes to the same network.
const REPLACE: u16 = 0x100;

fn route(header: &Rtmsg, attrs: &[u8]) -> Option<Route> {
    let network = match i32::from(header.rtm_family) {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        libc::AF_INET6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => return None,
    };
    let mut route = Route {
        network,
        prefix: header.rtm_dst_len,
        kind: route_kind(header.rtm_type)?,
        table: u32::from(header.rtm_table),
        metric: 0,
        index: None,
        gateway: None,
        source: (header.rtm_src_len != 0)
            .then_some(Network { address: network, prefix: header.rtm_src_len }),
        several: false,
        mtu: None,
    };
    for attr in RouteAttrs::new(attrs).flatten() {
        match attr {
            RouteAttrs::Dst(network) => route.network = network,
            RouteAttrs::Table(table) => route.table = table,
            RouteAttrs::Priority(metric) => route.metric = metric,
            RouteAttrs::Oif(index) => route.index = Some(index),
            RouteAttrs::Gateway(gateway) => route.gateway = Some(gateway),
            _ => {}
        }
    }
    for (kind, value) in attributes(attrs) {
        match kind {
            RTA_VIA => route.gateway = via(value),
            libc::RTA_SRC => {
                route.source = route
                    .source
                    .zip(ip(value))
                    .map(|(source, address)| Network { address, ..source });
            }
            libc::RTA_METRICS => {
                let mtu = attribute(value, RTAX_MTU).and_then(|mtu| mtu.try_into().ok());
                route.mtu = mtu.map(u32::from_ne_bytes).filter(|mtu| *mtu != 0);
            }
            libc::RTA_MULTIPATH => {
                (route.index, route.gateway, route.several) = first_hop(value)?;
            }
            _ => {}
        }
    }
    let longest = if route.network.is_ipv4() { 32 } else { 128 };
    (route.prefix <= longest && route.network.is_ipv4() == network.is_ipv4()).then_some(route)
}

fn route_kind(kind: u8) -> Option<RouteKind> {
    Some(match kind {
        libc::RTN_UNICAST => RouteKind::Unicast,
        libc::RTN_LOCAL | libc::RTN_ANYCAST => RouteKind::Local,
        libc::RTN_BROADCAST | libc::RTN_MULTICAST => RouteKind::Broadcast,
        libc::RTN_BLACKHOLE | libc::RTN_UNREACHABLE | libc::RTN_PROHIBIT | libc::RTN_THROW => {
            RouteKind::Refuse
        }
        _ => return None,
    })
}

/// Decodes `struct rtvia`, a gateway of another address family.
pub(crate) fn via(value: &[u8]) -> Option<IpAddr> {
    let (family, address) = value.split_first_chunk()?;
    match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET => Some(IpAddr::from(<[u8; 4]>::try_from(address).ok()?)),
        libc::AF_INET6 => Some(IpAddr::from(<[u8; 16]>::try_from(address).ok()?)),
        _ => None,
    }
}

/// Returns link and gateway of the first live next hop in `RTA_MULTIPATH`, and whether further ones
/// follow.
fn first_hop(mut hops: &[u8]) -> Option<(Option<u32>, Option<IpAddr>, bool)> {
    const RTNEXTHOP: usize = 8;
    const RTNH_F_DEAD: u8 = 1;
    loop {
        let (header, _) = hops.split_first_chunk::<RTNEXTHOP>()?;
        let [l0, l1, flags, _, i0, i1, i2, i3] = *header;
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let attrs = hops.get(RTNEXTHOP..length)?;
        if flags & RTNH_F_DEAD == 0 {
            let mut gateway = None;
            for (kind, value) in attributes(attrs) {
                match kind {
                    RTA_VIA => gateway = via(value),
                    libc::RTA_GATEWAY => gateway = ip(value),
                    _ => {}
                }
            }
            let further = hops.len() > length.next_multiple_of(4);
            return Some((positive(i32::from_ne_bytes([i0, i1, i2, i3])), gateway, further));
        }
        hops = hops.get(length.next_multiple_of(4)..)?;
    }
}

fn neighbour_message(message: &Message<'_>) -> Option<Decoded> {
    const NTF_PROXY: u8 = 1 << 3;
    let (header, attrs) = message.payload.split_at_checked(Ndmsg::len())?;
    let header = Ndmsg::new_from_slice(header)?;
    let index = positive(header.ndm_ifindex)?;
    let gone = message.kind == libc::RTM_DELNEIGH;
    if header.ndm_family == BRIDGE {
        let entry = station(&header, index, attrs)?;
        let change = if gone { Change::FdbGone(entry) } else { Change::Fdb(entry) };
        return Some(Decoded::Change(change));
    }
    if header.ndm_flags & NTF_PROXY != 0 {
        return None;
    }
    let neighbour = neighbour(&header, index, attrs)?;
    let change = if gone {
        Change::NeighbourGone(index, neighbour.address)
    } else {
        Change::Neighbour(neighbour)
    };
    Some(Decoded::Change(change))
}

/// `NUD_*`: reachable, stale, delay, probe, noarp, permanent.
const VALID: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80;
const PERMANENT: u16 = 0x80;

fn neighbour(header: &Ndmsg, index: u32, attrs: &[u8]) -> Option<Neighbour> {
    let attrs = NeighbourAttrs::new(attrs);
    let (address, mac) = (attrs.get_dst().ok()?, attrs.get_lladdr().ok().and_then(mac));
    let valid = header.ndm_state & VALID != 0;
    let state = if valid { NeighbourState::Valid } else { NeighbourState::Invalid };
    Some(Neighbour { index, address, mac, state })
}

/// Returns `None` for entries of a device's own filter (`self`), which belong to no bridge.
fn station(header: &Ndmsg, port: u32, attrs: &[u8]) -> Option<FdbEntry> {
    let attrs = NeighbourAttrs::new(attrs);
    let (bridge, mac) = (attrs.get_master().ok()?, mac(attrs.get_lladdr().ok()?)?);
    let vlan = attrs.get_vlan().unwrap_or_default();
    // The bridge marks its own and its ports' addresses as permanent.
    let own = header.ndm_state & PERMANENT != 0;
    Some(FdbEntry { bridge, port, mac, vlan, own })
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
