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

/// Reads the configuration over ubus. `file` is parsed to find the problem if rpcd cannot read it.
pub(crate) async fn read(bus: ubus::Handle, file: PathBuf, events: Sender<AnyEvent>) {
    if !connection::has_config(&bus).await {
        let why = "fastpath.config is not on ubus yet".to_owned();
        let _ = events.send(AnyEvent::Configuration(Event::NotYet(why))).await;
        return;
    }
    match connection::package(&bus, "firewall").await {
        Ok(values) => {
            let event = network::Event::Firewall(values.unwrap_or_default());
            let _ = events.send(AnyEvent::Network(event)).await;
        }
        Err(error) => log::warn!("reading the firewall's configuration: {}", chain(&error)),
    }
    match connection::package(&bus, "sqm").await {
        Ok(values) => {
            let event = latency::Event::Sqm(values.unwrap_or_default());
            let _ = events.send(AnyEvent::Latency(event)).await;
        }
        Err(error) => log::warn!("reading the configuration of SQM: {}", chain(&error)),
    }
    match connection::package(&bus, "dhcp").await {
        Ok(values) => {
            let event = network::Event::Reservations(values.unwrap_or_default());
            let _ = events.send(AnyEvent::Network(event)).await;
        }
        Err(error) => log::warn!("reading the static leases: {}", chain(&error)),
    }
    match connection::package(&bus, "network").await {
        Ok(values) => {
            let event = network::Event::Lines(values.unwrap_or_default());
            let _ = events.send(AnyEvent::Network(event)).await;
        }
        Err(error) => log::warn!("reading the network's configuration: {}", chain(&error)),
    }
    let event = match connection::package(&bus, "fastpath").await {
        Ok(Some(values)) => Event::Read(values),
        Ok(None) => {
            log::warn!("there is no /etc/config/fastpath: using the defaults");
            Event::Read(Value::Object(Map::new()))
        }
        // rpcd reports a failure without its cause, so parse the file.
        Err(error) => Event::Unreadable(values(&file).err().unwrap_or_else(|| chain(&error))),
    };
    let _ = events.send(AnyEvent::Configuration(event)).await;
    read_interfaces(bus, events).await;
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
