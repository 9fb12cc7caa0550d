// SPDX-License-Identifier: GPL-2.0-or-later
//! Arguments and answers as maps.

use serde_json::Value;

/// Arguments and answers.
pub type Map = serde_json::Map<String, Value>;

/// A map of these fields.
#[must_use]
pub fn map<const N: usize>(fields: [(&str, Value); N]) -> Map {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
