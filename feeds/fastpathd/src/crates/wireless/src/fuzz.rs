// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports private parsers for the fuzz targets.

use plugin::Map;
use serde_json::Value;

/// Converts netifd's answer to the list of radios, with the same map as hostapd's answer.
#[must_use]
pub fn radios(status: &Map) -> Value {
    let clients = vec![(String::new(), status.clone())];
    crate::radios(status, &crate::Facts { clients, ..crate::Facts::default() })
}
