// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps the connection to ubusd, publishes object `fastpath`, and calls `fastpath.config`, netifd,
//! procd and `fastpath.doctor`.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway::api::methods::METHODS;
use gateway::sys::error::chain;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use ubus::{CallError, Connection, Field, Handle, Incoming, Map, Object, Reply};

use crate::bus::Event;
use crate::bus::repeat::read_again;

pub(crate) const OBJECT: &str = "fastpath";

const MIN_RETRY_INTERVAL: Duration = Duration::from_millis(250);
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// Timeout of a call. rpcd usually answers in milliseconds, under emulation in a second.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a doctor run; rpcd allows its plug-ins 120 s.
const DOCTOR_TIMEOUT: Duration = Duration::from_secs(120);

/// Connects to ubusd, publishes our object, forwards events, and reconnects with backoff. Returns
/// when the daemon ends.
pub(crate) async fn keep(socket: PathBuf, events: Sender<Event>) {
    let mut interval = MIN_RETRY_INTERVAL;
    let mut logged = String::new();
    loop {
        let published = Cell::new(false);
        let ended = run(&socket, &events, &published).await;
        if published.get() {
            interval = MIN_RETRY_INTERVAL;
            logged.clear();
        }
        if ended != logged {
            log::warn!("ubus: {ended}; retrying");
            logged = ended;
        }
        if events.send(Event::Down).await.is_err() {
            return;
        }
        tokio::time::sleep(interval).await;
        interval = (interval * 2).min(MAX_RETRY_INTERVAL);
    }
}

async fn run(socket: &Path, events: &Sender<Event>, published: &Cell<bool>) -> String {
    let connection = match Connection::open(socket).await {
        Ok(connection) => connection,
        Err(error) => return chain(&error),
    };
    let object = Object { path: OBJECT.into(), methods: METHODS };
    if let Err(error) = connection.handle().publish(object).await {
        // ubusd reports both causes with the same status.
        return format!(
            "{}: there is such an object already (another fastpathd?), or no file in \
             /usr/share/acl.d lets this user publish it",
            chain(&error)
        );
    }
    published.set(true);
    chain(&*serve(connection, events).await)
}

async fn serve(mut connection: Connection, events: &Sender<Event>) -> Box<dyn std::error::Error> {
    let handle = connection.handle();
    // Not fatal: netifd may start later, and the interfaces are also polled.
    if let Err(error) = handle.subscribe("network.interface").await {
        log::debug!("ubus: not subscribed to network.interface: {error}");
    }
    log::info!("ubus: published {OBJECT}");
    if events.send(Event::Up(handle)).await.is_err() {
        return "the daemon ends".into();
    }
    loop {
        let event = match connection.next().await {
            Ok(Incoming::Invoke(request)) => Event::Invoked(Box::new(request)),
            Ok(Incoming::Subscribers { active, .. }) => Event::Subscribed(active),
            Ok(Incoming::Notification { .. }) => Event::InterfacesChanged,
            Ok(Incoming::Unsubscribed { .. } | Incoming::Event { .. }) => continue,
            Err(error) => return error.into(),
        };
        if events.send(event).await.is_err() {
            return "the daemon ends".into();
        }
    }
}

const CONFIG: &str = "fastpath.config";

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error(transparent)]
    Call(#[from] CallError),
    /// `fastpath.config` refused the call, with this reason.
    #[error("{0}")]
    Refused(String),
}

/// Returns whether `fastpath.config` is on ubus. After a restart of ubusd, rpcd may reconnect later
/// than the daemon.
pub(crate) async fn has_config(handle: &Handle) -> bool {
    handle.list(CONFIG).await.is_ok_and(|found| !found.is_empty())
}

/// Returns the `values` of a UCI package. `None` if the package does not exist.
pub(crate) async fn package(handle: &Handle, name: &str) -> Result<Option<Value>, ConfigError> {
    let get = || handle.call(CONFIG, "get", &Field("config", name), TIMEOUT);
    let mut answer = read_again(get).await?;
    match answer.get("error").map(|error| error["text"].as_str().unwrap_or_default()) {
        None => Ok(answer.remove("values")),
        Some(why) => Err(ConfigError::Refused(why.to_owned())),
    }
}

pub(crate) async fn interfaces(handle: &Handle) -> Result<Value, CallError> {
    let answer = handle.call("network.interface", "dump", &Map::new(), TIMEOUT).await?;
    Ok(Value::Object(answer))
}

/// Returns the services in umdns' cache. `None` if it is not on ubus.
pub(crate) async fn services(handle: &Handle) -> Option<Value> {
    handle.call("umdns", "browse", &Field("array", true), TIMEOUT).await.ok().map(Value::Object)
}

/// Switches these SSIDs off, and others that were switched off on.
pub(crate) async fn switch_ssids(handle: &Handle, off: Vec<String>) -> Result<(), String> {
    let answer = handle.call("fastpath.device", "ssids", &Field("off", off), TIMEOUT).await;
    match answer.map_err(|error| chain(&error))?.get("error") {
        None => Ok(()),
        Some(error) => Err(error["text"].as_str().unwrap_or_default().to_owned()),
    }
}

pub(crate) async fn event(handle: &Handle, name: &str) -> Result<(), CallError> {
    let args = EventArgs { r#type: name, data: Map::new() };
    handle.call("service", "event", &args, TIMEOUT).await.map(drop)
}

#[derive(Serialize)]
struct EventArgs<'a> {
    r#type: &'a str,
    data: Map,
}

const DOCTOR: &str = "fastpath.doctor";

/// Runs all checks of the doctor at the lowest priority.
pub(crate) async fn examine(handle: &Handle) -> Result<Map, CallError> {
    handle.call(DOCTOR, "run", &Field("background", true), DOCTOR_TIMEOUT).await
}

pub(crate) async fn report(handle: &Handle) -> Result<Map, CallError> {
    let args = Map::new();
    read_again(|| handle.call(DOCTOR, "last", &args, TIMEOUT)).await
}

/// Calls `fastpath.doctor` and forwards its answer. The doctor validates the arguments.
pub(crate) async fn doctor(handle: Handle, args: Map, reply: Reply) {
    let call = || handle.call(DOCTOR, "run", &args, DOCTOR_TIMEOUT);
    let answered = match read_again(call).await {
        Ok(answer) => reply.data(&answer).map_err(|error| chain(&error)),
        Err(error) => {
            reply.status(error.status());
            Err(chain(&error))
        }
    };
    if let Err(why) = answered {
        log::warn!("ubus: doctor: {why}");
    }
}
