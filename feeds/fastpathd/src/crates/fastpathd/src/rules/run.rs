// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs `/usr/libexec/fastpath-rules update` without capabilities, and reads its progress and
//! result.

use std::process::Stdio;

use rules::UpdateReason;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc::Sender;

use crate::daemon::Io;
use crate::event::Event as AnyEvent;
use crate::rules::{Effect, Event};
use crate::sys::task::spawn_local;

/// The program that updates rules.
const UPDATER: &str = "/usr/libexec/fastpath-rules";

pub(crate) fn execute(effect: Effect, io: &Io) {
    match effect {
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
    // It reads data of servers on the Internet, and so do the programs it starts.
    let mut updater = std::process::Command::new(UPDATER);
    launch::without_capabilities(updater.arg("update"));
    let mut child = Command::from(updater)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed("starting", error))?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may end before it has read everything; its output says why.
        let _ = stdin.write_all(request.as_bytes()).await;
    }
    let mut result = None;
    if let Some(stdout) = child.stdout.take() {
        let mut lines = BufReader::new(stdout).lines();
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
    }
    let status = child.wait().await.map_err(|error| failed("waiting for", error))?;
    let status = status.to_string();
    result.ok_or(UpdateReason::NoResult { program: UPDATER, status })
}
