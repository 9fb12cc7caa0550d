// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds the devices for a WAN interface: its port, the devices above the port, and the ports to
//! all other networks; the bytes that its encapsulation adds to a packet.

use topology::{Link, LinkKind, Name, Topology};

use crate::reason::LatencyReason;
use crate::settings::Settings;

/// tc-cake(8), `ethernet`: header, checksum, preamble and gap.
const ETHERNET: u32 = 38;
/// tc-cake(8), `ether-vlan`.
const VLAN: u32 = 4;
/// Header of `PPPoE`, and the protocol number of PPP.
const PPPOE: u32 = 8;
/// tc-cake(8), `ethernet`: the shortest frame, with preamble and gap.
const SHORTEST: u32 = 84;

/// A network device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Device {
    /// The kernel's index.
    pub index: u32,
    /// Its name.
    pub name: Name,
}

impl Device {
    fn of(link: &Link) -> Self {
        Self { index: link.index, name: link.name.clone() }
    }
}

/// The interface that is limited.
#[derive(Debug, Clone, Copy)]
pub struct Wan<'a> {
    /// Its name in `/etc/config/network`.
    pub name: &'a str,
    /// Its layer 3 device; it may not exist.
    pub device: &'a str,
    /// The device below a session.
    pub lower: &'a str,
    /// Its protocol.
    pub proto: &'a str,
}

/// Where CAKE is to be, and how it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Name of the interface.
    pub interface: String,
    /// The lowest device of the WAN: packets to the Internet are queued there.
    pub port: Device,
    /// The port and the devices above it: a packet from the Internet was received by one of them
    /// last. Of a packet in the fast path that is the port itself.
    pub sources: Vec<Device>,
    /// The ports to all other networks: packets from the Internet are taken from their egress.
    pub hosts: Vec<Device>,
    /// kbit/s.
    pub download: u32,
    /// kbit/s.
    pub upload: u32,
    /// Bytes that the line adds to an IP packet.
    pub overhead: u32,
    /// Shortest packet on the line, bytes; 0: any.
    pub shortest: u32,
    /// Part of the overhead that is in the packets at the port already.
    pub included: u32,
}

impl Plan {
    /// Whether packets from the Internet are taken from this device's egress.
    pub(crate) fn has_host(&self, index: u32) -> bool {
        self.hosts.iter().any(|host| host.index == index)
    }
}

/// Plans for `wan`. `is_inner`: whether a layer 3 device leads to a network of the router's
/// own.
///
/// # Errors
/// The interface has no port of its own.
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
    // CAKE is for the line, whatever is inside a tunnel.
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
    let tags = chain.iter().filter(|link| matches!(link.kind, LinkKind::Vlan { .. })).count();
    // A session that is down is in no chain.
    let is_pppoe = wan.proto == "pppoe" || chain.iter().any(|link| link.kind == LinkKind::Ppp);
    let pppoe = if is_pppoe { PPPOE } else { 0 };
    let whole = ETHERNET + VLAN * u32::try_from(tags).unwrap_or_default() + pppoe;
    Ok(Plan {
        interface: wan.name.to_owned(),
        port: Device::of(port),
        sources: chain.into_iter().map(Device::of).collect(),
        hosts,
        download: settings.download,
        upload: settings.upload,
        overhead: settings.overhead.unwrap_or(whole),
        // The shortest frame of such a line is unknown.
        shortest: if settings.overhead.is_none() { SHORTEST } else { 0 },
        included: pppoe,
    })
}

/// The link and all below it, down to the lowest.
fn chain<'a>(topology: &'a Topology, top: &'a Link) -> Vec<&'a Link> {
    let mut chain = vec![top];
    // No stack of devices is deeper; a wrong model must not hang.
    while let Some(lower) = chain.last().and_then(|link| topology.lower(link.index))
        && chain.len() < 8
    {
        chain.push(lower);
    }
    chain
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
