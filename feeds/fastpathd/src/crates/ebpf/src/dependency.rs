// SPDX-License-Identifier: GPL-2.0-or-later
//! Dependencies of an endpoint on links, neighbours, stations, VLANs and routes, and the changes
//! that affect them.

use std::net::IpAddr;

use config::Network;
use model::NextHop;

use crate::entry_side::EntrySide;

/// An object of the network that an endpoint depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dependency {
    /// Device on the path, by index.
    Link(u32),
    /// Next hop, by link and address.
    Neighbour(u32, IpAddr),
    /// Forwarding database entry of a station, by bridge and MAC.
    Station(u32, [u8; 6]),
    /// VLANs of a bridge and its ports, by the bridge's index.
    Vlans(u32),
    Session,
}

/// One end of a connection, as the destination of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Destination {
    pub address: IpAddr,
    /// Next hop, if the address alone does not determine it.
    pub route: Option<NextHop>,
}

/// Resolved destination, with the objects it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub side: EntrySide,
    /// Next hop used instead of the route to the address.
    pub route: Option<NextHop>,
    /// Objects that the endpoint depends on, apart from the route.
    pub dependencies: Vec<Dependency>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DependencyChange {
    Dependency(Dependency),
    Vlans,
    /// Routes to a network: address and prefix length.
    Route(IpAddr, u8),
    All,
}

impl DependencyChange {
    /// Reports whether the change may affect the endpoint of `address`.
    #[must_use]
    pub fn touches(&self, address: IpAddr, endpoint: &Endpoint) -> bool {
        match self {
            Self::Dependency(dependency) => endpoint.dependencies.contains(dependency),
            Self::Vlans => endpoint
                .dependencies
                .iter()
                .any(|dependency| matches!(dependency, Dependency::Vlans(_))),
            // The flow table handles route changes of endpoints with their own next hop.
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
    fn a_route_affects_only_addresses_in_its_network() {
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
