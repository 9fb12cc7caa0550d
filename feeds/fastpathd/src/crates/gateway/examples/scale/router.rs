// SPDX-License-Identifier: GPL-2.0-or-later
//! The daemon's core in the lab's network, fed with recorded messages. Measures the core's CPU
//! time; what the kernel would answer is not counted.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::Duration;

use ctnetlink::{Entry, Revision, Touch};
use ebpf::entry_side::Hook;
use flows::Now;
use gateway::core::Core;
use gateway::core::calls::{Outcome, call};
use gateway::effect::Effect;
use gateway::event::Event;
use gateway::lab::{configuration as values, lab_dump, lab_firewall, lab_network, route};
use gateway::offload::ebpf::{AttachOutcome, OpenMaps, Waiting};
use gateway::offload::flowtable::Job;
use gateway::offload::programs::Program;
use gateway::sys::kernel::{Machine, Readings};
use gateway::{configuration, conntrack, devices, export, history, network, offload};
use ledger::Ledger;
use model::Connection;
use ruleset::Applied;
use serde_json::{Map, Value, json};
use topology::{Change, FdbEntry, Mac, Neighbour, NeighbourState};

use crate::Failure;
use crate::copies::{batches, vary};
use crate::measure::cpu_time;
use crate::past::Folder;

/// Memory of the machine, so that the flow table has room for all flows.
const MEMORY: u64 = 64 << 30;
/// Unix time of the router's start.
pub(crate) const START_MS: u64 = 1_800_000_000_000;
/// Clients of 100,000 connections in `record::many`.
const CLIENTS: u16 = 400;
/// Station of the lab's network.
pub(crate) const HOST: Mac = Mac([2, 0, 0, 0, 1, 10]);

pub(crate) struct Router {
    core: Core,
    maps: Option<OpenMaps>,
    pub(crate) readings: Readings,
    pub(crate) ledger: Option<Ledger<Folder>>,
    pub(crate) now: Duration,
    /// A dump has been requested.
    dumping: bool,
    /// Entries of the current batch by id, as conntrack would confirm them.
    batch: HashMap<u32, Entry>,
    pub(crate) records: usize,
    /// CPU time of the core since the last [`Router::spent`], and its longest step.
    spent: Duration,
    longest: Duration,
}

impl Router {
    /// Creates a router with this engine and a neighbour for each client of these copies, whose
    /// number `mac_of` maps to its MAC. With `maps`, programs are attached to its ports.
    pub(crate) fn new(
        engine: &str,
        export: bool,
        maps: Option<OpenMaps>,
        copies: u8,
        mac_of: fn(u16) -> Mac,
    ) -> Self {
        let started = Now { mono: Duration::ZERO, unix_ms: START_MS };
        let machine =
            Machine { kernel: "6.12".into(), memory: MEMORY, started, ..Machine::default() };
        let mut router = Self {
            core: Core::new(machine, started),
            maps,
            readings: Readings::default(),
            ledger: None,
            now: Duration::ZERO,
            dumping: false,
            batch: HashMap::new(),
            records: 0,
            spent: Duration::ZERO,
            longest: Duration::ZERO,
        };
        let mut values = values(engine);
        if export {
            values["store"] = json!({
                ".type": "export", ".name": "store", ".index": 1,
                "host": "192.0.2.1", "port": "4739",
            });
        }
        // The rules are those that set the marks of the recorded connections.
        router.core.trust_first_dump();
        for event in [
            Event::Network(network::Event::Firewall(lab_firewall())),
            Event::Network(network::Event::Interfaces(lab_dump())),
            Event::Configuration(configuration::Event::Read(values)),
            Event::Network(network::Event::Changed(sample_network(copies, mac_of))),
        ] {
            router.handle(event);
        }
        router
    }

    pub(crate) fn flows(&self) -> usize {
        self.core.conntrack().flows().len()
    }

    pub(crate) fn offloaded(&self) -> u64 {
        self.core.conntrack().flows().offloaded()
    }

    /// Returns the CPU time of the core since the last call, and its longest step.
    pub(crate) fn spent(&mut self) -> [Duration; 2] {
        [std::mem::take(&mut self.spent), std::mem::take(&mut self.longest)]
    }

    fn timed<T>(&mut self, run: impl FnOnce(&mut Core) -> T) -> T {
        let start = cpu_time();
        let done = run(&mut self.core);
        let took = cpu_time().saturating_sub(start);
        self.spent += took;
        self.longest = self.longest.max(took);
        done
    }

    /// Adds a host, so that the flow table resolves the ends of all flows again.
    pub(crate) fn change_network(&mut self) {
        let host = neighbour(Ipv4Addr::new(10, 9, 0, 1).into(), HOST);
        self.handle(Event::Network(network::Event::Changed(vec![host])));
    }

    /// Changes rules of another table, so that all flows have to pass the rules again.
    pub(crate) fn change_rules(&mut self) {
        self.spent();
        let revision = Revision { table: Touch::None, others: true, elements: false };
        self.handle(Event::Offload(offload::Event::RulesChanged(revision)));
    }

    pub(crate) fn second(&mut self) {
        self.now += Duration::from_secs(1);
        let millis = u64::try_from(self.now.as_millis()).unwrap_or_default();
        let now = Now { mono: self.now, unix_ms: START_MS + millis };
        // Dumps are due every second, whatever they cost.
        self.core.set_clock(now, Duration::ZERO);
        let readings = std::mem::take(&mut self.readings);
        let effects = self.timed(|core| core.second(&readings));
        self.readings = readings;
        self.settle(effects);
    }

    pub(crate) fn handle(&mut self, event: Event) {
        let effects = self.timed(|core| core.handle(event));
        self.settle(effects);
    }

    fn settle(&mut self, effects: Vec<Effect>) {
        let mut waiting = VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            if let Some(event) = self.answer(effect) {
                waiting.extend(self.timed(|core| core.handle(event)));
            }
        }
    }

    fn answer(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Export(export::Effect::Send(records)) => {
                self.records += records.len();
                None
            }
            Effect::Conntrack(effect) => self.conntrack(effect).map(Event::Conntrack),
            Effect::Network(network::Effect::ReadInterfaces) => {
                Some(Event::Network(network::Event::Interfaces(lab_dump())))
            }
            Effect::Network(network::Effect::AskRoutes(batch)) => {
                Some(Event::Network(network::Event::RoutesAnswered(batch, Some(Vec::new()))))
            }
            Effect::Offload(offload::Effect::Run(job)) => Some(Event::Offload(applied(&job))),
            Effect::Offload(offload::Effect::Attach(request)) => {
                let opened = self.maps.take();
                let hook = opened.as_ref().map(|_| Hook::Tc);
                let program = |device| Program {
                    device,
                    hook,
                    hook_name: if hook.is_some() { "tcx" } else { "" },
                    why: config::Cause::default(),
                };
                let programs = request.devices.into_iter().map(program).collect();
                let outcome = AttachOutcome { programs, opened };
                Some(Event::Offload(offload::Event::Attached(Box::new(Ok(outcome)))))
            }
            Effect::Offload(offload::Effect::Step) => Some(Event::Offload(offload::Event::Step)),
            Effect::Devices(devices::Effect::FindVendors(search)) => {
                let vendor = |mac| (mac, "Hon Hai Precision Ind. Co.,Ltd.".to_owned());
                let vendors = search.macs.into_iter().map(vendor).collect();
                let found = devices::Found { stamp: Some((1, 0, 0)), vendors };
                Some(Event::Devices(devices::Event::Searched(Some(found))))
            }
            Effect::History(history::Effect::Write(write)) => {
                let ledger = self.ledger.as_mut()?;
                let day_of = |quarter| write.day_of(quarter);
                let failure = |error: ledger::Failure| history::Failure {
                    is_full: false,
                    text: error.to_string(),
                };
                let written = ledger.write(&write.book, write.quarter, &day_of);
                let outcome = written.map(|()| ledger.size()).map_err(failure);
                Some(Event::History(history::Event::Written(outcome)))
            }
            // Effects without influence on the flow table.
            Effect::Export(_)
            | Effect::History(history::Effect::Probe(_))
            | Effect::Devices(devices::Effect::BrowseServices)
            | Effect::Offload(offload::Effect::SaveGeneration | offload::Effect::ReadRules)
            | Effect::Api(_)
            | Effect::Configuration(_)
            | Effect::Cpu(_)
            | Effect::Doctor(_)
            | Effect::Ips(_)
            | Effect::Latency(_)
            | Effect::Network(network::Effect::SwitchSsids(_))
            | Effect::Rules(_) => None,
        }
    }

    fn conntrack(&mut self, effect: conntrack::Effect) -> Option<conntrack::Event> {
        match effect {
            conntrack::Effect::Dump => {
                self.dumping = true;
                None
            }
            conntrack::Effect::Sweep => Some(conntrack::Event::Sweep),
            conntrack::Effect::LookUp(_, start) => {
                Some(conntrack::Event::LookedUp(Vec::new(), start))
            }
            conntrack::Effect::ClearMarks(connections, _, version) => {
                Some(conntrack::Event::MarksCleared(connections, version))
            }
            conntrack::Effect::ReadEvents(version) => Some(conntrack::Event::EventsRead(version)),
            conntrack::Effect::Confirm(waiting, start) => {
                let entry = |one: &Waiting| {
                    let Connection { id, orig, .. } = one.connection;
                    let found = self.batch.get(&u32::try_from(id).unwrap_or_default());
                    found.filter(|entry| entry.orig == orig).copied()
                };
                let found = waiting.into_iter().map(|one| (one, entry(&one))).collect();
                Some(conntrack::Event::Confirmed(found, start))
            }
            conntrack::Effect::Update(_) | conntrack::Effect::Delete(_) => None,
        }
    }

    /// Reads `copies` of a recorded dump, whose counters have grown `rounds` times.
    pub(crate) fn dump(&mut self, file: &Path, copies: u8, rounds: u8) -> Result<(), Failure> {
        for _ in 0..60 {
            if self.dumping {
                break;
            }
            self.second();
        }
        self.spent();
        if !std::mem::take(&mut self.dumping) {
            return Err("the core requests no dump".into());
        }
        for copy in 0..copies {
            batches(file, |bytes| {
                vary(bytes, copy, rounds);
                let entries = self.timed(|_| {
                    let mut entries = Vec::new();
                    ctnetlink::entries(bytes, &mut entries);
                    entries
                });
                self.batch = entries.iter().map(|entry| (entry.id, *entry)).collect();
                self.handle(Event::Conntrack(conntrack::Event::Entries(entries)));
                Ok(())
            })?;
        }
        self.handle(Event::Conntrack(conntrack::Event::DumpEnded(true)));
        Ok(())
    }

    /// Passes event messages to the core, as many at a time as the daemon receives at once.
    pub(crate) fn events(&mut self, messages: &[Vec<u8>]) {
        for burst in messages.chunks(ctnetlink::MAX_EVENTS) {
            let events = self.timed(|_| {
                burst.iter().flat_map(|message| ctnetlink::events(message)).collect::<Vec<_>>()
            });
            let entry = |event: &ctnetlink::Event| match event {
                ctnetlink::Event::New(entry)
                | ctnetlink::Event::Update(entry)
                | ctnetlink::Event::Destroy(entry) => (entry.id, *entry),
            };
            self.batch = events.iter().map(entry).collect();
            self.handle(Event::Conntrack(conntrack::Event::Changed(events)));
        }
    }

    /// Calls a method.
    pub(crate) fn call(&mut self, method: &str, args: &Value) -> Result<Answer, Failure> {
        let args = args.as_object().cloned().unwrap_or_else(Map::new);
        let start = cpu_time();
        let outcome = call(&mut self.core, method, args);
        let took = cpu_time().saturating_sub(start);
        let (answer, reading) = match outcome {
            Outcome::Reply(Ok(answer), _) => (answer, Duration::ZERO),
            Outcome::History(mut query) => {
                let ledger = self.ledger.as_ref().ok_or("no history")?;
                let start = cpu_time();
                let events =
                    ledger.read(&query.span(), |stamp, key, sums| query.add(stamp, key, sums))?;
                let answer = query.answer(events, ledger.writes())?;
                (answer, cpu_time().saturating_sub(start))
            }
            outcome => return Err(format!("{method}: {outcome:?}").into()),
        };
        Ok(Answer { took, reading, bytes: answer.as_bytes().len() })
    }
}

/// CPU time of a call in the daemon's loop, and in a thread that reads the history.
pub(crate) struct Answer {
    pub(crate) took: Duration,
    pub(crate) reading: Duration,
    pub(crate) bytes: usize,
}

fn applied(job: &Job) -> offload::Event {
    let unchanged = matches!(job, Job::Apply { plan, in_force } if in_force.as_ref() == Some(plan));
    offload::Event::Applied(Ok(if unchanged { Applied::Unchanged } else { Applied::Replaced }))
}

pub(crate) fn neighbour(address: IpAddr, mac: Mac) -> Change {
    Change::Neighbour(Neighbour { index: 5, address, mac: Some(mac), state: NeighbourState::Valid })
}

/// Returns the lab's network with the recording's clients behind br-lan.10.
fn sample_network(copies: u8, mac_of: fn(u16) -> Mac) -> Vec<Change> {
    let mut changes = lab_network();
    let [Change::Full(all)] = &mut changes[..] else { return changes };
    all.push(route("10.0.0.0", 8, 5, None));
    all.push(route("fd00::", 8, 5, None));
    all.push(route("::", 0, 8, None));
    for copy in 0..copies {
        for number in 0..CLIENTS {
            let [high, low] = number.to_be_bytes();
            let v4 = Ipv4Addr::new(10, 10 + copy, high, low.max(1));
            let second = u16::from(copy) << 8 | 0x10;
            let v6 = Ipv6Addr::new(0xfd00, second, 0, 0, 0, 0, 0, number.max(1));
            let mac = mac_of(number);
            all.extend([v4.into(), v6.into()].map(|address| neighbour(address, mac)));
            all.push(Change::Fdb(FdbEntry { bridge: 4, port: 1, mac, vlan: 10, own: false }));
        }
    }
    changes
}
