// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the stored outcome of the last update of Suricata's rules. Requests an update from the
//! service `fastpath-rules`, and reads its progress and result. The output is limited, because the
//! service parses untrusted data.

use gateway::event::Event as AnyEvent;
use gateway::rules::{Effect, Event};
use rules::UpdateReason;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::mpsc::Sender;

use crate::io::Io;
use crate::sys::task::spawn_local;

const UPDATER: &str = "fastpath-rules";
const SOCKET: &str = "/var/run/fastpath-rules/update.sock";
const MAX_OUTPUT: u64 = 4 * 1024 * 1024;

pub(crate) fn execute(effect: Effect, io: &Io) {
    match effect {
        Effect::ReadState(store) => {
            let events = io.events.clone();
            spawn_local(async move {
                let state = Event::Stored(Box::new(rules::state(&store)));
                let _ = events.send(AnyEvent::Rules(state)).await;
            });
        }
        Effect::Update(request) => {
            let events = io.events.clone();
            spawn_local(async move {
                let result = run_updater(&request, &events).await;
                let _ = events.send(AnyEvent::Rules(Event::Done(result))).await;
            });
        }
    }
}

async fn run_updater(request: &str, events: &Sender<AnyEvent>) -> Result<Value, UpdateReason> {
    let failed = |what, error: std::io::Error| UpdateReason::Updater {
        what,
        program: UPDATER,
        said: error.to_string(),
    };
    let connection = UnixStream::connect(SOCKET).await;
    let mut connection = connection.map_err(|error| failed("connecting to", error))?;
    // The service may end before it has read the request; its output reports why.
    let _ = connection.write_all(request.as_bytes()).await;
    let _ = connection.shutdown().await;
    let mut lines = BufReader::new(connection.take(MAX_OUTPUT)).lines();
    let mut result = None;
    while let Some(line) = lines.next_line().await.map_err(|e| failed("reading", e))? {
        let Ok(said) = serde_json::from_slice::<Value>(line.as_bytes()) else { continue };
        match said["event"].as_str() {
            Some("progress") => {
                let text = |key: &str| said[key].as_str().unwrap_or_default();
                let step = UpdateReason::of_step(text("source"), text("step"));
                if let Some(step) = step {
                    let _ = events.send(AnyEvent::Rules(Event::Progress(step))).await;
                }
            }
            _ => result = Some(said),
        }
    }
    let status = "the connection ended".to_owned();
    result.ok_or(UpdateReason::NoResult { program: UPDATER, status })
}
