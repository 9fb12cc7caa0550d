// SPDX-License-Identifier: GPL-2.0-or-later
//! The daemon without its I/O: what has happened goes in, what is to be done comes out.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ctnetlink::{Entry, EntryUpdate, Event, Tuple};
use flows::{FlowTable, Now, Offer};
use ruleset::{Candidate, Engine, OnExit, Plan, Settings};
use serde_json::Value;

use crate::configuration::Configuration;
use crate::cpu_room::CpuRoom;
use crate::ebpf_places::{change_of, decides_ways};
use crate::ebpf_room::{EbpfRoom, Wanted};
use crate::engine_room::{EngineRoom, Job, Source};
use crate::health::Facts;
use crate::interfaces::{Firewall, parse_dump};
use crate::load::CpuMeter;
use crate::names::Names;
use crate::netdev::NetMeter;
use crate::protection::{Orders, Protection};
use crate::refresh::Refresh;
use crate::rules_room::RulesRoom;
use crate::stations::Stations;
use crate::surroundings::Surroundings;

/// Something to be done outside.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a handful exist at a time, none is kept")]
pub(crate) enum Effect {
    /// Run nft.
    Engine(Job),
    /// Read the conntrack table.
    Dump,
    /// Look these entries up: zone and original direction.
    LookUp(Vec<(u16, Tuple)>),
    /// Ask the ubus objects uci and network.interface again.
    ReadConfiguration,
    /// Ask network.interface again.
    ReadInterfaces,
    /// Answer the held requests for the method `engine`.
    AnswerEngine,
    /// Leave this for Suricata's init script, and tell the script.
    Order(Orders),
    /// Tell the script again.
    TellSuricata,
    /// Block an address and end its flows.
    Block { element: Box<ruleset::Block>, flows: Vec<(u16, Tuple)> },
    /// End blocks.
    Release(Vec<IpAddr>),
    /// Read CPUs and queues of these devices.
    ReadMachine(BTreeSet<String>),
    /// Have these written into sysfs and procfs, as lines of path and value.
    WriteCpuPlan(String),
    /// Keep what the CPU plan found, as text; empty: forget it.
    KeepFound(String),
    /// Read our table back.
    ReadTable,
    /// Make connections new to inspection.
    Reinspect,
    /// Run an update of the rules.
    UpdateRules(String),
    /// Give devices eBPF programs, and take them from all others.
    Attach(Wanted),
    /// Tell conntrack of connections that it sees no packets of.
    Keep(Vec<EntryUpdate>),
    /// Tell conntrack not to mind the windows of these connections, and tell when it knows.
    Free(Vec<Offer>),
    /// Clear bits of these connections' marks, and report when they are cleared.
    Renew(Vec<Offer>, u32),
    /// Note that the rules in force are known.
    NoteRules,
    /// Have Suricata load its rules anew.
    ReloadRules,
}

/// Texts of /proc that change all the time, read once a second.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    pub(crate) stat: String,
    pub(crate) net_dev: String,
    pub(crate) leases: String,
    pub(crate) hosts: String,
    /// Seconds that local time is ahead of UTC.
    pub(crate) offset_s: i64,
    pub(crate) facts: Facts,
}

/// What never changes while the daemon runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    pub(crate) kernel: String,
    pub(crate) hostname: String,
    pub(crate) started_ms: u64,
    /// Rules that are installed with the daemon.
    pub(crate) own_rules: PathBuf,
}

/// The state of the gateway.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what is known yet, and what is stale")]
pub(crate) struct Core {
    pub(crate) machine: Machine,
    pub(crate) now: Now,
    /// CPU time this process has used.
    pub(crate) cpu_time: Duration,
    pub(crate) settings: Option<Settings>,
    /// Engine set by command since the configuration was read.
    pub(crate) commanded: Option<Engine>,
    pub(crate) configuration_error: String,
    /// A configuration that asks for what is not there yet.
    unfit: Option<Value>,
    pub(crate) firewall: Firewall,
    pub(crate) firewall_known: bool,
    pub(crate) interfaces_seen_ms: u64,
    pub(crate) interfaces_known: bool,
    pub(crate) around: Surroundings,
    pub(crate) flows: FlowTable,
    pub(crate) room: EngineRoom,
    pub(crate) ebpf: EbpfRoom,
    pub(crate) refresh: Refresh,
    pub(crate) cpu: CpuMeter,
    pub(crate) net: NetMeter,
    pub(crate) facts: Facts,
    /// Decisions of the plan wanted last, by device.
    pub(crate) wanted: Option<Plan>,
    pub(crate) protection: Protection,
    pub(crate) events: ips::Events,
    pub(crate) cpus: CpuRoom,
    pub(crate) rules: RulesRoom,
    /// When our table is to be read back.
    pub(crate) table_at: Duration,
    pub(crate) topology_known: bool,
    pub(crate) stations: Stations,
    /// The blocks of the daemon before have been taken over.
    pub(crate) adopted: bool,
    /// The topology has changed since the interfaces were asked for.
    interfaces_stale: bool,
    /// Seconds since the interfaces were asked for.
    interfaces_age: u32,
}

/// netifd tells nobody when an uptime starts or a description changes; asking costs little.
const INTERFACES_EVERY: u32 = 10;

/// Look-ups a second: some milliseconds of CPU time on a small router.
const LOOK_UPS: usize = 64;

impl Core {
    pub(crate) fn new(machine: Machine, now: Now) -> Self {
        Self {
            machine,
            now,
            cpu_time: Duration::ZERO,
            settings: None,
            commanded: None,
            configuration_error: String::new(),
            unfit: None,
            firewall: Firewall::default(),
            firewall_known: false,
            interfaces_seen_ms: now.unix_ms,
            interfaces_known: false,
            around: Surroundings::default(),
            flows: FlowTable::new(),
            room: EngineRoom::new(),
            ebpf: EbpfRoom::default(),
            refresh: Refresh::new(),
            cpu: CpuMeter::default(),
            net: NetMeter::default(),
            facts: Facts::default(),
            wanted: None,
            protection: Protection::new(now.mono),
            events: ips::Events::default(),
            cpus: CpuRoom::default(),
            rules: RulesRoom::default(),
            table_at: Duration::ZERO,
            topology_known: false,
            stations: Stations::default(),
            adopted: false,
            interfaces_stale: false,
            interfaces_age: 0,
        }
    }

    /// The `values` of the UCI package fastpath. A configuration that cannot be used changes
    /// nothing and is reported until a good one comes, or until there is what it asks for.
    pub(crate) fn configuration(&mut self, values: &Value) -> Vec<Effect> {
        self.unfit = None;
        let read = Configuration::read(values).and_then(|(read, warnings)| {
            self.check(&read).inspect_err(|_| self.unfit = Some(values.clone()))?;
            Ok((read, warnings))
        });
        match read {
            Ok((configuration, warnings)) => {
                for warning in &warnings {
                    log::warn!("/etc/config/fastpath: {warning}");
                }
                self.configuration_error.clear();
                self.use_configuration(&configuration)
            }
            Err(error) => {
                let error = error.to_string();
                if error != self.configuration_error {
                    log::error!("/etc/config/fastpath is not used: {error}");
                }
                self.configuration_error = error;
                Vec::new()
            }
        }
    }

    /// The configuration cannot even be read.
    pub(crate) fn no_configuration(&mut self, why: String) {
        log::error!("/etc/config/fastpath is not used: {why}");
        self.unfit = None;
        self.configuration_error = why;
    }

    fn use_configuration(&mut self, configuration: &Configuration) -> Vec<Effect> {
        let settings = configuration.main.clone();
        self.refresh.set_shortest(settings.refresh);
        // The file says something new: it wins over an earlier command. A reload for another
        // reason (the network changed) must not undo the command.
        if self.settings.as_ref().is_some_and(|old| old.wanted() != settings.wanted()) {
            self.commanded = None;
        }
        self.settings = Some(settings);
        let ended = self.protection.configure(configuration, self.now.mono);
        self.cpus.configure(&configuration.cpu, configuration.ips.enabled);
        let wanted = configuration.ips.enabled;
        self.rules.configure(&configuration.rules, wanted, self.now.unix_ms);
        let mut effects = Vec::new();
        if !ended.is_empty() {
            self.ebpf.accept(&ended, self.now);
            effects.push(Effect::Release(ended));
        }
        effects.extend(self.replan());
        effects
    }

    /// The `values` of the UCI package firewall.
    pub(crate) fn firewall(&mut self, values: &Value) {
        self.firewall = Firewall::parse(values);
        self.firewall_known = true;
    }

    /// The answer of `network.interface dump`.
    pub(crate) fn interfaces(&mut self, dump: &Value) -> Vec<Effect> {
        self.interfaces_age = 0;
        self.interfaces_seen_ms = self.now.unix_ms;
        let interfaces = parse_dump(dump, &self.firewall);
        let news = self.around.set_interfaces(interfaces) || !self.interfaces_known;
        self.interfaces_known = true;
        // Policies name zones, and what a zone is may have changed.
        if news { self.look_again() } else { Vec::new() }
    }

    /// Plans for a network that is another one now; a configuration may fit now.
    fn look_again(&mut self) -> Vec<Effect> {
        let mut effects = self.replan();
        if let Some(values) = self.unfit.take() {
            effects.extend(self.configuration(&values));
        }
        effects
    }

    /// Chooses the engine until the configuration says something new. The answer to the caller
    /// follows with [`Effect::AnswerEngine`].
    pub(crate) fn command(&mut self, engine: Engine) -> Vec<Effect> {
        self.commanded = Some(engine);
        let mut effects = self.replan();
        self.room.look_soon();
        effects.extend(self.engine_answer());
        effects
    }

    /// The network changed.
    pub(crate) fn changes(&mut self, changes: Vec<topology::Change>) -> Vec<Effect> {
        let mut news = Vec::new();
        let mut moved = Vec::new();
        let mut ways = false;
        for change in changes {
            self.stations.learn(&change, &mut moved);
            let what = change_of(&change);
            let decides = decides_ways(&change, self.around.topology());
            if self.around.change(change) {
                news.push(what);
                ways |= decides;
            }
        }
        if news.is_empty() && self.topology_known {
            return Vec::new();
        }
        self.topology_known = true;
        self.interfaces_stale = true;
        // Packets go the wrong way until the entries are gone.
        if ways {
            self.flows.rerouted(self.now, &self.around);
        }
        let mut effects = self.rerouted(&news);
        effects.extend(self.look_again());
        effects.extend(self.follow(&moved));
        effects
    }

    /// A batch of the dump under way.
    pub(crate) fn batch(&mut self, entries: &[Entry]) -> Vec<Effect> {
        for entry in entries {
            self.flows.merge(entry, self.now, &self.around);
        }
        self.serve_ebpf()
    }

    /// The dump is over; `complete`: what was not in it is gone.
    pub(crate) fn dumped(&mut self, complete: bool) -> Vec<Effect> {
        self.flows.dump_end(self.now, complete);
        let effects = self.serve_ebpf();
        if complete {
            self.ebpf.dumped();
        }
        self.refresh.done(self.cpu_time);
        effects
    }

    /// What a look-up of young flows found.
    pub(crate) fn looked_up(&mut self, entries: &[Entry]) -> Vec<Effect> {
        for entry in entries {
            self.flows.refresh(entry, self.now, &self.around);
        }
        self.serve_ebpf()
    }

    /// Flows that an event shows to have left inspection are looked up at once: the sooner, the
    /// better the bytes that were inspected are known.
    pub(crate) fn events(&mut self, events: &[Event]) -> Vec<Effect> {
        for event in events {
            if let Event::Destroy(entry) = event {
                self.ebpf.gone(entry, &mut self.flows, self.now);
            }
            self.flows.event(event, self.now, &self.around);
        }
        let mut effects = self.serve_ebpf();
        let departed = self.flows.departed();
        if !departed.is_empty() {
            effects.push(Effect::LookUp(departed));
        }
        effects
    }

    /// The kernel dropped events for want of room.
    pub(crate) fn events_lost(&mut self) -> Vec<Effect> {
        log::warn!("conntrack events were lost: reading the whole table again");
        self.refresh.resync();
        self.dump_if_due()
    }

    /// Once a second.
    pub(crate) fn tick(&mut self, readings: &Readings) -> Vec<Effect> {
        self.cpu.read(&readings.stat);
        self.net.read(&readings.net_dev, self.now.mono);
        self.around.set_names(Names::parse(&readings.leases, &readings.hosts));
        self.facts = readings.facts;
        let mut effects = self.ebpf_tick();
        self.flows.sample(self.now);
        effects.extend(self.dump_if_due());
        effects.extend(self.look_up_young());
        self.interfaces_age += 1;
        if self.interfaces_stale || self.interfaces_age >= INTERFACES_EVERY {
            self.interfaces_stale = false;
            self.interfaces_age = 0;
            effects.push(Effect::ReadInterfaces);
        }
        effects.extend(self.room.tick(self.now).map(Effect::Engine));
        effects.extend(self.protection_tick(readings));
        effects
    }

    pub(crate) fn dump_if_due(&mut self) -> Vec<Effect> {
        // Before the topology is known every flow would be without a route.
        if self.topology_known && self.refresh.due(self.now.mono, self.cpu_time) {
            self.flows.dump_begin(self.now);
            return vec![Effect::Dump];
        }
        Vec::new()
    }

    /// While the table is too large to be read every second, young flows are asked for one by
    /// one: whoever has just opened a connection wants to see it offloaded.
    fn look_up_young(&self) -> Option<Effect> {
        if self.refresh.interval() <= Duration::from_secs(1) {
            return None;
        }
        let young = self.flows.young(LOOK_UPS);
        (!young.is_empty()).then_some(Effect::LookUp(young))
    }

    /// Whether the end of the daemon removes the table.
    pub(crate) fn removes_on_exit(&self) -> bool {
        self.settings.as_ref().is_some_and(|s| s.on_exit == OnExit::Remove)
    }

    /// Plans anew; a job if that changes what shall be in force.
    pub(crate) fn replan(&mut self) -> Vec<Effect> {
        let (Some(mut settings), true) = (self.settings.clone(), self.topology_known) else {
            return Vec::new();
        };
        // The number of queues comes from the CPU plan, for both.
        let mut effects: Vec<Effect> = self.orders().into_iter().collect();
        let source = match self.commanded {
            Some(engine) => {
                settings.enabled = true;
                settings.engine = engine;
                Source::Command
            }
            None => Source::Config,
        };
        let candidates: Vec<Candidate> = self
            .around
            .topology()
            .lowest()
            .into_iter()
            .map(|d| Candidate { device: d.device.to_string(), eligible: d.eligible, why: d.why })
            .collect();
        let mut plan = ruleset::plan(&candidates, &settings, &self.protection.plan(&self.places()));
        effects.extend(self.want_programs(&mut plan, settings.hook));
        plan.shape(self.around.topology().shaped().into_keys().map(|name| name.to_string()));
        plan.tunnel(self.around.topology().tunnels().into_iter().map(|name| name.to_string()));
        self.wanted = Some(plan.clone());
        if !self.ebpf.known() {
            return effects;
        }
        // Only words for the owner: another word is no reason to run nft.
        plan.decisions.clear();
        let job = self.room.want(plan, source);
        effects.extend(job.map(Effect::Engine));
        effects
    }
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
