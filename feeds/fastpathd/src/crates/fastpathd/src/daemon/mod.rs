// SPDX-License-Identifier: GPL-2.0-or-later
//! The daemon's one loop: happenings go into the core, its effects are carried out.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use flows::Now;
use ruleset::NftCommand;
use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, mpsc};
use tokio::time::MissedTickBehavior;

mod errands;
mod rules;
mod watching;

use crate::bus::connection;
use crate::bus::methods::{self, Outcome};
use crate::bus::status;
use crate::configuration::Configuration;
use crate::core::{Core, Effect};
use crate::event::{self, Happening};
use crate::ips::probe::Attention;
use crate::ips::suricata::Folder;
use crate::offload::attach;
use crate::offload::flowtable::Job;
use crate::sys::machine;
use crate::sys::task::spawn_local;
use watching::AlertsTold;

/// Happenings that may wait. A full channel slows the sources down, and the kernel keeps their
/// events meanwhile.
const BACKLOG: usize = 64;
/// ubus and rpcd come up within seconds of a boot; after this the file is read instead.
const WITHOUT_BUS: u64 = 10;
/// Seconds between questions for a configuration that nobody answered for yet.
const ASK_AGAIN: u64 = 3;

/// Seconds between questions for the offset of local time.
const OFFSET_EVERY: u64 = 3600;

/// Where things are.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) socket: PathBuf,
    /// Read only while ubus is not there.
    pub(crate) config: PathBuf,
    pub(crate) leases: PathBuf,
    /// Folder of what the daemon leaves for others at run time.
    pub(crate) run: PathBuf,
    /// Suricata's command socket.
    pub(crate) commands: PathBuf,
    /// Rules that are installed with the daemon.
    pub(crate) own_rules: PathBuf,
}

impl Paths {
    /// The generation of the rules that this daemon has seen.
    fn rules(&self) -> PathBuf {
        self.run.join("rules")
    }

    /// What Suricata and the daemon share.
    fn folder(&self) -> Folder {
        Folder(self.run.join("ips"))
    }
}

/// A held request for the method `engine`.
struct EngineRequest {
    reply: ubus::Reply,
    /// Engine to be written into the configuration.
    persist: Option<&'static str>,
}

struct Daemon {
    core: Core,
    paths: Paths,
    started: Instant,
    bus: Option<ubus::Handle>,
    /// Somebody is subscribed.
    watched: bool,
    held: Vec<EngineRequest>,
    held_reinspect: Vec<ubus::Reply>,
    /// Readings of the configuration that are under way.
    readings: usize,
    /// Updates of rules that wait for the sources in it.
    held_updates: Vec<ubus::Request>,
    /// Whoever runs nft holds it: a block must not get lost while the table is replaced.
    turn: Rc<Mutex<()>>,
    /// Whoever gives devices programs holds it.
    programs: Rc<Mutex<()>>,
    attention: Attention,
    offset_s: i64,
    alerts_told: AlertsTold,
    nft: NftCommand,
    happenings: mpsc::Sender<Happening>,
    ticks: u64,
    /// The configuration has not been read over this connection.
    unread: bool,
}

/// Runs until SIGTERM or SIGINT. Needs a `LocalSet`.
pub(crate) async fn run(paths: Paths) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let (happenings, mut inbox) = mpsc::channel(BACKLOG);
    spawn_local(connection::keep(paths.socket.clone(), happenings.clone()));
    spawn_local(event::watch_network(happenings.clone()));
    spawn_local(event::watch_flows(happenings.clone()));
    // Opened before the generation is read, so that no change in between is missed.
    let changes = event::listen_to_rules();
    spawn_local(event::watch_rules(changes, happenings.clone()));
    let known = rules::are_known(&paths.rules()).await;
    let mut daemon = Daemon::new(paths, happenings);
    if known {
        daemon.core.flows.trust_first_dump();
    }
    daemon.start_watching();
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            Some(happening) = inbox.recv() => daemon.take(happening),
            _ = second.tick() => daemon.tick(),
            _ = hangup.recv() => daemon.read_configuration(),
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    Box::pin(daemon.end()).await;
    Ok(())
}

impl Daemon {
    fn new(paths: Paths, happenings: mpsc::Sender<Happening>) -> Self {
        let started = Instant::now();
        let machine = machine::read(unix_ms(), &paths.own_rules);
        let core = Core::new(machine, Now { mono: Duration::ZERO, unix_ms: unix_ms() });
        let nft = NftCommand::default();
        Self {
            core,
            paths,
            started,
            bus: None,
            watched: false,
            held: Vec::new(),
            held_reinspect: Vec::new(),
            readings: 0,
            held_updates: Vec::new(),
            turn: Rc::default(),
            programs: Rc::default(),
            attention: Attention::default(),
            offset_s: 0,
            alerts_told: AlertsTold::default(),
            nft,
            happenings,
            ticks: 0,
            unread: false,
        }
    }

    fn clock(&mut self) {
        self.core.now = Now { mono: self.started.elapsed(), unix_ms: unix_ms() };
        self.core.cpu_time = machine::cpu_time();
    }

    fn take(&mut self, happening: Happening) {
        self.clock();
        let read =
            matches!(happening, Happening::Configuration(_) | Happening::NoConfiguration(..));
        let effects = match happening {
            Happening::BusUp(handle) => {
                self.bus = Some(handle);
                self.unread = true;
                vec![Effect::ReadConfiguration]
            }
            Happening::BusGone => {
                self.bus = None;
                self.watched = false;
                Vec::new()
            }
            Happening::Invoke(request) => return self.invoke(request),
            Happening::Watched(active) => {
                self.watched = active;
                Vec::new()
            }
            Happening::InterfacesChanged => vec![Effect::ReadInterfaces],
            Happening::Configuration(values) => {
                self.unread = false;
                self.core.configuration(&values)
            }
            Happening::NoConfiguration(why, for_good) => {
                self.unread &= !for_good;
                self.no_configuration(&why, for_good)
            }
            Happening::Firewall(values) => {
                self.core.firewall(&values);
                Vec::new()
            }
            Happening::Interfaces(dump) => self.core.interfaces(&dump),
            Happening::Network(changes) => self.core.changes(changes),
            Happening::Rules(revision) => self.core.revised(revision),
            Happening::Flows(events) => self.core.events(&events),
            Happening::FlowsLost => self.core.events_lost(),
            Happening::Batch(entries) => self.core.batch(&entries),
            Happening::LookedUp(entries) => self.core.looked_up(&entries),
            Happening::Dumped(complete) => self.core.dumped(complete),
            Happening::Applied(result) => self.core.applied(result),
            Happening::Looked(still) => self.core.watched(still),
            other => self.take_more(other),
        };
        self.carry_out(effects);
        if read {
            self.has_read();
        }
        self.attention.wanted.set(self.core.protection.settings.enabled);
        self.attention.curious.set(self.core.protection.unasked());
        self.notify_alerts();
    }

    fn tick(&mut self) {
        self.clock();
        // Summer time begins some day.
        if self.ticks.is_multiple_of(OFFSET_EVERY) {
            self.offset_s = machine::offset_s();
        }
        self.ticks += 1;
        let readings = machine::readings(&self.paths.leases, self.offset_s);
        let effects = self.core.tick(&readings);
        self.carry_out(effects);
        if self.ticks == WITHOUT_BUS && self.core.settings.is_none() {
            self.read_file();
        }
        if self.unread && self.ticks.is_multiple_of(ASK_AGAIN) {
            self.read_configuration();
        }
        // The tick names the newest one: who was told of it by then need not ask.
        self.notify_alerts();
        if let Some(bus) = self.bus.as_ref().filter(|_| self.watched) {
            let sent = object(&status::tick(&self.core))
                .map(|t| bus.notify(connection::OBJECT, "tick", &t));
            if let Some(Err(error)) = sent {
                log::debug!("ubus: tick: {error}");
            }
        }
    }

    fn invoke(&mut self, request: ubus::Request) {
        // Who changed the sources and asks for their rules means the new ones.
        if self.readings > 0 && request.method == "rules_update" {
            self.held_updates.push(request);
            return;
        }
        let ubus::Request { method, args, reply, .. } = request;
        match methods::call(&mut self.core, &method, args) {
            Outcome::Reply(Value::Object(answer)) => {
                if let Err(error) = reply.data(&answer) {
                    log::error!("ubus: answer of {method}: {error}");
                }
            }
            Outcome::Reply(_) | Outcome::NoMethod => reply.status(ubus::Status::MethodNotFound),
            Outcome::NotFound => reply.status(ubus::Status::NotFound),
            Outcome::Invalid(why) => {
                log::info!("ubus: {method} refused: {why}");
                reply.status(ubus::Status::InvalidArgument);
            }
            Outcome::Doctor(args) => match &self.bus {
                Some(bus) => spawn_local(connection::doctor(bus.clone(), args, reply)),
                None => reply.status(ubus::Status::NotFound),
            },
            Outcome::Reinspect => {
                self.held_reinspect.push(reply);
                self.carry_out(vec![Effect::Reinspect]);
            }
            Outcome::Done(answer, effects) => {
                if let Err(error) = reply.data(&answer) {
                    log::error!("ubus: answer of {method}: {error}");
                }
                self.carry_out(effects);
            }
            Outcome::Engine { persist, effects, engine } => {
                log::info!("engine {engine} by command");
                let persist = persist.then_some(engine.name());
                self.held.push(EngineRequest { reply, persist });
                self.carry_out(effects);
            }
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Engine(job) => self.run_job(job),
                Effect::Dump => spawn_local(event::dump(self.happenings.clone())),
                Effect::LookUp(wanted) => {
                    spawn_local(event::look_up(wanted, self.happenings.clone()));
                }
                Effect::ReadConfiguration => self.read_configuration(),
                Effect::ReadInterfaces => self.with_bus(read_interfaces),
                Effect::AnswerEngine => self.answer_engine(),
                errand => self.run_errand(errand),
            }
        }
    }

    fn run_job(&self, job: Job) {
        let (nft, happenings) = (self.nft.clone(), self.happenings.clone());
        let turn = self.turn.clone();
        let blocks = self.core.blocks();
        let counts = self.core.protection.settings.enabled && !matches!(job, Job::Watch(_));
        spawn_local(async move {
            let _turn = turn.lock().await;
            if counts {
                // What a table has counted is lost with it.
                errands::read_table(&nft, &happenings).await;
            }
            let happening = match job {
                Job::Apply { plan, in_force } => {
                    let result = ruleset::apply(&nft, &plan, in_force.as_ref(), &blocks).await;
                    Happening::Applied(result.map_err(|error| connection::chain(&error)))
                }
                Job::Renew(plan) => {
                    let result = ruleset::renew(&nft, &plan, &blocks).await;
                    Happening::Applied(result.map_err(|error| connection::chain(&error)))
                }
                Job::Watch(plan) => Happening::Looked(still_in_force(&nft, &plan).await),
            };
            let _ = happenings.send(happening).await;
        });
    }

    fn answer_engine(&mut self) {
        let report = object(&self.core.room.report()).unwrap_or_default();
        for EngineRequest { reply, persist } in self.held.drain(..) {
            let report = report.clone();
            let bus = self.bus.clone();
            spawn_local(async move {
                if let (Some(engine), Some(bus)) = (persist, bus)
                    && let Err(error) = connection::persist(&bus, engine).await
                {
                    log::error!(
                        "writing the engine into the configuration: {}",
                        connection::chain(&error)
                    );
                    reply.status(ubus::Status::UnknownError);
                    return;
                }
                if let Err(error) = reply.data(&report) {
                    log::error!("ubus: answer of engine: {error}");
                }
            });
        }
    }

    fn read_configuration(&mut self) {
        self.readings += usize::from(self.bus.is_some());
        self.with_bus(read_configuration);
    }

    /// A reading has ended, with or without a configuration.
    fn has_read(&mut self) {
        self.readings = self.readings.saturating_sub(1);
        if self.readings == 0 {
            for request in std::mem::take(&mut self.held_updates) {
                self.invoke(request);
            }
        }
    }

    /// Starts a conversation over ubus; nothing while it is away: coming back reads all again.
    fn with_bus<F: Future<Output = ()> + 'static>(
        &self,
        talk: impl FnOnce(ubus::Handle, mpsc::Sender<Happening>) -> F,
    ) {
        if let Some(bus) = &self.bus {
            spawn_local(talk(bus.clone(), self.happenings.clone()));
        }
    }

    fn read_file(&mut self) {
        let path = self.paths.config.display();
        log::warn!("fastpath.config is not on ubus: reading {path} itself");
        let effects = match file_values(&self.paths.config) {
            Ok(values) => self.core.configuration(&values),
            Err(why) => {
                self.core.no_configuration(why);
                Vec::new()
            }
        };
        self.carry_out(effects);
    }

    /// rpcd says only that it cannot read the file; we can say what is wrong in it.
    fn no_configuration(&mut self, why: &str, for_good: bool) -> Vec<Effect> {
        if for_good {
            let words = file_values(&self.paths.config).err();
            self.core.no_configuration(words.unwrap_or_else(|| why.to_owned()));
        } else {
            log::debug!("{why}");
        }
        Vec::new()
    }

    async fn end(self) {
        if !self.core.removes_on_exit() {
            log::info!("ending; the kernel goes on as it is");
            return;
        }
        attach::clear();
        match ruleset::remove(&self.nft).await {
            Ok(()) => log::info!("ending; table inet fastpath is removed"),
            Err(error) => {
                log::error!("removing table inet fastpath: {}", connection::chain(&error))
            }
        }
    }
}

async fn still_in_force(nft: &NftCommand, plan: &ruleset::Plan) -> bool {
    match ruleset::read_back(nft).await {
        Ok(found) => match found {
            Some(in_force) => in_force.matches(plan),
            None => !plan.has_table(),
        },
        Err(error) => {
            // Not knowing is no reason to disturb the flows.
            log::warn!("looking at table inet fastpath: {}", connection::chain(&error));
            true
        }
    }
}

async fn read_configuration(bus: ubus::Handle, happenings: mpsc::Sender<Happening>) {
    if !connection::has_config(&bus).await {
        let why = "fastpath.config is not on ubus yet".to_owned();
        let _ = happenings.send(Happening::NoConfiguration(why, false)).await;
        return;
    }
    match connection::package(&bus, "firewall").await {
        Ok(values) => {
            let _ = happenings.send(Happening::Firewall(values.unwrap_or_default())).await;
        }
        Err(error) => {
            log::warn!("reading the firewall's configuration: {}", connection::chain(&error))
        }
    }
    match connection::package(&bus, "fastpath").await {
        Ok(values) => {
            if values.is_none() {
                log::warn!("there is no /etc/config/fastpath: using the defaults");
            }
            let values = values.unwrap_or_else(|| Value::Object(Map::new()));
            let _ = happenings.send(Happening::Configuration(values)).await;
        }
        Err(error) => {
            let _ =
                happenings.send(Happening::NoConfiguration(connection::chain(&error), true)).await;
        }
    }
    read_interfaces(bus, happenings).await;
}

async fn read_interfaces(bus: ubus::Handle, happenings: mpsc::Sender<Happening>) {
    match connection::interfaces(&bus).await {
        Ok(dump) => {
            let _ = happenings.send(Happening::Interfaces(dump)).await;
        }
        Err(error) => log::debug!("reading the interfaces: {}", connection::chain(&error)),
    }
}

fn object(value: &impl serde::Serialize) -> Option<ubus::Map> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What a configuration file says, or what is wrong with it.
fn file_values(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    config::parse_uci(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Checks a configuration file; the text of what is wrong, if anything is.
pub(crate) fn check(path: &Path) -> Result<Vec<String>, String> {
    let values = file_values(path)?;
    match Configuration::read(&values) {
        Ok((_, warnings)) => Ok(warnings.iter().map(ToString::to_string).collect()),
        Err(error) => Err(error.to_string()),
    }
}
