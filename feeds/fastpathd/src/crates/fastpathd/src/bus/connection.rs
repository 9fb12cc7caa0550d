// SPDX-License-Identifier: GPL-2.0-or-later
//! Maintains the connection to ubusd, publishes object `fastpath`, and calls `fastpath.config`,
//! netifd, procd and `fastpath.doctor`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway::api::methods::METHODS;
use gateway::sys::error::chain;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use ubus::{CallError, Connection, Handle, Incoming, Map, Object, Reply};

use crate::bus::Event;
use crate::bus::repeat::read_again;

/// Name of our ubus object.
pub(crate) const OBJECT: &str = "fastpath";

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Timeout of a call. rpcd answers in milliseconds, or a second under emulation and load.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of the doctor's run; rpcd allows its plug-ins 120 s.
const LONG_TIMEOUT: Duration = Duration::from_secs(120);

/// Connects to ubusd, publishes our object, forwards events, and reconnects with backoff if ubusd
/// goes away. Returns when the daemon ends.
pub(crate) async fn keep(socket: PathBuf, events: Sender<Event>) {
    let mut pause = FIRST_PAUSE;
    let mut logged = String::new();
    loop {
        let published = Cell::new(false);
        let ended = run(&socket, &events, &published).await;
        if published.get() {
            pause = FIRST_PAUSE;
            logged.clear();
        }
        // Log a repeated failure once.
        if ended != logged {
            log::warn!("ubus: {ended}; retrying");
            logged = ended;
        }
        if events.send(Event::Down).await.is_err() {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Runs one connection from start to end. Returns why it ended.
async fn run(socket: &Path, events: &Sender<Event>, published: &Cell<bool>) -> String {
    let connection = match Connection::open(socket).await {
        Ok(connection) => connection,
        Err(error) => return chain(&error),
    };
    let object = Object { path: OBJECT.into(), methods: METHODS };
    if let Err(error) = connection.handle().publish(object).await {
        // ubusd has one status for both causes.
        return format!(
            "{}: there is such an object already (another fastpathd?), or no file in \
             /usr/share/acl.d lets this user publish it",
            chain(&error)
        );
    }
    published.set(true);
    chain(&*serve(connection, events).await)
}

/// Serves a connection on which our object is published. Returns why it ended.
async fn serve(mut connection: Connection, events: &Sender<Event>) -> Box<dyn std::error::Error> {
    let handle = connection.handle();
    // netifd may start later than the daemon, and the interfaces are polled anyway.
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

/// Object of `fastpath-rpcd` that reads UCI as root.
const CONFIG: &str = "fastpath.config";

/// A failure to read a UCI package over ubus.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error(transparent)]
    Call(#[from] CallError),
    /// `fastpath.config` refused the call for this reason.
    #[error("{0}")]
    Refused(String),
}

/// Returns true if `fastpath.config` is on ubus. rpcd reconnects later than the daemon.
pub(crate) async fn has_config(handle: &Handle) -> bool {
    handle.list(CONFIG).await.is_ok_and(|found| !found.is_empty())
}

/// Returns the `values` of a UCI package, or `None` if it does not exist.
pub(crate) async fn package(handle: &Handle, name: &str) -> Result<Option<Value>, ConfigError> {
    let args = BTreeMap::from([("config", name)]);
    let mut answer = read_again(|| handle.call(CONFIG, "get", &args, TIMEOUT)).await?;
    match answer.get("error").map(|error| error["text"].as_str().unwrap_or_default()) {
        None => Ok(answer.remove("values")),
        Some(why) => Err(ConfigError::Refused(why.to_owned())),
    }
}

/// Returns the answer of `network.interface dump`.
pub(crate) async fn interfaces(handle: &Handle) -> Result<Value, CallError> {
    let answer = handle.call("network.interface", "dump", &Map::new(), TIMEOUT).await?;
    Ok(Value::Object(answer))
}

/// Sends an event to init scripts through procd.
pub(crate) async fn event(handle: &Handle, name: &str) -> Result<(), CallError> {
    let args = Sent { r#type: name, data: Map::new() };
    handle.call("service", "event", &args, TIMEOUT).await.map(drop)
}

#[derive(Serialize)]
struct Sent<'a> {
    r#type: &'a str,
    data: Map,
}

/// Object of `fastpath-rpcd` that runs the doctor's checks as root.
const DOCTOR: &str = "fastpath.doctor";

/// Runs all of the doctor's checks at the lowest priority.
pub(crate) async fn examine(handle: &Handle) -> Result<Map, CallError> {
    let args = BTreeMap::from([("background", true)]);
    handle.call(DOCTOR, "run", &args, LONG_TIMEOUT).await
}

/// Returns the doctor's last report, as every client gets it.
pub(crate) async fn report(handle: &Handle) -> Result<Map, CallError> {
    let args = Map::new();
    read_again(|| handle.call(DOCTOR, "last", &args, TIMEOUT)).await
}

/// Calls `fastpath.doctor` and forwards its answer, however long that takes. The doctor checks its
/// arguments itself.
pub(crate) async fn doctor(handle: Handle, args: Map, reply: Reply) {
    let call = || handle.call(DOCTOR, "run", &args, LONG_TIMEOUT);
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
