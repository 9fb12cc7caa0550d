// SPDX-License-Identifier: GPL-2.0-or-later
//! Option `--persist`: writes the engine to `/etc/config/fastpath` as a change, which can be
//! undone.

use std::time::Duration;

use serde_json::{Value, json};
use ubus::{CallError, Handle};

const CHANGE: &str = "fastpath.change";
const CONFIRM_TIMEOUT_S: u64 = 60;
/// Attempts to confirm. Each waits 5 s for fastpathd, so the last one ends before the rollback.
const CONFIRM_CALLS: u32 = 6;
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub(crate) enum PersistError {
    #[error("writing the engine into the configuration: {0}")]
    Call(#[from] CallError),
    #[error("writing the engine into the configuration: {0}")]
    Refused(String),
}

/// Writes the engine. Confirms the change after fastpathd has it in force.
pub(crate) async fn engine(bus: &Handle, engine: &str) -> Result<(), PersistError> {
    let applied = ask(bus, "apply", &apply_args(engine)).await?;
    let id = match &applied["error"] {
        Value::Null => applied["id"].clone(),
        error if error["code"] == "unchanged" => return Ok(()),
        error => return Err(refused(error)),
    };
    let confirmed = confirm(async || ask(bus, "confirm", &json!({"id": id})).await).await?;
    match &confirmed["error"] {
        Value::Null => Ok(()),
        error => {
            let refused = refused(error);
            ask(bus, "revert", &json!({"id": id})).await?;
            Err(refused)
        }
    }
}

fn apply_args(engine: &str) -> Value {
    let values = json!({"enabled": "1", "engine": engine});
    let edit = json!({"config": "fastpath", "op": "set", "section": "main", "values": values});
    json!({"edits": [edit], "seconds": CONFIRM_TIMEOUT_S, "note": "fastpathctl engine --persist"})
}

/// Calls `confirm` until fastpathd has read the new configuration. On a slow router, the init
/// script takes longer than one call waits.
async fn confirm(
    mut call: impl AsyncFnMut() -> Result<Value, CallError>,
) -> Result<Value, CallError> {
    let mut answer = call().await?;
    for _ in 1..CONFIRM_CALLS {
        let error = &answer["error"];
        let refused = error["problems"].as_array().is_some_and(|all| !all.is_empty());
        if error["code"] != "not-in-force" || refused {
            break;
        }
        answer = call().await?;
    }
    Ok(answer)
}

async fn ask(bus: &Handle, method: &str, args: &Value) -> Result<Value, CallError> {
    bus.call(CHANGE, method, args, TIMEOUT).await.map(Value::Object)
}

fn refused(error: &Value) -> PersistError {
    PersistError::Refused(error["text"].as_str().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    async fn calls(answers: Vec<Value>) -> (Value, usize) {
        let mut answers = VecDeque::from(answers);
        let before = answers.len();
        let last = confirm(async || Ok(answers.pop_front().expect("an answer"))).await;
        (last.expect("no call fails"), before - answers.len())
    }

    fn not_in_force(problems: &Value) -> Value {
        json!({"error": {"code": "not-in-force", "problems": problems}})
    }

    #[tokio::test]
    async fn retries_the_confirmation_until_the_change_is_in_force() {
        let kept = json!({"state": "confirmed"});
        let answers = vec![
            not_in_force(&json!([])),
            not_in_force(&json!([])),
            kept.clone(),
            not_in_force(&json!([])),
        ];
        assert_eq!(calls(answers).await, (kept, 3));
        let never = vec![not_in_force(&json!([])); 10];
        assert_eq!(calls(never).await, (not_in_force(&json!([])), 6));
    }

    #[test]
    fn persisting_an_engine_enables_fastpath() {
        let values = &apply_args("ebpf")["edits"][0]["values"];
        assert_eq!(*values, json!({"enabled": "1", "engine": "ebpf"}));
    }

    #[tokio::test]
    async fn does_not_retry_a_change_that_the_daemon_refuses() {
        let refused = not_in_force(&json!([{"text": "no such engine"}]));
        assert_eq!(calls(vec![refused.clone(), json!({})]).await, (refused, 1));
    }
}
