// SPDX-License-Identifier: GPL-2.0-or-later
//! Decodes rtnetlink messages into changes.

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use config::Network;
use netlink::{Message, attribute, attributes, number};

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
// From `include/uapi/linux`; the libc crate lacks them for musl.
const RTA_VIA: u16 = 18;
const NDA_MASTER: u16 = 9;
/// Attribute within `RTA_METRICS`.
const RTAX_MTU: u16 = 2;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    Change(Change),
    /// VLANs of a bridge port. An event may list only the changed ones, so the caller dumps the
    /// table.
    Vlans(Option<BridgeVlan>),
    /// A configured queueing discipline of a dump, or an event about any.
    Queue(Option<QueueingDiscipline>),
    /// An event about a multipath route, which does not show all changes.
    Routes,
    /// A routing rule of a dump, or an event about any.
    Rule(Option<RoutingRule>),
    Nothing,
}

/// Decodes a message. Truncated and invalid messages yield [`Decoded::Nothing`].
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

fn text(value: &[u8]) -> Option<&str> {
    CStr::from_bytes_with_nul(value).ok()?.to_str().ok()
}

fn word(value: &[u8]) -> Option<u32> {
    number(value, u32::from_ne_bytes)
}

fn positive(index: i32) -> Option<u32> {
    u32::try_from(index).ok().filter(|index| *index != 0)
}

fn link_message(message: &Message<'_>) -> Option<Decoded> {
    // `struct ifinfomsg`.
    let (header, attrs) = message.payload.split_first_chunk::<16>()?;
    let [family, _, h0, h1, i0, i1, i2, i3, f0, f1, f2, f3, ..] = *header;
    let index = positive(i32::from_ne_bytes([i0, i1, i2, i3]))?;
    if family == BRIDGE {
        // `RTM_DELLINK` of this family reports that the port left its bridge; the link still
        // exists.
        let vlans = (message.kind == libc::RTM_NEWLINK).then(|| port_vlans(index, attrs));
        return Some(Decoded::Vlans(vlans));
    }
    if message.kind == libc::RTM_DELLINK {
        return Some(Decoded::Change(Change::LinkGone(index)));
    }
    let (hardware, flags) = (u16::from_ne_bytes([h0, h1]), u32::from_ne_bytes([f0, f1, f2, f3]));
    Some(Decoded::Change(Change::Link(link(index, hardware, flags, attrs)?)))
}

/// Returns the IPv6 MTU from `IFLA_INET6_CONF`, an array of settings of 32 bits each.
fn mtu6(attrs: &[u8]) -> Option<u32> {
    const AF_INET6: u16 = 10;
    const CONF: u16 = 2;
    const MTU6: usize = 2;
    let inet6 = attribute(attribute(attrs, libc::IFLA_AF_SPEC)?, AF_INET6)?;
    word(attribute(inet6, CONF)?.get(4 * MTU6..)?).filter(|mtu| *mtu != 0)
}

fn link(index: u32, hardware: u16, flags: u32, attrs: &[u8]) -> Option<Link> {
    const IFF_UP: u32 = 1;
    const IFF_POINTOPOINT: u32 = 1 << 4;
    const IFF_RUNNING: u32 = 1 << 6;
    const IFF_NOARP: u32 = 1 << 7;
    let info = attribute(attrs, libc::IFLA_LINKINFO).unwrap_or_default();
    let driver = attribute(info, libc::IFLA_INFO_KIND).and_then(text);
    let data = attribute(info, libc::IFLA_INFO_DATA);
    let mut link = Link {
        index,
        name: Name::from(""),
        kind: kind(hardware, driver, data),
        mac: None,
        mtu: 0,
        mtu6: mtu6(attrs).unwrap_or(u32::MAX),
        up: flags & IFF_UP != 0,
        carrier: flags & IFF_RUNNING != 0,
        operstate: 0,
        master: None,
        lower: None,
        hardware,
        point_to_point: flags & (IFF_POINTOPOINT | IFF_NOARP) != 0,
        checksums: driver.is_some_and(|name| name.contains("gre"))
            && data.is_some_and(has_checksums),
        priorities: data
            .filter(|_| driver == Some("vlan"))
            .map_or_else(Default::default, priorities),
    };
    for (kind, value) in attributes(attrs) {
        let _ = take_link(&mut link, kind, value);
    }
    // The index of the lower device may belong to another namespace.
    let foreign = attribute(attrs, libc::IFLA_LINK_NETNSID).is_some();
    link.lower = link.lower.filter(|lower| !foreign && *lower != index);
    (!link.name.is_empty()).then_some(link)
}

/// Returns whether a GRE tunnel expects checksums, from `IFLA_GRE_IFLAGS`.
fn has_checksums(gre: &[u8]) -> bool {
    const IFLAGS: u16 = 2;
    const GRE_CSUM: u16 = 0x8000;
    let flags = attribute(gre, IFLAGS).and_then(|value| number(value, u16::from_be_bytes));
    flags.is_some_and(|flags| flags & GRE_CSUM != 0)
}

fn take_link(link: &mut Link, kind: u16, value: &[u8]) -> Option<()> {
    match kind {
        libc::IFLA_IFNAME => link.name = text(value)?.into(),
        libc::IFLA_ADDRESS => link.mac = mac(value),
        libc::IFLA_MTU => link.mtu = word(value)?,
        libc::IFLA_CARRIER => link.carrier = *value.first()? != 0,
        libc::IFLA_OPERSTATE => link.operstate = *value.first()?,
        libc::IFLA_MASTER => link.master = Some(word(value)?).filter(|index| *index != 0),
        libc::IFLA_LINK => link.lower = Some(word(value)?).filter(|index| *index != 0),
        _ => {}
    }
    Some(())
}

fn kind(hardware: u16, driver: Option<&str>, data: Option<&[u8]>) -> LinkKind {
    const BR_VLAN_FILTERING: u16 = 7;
    const VLAN_ID: u16 = 1;
    const VLAN_PROTOCOL: u16 = 5;
    let half = |kind, convert| number(attribute(data?, kind)?, convert);
    match driver {
        Some("bridge") => LinkKind::Bridge {
            vlan_filtering: data
                .and_then(|data| attribute(data, BR_VLAN_FILTERING)?.first())
                .is_some_and(|filtering| *filtering != 0),
        },
        Some("vlan") if data.is_some() => LinkKind::Vlan {
            id: half(VLAN_ID, u16::from_ne_bytes).unwrap_or_default(),
            service: half(VLAN_PROTOCOL, u16::from_be_bytes) == Some(ETH_P_8021AD),
        },
        Some("ppp") => LinkKind::Ppp,
        Some(other) => LinkKind::Other(other.into()),
        None => match hardware {
            libc::ARPHRD_LOOPBACK => LinkKind::Loopback,
            libc::ARPHRD_PPP => LinkKind::Ppp,
            libc::ARPHRD_ETHER => LinkKind::Ethernet,
            // Old tunnels and modems have no driver name.
            other => LinkKind::Other(format!("hardware type {other}").into()),
        },
    }
}

/// Decodes `IFLA_VLAN_EGRESS_QOS` and `IFLA_VLAN_INGRESS_QOS`.
fn priorities(vlan: &[u8]) -> VlanPriorities {
    const EGRESS: u16 = 3;
    const INGRESS: u16 = 4;
    /// `rt_tos2priority` of the service bits 0x00, 0x08, 0x10 and 0x18: best effort, bulk,
    /// interactive, interactive bulk.
    const PRIORITIES: [u32; 4] = [0, 2, 6, 4];
    let mut found = VlanPriorities::default();
    let map = |kind| {
        let pairs = attributes(attribute(vlan, kind).unwrap_or_default());
        pairs.filter_map(|(_, pair)| Some((word(pair)?, word(pair.get(4..)?)?)))
    };
    for (from, to) in map(EGRESS) {
        for (priority, egress) in PRIORITIES.into_iter().zip(&mut found.egress) {
            if from == priority {
                *egress = u8::try_from(to & 7).unwrap_or(0);
            }
        }
    }
    found.ingress = map(INGRESS).any(|(_, to)| to != 0);
    found
}

const DEFAULT_QUEUES: [&str; 8] =
    ["bfifo", "fq", "fq_codel", "mq", "noop", "noqueue", "pfifo", "pfifo_fast"];

/// Returns whether the kernel or a distribution sets this queueing discipline by default.
#[must_use]
pub fn is_default_queue(kind: &str) -> bool {
    DEFAULT_QUEUES.contains(&kind)
}

/// Decodes `struct tcmsg` and `TCA_KIND`; `None` for default disciplines and invalid messages.
fn queue(payload: &[u8]) -> Option<QueueingDiscipline> {
    const TCMSG: usize = 20;
    const TCA_KIND: u16 = 1;
    const TCA_OPTIONS: u16 = 2;
    const TCA_CAKE_FWMARK: u16 = 18;
    const TC_H_INGRESS: u32 = 0xffff_fff1;
    let (header, attrs) = payload.split_first_chunk::<TCMSG>()?;
    let (index, parent) = (word(&header[4..])?, word(&header[12..])?);
    let kind = str::from_utf8(attribute(attrs, TCA_KIND)?).ok()?.trim_end_matches('\0');
    let default = kind.is_empty() || is_default_queue(kind);
    let fwmark = attribute(attrs, TCA_OPTIONS).and_then(|cake| attribute(cake, TCA_CAKE_FWMARK));
    (!default).then(|| QueueingDiscipline {
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

/// Decodes `IFLA_AF_SPEC` of an `AF_BRIDGE` message: a list of `IFLA_BRIDGE_VLAN_INFO`. A range of
/// VLANs has two entries.
fn port_vlans(index: u32, attrs: &[u8]) -> BridgeVlan {
    const IFLA_BRIDGE_VLAN_INFO: u16 = 2;
    const PVID: u16 = 1 << 1;
    const UNTAGGED: u16 = 1 << 2;
    const RANGE_BEGIN: u16 = 1 << 3;
    const RANGE_END: u16 = 1 << 4;
    let mut vlans = Vec::new();
    let mut begin = None;
    for (_, spec) in attributes(attrs).filter(|(kind, _)| *kind == libc::IFLA_AF_SPEC) {
        for (_, info) in attributes(spec).filter(|(kind, _)| *kind == IFLA_BRIDGE_VLAN_INFO) {
            let &[f0, f1, v0, v1] = info else { continue };
            let flags = u16::from_ne_bytes([f0, f1]);
            let vid = u16::from_ne_bytes([v0, v1]);
            if flags & RANGE_BEGIN != 0 {
                begin = Some(vid);
                continue;
            }
            let first = begin.take().filter(|_| flags & RANGE_END != 0).unwrap_or(vid);
            // Bound the range, because the message may be damaged.
            vlans.extend((first..=vid.min(4094)).map(|vid| PortVlan {
                vid,
                tagged: flags & UNTAGGED == 0,
                pvid: flags & PVID != 0,
            }));
        }
    }
    config::sort::values(&mut vlans);
    vlans.dedup();
    BridgeVlan { index, vlans }
}

fn address(payload: &[u8]) -> Option<Address> {
    // `struct ifaddrmsg`.
    let (header, attrs) = payload.split_first_chunk::<8>()?;
    let [_, prefix, _, _, index @ ..] = *header;
    let [local, far] =
        [libc::IFA_LOCAL, libc::IFA_ADDRESS].map(|kind| attribute(attrs, kind).and_then(ip));
    // IPv4 addresses have both attributes, which differ on point-to-point links; IPv6 addresses
    // have `IFA_LOCAL` only on point-to-point links.
    let own = local.or(far)?;
    Some(Address {
        index: u32::from_ne_bytes(index),
        address: own,
        prefix,
        peer: far.filter(|far| *far != own),
    })
}

fn route_message(message: &Message<'_>) -> Option<Decoded> {
    const RTM_F_CLONED: u32 = 1 << 9;
    let (header, attrs) = message.payload.split_first_chunk::<12>()?;
    let [_, _, _, tos, _, _, _, _, flags @ ..] = *header;
    // Skip entries of the route cache, and routes for a type of service.
    if u32::from_ne_bytes(flags) & RTM_F_CLONED != 0 || tos != 0 {
        return None;
    }
    let event = message.flags & MULTI == 0;
    if event && attribute(attrs, libc::RTA_MULTIPATH).is_some() {
        return Some(Decoded::Routes);
    }
    let route = route(header, attrs)?;
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

/// Decodes `struct rtmsg` and its attributes.
fn route(header: &[u8; 12], attrs: &[u8]) -> Option<Route> {
    let [family, prefix, src_prefix, _, table, _, _, kind, ..] = *header;
    let network = match i32::from(family) {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        libc::AF_INET6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => return None,
    };
    let mut route = Route {
        network,
        prefix,
        kind: route_kind(kind)?,
        table: u32::from(table),
        metric: 0,
        index: None,
        gateway: None,
        source: (src_prefix != 0).then_some(Network { address: network, prefix: src_prefix }),
        several: false,
        mtu: None,
    };
    for (kind, value) in attributes(attrs) {
        let _ = take_route(&mut route, kind, value);
    }
    if let Some(hops) = attribute(attrs, libc::RTA_MULTIPATH) {
        (route.index, route.gateway, route.several) = first_hop(hops)?;
    }
    let longest = if route.network.is_ipv4() { 32 } else { 128 };
    (route.prefix <= longest && route.network.is_ipv4() == network.is_ipv4()).then_some(route)
}

fn take_route(route: &mut Route, kind: u16, value: &[u8]) -> Option<()> {
    match kind {
        libc::RTA_DST => route.network = ip(value)?,
        libc::RTA_TABLE => route.table = word(value)?,
        libc::RTA_PRIORITY => route.metric = word(value)?,
        libc::RTA_OIF => route.index = Some(word(value)?),
        libc::RTA_GATEWAY => route.gateway = Some(ip(value)?),
        RTA_VIA => route.gateway = via(value),
        libc::RTA_SRC => {
            let source = route.source.zip(ip(value));
            route.source = source.map(|(source, address)| Network { address, ..source });
        }
        libc::RTA_METRICS => route.mtu = word(attribute(value, RTAX_MTU)?).filter(|mtu| *mtu != 0),
        _ => {}
    }
    Some(())
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

/// Returns link and gateway of the first live next hop in `RTA_MULTIPATH`, and whether more follow.
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
    // `struct ndmsg`.
    let (header, attrs) = message.payload.split_first_chunk::<12>()?;
    let [family, _, _, _, i0, i1, i2, i3, s0, s1, flags, _] = *header;
    let index = positive(i32::from_ne_bytes([i0, i1, i2, i3]))?;
    let state = u16::from_ne_bytes([s0, s1]);
    let gone = message.kind == libc::RTM_DELNEIGH;
    if family == BRIDGE {
        let entry = station(state, index, attrs)?;
        let change = if gone { Change::FdbGone(entry) } else { Change::Fdb(entry) };
        return Some(Decoded::Change(change));
    }
    if flags & libc::NTF_PROXY != 0 {
        return None;
    }
    let neighbour = neighbour(state, index, attrs)?;
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

fn neighbour(state: u16, index: u32, attrs: &[u8]) -> Option<Neighbour> {
    let address = ip(attribute(attrs, libc::NDA_DST)?)?;
    let mac = attribute(attrs, libc::NDA_LLADDR).and_then(mac);
    let valid = state & VALID != 0;
    let state = if valid { NeighbourState::Valid } else { NeighbourState::Invalid };
    Some(Neighbour { index, address, mac, state })
}

/// Returns `None` for entries with `NTF_SELF`, which belong to no bridge.
fn station(state: u16, port: u32, attrs: &[u8]) -> Option<FdbEntry> {
    let bridge = word(attribute(attrs, NDA_MASTER)?)?;
    let mac = mac(attribute(attrs, libc::NDA_LLADDR)?)?;
    let vlan = attribute(attrs, libc::NDA_VLAN).and_then(|vlan| number(vlan, u16::from_ne_bytes));
    let vlan = vlan.unwrap_or_default();
    // The bridge marks its own and its ports' addresses as permanent.
    let own = state & PERMANENT != 0;
    Some(FdbEntry { bridge, port, mac, vlan, own })
}

#[cfg(test)]
mod tests;
