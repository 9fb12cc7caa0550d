// SPDX-License-Identifier: GPL-2.0-or-later
//! Answers about one address or one device.

use crate::types::Name;

/// How packets reach an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SideKind {
    /// Through a bridge, with or without a VLAN device on it.
    Bridge,
    /// Through an Ethernet device or a VLAN on one.
    Ethernet,
    /// Through a `PPPoE` session.
    Pppoe,
    /// Through a tunnel or another device without an Ethernet port that is known.
    Tunnel,
}

/// Where an address is, seen from this machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Side {
    /// Layer 3 device of the route: `br-lan.10`, `pppoe-wan`.
    pub device: Name,
    /// VLAN of the frames on the wire, or inside the bridge; 0: none.
    pub vlan: u16,
    /// Lowest device: the bridge port the station was seen on, or the physical device under
    /// VLAN and `PPPoE`. None while unknown, or where there is none.
    pub port: Option<Name>,
    /// The next hop's MAC is known (always true on point-to-point devices).
    pub neighbour: bool,
    /// How it is reached.
    pub kind: SideKind,
}

/// Whether a device is one of those that a flowtable lists, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LowestDevice {
    /// Index of the device.
    pub index: u32,
    /// Its name.
    pub device: Name,
    /// It belongs into the flowtable.
    pub eligible: bool,
    /// Why it does or does not, in words for the owner.
    pub why: String,
}
