// SPDX-License-Identifier: GPL-2.0-or-later
//! Simulates a router without a kernel, on which each of the core's requests can fail.

mod blocks;
mod faults;
mod properties;

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use config::Network;
use ctnetlink::{Entry, Revision, Touch};
use ebpf::connection::EntryReading;
use ebpf::devices::TcReason;
use ebpf::engine::{Element, MapError, Maps};
use ebpf::entry::{Entry as MapEntry, Key};
use ebpf::entry_side::Hook;
use ebpf::exits::PortExits;
use ebpf::fake::Fake;
use model::Engine;
use ruleset::{Applied, Plan, render};
use serde_json::{Map, Value, json};
use topology::Change;

use crate::api::{self, status};
use crate::core::Core;
use crate::core::calls::{Outcome, call};
use crate::effect::Effect;
use crate::fixture::{
    alert, core, established, lab_dump, lab_firewall, lab_network, machine_sample,
};
use crate::offload::ebpf::{AttachOutcome, AttachRequest, OpenMaps, Waiting};
use crate::offload::flowtable::{EngineReport, Job, JobFailure, TableState};
use crate::offload::programs::Program;
use crate::offload::programs::ProgramsReason;
use crate::sys::kernel::Readings;
use crate::{configuration, conntrack, ips as inspection, network, offload};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobEnd {
    Done,
    /// nft refuses the job, or the table cannot be read.
    Refused,
    /// A device is missing.
    Partly,
    /// The kernel has no flowtable.
    WithoutFlowtable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttachEnd {
    Done,
    /// The first device gets no program.
    Partly,
    Failed,
}

/// Fake maps that can be made unreadable.
#[derive(Debug, Clone, Default)]
struct FaultyMaps {
    fake: Fake,
    unreadable: Rc<Cell<bool>>,
}

impl FaultyMaps {
    fn check(&self) -> io::Result<()> {
        if self.unreadable.get() { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }
}

impl Maps for FaultyMaps {
    fn address(&self, key: &Key) -> u64 {
        self.fake.address(key)
    }

    fn put(&mut self, key: &Key, entry: &MapEntry, from: EntryReading) -> Result<(), MapError> {
        self.fake.put(key, entry, from)
    }

    fn start(&mut self, keys: &[Key; 2]) -> Result<bool, MapError> {
        self.fake.start(keys)
    }

    fn get(&mut self, key: &Key) -> Result<Option<EntryReading>, MapError> {
        self.check().map_err(MapError::Read)?;
        self.fake.get(key)
    }

    fn remove(&mut self, key: &Key, address: u64) -> Result<Option<EntryReading>, MapError> {
        self.fake.remove(key, address)
    }

    fn hide(&mut self) -> Result<(), MapError> {
        self.check().map_err(MapError::Heartbeat)?;
        self.fake.hide()
    }

    fn read(&mut self, most: usize, each: &mut dyn FnMut(&Element)) -> Result<bool, MapError> {
        self.check().map_err(MapError::Read)?;
        self.fake.read(most, each)
    }

    fn heartbeat(&mut self, timeout: Duration) -> Result<(), MapError> {
        self.check().map_err(MapError::Heartbeat)?;
        self.fake.heartbeat(timeout)
    }

    fn exits(&mut self) -> Result<PortExits, MapError> {
        self.fake.exits()
    }
}

struct Router {
    core: Core,
    /// Rules of our table in the simulated kernel; empty if there is no table.
    table: String,
    job: Option<Job>,
    /// Sources to block, as of the job's start.
    job_blocks: BTreeSet<Network>,
    /// Number of requests of `blocking` that run before the job.
    before_job: usize,
    /// Pending requests to attach programs, oldest first.
    attaching: VecDeque<AttachRequest>,
    reading: bool,
    stepping: bool,
    /// Pending requests to conntrack, oldest first.
    requests: VecDeque<conntrack::Effect>,
    /// Sources that our table blocks in the simulated kernel.
    blocks: BTreeSet<Network>,
    /// Pending requests to block and unblock sources, oldest first.
    blocking: VecDeque<inspection::Effect>,
    others: Vec<Effect>,
    maps: FaultyMaps,
    maps_id: u32,
    /// True if the last request to attach left a program on any device.
    has_programs: bool,
    connections: Vec<Entry>,
}

fn rules_of(plan: &Plan) -> String {
    if plan.has_table() { render(plan, &[]) } else { String::new() }
}

fn keeps(job: &Job) -> bool {
    job.before() == Some(job.plan())
}

/// Returns a configuration with this engine, and with inspection and blocks on or off.
fn values(engine: &str, inspects: bool) -> Value {
    let enabled = if inspects { "1" } else { "0" };
    json!({
        "main": {".type": "fastpath", ".name": "main", ".index": 0, "engine": engine},
        "ips": {".type": "ips", ".name": "ips", ".index": 1, "enabled": enabled, "block": enabled},
    })
}

impl Router {
    fn new() -> Self {
        Self {
            core: core(),
            table: String::new(),
            job: None,
            job_blocks: BTreeSet::new(),
            before_job: 0,
            attaching: VecDeque::new(),
            reading: false,
            stepping: false,
            requests: VecDeque::new(),
            blocks: BTreeSet::new(),
            blocking: VecDeque::new(),
            others: Vec::new(),
            maps: FaultyMaps::default(),
            maps_id: 1,
            has_programs: false,
            connections: Vec::new(),
        }
    }

    /// Returns a router in the lab's network, with this engine in force.
    fn running(engine: &str) -> Self {
        let mut router = Self::new();
        router.network(lab_network());
        router.configure(&values(engine, false));
        router.drain();
        assert_eq!(router.report().active, engine);
        router
    }

    /// Queues the core's requests. Asserts that one nft job runs at a time, from the plan in force.
    fn execute(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Offload(offload::Effect::Run(job)) => {
                    assert_eq!(self.job, None, "two jobs at a time, the second is {job:?}");
                    if let Job::Apply { in_force, .. } = &job {
                        assert_eq!(in_force.as_ref(), self.core.offload.flowtable().in_force());
                    }
                    self.job = Some(job);
                    let blocks = self.core.ips().blocks(self.core.now.mono);
                    self.job_blocks = blocks.into_iter().map(|block| block.source).collect();
                    self.before_job = self.blocking.len();
                }
                Effect::Offload(offload::Effect::Attach(request)) => {
                    self.attaching.push_back(request);
                }
                Effect::Api(api::Effect::AnswerEngine) => {
                    assert!(self.job.as_ref().is_none_or(keeps), "answered too early");
                    self.others.push(effect);
                }
                Effect::Conntrack(request) => self.requests.push_back(request),
                Effect::Ips(
                    request @ (inspection::Effect::Block { .. } | inspection::Effect::Unblock(_)),
                ) => {
                    self.blocking.push_back(request);
                }
                Effect::Offload(offload::Effect::Step) => {
                    assert!(!std::mem::replace(&mut self.stepping, true), "two steps at a time");
                }
                Effect::Offload(offload::Effect::ReadRules) => {
                    assert!(!std::mem::replace(&mut self.reading, true), "two readings at a time");
                }
                other => self.others.push(other),
            }
        }
    }

    fn network(&mut self, changes: Vec<Change>) {
        let interfaces = network::Event::Interfaces(lab_dump());
        for event in
            [network::Event::Firewall(lab_firewall()), network::Event::Changed(changes), interfaces]
        {
            let effects = self.core.network_event(event);
            self.execute(effects);
        }
    }

    fn configure(&mut self, values: &Value) {
        let effects = self.core.configuration_event(configuration::Event::Read(values.clone()));
        self.execute(effects);
    }

    fn call(&mut self, method: &str, args: &Value) -> Outcome {
        let args = args.as_object().cloned().unwrap_or_default();
        let mut outcome = call(&mut self.core, method, args);
        let effects = match &mut outcome {
            Outcome::Reply(answer, effects) => {
                assert!(answer.is_ok(), "{method}: {answer:?}");
                std::mem::take(effects)
            }
            Outcome::Engine { effects, engine: _ } => std::mem::take(effects),
            Outcome::Invalid(_)
            | Outcome::NotFound
            | Outcome::NoMethod
            | Outcome::Doctor(_)
            | Outcome::History(_)
            | Outcome::Reinspect => Vec::new(),
        };
        self.execute(effects);
        outcome
    }

    fn answer(&mut self, method: &str, args: &Value) -> Map<String, Value> {
        match self.call(method, args) {
            Outcome::Reply(Ok(answer), _) => answer.decode().unwrap(),
            other => panic!("{method}: {other:?}"),
        }
    }

    /// Returns a column of the only flow.
    fn flow(&mut self, column: &str) -> Value {
        let flows = self.answer("flows", &json!({}));
        let columns = flows["cols"].as_array().unwrap();
        let at = columns.iter().position(|name| name == column).unwrap();
        flows["rows"][0][at].clone()
    }

    fn report(&self) -> EngineReport {
        self.core.offload.flowtable().report(self.core.now)
    }

    fn rules_changed(&mut self, table: Touch, others: bool) {
        let revision = Revision { table, others, elements: false };
        let effects = self.core.offload_event(offload::Event::RulesChanged(revision));
        self.execute(effects);
    }

    fn end_job(&mut self, end: JobEnd) {
        while self.job.is_some() && self.before_job > 0 {
            self.end_block(true);
        }
        let Some(job) = self.job.take() else { return };
        let event = offload::Event::Applied(self.apply(&job, end));
        let effects = self.core.offload_event(event);
        self.execute(effects);
    }

    fn apply(&mut self, job: &Job, end: JobEnd) -> Result<Applied, JobFailure> {
        let failure = |why: &str, is_verdict| JobFailure {
            why: why.to_owned(),
            is_verdict,
            left: TableState::Unchanged,
        };
        let plan = job.plan();
        if matches!(job, Job::Apply { .. }) && self.table == rules_of(plan) {
            // nft only lists the table.
            let unread = JobFailure {
                left: TableState::Unread,
                ..failure("the table cannot be read", false)
            };
            return if end == JobEnd::Refused { Err(unread) } else { Ok(Applied::Unchanged) };
        }
        let mut possible = plan.clone();
        let mut applied = if plan.has_table() { Applied::Replaced } else { Applied::Removed };
        match end {
            JobEnd::Refused => return Err(failure("nft: refused\n\ttable inet fastpath", true)),
            JobEnd::Partly if plan.has_flowtable() => {
                possible.devices.pop_first();
                applied = Applied::Partly { devices: possible.devices.clone() };
            }
            JobEnd::WithoutFlowtable if plan.has_flowtable() => {
                possible.devices.clear();
                applied = Applied::WithoutFlowtable { why: "no flowtable".into() };
                if !possible.has_table() {
                    return Err(failure("no flowtable", true));
                }
            }
            JobEnd::Done | JobEnd::Partly | JobEnd::WithoutFlowtable => {}
        }
        if !self.can_block() {
            self.blocks.clone_from(&self.job_blocks);
        }
        self.set_table(rules_of(&possible));
        Ok(applied)
    }

    fn end_attach(&mut self, end: AttachEnd) {
        let Some(request) = self.attaching.pop_front() else { return };
        let result = match end {
            AttachEnd::Failed => {
                // Loading the programs again creates other maps.
                self.maps = FaultyMaps::default();
                self.maps_id += 1;
                Err(ProgramsReason::Missing)
            }
            AttachEnd::Done | AttachEnd::Partly => {
                Ok(self.outcome(request.devices, end == AttachEnd::Partly))
            }
        };
        self.has_programs = result.as_ref().is_ok_and(|outcome| outcome.opened.is_some());
        let effects = self.core.offload_event(offload::Event::Attached(Box::new(result)));
        self.execute(effects);
    }

    fn outcome(&self, devices: BTreeSet<String>, partly: bool) -> AttachOutcome {
        let mut programs = Vec::new();
        for device in devices {
            let refused = partly && programs.is_empty();
            programs.push(Program {
                device,
                hook: (!refused).then_some(Hook::Tc),
                hook_name: if refused { "" } else { "tcx" },
                why: TcReason::NoXdp { device: "lan1".into() }.cause(),
            });
        }
        let held = programs.iter().any(|program| program.hook.is_some());
        let maps: Box<dyn Maps> = Box::new(self.maps.clone());
        let opened = held.then_some(OpenMaps { maps, capacity: 64, id: self.maps_id });
        AttachOutcome { programs, opened }
    }

    /// Completes the reading of other programs' rules, with an empty result.
    fn end_reading(&mut self) {
        self.reading = false;
        let read = offload::Event::RulesRead(Ok(ruleset::ForeignRules::default()));
        let effects = self.core.offload_event(read);
        self.execute(effects);
    }

    fn end_request(&mut self, succeeds: bool) {
        let Some(request) = self.requests.pop_front() else { return };
        let mut events = Vec::new();
        match request {
            conntrack::Effect::Dump => {
                let read = if succeeds { self.connections.len() } else { 0 };
                events.push(conntrack::Event::Entries(self.connections[..read].to_vec()));
                events.push(conntrack::Event::DumpEnded(succeeds));
            }
            conntrack::Effect::Sweep => events.push(conntrack::Event::Sweep),
            conntrack::Effect::LookUp(keys, start) => {
                let mut found = self.connections.clone();
                found.retain(|entry| keys.contains(&(entry.zone, entry.orig)));
                events.extend(succeeds.then_some(conntrack::Event::LookedUp(found, start)));
            }
            conntrack::Effect::Update(_) => {}
            conntrack::Effect::Delete(keys) => {
                self.connections.retain(|one| !keys.contains(&(one.zone, one.orig)));
            }
            conntrack::Effect::Confirm(connections, start) => {
                let known = self.connections.iter().filter(|_| succeeds);
                let of =
                    |one: &Waiting| known.clone().find(|e| e.orig == one.connection.orig).copied();
                let found = connections.into_iter().map(|one| (one, of(&one))).collect();
                events.push(conntrack::Event::Confirmed(found, start));
            }
            conntrack::Effect::ClearMarks(connections, bits, version) => {
                if succeeds {
                    for entry in &mut self.connections {
                        let selected = connections.iter().any(|one| one.orig == entry.orig);
                        entry.mark &= if selected { !bits } else { !0 };
                    }
                    events.push(conntrack::Event::MarksCleared(connections, version));
                } else {
                    events.push(conntrack::Event::MarksKept(connections));
                }
            }
            conntrack::Effect::ReadEvents(version) => {
                events.push(conntrack::Event::EventsRead(version));
            }
        }
        for event in events {
            let effects = self.core.conntrack_event(event);
            self.execute(effects);
        }
    }

    /// Opens a connection of the lab's host that has passed the rules in both directions.
    fn connect(&mut self, id: u32) {
        let mut entry = established(id, false);
        let port = 40_000 + u16::try_from(id).unwrap();
        (entry.orig.sport, entry.reply.dport, entry.mark) = (port, port, 0x3000_0000);
        self.connections.retain(|known| known.id != id);
        self.connections.push(entry);
        let seen = Entry { orig_counters: None, reply_counters: None, ..entry };
        let events = vec![ctnetlink::Event::New(seen), ctnetlink::Event::Update(seen)];
        let effects = self.core.conntrack_event(conntrack::Event::Changed(events));
        self.execute(effects);
    }

    fn disconnect(&mut self, id: u32) {
        let Some(at) = self.connections.iter().position(|entry| entry.id == id) else { return };
        let gone = ctnetlink::Event::Destroy(self.connections.remove(at));
        let effects = self.core.conntrack_event(conntrack::Event::Changed(vec![gone]));
        self.execute(effects);
    }

    fn advance(&mut self, milliseconds: u64) {
        self.core.now.mono += Duration::from_millis(milliseconds);
        self.core.now.unix_ms += milliseconds;
    }

    fn second(&mut self) {
        self.advance(1000);
        if std::mem::take(&mut self.stepping) {
            let effects = self.core.offload_event(offload::Event::Step);
            self.execute(effects);
        }
        let effects = self.core.second(&Readings::default());
        self.execute(effects);
    }

    /// Completes all pending requests, and the requests that follow from them.
    fn drain(&mut self) {
        for _ in 0..200 {
            if self.job.is_some() {
                self.end_job(JobEnd::Done);
            } else if !self.attaching.is_empty() {
                self.end_attach(AttachEnd::Done);
            } else if !self.blocking.is_empty() {
                self.end_block(true);
            } else if !self.requests.is_empty() {
                self.end_request(true);
            } else if self.reading {
                self.end_reading();
            } else {
                return;
            }
        }
        panic!("one request follows another without end: {:?}", self.job);
    }

    /// Advances the clock by `seconds` seconds, in which every request succeeds.
    fn pass(&mut self, seconds: u32) {
        for _ in 0..seconds {
            self.drain();
            self.second();
        }
        self.drain();
    }

    fn assert_active(&self, engine: Engine, why: &str) {
        let shown = serde_json::to_value(status::status(self.core.subsystems())).unwrap();
        assert_eq!(shown["engine"]["active"], engine.name(), "{shown}");
        assert_eq!(shown["engine"]["why"], why, "{shown}");
    }
}
