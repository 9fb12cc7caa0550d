// SPDX-License-Identifier: GPL-2.0-or-later
//! What the settings mean on the devices of this machine.

use std::collections::{BTreeMap, BTreeSet};

use crate::settings::{Engine, Exclude, Settings};

/// A device and what the topology says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Name.
    pub device: String,
    /// It is a lowest device of a forwarding path.
    pub eligible: bool,
    /// Why, or why not.
    pub why: String,
}

/// Whether a device is in the flowtable, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// It is.
    pub included: bool,
    /// In words for the owner.
    pub why: String,
}

/// What shall be in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Engine.
    pub engine: Engine,
    /// Devices of the flowtable.
    pub devices: BTreeSet<String>,
    /// With `flags offload`.
    pub hardware: bool,
    /// Bits of the packet mark that are cleared before a flow is added.
    pub mark_mask: u32,
    /// Flows that stay on the slow path.
    pub excludes: Vec<Exclude>,
    /// Every candidate, and every device named in the settings, by name.
    pub decisions: BTreeMap<String, Decision>,
}

/// Decides which devices belong into the flowtable.
#[must_use]
pub fn plan(candidates: &[Candidate], settings: &Settings) -> Plan {
    let _ = candidates;
    Plan {
        engine: settings.wanted(),
        devices: BTreeSet::new(),
        hardware: false,
        mark_mask: settings.mark_mask,
        excludes: settings.excludes.clone(),
        decisions: BTreeMap::new(),
    }
}
