// SPDX-License-Identifier: GPL-2.0-or-later
//! The model.

use std::net::IpAddr;

use crate::change::Change;
use crate::side::{LowestDevice, Side};
use crate::types::{Address, FdbEntry, Link, Mac, Name, Neighbour, PortVlan, Route};

/// A port of a bridge, or the bridge's own inner side, with its VLANs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortVlans {
    /// Port; the bridge's own name for its inner side.
    pub name: Name,
    /// Its VLANs by number; empty without VLAN filtering.
    pub vlans: Vec<PortVlan>,
}

/// A bridge with its ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeView {
    /// Name of the bridge.
    pub name: Name,
    /// Frames are sorted by VLAN.
    pub vlan_filtering: bool,
    /// The bridge's inner side first, then its ports by index.
    pub ports: Vec<PortVlans>,
}

/// A `PPPoE` session with the device that carries its packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PppoeView {
    /// The ppp device; none while it cannot be told.
    pub device: Option<Name>,
    /// Device its frames leave by.
    pub lower: Name,
    /// Session number.
    pub session: u16,
    /// MAC of the access concentrator.
    pub peer: Mac,
}

/// The network of this machine.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    generation: u64,
}

impl Topology {
    /// An empty network: nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a change; true if an answer of this model can differ afterwards, in which case
    /// [`Topology::generation`] has grown.
    pub fn apply(&mut self, change: Change) -> bool {
        let _ = change;
        false
    }

    /// Grows with every change that can alter an answer; a neighbour that goes stale and is
    /// confirmed again alters none.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether the address is one of this machine's own, a broadcast or a multicast address:
    /// nothing that is forwarded.
    #[must_use]
    pub fn is_local(&self, address: IpAddr) -> bool {
        let _ = address;
        false
    }

    /// Where the address is. None for own addresses, and where no route leads.
    #[must_use]
    pub fn side(&self, address: IpAddr) -> Option<Side> {
        let _ = address;
        None
    }

    /// Every link by index, with the verdict whether a flowtable lists it.
    #[must_use]
    pub fn lowest(&self) -> Vec<LowestDevice> {
        Vec::new()
    }

    /// All links by index.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        [].iter()
    }

    /// The link with this index.
    #[must_use]
    pub fn link(&self, index: u32) -> Option<&Link> {
        let _ = index;
        None
    }

    /// The link with this name.
    #[must_use]
    pub fn link_named(&self, name: &str) -> Option<&Link> {
        let _ = name;
        None
    }

    /// Device that a link stands on: `IFLA_LINK` of a VLAN, the session's device of a ppp link.
    #[must_use]
    pub fn lower(&self, index: u32) -> Option<&Link> {
        let _ = index;
        None
    }

    /// All addresses, by link.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        [].iter()
    }

    /// All bridges, by index.
    #[must_use]
    pub fn bridges(&self) -> Vec<BridgeView> {
        Vec::new()
    }

    /// All `PPPoE` sessions.
    #[must_use]
    pub fn pppoe(&self) -> Vec<PppoeView> {
        Vec::new()
    }

    /// All routes, in no useful order.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        [].iter()
    }

    /// All neighbours.
    pub fn neighbours(&self) -> impl Iterator<Item = &Neighbour> {
        [].iter()
    }

    /// All entries of all forwarding databases.
    pub fn fdb(&self) -> impl Iterator<Item = &FdbEntry> {
        [].iter()
    }
}
