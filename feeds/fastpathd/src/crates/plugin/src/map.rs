// SPDX-License-Identifier: GPL-2.0-or-later
//! The JSON objects of arguments and answers.

use serde_json::Value;

pub type Map = serde_json::Map<String, Value>;

#[must_use]
pub fn map<const N: usize>(fields: [(&str, Value); N]) -> Map {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
