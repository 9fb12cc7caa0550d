// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls `fastpath.doctor`, which rpcd runs as root.

use gateway::doctor::{Effect, Event, Refused};
use gateway::event::Event as AnyEvent;
use gateway::sys::error::chain;
use serde_json::Value;
use ubus::Handle;

use crate::bus::connection;
use crate::io::Io;
use crate::sys::task::spawn_local;

pub(crate) fn execute(effect: &Effect, io: &Io) {
    let Some(bus) = io.bus.clone() else {
        // The core retries failed runs, and a new configuration triggers another read.
        let event = match effect {
            Effect::Run => Event::Ran(Err(Refused::Failed("ubus is not reachable".to_owned()))),
            Effect::Read => return,
        };
        let events = io.events.clone();
        spawn_local(async move { drop(events.send(AnyEvent::Doctor(event)).await) });
        return;
    };
    let (effect, events) = (effect.clone(), io.events.clone());
    spawn_local(async move {
        let event = match effect {
            Effect::Run => Event::Ran(run(&bus).await),
            Effect::Read => Event::Read(report(&bus).await),
        };
        let _ = events.send(AnyEvent::Doctor(event)).await;
    });
}

async fn run(bus: &Handle) -> Result<(), Refused> {
    let answer = connection::examine(bus).await;
    let answer = answer.map_err(|error| Refused::Failed(chain(&error)))?;
    match answer.get("error") {
        None => Ok(()),
        Some(error) if error["code"] == "busy" => Err(Refused::Busy),
        Some(error) => Err(Refused::Failed(text(error))),
    }
}

async fn report(bus: &Handle) -> Result<Value, String> {
    let answer = connection::report(bus).await.map_err(|error| chain(&error))?;
    answer.get("error").map_or_else(|| Ok(Value::Object(answer.clone())), |error| Err(text(error)))
}

fn text(error: &Value) -> String {
    error["text"].as_str().unwrap_or_default().to_owned()
}
