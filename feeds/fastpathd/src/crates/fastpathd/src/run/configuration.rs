// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the configuration of fastpath, firewall, SQM and static leases over ubus, or fastpath's
//! file directly.

use std::path::{Path, PathBuf};

use gateway::configuration::{Event, FileReport, Problem};
use gateway::event::Event as AnyEvent;
use gateway::sys::error::chain;
use gateway::{latency, network};
use serde_json::{Map, Value};
use tokio::sync::mpsc::Sender;

use crate::bus::connection;
use crate::run::network::read_interfaces;

type Read = fn(Value) -> AnyEvent;

/// Packages of other programs, and the events of their values.
const OTHERS: [(&str, Read); 4] = [
    ("firewall", |values| AnyEvent::Network(network::Event::Firewall(values))),
    ("sqm", |values| AnyEvent::Latency(latency::Event::Sqm(values))),
    ("dhcp", |values| AnyEvent::Network(network::Event::Reservations(values))),
    ("network", |values| AnyEvent::Network(network::Event::Lines(values))),
];

/// Reads the configuration over ubus. `file` is parsed to find the problem if rpcd cannot read it.
/// The first reading begins with the packages that limit what may be offloaded. Later ones begin
/// with ours, so that a pause does not wait for the others: rpcd starts a process for each.
pub(crate) async fn read(
    bus: ubus::Handle,
    file: PathBuf,
    is_first: bool,
    events: Sender<AnyEvent>,
) {
    if !connection::has_config(&bus).await {
        let why = "fastpath.config is not on ubus yet".to_owned();
        let _ = events.send(AnyEvent::Configuration(Event::NotYet(why))).await;
        return;
    }
    if !is_first {
        read_own(&bus, &file, &events).await;
    }
    for (package, event) in OTHERS {
        match connection::package(&bus, package).await {
            Ok(values) => {
                let _ = events.send(event(values.unwrap_or_default())).await;
            }
            Err(error) => log::warn!("reading the configuration of {package}: {}", chain(&error)),
        }
    }
    if is_first {
        read_own(&bus, &file, &events).await;
    }
    read_interfaces(bus, events).await;
}

async fn read_own(bus: &ubus::Handle, file: &Path, events: &Sender<AnyEvent>) {
    let event = match connection::package(bus, "fastpath").await {
        Ok(Some(values)) => Event::Read(values),
        Ok(None) => {
            log::warn!("there is no /etc/config/fastpath: using the defaults");
            Event::Read(Value::Object(Map::new()))
        }
        // rpcd reports a failure without its cause, so parse the file.
        Err(error) => Event::Unreadable(values(file).err().unwrap_or_else(|| chain(&error))),
    };
    let _ = events.send(AnyEvent::Configuration(event)).await;
}

pub(crate) fn read_file(path: &Path) -> Event {
    log::warn!("fastpath.config is not on ubus: reading {} directly", path.display());
    match values(path) {
        Ok(values) => Event::Read(values),
        Err(why) => Event::Unreadable(why),
    }
}

fn values(path: &Path) -> Result<Value, String> {
    let text = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    config::parse_uci(&text).map_err(|e| format!("{}: {e}", path.display()))
}

pub(crate) fn check(path: &Path) -> FileReport {
    match values(path) {
        Ok(values) => FileReport::of(&values),
        Err(why) => FileReport { problems: vec![Problem::of_file(&why)], warnings: Vec::new() },
    }
}
