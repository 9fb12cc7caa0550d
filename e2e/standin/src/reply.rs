// SPDX-License-Identifier: GPL-2.0-or-later
//! The answers of our own objects.

use serde_json::Value;
use ubus::{Map, Status};

/// The result of a call, or the status that stands for it.
pub(crate) type Answer = Result<Map, Status>;

/// A string argument; one of another type counts as missing, as in rpcd.
pub(crate) fn text<'a>(args: &'a Map, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str)
}
