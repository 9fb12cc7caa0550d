// SPDX-License-Identifier: GPL-2.0-or-later
//! The WAN interfaces with their state: port and VLAN below, session, rates, and why one is down.
//! An alias such as `wan6` over `wan` is not a WAN of its own.

use std::net::IpAddr;

use serde::Serialize;
use topology::{Link, LinkKind, Topology};

use crate::network::interfaces::{Firewall, Interface};
use crate::sys::netdev::NetMeter;

/// A WAN interface, as the API shows it (`types.json`, Wan).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Wan {
    pub(crate) name: String,
    pub(crate) device: String,
    pub(crate) port: String,
    pub(crate) proto: String,
    pub(crate) vlan: u16,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) inner_vlan: u16,
    pub(crate) up: bool,
    pub(crate) carrier: bool,
    pub(crate) hindrance: Hindrance,
    pub(crate) error: String,
    pub(crate) up_since_ms: u64,
    pub(crate) addresses: Vec<String>,
    pub(crate) peer: String,
    pub(crate) session: u16,
    pub(crate) rx_bps: u64,
    pub(crate) tx_bps: u64,
    #[serde(skip)]
    pub(crate) server: Option<IpAddr>,
}

/// Why an interface is down, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Hindrance {
    #[serde(rename = "")]
    None,
    /// The interface was switched off. netifd takes an unused port down as well, so the missing
    /// carrier does not indicate a cable fault.
    Disconnected,
    PortDown,
    /// The port is up and has no carrier.
    NoLink,
    Failed,
}

/// netifd's error if it could not use the device, which a previous netifd may have left behind.
/// netifd takes the port down as well.
const CLAIM_FAILED: &str = "DEVICE_CLAIM_FAILED";
/// pppd's error if the provider refused the user name or the password.
const REFUSED_LOGIN: &str = "AUTH_TOPEER_FAILED";

impl Wan {
    /// Returns the state of an interface that is down, and a remedy.
    pub(crate) fn why_down(&self) -> String {
        let Self { device, port, error, .. } = self;
        match self.hindrance {
            Hindrance::None => "down.".to_owned(),
            Hindrance::Disconnected => "disconnected: it was switched off.".to_owned(),
            Hindrance::PortDown => format!("down: its port {port} is switched off."),
            Hindrance::NoLink => "down: its port has no link.".to_owned(),
            Hindrance::Failed if error == CLAIM_FAILED => format!(
                "down: netifd could not claim {device}. Remove it (ip link del {device}), then \
                 restart the network."
            ),
            Hindrance::Failed if error == REFUSED_LOGIN => {
                "down: the provider refused its user name or password.".to_owned()
            }
            Hindrance::Failed => {
                format!("down: netifd reports {error}. Reconnect it (ifup {}).", self.name)
            }
        }
    }
}

fn hindrance(up: bool, interface: &Interface, port: Option<&Link>) -> Hindrance {
    if !up && !interface.autostart {
        return Hindrance::Disconnected;
    }
    match port {
        _ if !up && interface.error == CLAIM_FAILED => Hindrance::Failed,
        Some(port) if !port.up => Hindrance::PortDown,
        Some(port) if !port.carrier => Hindrance::NoLink,
        _ if !up && !interface.error.is_empty() => Hindrance::Failed,
        Some(_) | None => Hindrance::None,
    }
}

/// Returns the interfaces that lead to the Internet, sorted by name, as netifd reports them.
///
/// `seen_ms` is the time of netifd's answer, from which its uptimes count, in Unix milliseconds.
pub(crate) fn wans(
    interfaces: &[Interface],
    firewall: &Firewall,
    topology: &Topology,
    rates: &NetMeter,
    seen_ms: u64,
) -> Vec<Wan> {
    let mut found: Vec<Wan> = Vec::new();
    for interface in interfaces.iter().filter(|i| firewall.is_wan(&i.zone)) {
        if found.iter().any(|wan| runs_over(interface, wan)) {
            continue;
        }
        found.push(wan(interface, topology, rates, seen_ms));
    }
    found
}

/// Returns true if `interface` runs over the same WAN, like wan6 with `option device '@wan'`. While
/// wan is down, netifd does not report wan6's device, so protocol and name decide. A second WAN may
/// be called wanb, and netifd appends `_6` and `_4` to interfaces that it creates.
fn runs_over(interface: &Interface, wan: &Wan) -> bool {
    match interface.device.as_str() {
        "" => interface
            .name
            .strip_prefix(&wan.name)
            .is_some_and(|rest| interface.proto == "dhcpv6" || matches!(rest, "6" | "_6" | "_4")),
        device => device == wan.device || device == format!("@{}", wan.name),
    }
}

fn wan(interface: &Interface, topology: &Topology, rates: &NetMeter, seen_ms: u64) -> Wan {
    let session = topology.pppoe().into_iter().find(|s| {
        s.device.as_deref() == Some(interface.device.as_str()) || *s.lower == *interface.lower
    });
    let below = topology.link_named(&interface.device).or_else(|| {
        // The layer 3 device is missing while a session is down.
        topology.link_named(&interface.lower)
    });
    let (port, [vlan, inner_vlan]) = below.map(|link| descend(link, topology)).unwrap_or_default();
    let rate = rates.rate(&port);
    // The kernel reports a removed device before netifd does.
    let device = topology.link_named(&interface.device);
    let up = interface.up && device.is_some_and(|link| link.up);
    let lowest = topology.link_named(&port);
    Wan {
        name: interface.name.clone(),
        device: interface.device.clone(),
        proto: interface.proto.clone(),
        carrier: lowest.is_some_and(|link| link.carrier),
        hindrance: hindrance(up, interface, lowest),
        error: if up { String::new() } else { interface.error.clone() },
        up_since_ms: if up { seen_ms.saturating_sub(interface.uptime_s * 1000) } else { 0 },
        addresses: if up { interface.addresses.clone() } else { Vec::new() },
        peer: session.as_ref().map(|s| s.peer.to_string()).unwrap_or_default(),
        session: session.map_or(0, |s| s.session),
        rx_bps: rate.rx_bps,
        tx_bps: rate.tx_bps,
        server: interface.server,
        port,
        vlan,
        inner_vlan,
        up,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's interface")]
fn is_zero(number: &u16) -> bool {
    *number == 0
}

/// Returns the lowest device under `link`, and the two outermost VLAN tags above it.
fn descend(link: &Link, topology: &Topology) -> (String, [u16; 2]) {
    let mut at = link;
    let mut vlans = [0; 2];
    // Limited, so that a loop in an inconsistent topology cannot cause a hang.
    for _ in 0..8 {
        if let LinkKind::Vlan { id, .. } = at.kind {
            vlans = [id, vlans[0]];
        }
        let is_stacked = matches!(at.kind, LinkKind::Vlan { .. } | LinkKind::Ppp);
        match topology.lower(at.index).filter(|_| is_stacked) {
            Some(lower) => at = lower,
            None => break,
        }
    }
    (at.name.to_string(), vlans)
}
