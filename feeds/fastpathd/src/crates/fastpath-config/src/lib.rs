// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `fastpath.config`, through which the unprivileged daemon reads UCI.
//!
//! Access to rpcd's `uci` object would expose the passwords of PPPoE and Wi-Fi, because ubusd
//! grants methods, not packages. This object returns only committed options that the daemon needs.
//! ubusd lets root and `fastpath` call it; no role of rpcd includes it, so web clients cannot.

mod excerpt;
#[cfg(feature = "fuzz")]
pub mod fuzz;

use plugin::{Call, CallReason, Map, Object, Refusal, Rights, UciSession, map, method};
use serde_json::Value;

/// Method `get {config}` answers `{values}` in the form of `uci get`, reduced to the parts that the
/// daemon may read. `{}` if the file does not exist.
pub static OBJECT: Object =
    Object { name: "fastpath.config", methods: &[method!("get", get, "config": Text)] };

async fn get(call: &Call) -> Result<Map, Refusal> {
    let config = call.text("config")?.unwrap_or_default();
    let unknown = || Refusal::new("argument", CallReason::value("config", config));
    let keep = excerpt::readable(config).ok_or_else(unknown)?;
    let rights = Rights::Read;
    let session = UciSession::open(&call.bus, &[config], rights, UciSession::BRIEF).await?;
    let values = session.values(config).await;
    session.close().await;
    Ok(match values? {
        Some(values) => map([("values", Value::Object(excerpt::cut(&values, keep)))]),
        None => Map::new(),
    })
}
