// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads CPUs, queues and `packet_steering`, and passes the plan to the init script of root.

use std::collections::BTreeSet;
use std::path::Path;

use cpu::{Found, Machine, Steering};
use gateway::cpu::{Effect, Event, Sample};
use gateway::event::Event as AnyEvent;
use gateway::sys::error::chain;
use serde_json::Value;

use crate::bus::connection;
use crate::io::Io;
use crate::sys::file;
use crate::sys::task::spawn_local;

const REFUSALS: &str = "/var/run/fastpath-cpu.refused";
const CPU_PLAN: &str = "fastpath.cpu";

pub(crate) fn saved() -> Option<Found> {
    let text = std::fs::read(Found::PATH).ok()?;
    Found::read(&text).inspect_err(|error| log::error!("CPU plan: {}: {error}", Found::PATH)).ok()
}

pub(crate) fn execute(effect: Effect, io: &Io) {
    match effect {
        Effect::Read(devices) => read(devices, io),
        Effect::Save(text) => save(&text),
        Effect::Write(lines) => match file::write(&io.paths.run.join("cpu.plan"), &lines) {
            Ok(()) => io.notify_service(CPU_PLAN),
            Err(why) => log::error!("CPU plan: {why}"),
        },
    }
}

fn read(devices: BTreeSet<String>, io: &Io) {
    let (bus, events) = (io.bus.clone(), io.events.clone());
    spawn_local(async move {
        let network = match &bus {
            Some(bus) => connection::package(bus, "network").await.ok().flatten(),
            None => None,
        };
        let root = Path::new("/");
        let steering = Steering::read(root, network.as_ref().and_then(packet_steering));
        match Machine::read(root, &devices) {
            Ok(machine) => {
                let refusals = std::fs::read_to_string(REFUSALS).unwrap_or_default();
                let sample = Box::new(Sample { machine, steering, refusals });
                let _ = events.send(AnyEvent::Cpu(Event::Read(sample))).await;
            }
            Err(error) => log::error!("CPU plan: {}", chain(&error)),
        }
    });
}

fn save(text: &str) {
    let path = Path::new(Found::PATH);
    let saved = if text.is_empty() { file::remove(path) } else { file::write(path, text) };
    if let Err(why) = saved {
        log::error!("CPU plan: {why}");
    }
}

fn packet_steering(network: &Value) -> Option<&str> {
    let mut sections = network.as_object()?.values();
    let globals = sections.find(|section| section[".type"] == "globals")?;
    globals.get("packet_steering")?.as_str()
}
