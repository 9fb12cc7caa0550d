// SPDX-License-Identifier: GPL-2.0-or-later
//! Bridges and `PPPoE` sessions in the reply of the ubus method `topology`.

use serde::{Serialize, Serializer};

use crate::model::Topology;
use crate::types::{Link, LinkKind, Mac, Name, PortVlan};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PortVlans {
    pub name: Name,
    /// Sorted by VLAN; empty without VLAN filtering.
    pub vlans: Vec<PortVlan>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BridgeView {
    pub name: Name,
    pub vlan_filtering: bool,
    /// The bridge itself first, then its ports by index.
    pub ports: Vec<PortVlans>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PppoeView {
    /// ppp device; `None` while unknown, serialized as an empty name.
    #[serde(serialize_with = "or_empty")]
    pub device: Option<Name>,
    /// Egress device of the session's frames.
    pub lower: Name,
    pub session: u16,
    pub peer: Mac,
}

#[expect(clippy::ref_option, reason = "as serde calls it")]
fn or_empty<S: Serializer>(name: &Option<Name>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name.as_deref().unwrap_or_default())
}

impl Topology {
    #[must_use]
    pub fn bridges(&self) -> Vec<BridgeView> {
        self.links().filter_map(|link| self.bridge(link)).collect()
    }

    fn bridge(&self, link: &Link) -> Option<BridgeView> {
        let LinkKind::Bridge { vlan_filtering } = link.kind else { return None };
        let vlans = |of: &Link| PortVlans {
            name: of.name.clone(),
            vlans: if vlan_filtering { self.port_vlans(of.index).to_vec() } else { Vec::new() },
        };
        let ports = self.links().filter(|port| port.master == Some(link.index));
        Some(BridgeView {
            name: link.name.clone(),
            vlan_filtering,
            ports: std::iter::once(link).chain(ports).map(vlans).collect(),
        })
    }

    #[must_use]
    pub fn pppoe(&self) -> Vec<PppoeView> {
        let device = |session| self.ppp.iter().find(|(_, of)| *of == session);
        self.sessions()
            .iter()
            .map(|session| PppoeView {
                device: device(session).map(|(name, _)| name.clone()),
                lower: session.device.clone(),
                session: session.id,
                peer: session.peer,
            })
            .collect()
    }
}
