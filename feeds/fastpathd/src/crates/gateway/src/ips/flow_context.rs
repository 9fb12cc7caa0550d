// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds an alert's flow, by protocol and endpoints, and the names of its hosts.

use std::net::{IpAddr, SocketAddr};

use flows::FlowTable;

use crate::network::view::NetworkView;

pub(super) struct FlowContext<'a> {
    pub(super) flows: &'a FlowTable,
    pub(super) network: &'a NetworkView,
}

impl ips::AlertContext for FlowContext<'_> {
    fn name(&self, address: IpAddr) -> Option<&str> {
        flows::Network::name(self.network, address)
    }

    fn flow(&self, alert: &ips::Alert) -> Option<u64> {
        let proto = match alert.proto.to_ascii_lowercase().as_str() {
            "tcp" => 6,
            "udp" => 17,
            "icmp" => 1,
            "ipv6-icmp" | "icmpv6" => 58,
            "sctp" => 132,
            _ => return None,
        };
        let (src, dst) = (alert.src?, alert.dst?);
        let ends = [SocketAddr::new(src, alert.sport), SocketAddr::new(dst, alert.dport)];
        self.flows.find(proto, ends[0], ends[1])
    }
}
