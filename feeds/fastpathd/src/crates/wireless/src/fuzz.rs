// SPDX-License-Identifier: GPL-2.0-or-later
//! Private parsers of this crate, for the fuzz targets: netifd's answer about radios.

use plugin::Map;
use serde_json::Value;

/// The radios as the page gets them.
#[must_use]
pub fn radios(status: &Map) -> Value {
    crate::radios(status)
}
