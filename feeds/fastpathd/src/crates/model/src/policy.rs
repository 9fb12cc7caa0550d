// SPDX-License-Identifier: GPL-2.0-or-later
//! An inspection policy resolved to layer 3 devices, and whether a connection between two devices
//! matches. The section `policy` is read in crate `ruleset`, `policy.rs`.

use std::collections::BTreeSet;

use crate::inspection::Action;

/// An inspection policy on the devices of this machine. The devices are those of the rules, layer
/// 3 devices such as `br-lan.10` or `pppoe-wan`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DevicePolicy {
    /// Its name in the configuration; may be empty.
    pub name: String,
    /// The action for matching connections.
    pub action: Action,
    /// Devices of the initiator; none: any; empty: no connection matches.
    pub from: Option<BTreeSet<String>>,
    /// Devices of the responder; as `from`.
    pub to: Option<BTreeSet<String>>,
}

impl DevicePolicy {
    /// Whether a connection between these devices matches.
    #[must_use]
    pub fn matches(&self, from: &str, to: &str) -> bool {
        [(&self.from, from), (&self.to, to)].into_iter().all(|(devices, device)| {
            devices.as_ref().is_none_or(|devices| devices.contains(device))
        })
    }

    /// Whether no connection can match at present.
    #[must_use]
    pub fn is_void(&self) -> bool {
        [&self.from, &self.to].into_iter().flatten().any(BTreeSet::is_empty)
    }
}
