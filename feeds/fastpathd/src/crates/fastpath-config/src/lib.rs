// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `fastpath.config`: UCI as far as the daemon reads it, which does not run as
//! root.
//!
//! Without a session rpcd's own object `uci` checks nothing, and ubusd allows methods, not
//! packages: who may call `uci get` there reads the passwords of PPPoE and Wi-Fi. This object
//! gives the daemon the options it reads, as they are committed. ubusd lets root and user
//! `fastpath` call it; no role of rpcd names it, so the web cannot.

mod excerpt;
#[cfg(feature = "fuzz")]
pub mod fuzz;

use plugin::{Call, CallReason, Map, Object, Refusal, Rights, UciSession, map, method};
use serde_json::Value;

/// Method `get {config}` answers `{values}` as `uci get` does, with the options that the daemon
/// reads of the packages `fastpath`, `firewall` and `network`; `{}` if the file does not exist.
pub const OBJECT: Object =
    Object { name: "fastpath.config", methods: &[method!("get", get, "config": Text)] };

async fn get(call: &Call) -> Result<Map, Refusal> {
    let config = call.text("config")?.unwrap_or_default();
    let unknown = || Refusal::new("argument", CallReason::value("config", config));
    let keep = excerpt::of(config).ok_or_else(unknown)?;
    let rights = Rights::Read;
    let session = UciSession::open(&call.bus, &[config], rights, UciSession::BRIEF).await?;
    let values = session.values(config).await;
    session.close().await;
    Ok(match values? {
        Some(values) => map([("values", Value::Object(excerpt::cut(&values, keep)))]),
        None => Map::new(),
    })
}
