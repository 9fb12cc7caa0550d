// SPDX-License-Identifier: GPL-2.0-or-later
//! Routes of the main table, from `/proc/net`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

const RTF_GATEWAY: u32 = 2;
/// Local and broadcast routes, which netifd does not show.
const RTF_LOCAL: u32 = 0x8000_0000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub device: String,
    target: IpAddr,
    mask: u8,
    gateway: Option<IpAddr>,
}

impl Route {
    /// Formats the route as in `network.interface dump`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let nexthop = self.gateway.unwrap_or(match self.target {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        });
        json!({"target": self.target, "mask": self.mask, "nexthop": nexthop, "source": ""})
    }
}

/// Returns all unicast routes except local ones.
#[must_use]
pub fn read() -> Vec<Route> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (v4, v6) = (read("/proc/net/route"), read("/proc/net/ipv6_route"));
    let routes = v4.lines().skip(1).filter_map(ipv4).chain(v6.lines().filter_map(ipv6));
    routes.collect()
}

/// Parses a line of `/proc/net/route`. Addresses are hexadecimal numbers in native byte order.
fn ipv4(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok();
    let address = |at| Some(Ipv4Addr::from(number(at)?.to_ne_bytes()));
    let gateway = number(3)? & RTF_GATEWAY != 0;
    Some(Route {
        device: (*fields.first()?).to_owned(),
        target: address(1)?.into(),
        mask: u8::try_from(number(7)?.count_ones()).ok()?,
        gateway: if gateway { Some(address(2)?.into()) } else { None },
    })
}

/// Parses a line of `/proc/net/ipv6_route`. Addresses are 32 hexadecimal digits.
fn ipv6(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let address = |at: usize| Some(Ipv6Addr::from(u128::from_str_radix(fields.get(at)?, 16).ok()?));
    let flags = u32::from_str_radix(fields.get(8)?, 16).ok()?;
    let target = address(0)?;
    if flags & RTF_LOCAL != 0 || target.is_multicast() {
        return None;
    }
    Some(Route {
        device: (*fields.get(9)?).to_owned(),
        target: target.into(),
        mask: u8::from_str_radix(fields.get(1)?, 16).ok()?,
        gateway: if flags & RTF_GATEWAY != 0 { Some(address(4)?.into()) } else { None },
    })
}
