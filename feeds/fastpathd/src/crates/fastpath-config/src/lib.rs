// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `fastpath.config`: UCI as far as the daemon reads and writes it, which does not
//! run as root.
//!
//! Without a session rpcd's own object `uci` checks nothing, and ubusd allows methods, not
//! packages: who may call `uci get` there reads the passwords of PPPoE and Wi-Fi, and who may call
//! `uci set` writes himself into `/etc/config/rpcd`. This object gives the daemon the options it
//! reads, and writes the two that `engine … persist` is about. ubusd lets root and user `fastpath`
//! call it; no role of rpcd names it, so the web cannot.

mod engine;
mod excerpt;

use plugin::{Call, Map, Method, Object, Refusal, Sample, map};
use serde_json::{Value, json};
use ubus::Status;

/// Method `get {config}` answers `{values}` as `uci get` does, with what the daemon reads of the
/// packages `fastpath`, `firewall` and `network`; `{}` if the file does not exist. Method `engine
/// {engine}` writes the engine into `/etc/config/fastpath`.
pub const OBJECT: Object = Object {
    name: "fastpath.config",
    methods: &[
        Method {
            name: "get",
            args: &[("config", Sample::Text)],
            run: |call| Box::pin(async move { get(&call).await }),
        },
        Method {
            name: "engine",
            args: &[("engine", Sample::Text)],
            run: |call| Box::pin(async move { engine::persist(&call).await }),
        },
    ],
};

async fn get(call: &Call) -> Result<Map, Refusal> {
    let config = call.text("config")?.unwrap_or_default();
    let keep = excerpt::of(config).ok_or_else(|| {
        let text = format!("config: '{}' is not read by the daemon", config.escape_debug());
        Refusal::new("argument", text)
    })?;
    match call.bus.call("uci", "get", &map([("config", json!(config))])).await {
        Ok(answer) => {
            let values = answer.get("values").and_then(Value::as_object);
            let kept = values.map(|values| excerpt::cut(values, keep)).unwrap_or_default();
            Ok(map([("values", Value::Object(kept))]))
        }
        Err(error) if error.status() == Status::NotFound => Ok(Map::new()),
        Err(error) => Err(Refusal::new("failed", format!("reading {config}: {error}"))),
    }
}
