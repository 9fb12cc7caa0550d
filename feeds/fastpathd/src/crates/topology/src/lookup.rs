// SPDX-License-Identifier: GPL-2.0-or-later
//! Encodes route look-ups (`RTM_GETROUTE` with `RTM_F_FIB_MATCH`) and decodes the answers. Routes
//! with several next hops, an encapsulation, a type of service or their own MTU are not supported.

use std::net::IpAddr;

use model::NextHop;
use netlink::{Message, REQUEST, attribute, attributes, message, push_attribute};

use crate::decode::via;
use crate::prefix::ip;

/// Bytes of `struct rtmsg`.
const HEADER: usize = 12;

/// From `include/uapi/linux/rtnetlink.h`.
const RTA_IP_PROTO: u16 = 27;
const RTA_SPORT: u16 = 28;
const RTA_DPORT: u16 = 29;
const RTA_VIA: u16 = 18;
const RTA_ENCAP: u16 = 22;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layer4 {
    /// TCP or UDP.
    pub proto: u8,
    pub sport: u16,
    pub dport: u16,
}

/// Packet as the kernel's routing decision sees it: after destination NAT, before source NAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RouteQuery {
    pub from: IpAddr,
    pub to: IpAddr,
    pub iif: u32,
    pub mark: u32,
    /// `Some` if a routing rule matches the protocol or ports.
    pub layer4: Option<Layer4>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteAnswer {
    Hop(NextHop),
    /// The kernel refuses the packet, delivers it locally, or uses an unsupported route.
    Other,
}

/// Encodes a query as a request with this sequence number.
pub(crate) fn request(query: &RouteQuery, seq: u32) -> Vec<u8> {
    const FIB_MATCH: u32 = 0x2000;
    let (family, length) = match query.to {
        IpAddr::V4(_) => (libc::AF_INET, 32),
        IpAddr::V6(_) => (libc::AF_INET6, 128),
    };
    let mut payload = vec![0; HEADER];
    payload[0] = u8::try_from(family).unwrap_or_default();
    (payload[1], payload[2]) = (length, length);
    payload[8..].copy_from_slice(&FIB_MATCH.to_ne_bytes());
    push_address(&mut payload, libc::RTA_DST, query.to);
    push_address(&mut payload, libc::RTA_SRC, query.from);
    push_attribute(&mut payload, libc::RTA_IIF, &query.iif.to_ne_bytes());
    push_attribute(&mut payload, libc::RTA_MARK, &query.mark.to_ne_bytes());
    if let Some(Layer4 { proto, sport, dport }) = query.layer4 {
        push_attribute(&mut payload, RTA_IP_PROTO, &[proto]);
        push_attribute(&mut payload, RTA_SPORT, &sport.to_be_bytes());
        push_attribute(&mut payload, RTA_DPORT, &dport.to_be_bytes());
    }
    message(libc::RTM_GETROUTE, REQUEST, seq, &payload)
}

fn push_address(payload: &mut Vec<u8>, kind: u16, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => push_attribute(payload, kind, &v4.octets()),
        IpAddr::V6(v6) => push_attribute(payload, kind, &v6.octets()),
    }
}

/// Decodes a route, or an error such as `-ENETUNREACH`, or `-EINVAL` for a blackhole.
pub(crate) fn answer(message: &Message<'_>) -> RouteAnswer {
    next_hop(message).map_or(RouteAnswer::Other, RouteAnswer::Hop)
}

/// Returns the next hop; `None` if the route is not supported.
fn next_hop(message: &Message<'_>) -> Option<NextHop> {
    if message.kind != libc::RTM_NEWROUTE {
        return None;
    }
    let (header, attrs) = message.payload.split_first_chunk::<HEADER>()?;
    let [_, _, _, tos, _, _, _, kind, ..] = *header;
    let mut device = None;
    let mut gateway = None;
    for (kind, value) in attributes(attrs) {
        match kind {
            libc::RTA_OIF => device = value.first_chunk().map(|index| u32::from_ne_bytes(*index)),
            libc::RTA_GATEWAY => gateway = Some(ip(value)?),
            RTA_VIA => gateway = Some(via(value)?),
            libc::RTA_METRICS if has_mtu(value) => return None,
            libc::RTA_MULTIPATH | RTA_ENCAP => return None,
            _ => {}
        }
    }
    let device = device.filter(|_| kind == libc::RTN_UNICAST && tos == 0)?;
    Some(NextHop { device, gateway })
}

fn has_mtu(metrics: &[u8]) -> bool {
    const RTAX_MTU: u16 = 2;
    attribute(metrics, RTAX_MTU).is_some()
}

#[cfg(test)]
mod tests;
