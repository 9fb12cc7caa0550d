// SPDX-License-Identifier: GPL-2.0-or-later
//! Bus client that publishes the objects of rpcd, procd and netifd.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::oneshot;
use ubus::{
    CallError, ConnectError, Connection, ConnectionError, Handle, Incoming, Map, Object, Request,
    Status,
};

use crate::exec::Action;
use crate::file::{self, Caller};
use crate::network::{self, Network};
use crate::reply::Answer;
use crate::session::{self, Accounts, Sessions};
use crate::syslog::{self, Log};
use crate::uci::{self, Store, Uci};
use crate::{devices, reload, rpcsys, service, system, wireless};

const POLL: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("connecting our own objects to the bus")]
    Connect(#[from] ConnectError),
    #[error("publishing our own objects")]
    Publish(#[from] CallError),
    #[error("waiting for the signal to reload")]
    Signal(#[source] std::io::Error),
    #[error("serving our own objects")]
    Lost(#[from] ConnectionError),
}

/// Programs that do procd's work.
#[derive(Debug, Default)]
pub struct Procd {
    /// Runs with the name of each changed configuration.
    pub reload: Option<PathBuf>,
    /// Runs with the type of each event.
    pub event: Option<PathBuf>,
    /// Timeout of a program that runs for a caller.
    pub limit: Duration,
}

/// Inputs of [`Objects`] besides accounts and configurations.
pub struct Parts {
    /// Folder with a file for each interface that was brought down.
    pub down: PathBuf,
    /// Folder with a state file for each radio.
    pub radios: PathBuf,
    pub log: Log,
    pub procd: Procd,
}

pub struct Objects {
    accounts: Accounts,
    sessions: Sessions,
    uci: Uci,
    network: Network,
    store: Store,
    radios: PathBuf,
    log: Log,
    procd: Procd,
    published: BTreeSet<String>,
    start: Instant,
}

impl Objects {
    #[must_use]
    pub fn new(accounts: Accounts, store: Store, parts: Parts) -> Objects {
        let Parts { down, radios, log, procd } = parts;
        Objects {
            sessions: Sessions::new(accounts.nobody()),
            uci: Uci::new(store.clone()),
            network: Network::new(store.clone(), down),
            store,
            radios,
            log,
            accounts,
            procd,
            published: BTreeSet::new(),
            start: Instant::now(),
        }
    }

    /// Publishes the objects on the bus at `socket`, signals `published`, and serves them until the
    /// bus is gone.
    ///
    /// # Errors
    /// Returns an error if the bus is missing or rejects an object.
    pub async fn serve(
        &mut self,
        socket: &Path,
        published: oneshot::Sender<()>,
    ) -> Result<Infallible, ServeError> {
        let mut connection = Connection::open(socket).await?;
        let bus = connection.handle();
        for (path, methods) in [
            ("session", session::METHODS),
            ("uci", uci::METHODS),
            ("system", system::METHODS),
            ("service", service::METHODS),
            ("network.interface", network::METHODS),
            ("network.device", devices::METHODS),
            ("network.wireless", wireless::METHODS),
            ("log", syslog::METHODS),
            ("file", file::METHODS),
            ("rpc-sys", rpcsys::METHODS),
        ] {
            bus.publish_unchecked(Object { path: path.to_owned(), methods }).await?;
        }
        self.publish_interfaces(&bus).await;
        // Ignore a dropped receiver.
        let _ = published.send(());
        let mut poll = tokio::time::interval(POLL);
        loop {
            let undo = self.uci.deadline().map(|at| tokio::time::Instant::from(self.start + at));
            tokio::select! {
                incoming = connection.next() => if let Incoming::Invoke(request) = incoming? {
                    self.serve_one(request);
                },
                _ = poll.tick() => self.poll(&bus).await,
                () = tokio::time::sleep_until(undo.unwrap_or_else(tokio::time::Instant::now)),
                    if undo.is_some() => {}
            }
            self.pass_time();
        }
    }

    /// Publishes an object for each interface and access point. Removed ones keep theirs.
    async fn publish_interfaces(&mut self, bus: &Handle) {
        let interfaces = self.network.names().into_iter().map(|name| (network::PATH, name));
        let points = wireless::points(&self.radios).into_iter();
        for (prefix, name) in interfaces.chain(points.map(|name| (wireless::POINT_PATH, name))) {
            let path = format!("{prefix}{name}");
            if self.published.contains(&path) {
                continue;
            }
            let methods = match prefix {
                wireless::POINT_PATH => wireless::POINT_METHODS,
                _ => network::INTERFACE_METHODS,
            };
            match bus.publish_unchecked(Object { path: path.clone(), methods }).await {
                Ok(()) => drop(self.published.insert(path)),
                Err(error) => log::warn!("publishing {path}: {error}"),
            }
        }
    }

    fn serve_one(&mut self, request: Request) {
        if let Some(action) = self.action(&request) {
            match action {
                Ok(action) => {
                    let work = action.run(self.procd.limit, request.reply);
                    tokio::task::spawn_local(work);
                }
                Err(status) => request.reply.status(status),
            }
            return;
        }
        let called = (request.method.as_str(), &request.args);
        match self.answer(&request.object, called) {
            Ok(map) => {
                // A configuration may exceed the maximum message size.
                if let Err(error) = request.reply.data(&map) {
                    log::warn!("answering {}: {error}", request.object);
                }
            }
            Err(status) => request.reply.status(status),
        }
    }

    /// Returns the action that answers the call, or `None` for calls that run no program.
    fn action(&mut self, request: &Request) -> Option<Result<Action, Status>> {
        let called = (request.method.as_str(), &request.args);
        match request.object.as_str() {
            "file" if called.0 == "exec" => {
                let peer = Caller { sessions: &mut self.sessions, now: self.start.elapsed() };
                Some(file::program(peer, called.1).map(Action::Output))
            }
            "rpc-sys" => Some(rpcsys::action(called)),
            "system" => system::action(called),
            _ => None,
        }
    }

    fn answer(&mut self, object: &str, called: (&str, &Map)) -> Answer {
        let now = self.start.elapsed();
        let answer = match object {
            "session" => {
                let pending = self.uci.pending_session().map(str::to_owned);
                let answer = session::answer(
                    &mut self.sessions,
                    &self.accounts,
                    pending.as_deref(),
                    called,
                    now,
                );
                if let ("destroy", Ok(_), Some(id)) =
                    (called.0, &answer, crate::reply::text(called.1, "ubus_rpc_session"))
                {
                    self.uci.forget(id);
                }
                answer
            }
            "uci" => self.uci.answer(&mut self.sessions, called, now),
            "system" => system::answer(called.0),
            "service" => service::answer(&self.procd, called),
            "network.interface" => {
                self.network.answer(called, &network::addresses(), system::since_boot())
            }
            "network.device" => devices::answer(Path::new("/sys/class/net"), called),
            "network.wireless" => wireless::answer(&self.store, &self.radios, called),
            "log" => self.log.answer(called),
            "file" => file::answer(Caller { sessions: &mut self.sessions, now }, called),
            _ => self.answer_interface(object, called),
        };
        self.reload_services();
        answer
    }

    /// Answers `hostapd.DEVICE`, and `network.interface.NAME` like `network.interface` with the
    /// name as an argument.
    fn answer_interface(&mut self, object: &str, (method, args): (&str, &Map)) -> Answer {
        if let Some(device) = object.strip_prefix(wireless::POINT_PATH) {
            return wireless::answer_point(&self.radios, device, method);
        }
        let name = object.strip_prefix(network::PATH).ok_or(Status::NotFound)?;
        let mut args = args.clone();
        args.insert("interface".to_owned(), json!(name));
        self.network.answer((method, &args), &network::addresses(), system::since_boot())
    }

    fn pass_time(&mut self) {
        let now = self.start.elapsed();
        for ended in self.sessions.expire(now) {
            self.uci.forget(&ended);
        }
        self.uci.expire(&mut self.sessions, now);
        self.reload_services();
    }

    /// Like procd, reloads the services of changed configurations.
    fn reload_services(&mut self) {
        let network = self.network.take_reload().then(|| "network".to_owned());
        for config in self.uci.take_changed().into_iter().chain(network) {
            if let Some(command) = &self.procd.reload {
                reload::start(command, &config);
            }
        }
    }

    /// Like netifd, reports changes of interfaces to subscribers and as an event.
    async fn poll(&mut self, bus: &Handle) {
        self.log.receive();
        self.publish_interfaces(bus).await;
        for change in self.network.update(system::since_boot()) {
            let (name, action) =
                if change.up { ("interface.update", "ifup") } else { ("interface.down", "ifdown") };
            service::send(self.procd.event.as_deref(), name);
            let interface = json!(change.interface);
            let mut data = Map::from_iter([("interface".to_owned(), interface)]);
            let notified = bus.notify("network.interface", name, &data);
            data.insert("action".to_owned(), json!(action));
            let sent = bus.send_event("network.interface", &data).await;
            if let Err(error) =
                notified.map_err(|error| error.to_string()).and(sent.map_err(|e| e.to_string()))
            {
                log::warn!("reporting {}: {error}", change.interface);
            }
        }
    }
}
