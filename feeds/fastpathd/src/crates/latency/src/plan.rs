// SPDX-License-Identifier: GPL-2.0-or-later
//! Selects the devices for a WAN interface: its port, the devices above the port, and the ports to
//! other networks. Computes the overhead of its encapsulation.

use topology::{Link, LinkKind, Name, Topology};

use crate::reason::LatencyReason;
use crate::settings::Settings;

/// Overhead `ethernet` of tc-cake(8): header, checksum, preamble and interframe gap.
const ETHERNET: u32 = 38;
/// Overhead `ether-vlan` of tc-cake(8).
const VLAN: u32 = 4;
/// Headers of `PPPoE` and PPP.
const PPPOE: u32 = 8;
/// Minimum frame with preamble and interframe gap, like `ethernet` of tc-cake(8).
const MIN_PACKET: u32 = 84;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Device {
    pub index: u32,
    pub name: Name,
}

impl Device {
    fn of(link: &Link) -> Self {
        Self { index: link.index, name: link.name.clone() }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Wan<'a> {
    /// Name in `/etc/config/network`.
    pub name: &'a str,
    /// Layer 3 device, which may not exist.
    pub device: &'a str,
    /// Lower device of a session.
    pub lower: &'a str,
    pub proto: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub interface: String,
    /// Lowest device of the WAN, which queues packets to the Internet.
    pub port: Device,
    /// The port, the devices above it, and tunnels bound to these, such as DS-Lite. One of them is
    /// the last ingress device of a packet from the Internet; on the fast path the port or tunnel.
    pub sources: Vec<Device>,
    /// Ports to other networks, whose egress filters redirect packets from the Internet.
    pub hosts: Vec<Device>,
    /// kbit/s.
    pub download: u32,
    /// kbit/s.
    pub upload: u32,
    /// Encapsulation overhead of an IP packet on the WAN in bytes.
    pub overhead: u32,
    /// Minimum packet size on the WAN in bytes; 0 for none.
    pub mpu: u32,
    /// Part of `overhead` that packets at the port include already.
    pub included: u32,
}

impl Plan {
    /// Returns whether the device redirects packets from the Internet at its egress.
    pub(crate) fn has_host(&self, index: u32) -> bool {
        self.hosts.iter().any(|host| host.index == index)
    }
}

/// Plans the limits of `wan`. `is_inner` returns whether a layer 3 device leads to an inner
/// network.
///
/// # Errors
/// Fails if the interface has no exclusive port, or no port leads to another network.
pub fn plan(
    topology: &Topology,
    wan: Wan<'_>,
    settings: &Settings,
    is_inner: impl Fn(&str) -> bool,
) -> Result<Plan, LatencyReason> {
    let no_port = || LatencyReason::NoPort { interface: wan.name.to_owned() };
    let top = topology.link_named(wan.device).or_else(|| topology.link_named(wan.lower));
    let chain = chain(topology, top.ok_or_else(no_port)?);
    let port = *chain.last().ok_or_else(no_port)?;
    let (mut lowest, tunnels) = (topology.lowest(), topology.tunnels(true));
    // Exclude tunnels: CAKE limits the WAN, not the packets inside a tunnel.
    lowest.retain(|device| !tunnels.contains(&device.device));
    let is_lowest = lowest.iter().any(|device| device.index == port.index && device.eligible);
    if !is_lowest || port.master.is_some() {
        return Err(no_port());
    }
    let others: Vec<&str> = topology
        .links()
        .filter(|link| !chain.iter().any(|own| own.index == link.index))
        .filter(|link| self::chain(topology, link).last().map(|end| end.index) == Some(port.index))
        .map(|link| &*link.name)
        .filter(|name| is_inner(name))
        .collect();
    if !others.is_empty() {
        let devices = others.join(", ");
        return Err(LatencyReason::PortShared { port: port.name.to_string(), devices });
    }
    let hosts: Vec<Device> = lowest
        .into_iter()
        .filter(|device| device.eligible && device.index != port.index)
        .map(|device| Device { index: device.index, name: device.device })
        .collect();
    if hosts.is_empty() {
        return Err(LatencyReason::NoHosts);
    }
    // A tunnel's device after decapsulation hides that its packets came from the WAN.
    let is_bound = |link: &Link| chain.iter().any(|own| link.lower == Some(own.index));
    let bound = topology
        .links()
        .filter(|link| tunnels.contains(&link.name) && is_bound(link) && !is_inner(&link.name));
    let sources = chain.iter().copied().chain(bound).map(Device::of).collect();
    let tags = chain.iter().filter(|link| matches!(link.kind, LinkKind::Vlan { .. })).count();
    // The chain lacks a session that is down.
    let is_pppoe = wan.proto == "pppoe" || chain.iter().any(|link| link.kind == LinkKind::Ppp);
    let pppoe = if is_pppoe { PPPOE } else { 0 };
    let whole = ETHERNET + VLAN * u32::try_from(tags).unwrap_or_default() + pppoe;
    Ok(Plan {
        interface: wan.name.to_owned(),
        port: Device::of(port),
        sources,
        hosts,
        download: settings.download,
        upload: settings.upload,
        overhead: settings.overhead.unwrap_or(whole),
        // A configured overhead implies another link type with an unknown minimum.
        mpu: if settings.overhead.is_none() { MIN_PACKET } else { 0 },
        included: pppoe,
    })
}

fn chain<'a>(topology: &'a Topology, top: &'a Link) -> Vec<&'a Link> {
    let mut chain = vec![top];
    // Limit the depth, so that a loop in the model cannot cause a hang.
    while let Some(lower) = chain.last().and_then(|link| topology.lower(link.index))
        && chain.len() < 8
    {
        chain.push(lower);
    }
    chain
}

#[cfg(test)]
mod tests;
