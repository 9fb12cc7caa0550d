// SPDX-License-Identifier: GPL-2.0-or-later
//! The WAN interfaces with their state: port and VLAN below, session, rates, why one is down, and
//! that `wan6` over `wan` is not another one. Which zones lead to the Internet is in
//! `interfaces.rs`.

use serde::Serialize;
use topology::{Link, LinkKind, Topology};

use crate::network::interfaces::{Firewall, Interface};
use crate::sys::netdev::NetMeter;

/// One WAN interface, as the API shows it (`types.json`, Wan).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Wan {
    pub(crate) name: String,
    pub(crate) device: String,
    pub(crate) port: String,
    pub(crate) proto: String,
    pub(crate) vlan: u16,
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
}

/// The reason why an interface is down, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Hindrance {
    /// Nothing is known.
    #[serde(rename = "")]
    None,
    /// The interface was switched off. netifd then also takes the port down if nothing else uses
    /// it, so the missing carrier says nothing about the cable.
    Disconnected,
    /// The port is administratively down.
    PortDown,
    /// The port is up and has no carrier.
    NoLink,
    /// netifd reports an error.
    Failed,
}

/// netifd could not use the device, which an earlier netifd may have left behind. netifd then
/// takes the port down, too.
const CLAIM_FAILED: &str = "DEVICE_CLAIM_FAILED";
/// pppd: the provider refused the user name or the password.
const REFUSED_LOGIN: &str = "AUTH_TOPEER_FAILED";

impl Wan {
    /// The state of an interface that is down, and what to do about it.
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

/// The interfaces that lead to the Internet, in their configured order.
///
/// `seen_ms` is when netifd was asked, by the clock of now: its uptimes count from there.
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

/// Whether `interface` runs over the same WAN, as wan6 does (`option device '@wan'`). While wan is
/// down netifd does not report wan6's device, so only protocol and name are left: a second WAN may
/// be called wanb. netifd adds `_6` and `_4` for the interfaces it makes itself.
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
        // The layer 3 device is gone while a session is down.
        topology.link_named(&interface.lower)
    });
    let (port, vlan) = below.map(|link| descend(link, topology)).unwrap_or_default();
    let rate = rates.rate(&port);
    // netifd may not have noticed yet that the device is gone; the kernel knows.
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
        port,
        vlan,
        up,
    }
}

/// The lowest device under `link` and the outermost VLAN tag above it.
fn descend(link: &Link, topology: &Topology) -> (String, u16) {
    let mut at = link;
    let mut vlan = 0;
    // No stack of devices is deeper; a loop cannot be built, but a wrong model must not hang.
    for _ in 0..8 {
        if let LinkKind::Vlan { id, .. } = at.kind {
            vlan = id;
        }
        let stands = matches!(at.kind, LinkKind::Vlan { .. } | LinkKind::Ppp);
        match topology.lower(at.index).filter(|_| stands) {
            Some(lower) => at = lower,
            None => break,
        }
    }
    (at.name.to_string(), vlan)
}
