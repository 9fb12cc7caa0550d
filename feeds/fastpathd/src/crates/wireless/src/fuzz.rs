// SPDX-License-Identifier: GPL-2.0-or-later
//! Private parsers of this crate for the fuzz targets.

use plugin::Map;
use serde_json::Value;

/// Returns the radios in the form that the page gets.
#[must_use]
pub fn radios(status: &Map) -> Value {
    crate::radios(status)
}
