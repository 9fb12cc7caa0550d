// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes the engine into the configuration, and nothing else.

use plugin::{Bus, BusError, Call, Map, Refusal, map};
use ruleset::Engine;
use serde_json::{Value, json};

/// Seconds that the session lives, should we end before we destroy it.
const BRIEF: u64 = 30;

pub(crate) async fn persist(call: &Call) -> Result<Map, Refusal> {
    let word = call.text("engine")?.unwrap_or_default();
    let engine: Engine = word.parse().map_err(|what| {
        Refusal::new("argument", format!("engine: '{}' {what}", word.escape_debug()))
    })?;
    let failed =
        |error: BusError| Refusal::new("failed", format!("writing the engine {engine}: {error}"));
    let session = open(&call.bus).await.map_err(failed)?;
    let written = write(&call.bus, &session, engine).await;
    // It would end by itself.
    let _ = call.bus.call("session", "destroy", &within(&session, [])).await;
    written.map_err(failed)?;
    Ok(Map::new())
}

/// A new session has its own staged changes: what is staged in a shell, in /tmp/.uci, is not
/// committed with ours.
async fn open(bus: &Bus) -> Result<String, BusError> {
    let made = bus.call("session", "create", &map([("timeout", json!(BRIEF))])).await?;
    let session = made.get(plugin::SESSION).and_then(Value::as_str).unwrap_or_default().to_owned();
    let objects = json!([["fastpath", "read"], ["fastpath", "write"]]);
    let args = within(&session, [("scope", json!("uci")), ("objects", objects)]);
    bus.call("session", "grant", &args).await?;
    Ok(session)
}

async fn write(bus: &Bus, session: &str, engine: Engine) -> Result<(), BusError> {
    let values = json!({"enabled": "1", "engine": engine.name()});
    let config = ("config", json!("fastpath"));
    let set = [config.clone(), ("section", json!("main")), ("values", values)];
    bus.call("uci", "set", &within(session, set)).await?;
    bus.call("uci", "commit", &within(session, [config])).await.map(drop)
}

fn within<const N: usize>(session: &str, args: [(&str, Value); N]) -> Map {
    let mut args = map(args);
    args.insert(plugin::SESSION.to_owned(), json!(session));
    args
}
