// SPDX-License-Identifier: GPL-2.0-or-later
//! The engine in `/etc/config/fastpath`, by a change as any other: it is in the list of the last
//! changes and can be undone there.

use std::time::Duration;

use serde_json::{Value, json};
use ubus::{CallError, Handle};

const CHANGE: &str = "fastpath.change";
/// Until the change is reverted unless it is confirmed.
const TRIAL_S: u64 = 30;
const PATIENCE: Duration = Duration::from_secs(60);

/// The engine was chosen, but is not in the configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PersistError {
    #[error("writing the engine into the configuration: {0}")]
    Call(#[from] CallError),
    #[error("writing the engine into the configuration: {0}")]
    Refused(String),
}

/// Writes the engine; fastpathd has to use it before it is confirmed.
pub(crate) async fn engine(bus: &Handle, engine: &str) -> Result<(), PersistError> {
    let values = json!({"enabled": "1", "engine": engine});
    let edit = json!({"config": "fastpath", "op": "set", "section": "main", "values": values});
    let note = "fastpathctl engine --persist";
    let order = json!({"edits": [edit], "seconds": TRIAL_S, "note": note});
    let applied = ask(bus, "apply", &order).await?;
    let id = match &applied["error"] {
        Value::Null => applied["id"].clone(),
        error if error["code"] == "unchanged" => return Ok(()),
        error => return Err(refused(error)),
    };
    let confirmed = ask(bus, "confirm", &json!({"id": id})).await?;
    match &confirmed["error"] {
        Value::Null => Ok(()),
        error => {
            let refused = refused(error);
            ask(bus, "revert", &json!({"id": id})).await?;
            Err(refused)
        }
    }
}

async fn ask(bus: &Handle, method: &str, args: &Value) -> Result<Value, CallError> {
    bus.call(CHANGE, method, args, PATIENCE).await.map(Value::Object)
}

fn refused(error: &Value) -> PersistError {
    PersistError::Refused(error["text"].as_str().unwrap_or_default().to_owned())
}
