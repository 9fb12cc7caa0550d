// SPDX-License-Identifier: GPL-2.0-or-later
//! Follows the kernel's network, looks up routes, and reads netifd's interfaces.

use std::rc::Rc;
use std::time::Duration;

use gateway::event::Event as AnyEvent;
use gateway::network::{Effect, Event};
use gateway::sys::error::chain;
use tokio::sync::Mutex;
use tokio::sync::mpsc::Sender;
use topology::{LookupError, RouteAnswer, RouteBatch, RouteLookup, RouteQuery, Watcher};

use crate::bus::connection;
use crate::io::Io;
use crate::sys::task::spawn_local;

const RETRY_INTERVAL: Duration = Duration::from_secs(5);

pub(crate) async fn watch(events: Sender<AnyEvent>) {
    loop {
        let failure = match Watcher::open() {
            Ok(mut watcher) => loop {
                match watcher.next().await {
                    Ok(changes) => {
                        let event = AnyEvent::Network(Event::Changed(changes));
                        if events.send(event).await.is_err() {
                            return;
                        }
                    }
                    Err(error) => break error,
                }
            },
            Err(error) => error,
        };
        log::error!("network: {}", chain(&failure));
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

pub(crate) fn execute(effect: Effect, io: &Io) {
    match effect {
        Effect::ReadInterfaces => io.with_bus(read_interfaces),
        Effect::AskRoutes(batch) => {
            spawn_local(ask_routes(batch, Rc::clone(&io.routes), io.events.clone()));
        }
        Effect::SwitchSsids(off) => switch_ssids(off, io),
    }
}

fn switch_ssids(off: Vec<String>, io: &Io) {
    let (bus, events) = (io.bus.clone(), io.events.clone());
    spawn_local(async move {
        let result = match bus {
            Some(bus) => connection::switch_ssids(&bus, off).await,
            None => Err("ubus is not reachable".to_owned()),
        };
        let _ = events.send(AnyEvent::Network(Event::SsidsSwitched(result))).await;
    });
}

/// Looks up routes over a persistent socket, which is reopened after a failure.
async fn ask_routes(
    batch: RouteBatch,
    lookup: Rc<Mutex<Option<RouteLookup>>>,
    events: Sender<AnyEvent>,
) {
    let answers = match answers(&batch, &mut *lookup.lock().await).await {
        Ok(answers) => Some(answers),
        Err(error) => {
            log::error!("network: {}", chain(&error));
            None
        }
    };
    let _ = events.send(AnyEvent::Network(Event::RoutesAnswered(batch, answers))).await;
}

async fn answers(
    batch: &RouteBatch,
    kept: &mut Option<RouteLookup>,
) -> Result<Vec<(RouteQuery, RouteAnswer)>, LookupError> {
    let mut lookup = match kept.take() {
        Some(lookup) => lookup,
        None => RouteLookup::open()?,
    };
    let answers = lookup.ask(&batch.queries).await?;
    *kept = Some(lookup);
    Ok(answers)
}

pub(crate) async fn read_interfaces(bus: ubus::Handle, events: Sender<AnyEvent>) {
    match connection::interfaces(&bus).await {
        Ok(dump) => {
            let _ = events.send(AnyEvent::Network(Event::Interfaces(dump))).await;
        }
        Err(error) => log::debug!("reading the interfaces: {}", chain(&error)),
    }
}
