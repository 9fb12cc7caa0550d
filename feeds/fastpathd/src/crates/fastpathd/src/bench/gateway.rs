// SPDX-License-Identifier: GPL-2.0-or-later
//! A gateway with a simulated kernel: the daemon's core and exporters are real, and requests to the
//! kernel are answered from simulated traffic.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use flows::Now;
use gateway::core::Core;
use gateway::core::calls::{Outcome, call};
use gateway::effect::Effect;
use gateway::event::Event;
use gateway::lab::{configuration as values, lab_dump, lab_firewall, lab_network};
use gateway::offload::ebpf::Waiting;
use gateway::offload::flowtable::Job;
use gateway::sys::kernel::{Machine, Readings};
use gateway::{configuration, conntrack, export, network, offload};
use ruleset::Applied;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::traffic::{Sums, Traffic};
use super::{Options, exposition};
use crate::export::run::Exporters;
use crate::io::{Io, Paths};
use crate::sys::kernel;

const LEASES: u8 = 20;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    domain: u32,
    made: Sums,
    records: u64,
    problem: String,
    export: Value,
    scrapes: u64,
    connections: usize,
}

pub(super) struct Gateway {
    domain: u32,
    core: Core,
    io: Io,
    exporters: Exporters,
    traffic: Traffic,
    readings: Readings,
    records: u64,
    scrapes: u64,
}

impl Gateway {
    /// Creates a gateway in the lab's network, with the receiver of its events.
    pub(super) fn new(domain: u32, options: &Options) -> (Self, mpsc::Receiver<Event>) {
        let (events, inbox) = mpsc::channel(1);
        let nowhere = PathBuf::from("/dev/null");
        let paths = Paths {
            socket: nowhere.clone(),
            config: nowhere.clone(),
            leases: nowhere.clone(),
            history: nowhere.clone(),
            run: nowhere.clone(),
            commands: nowhere.clone(),
            own_rules: nowhere,
        };
        let started = Now { mono: Duration::ZERO, unix_ms: kernel::unix_ms() };
        let machine = Machine { kernel: "6.12".into(), started, ..Machine::default() };
        let mut gateway = Self {
            domain,
            core: Core::new(machine, started),
            // There is no conntrack socket here, so the second receiver is dropped.
            io: Io::new(paths, events, mpsc::unbounded_channel().0),
            exporters: Exporters::default(),
            traffic: Traffic::new(domain, options.flows),
            readings: Readings {
                hostname: format!("gw{domain}"),
                leases: leases(),
                ..Readings::default()
            },
            records: 0,
            scrapes: 0,
        };
        let mut values = values("flowtable");
        values["store"] = json!({
            ".type": "export", ".name": "store", ".index": 1,
            "host": options.collector.ip().to_string(),
            "port": options.collector.port().to_string(),
            "active_timeout": options.active_s.to_string(),
            "idle_timeout": options.idle_s.to_string(),
            "domain": domain.to_string(),
        });
        for event in [
            Event::Network(network::Event::Firewall(lab_firewall())),
            Event::Network(network::Event::Interfaces(lab_dump())),
            Event::Configuration(configuration::Event::Read(values)),
            Event::Network(network::Event::Changed(lab_network())),
        ] {
            gateway.event(event);
        }
        (gateway, inbox)
    }

    fn set_clock(&mut self) {
        let now = Now { mono: self.io.started.elapsed(), unix_ms: kernel::unix_ms() };
        self.core.set_clock(now, kernel::cpu_time());
    }

    /// Advances the traffic by a second, and runs the core as the daemon does.
    pub(super) fn second(&mut self) {
        let events = self.traffic.second();
        if !events.is_empty() {
            self.event(Event::Conntrack(conntrack::Event::Changed(events)));
        }
        self.set_clock();
        let effects = self.core.second(&self.readings);
        self.execute(effects);
    }

    pub(super) fn event(&mut self, event: Event) {
        self.set_clock();
        let effects = self.core.handle(event);
        self.execute(effects);
    }

    fn execute(&mut self, effects: Vec<Effect>) {
        let mut waiting = VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            for event in self.answer(effect) {
                waiting.extend(self.core.handle(event));
            }
        }
    }

    /// Executes an effect. Returns the events that answer it.
    fn answer(&mut self, effect: Effect) -> Vec<Event> {
        match effect {
            Effect::Export(effect) => {
                if let export::Effect::Send(records) = &effect {
                    self.records += records.len() as u64;
                }
                self.exporters.execute(effect, &self.io);
                Vec::new()
            }
            Effect::Conntrack(effect) => self.conntrack(effect),
            Effect::Network(network::Effect::ReadInterfaces) => {
                vec![Event::Network(network::Event::Interfaces(lab_dump()))]
            }
            Effect::Network(network::Effect::AskRoutes(batch)) => {
                vec![Event::Network(network::Event::RoutesAnswered(batch, Some(Vec::new())))]
            }
            Effect::Offload(offload::Effect::Run(job)) => vec![Event::Offload(applied(&job))],
            Effect::Offload(offload::Effect::Step) => vec![Event::Offload(offload::Event::Step)],
            // These effects do not influence flow records and metrics.
            Effect::Offload(
                offload::Effect::Attach(_)
                | offload::Effect::SaveGeneration
                | offload::Effect::ReadRules,
            )
            | Effect::Api(_)
            | Effect::Configuration(_)
            | Effect::Cpu(_)
            | Effect::Devices(_)
            | Effect::Doctor(_)
            | Effect::History(_)
            | Effect::Ips(_)
            | Effect::Latency(_)
            | Effect::Network(network::Effect::SwitchSsids(_))
            | Effect::Rules(_) => Vec::new(),
        }
    }

    fn conntrack(&self, effect: conntrack::Effect) -> Vec<Event> {
        let events = match effect {
            conntrack::Effect::Dump => vec![
                conntrack::Event::Entries(self.traffic.dump()),
                conntrack::Event::DumpEnded(true),
            ],
            conntrack::Effect::Sweep => vec![conntrack::Event::Sweep],
            conntrack::Effect::LookUp(keys, start) => {
                let mut found = self.traffic.dump();
                found.retain(|entry| keys.contains(&(entry.zone, entry.orig)));
                vec![conntrack::Event::LookedUp(found, start)]
            }
            conntrack::Effect::ClearMarks(connections, _, version) => {
                vec![conntrack::Event::MarksCleared(connections, version)]
            }
            conntrack::Effect::ReadEvents(version) => vec![conntrack::Event::EventsRead(version)],
            conntrack::Effect::Confirm(connections, start) => {
                let all = self.traffic.dump();
                let of =
                    |one: &Waiting| all.iter().find(|e| e.orig == one.connection.orig).copied();
                let found = connections.into_iter().map(|one| (one, of(&one))).collect();
                vec![conntrack::Event::Confirmed(found, start)]
            }
            // Only engine ebpf and administrators request these effects.
            conntrack::Effect::Update(_) | conntrack::Effect::Delete(_) => Vec::new(),
        };
        events.into_iter().map(Event::Conntrack).collect()
    }

    pub(super) fn stop(&mut self) {
        self.traffic.stop();
    }

    fn ask(&mut self, method: &str) -> Map<String, Value> {
        self.set_clock();
        match call(&mut self.core, method, Map::new()) {
            Outcome::Reply(Ok(answer), _) => answer.decode().unwrap_or_default(),
            Outcome::Reply(Err(_), _)
            | Outcome::Invalid(_)
            | Outcome::NotFound
            | Outcome::NoMethod
            | Outcome::Doctor(_)
            | Outcome::Reinspect
            | Outcome::History(_)
            | Outcome::Engine { .. } => Map::new(),
        }
    }

    pub(super) fn metrics(&mut self) -> Map<String, Value> {
        self.ask("metrics")
    }

    pub(super) fn scraped(&mut self) -> String {
        self.scrapes += 1;
        exposition::text(&self.metrics())
    }

    pub(super) fn report(&mut self) -> Report {
        let exports = Value::Object(self.ask("exports"));
        Report {
            domain: self.domain,
            made: self.traffic.sums(),
            records: self.records,
            problem: self.core.configuration().error().to_owned(),
            export: exports.pointer("/exports/0").cloned().unwrap_or_default(),
            scrapes: self.scrapes,
            connections: self.core.conntrack().flows().len(),
        }
    }
}

fn applied(job: &Job) -> offload::Event {
    let is_unchanged =
        matches!(job, Job::Apply { plan, in_force } if in_force.as_ref() == Some(plan));
    let how = if is_unchanged { Applied::Unchanged } else { Applied::Replaced };
    offload::Event::Applied(Ok(how))
}

fn leases() -> String {
    let lease = |n: u8| format!("99 02:00:00:00:02:{n:02x} 10.10.10.{} host{n} *\n", 10 + n);
    (0..LEASES).map(lease).collect()
}
