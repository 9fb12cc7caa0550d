// SPDX-License-Identifier: GPL-2.0-or-later
//! Inspection policies, resolved to layer 3 devices.

use std::collections::BTreeSet;

use crate::inspection::Action;

/// Inspection policy on layer 3 devices such as `br-lan.10` or `pppoe-wan`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DevicePolicy {
    /// Option `name`; may be empty.
    pub name: String,
    pub action: Action,
    /// Devices of the initiator; `None` matches any device, an empty set no device.
    pub from: Option<BTreeSet<String>>,
    /// Devices of the responder, like `from`.
    pub to: Option<BTreeSet<String>>,
}

impl DevicePolicy {
    #[must_use]
    pub fn matches(&self, from: &str, to: &str) -> bool {
        [(&self.from, from), (&self.to, to)].into_iter().all(|(devices, device)| {
            devices.as_ref().is_none_or(|devices| devices.contains(device))
        })
    }

    /// Returns whether no connection can match, because a side has no devices.
    #[must_use]
    pub fn is_void(&self) -> bool {
        [&self.from, &self.to].into_iter().flatten().any(BTreeSet::is_empty)
    }
}
