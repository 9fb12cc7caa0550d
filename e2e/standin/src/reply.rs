// SPDX-License-Identifier: GPL-2.0-or-later
//! Helpers for answers of our own objects.

use serde_json::Value;
use ubus::{Map, Status};

pub(crate) type Answer = Result<Map, Status>;

/// Returns a string argument. Like rpcd, treats other types as missing.
pub(crate) fn text<'a>(args: &'a Map, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str)
}
