// SPDX-License-Identifier: GPL-2.0-or-later
//! The objects that the endpoint of an address is derived from (link, neighbour, station, VLANs,
//! PPPoE session, route), and whether a change of the network touches it.

use std::net::IpAddr;

use config::Network;
use model::NextHop;

use crate::entry_side::EntrySide;

/// Something that the endpoint of an address was derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dependency {
    /// A device on the path, by index.
    Link(u32),
    /// The next hop, by link and address.
    Neighbour(u32, IpAddr),
    /// The bridge's knowledge of where a station is: bridge and MAC.
    Station(u32, [u8; 6]),
    /// The VLANs of a bridge or of its port.
    Vlans(u32),
    /// A `PPPoE` session.
    Session,
}

/// An end of a connection as a destination of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Its address.
    pub address: IpAddr,
    /// The next hop, where more than the address decides about it.
    pub route: Option<NextHop>,
}

/// The endpoint of an address, and the objects it was derived from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it is.
    pub side: EntrySide,
    /// The next hop that it was derived from, instead of the route to the address.
    pub route: Option<NextHop>,
    /// The objects it was derived from, besides the route.
    pub dependencies: Vec<Dependency>,
}

/// The objects that have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DependencyChange {
    /// This has changed.
    Dependency(Dependency),
    /// VLANs of any bridge.
    Vlans,
    /// The routes to a network: address and prefix length.
    Route(IpAddr, u8),
    /// Anything.
    All,
}

impl DependencyChange {
    /// Whether the endpoint of `address` may differ afterwards.
    #[must_use]
    pub fn touches(&self, address: IpAddr, endpoint: &Endpoint) -> bool {
        match self {
            Self::Dependency(dependency) => endpoint.dependencies.contains(dependency),
            Self::Vlans => endpoint
                .dependencies
                .iter()
                .any(|dependency| matches!(dependency, Dependency::Vlans(_))),
            // With a next hop of its own the flow table decides when to leave it.
            Self::Route(network, prefix) => {
                endpoint.route.is_none()
                    && Network { address: *network, prefix: *prefix }.contains(address)
            }
            Self::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry_side::{Encapsulation, Hook};

    #[test]
    fn a_route_touches_what_is_in_its_network() {
        let net = |text: &str| -> IpAddr { text.parse().unwrap() };
        let side = EntrySide {
            device: 1,
            hook: Hook::Tc,
            encapsulation: Encapsulation::default(),
            local: [0; 6],
            next_hop: None,
            priorities: [[0; 4]; 2],
            classified: false,
            mtu: 1500,
        };
        let endpoint = Endpoint { side, route: None, dependencies: Vec::new() };
        for (address, network, prefix, is) in [
            ("10.1.2.3", "10.1.0.0", 16, true),
            ("10.2.2.3", "10.1.0.0", 16, false),
            ("10.2.2.3", "0.0.0.0", 0, true),
            ("10.2.2.3", "10.2.2.3", 32, true),
            ("10.2.2.2", "10.2.2.3", 32, false),
            ("2001:db8::1", "0.0.0.0", 0, false),
            ("2001:db8::1", "::", 0, true),
            ("2001:db8::1", "2001:db8::", 64, true),
            ("2001:db8:1::1", "2001:db8::", 64, false),
        ] {
            let route = DependencyChange::Route(net(network), prefix);
            assert_eq!(route.touches(net(address), &endpoint), is, "{address} {network}");
            let fixed = Some(NextHop { device: 1, gateway: None });
            let endpoint = Endpoint { route: fixed, ..endpoint.clone() };
            assert!(!route.touches(net(address), &endpoint), "{address} {network}");
            assert!(DependencyChange::All.touches(net(address), &endpoint));
        }
    }
}
