// SPDX-License-Identifier: GPL-2.0-or-later
//! Inspection and blocks, without I/O: how Suricata fares, what it has to be told, who is blocked.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use config::{Network, Problem};
use flows::Now;
use ips::{Blocked, Blocks, Condition, Gate, Health, Observation, Queue};
use ruleset::{Counter, InForce, Policy, Queues, Segments};

use crate::configuration::Configuration;

/// Suricata's configuration as fastpathd leaves it for its init script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Overlay {
    pub(crate) yaml: String,
    pub(crate) arguments: String,
    /// CPUs of all its threads, as a mask for taskset; empty: any.
    pub(crate) cpus: String,
}

/// What its init script is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Orders {
    /// Suricata is to run by this.
    Run(Overlay),
    /// It is not to run.
    Stop,
}

/// What was seen of Suricata, twice a second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sight {
    /// Every queue of the kernel that somebody listens on.
    pub(crate) queues: Vec<Queue>,
    /// Process id of Suricata, if it runs.
    pub(crate) process: Option<u32>,
    /// Its configuration is being tested.
    pub(crate) testing: bool,
    /// What its last test refused.
    pub(crate) refused: Option<String>,
}

/// What Suricata said on its command socket.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Word {
    Uptime(Duration),
    Version(String),
    Rules(ips::Rules),
    Counters(Box<ips::Counters>),
}

/// How long it may stay away before its script is told again.
const AGAIN: Duration = Duration::from_secs(20);

/// Inspection as it is now.
#[derive(Debug)]
pub(crate) struct Protection {
    pub(crate) settings: ips::Settings,
    pub(crate) policies: Vec<Policy>,
    marks: Option<ruleset::Marks>,
    pub(crate) threads: ips::Threads,
    health: Health,
    seen: Observation,
    /// When it last ran or was told to.
    told: Duration,
    /// What was left last; none: nothing was yet.
    left: Option<Orders>,
    pub(crate) blocks: Blocks,
    pub(crate) version: String,
    pub(crate) uptime: Duration,
    pub(crate) counters: ips::Counters,
    process: Option<u32>,
    pub(crate) starts: u32,
    /// The table that was read last, see [`InForce::table`].
    table: u64,
    tallies: BTreeMap<String, Tally>,
}

/// A counter of our table, which starts at zero in each new table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    before: Counter,
    last: Counter,
}

impl Tally {
    fn read(&mut self, now: Counter) {
        if now.packets < self.last.packets || now.bytes < self.last.bytes {
            self.restart();
        }
        self.last = now;
    }

    /// From here on the counter is one that starts at zero.
    fn restart(&mut self) {
        self.before = self.sum();
        self.last = Counter::default();
    }

    fn sum(&self) -> Counter {
        Counter {
            packets: self.before.packets + self.last.packets,
            bytes: self.before.bytes + self.last.bytes,
        }
    }
}

impl Protection {
    pub(crate) fn new(now: Duration) -> Self {
        let settings = ips::Settings::default();
        Self {
            blocks: Blocks::new(&settings),
            settings,
            policies: Vec::new(),
            marks: None,
            threads: ips::Threads::default(),
            health: Health::new(now),
            seen: Observation::default(),
            told: Duration::ZERO,
            left: None,
            version: String::new(),
            uptime: Duration::ZERO,
            counters: ips::Counters::default(),
            process: None,
            starts: 0,
            table: 0,
            tallies: BTreeMap::new(),
        }
    }

    /// A new configuration. Addresses whose blocks it ends come back.
    pub(crate) fn configure(
        &mut self,
        configuration: &Configuration,
        now: Duration,
    ) -> Vec<IpAddr> {
        self.settings = configuration.ips.clone();
        self.policies.clone_from(&configuration.main.policies);
        self.marks = configuration.main.marks().ok();
        self.seen.enabled = self.settings.enabled;
        self.seen.mode = self.settings.mode;
        self.seen.fail = self.settings.fail;
        self.seen.queue_length = self.settings.queue_length;
        if !self.settings.enabled {
            // Nobody looks any more.
            self.seen = Observation { enabled: false, ..Observation::default() };
            self.process = None;
            self.judge(now);
        }
        let block = self.blocking();
        self.blocks.configure(&ips::Settings { block, ..self.settings.clone() })
    }

    pub(crate) fn condition(&self) -> &Condition {
        self.health.condition()
    }

    /// Whether sources that fire a drop rule are blocked.
    pub(crate) fn blocking(&self) -> bool {
        self.settings.enabled && self.settings.block
    }

    /// Whether packets are queued for Suricata, or would be.
    pub(crate) fn in_the_way(&self) -> bool {
        self.settings.enabled && self.settings.mode == ips::Mode::Nfq
    }

    /// Whether a connection can be inspected to its end.
    fn any_always(&self) -> bool {
        self.settings.default == ips::Action::Always
            || self.active().any(|policy| policy.action == ruleset::Action::Always)
    }

    fn active(&self) -> impl Iterator<Item = &Policy> {
        self.policies.iter().filter(|policy| policy.enabled)
    }

    /// What is wrong with the policies on these zones.
    pub(crate) fn check(policies: &[Policy], places: &Segments) -> Vec<Problem> {
        let active = policies.iter().filter(|policy| policy.enabled);
        active.flat_map(|policy| policy.check(places)).collect()
    }

    /// The part of the plan that is about inspection and blocks.
    pub(crate) fn plan(&self, places: &Segments) -> ruleset::Protection {
        let inspection =
            self.marks.filter(|_| self.in_the_way()).map(|marks| self.inspection(marks, places));
        let blocks = self.blocking().then_some(self.settings.block_limit);
        ruleset::Protection { inspection, blocks }
    }

    fn inspection(&self, marks: ruleset::Marks, places: &Segments) -> ruleset::Inspection {
        let settings = &self.settings;
        ruleset::Inspection {
            marks,
            fail_open: settings.fail == ips::Fail::Open,
            default: action(settings.default),
            policies: self.active().map(|policy| policy.on(places)).collect(),
            exempt: settings.exempt.clone(),
            budget_bytes: settings.budget_bytes,
            budget_packets: settings.budget_packets.into(),
            queues: Queues {
                first: settings.queue_first,
                count: self.threads.queues(),
                spread: match settings.spread {
                    ips::Spread::Hash => ruleset::Spread::Hash,
                    ips::Spread::Fanout => ruleset::Spread::Fanout,
                },
            },
            gate: match self.condition().gate {
                Gate::Queue => ruleset::Gate::Queue,
                Gate::Open => ruleset::Gate::Open,
            },
        }
    }

    /// What Suricata is to run by, if that has changed.
    pub(crate) fn orders(
        &mut self,
        now: Duration,
        home: &[Network],
        store: &std::path::Path,
        ports: &[ips::Port],
    ) -> Option<Orders> {
        self.seen.trouble = None;
        let mut wanted = Orders::Stop;
        if self.settings.enabled {
            match ips::check_mode(&self.settings, ports) {
                Ok(()) => wanted = Orders::Run(self.render(home, store)),
                Err(problem) => self.seen.trouble = Some(problem.to_string()),
            }
        }
        if self.left.as_ref() == Some(&wanted) {
            return None;
        }
        self.seen.asked = matches!(wanted, Orders::Run(_)).then_some(now);
        self.left = Some(wanted.clone());
        Some(wanted)
    }

    fn render(&self, home: &[Network], store: &std::path::Path) -> Overlay {
        let home = if self.settings.home.is_empty() { home } else { &self.settings.home };
        let files =
            ips::Files { rules: vec![store.join("current.rules")], ..ips::Files::default() };
        let yaml = ips::render(&ips::Overlay {
            settings: &self.settings,
            threads: &self.threads,
            mark_mask: self.marks.map_or(0, ruleset::Marks::mask),
            any_always: self.any_always(),
            home,
            files: &files,
        });
        let mut arguments = ips::arguments(&self.settings, &self.threads).join("\n");
        arguments.push('\n');
        let threads = &self.threads;
        let cpus = if threads.affinity {
            let all = threads.management.iter().chain(&threads.workers).copied();
            // Its main thread, which loads rules, is in none of its CPU sets.
            all.collect::<cpu::CpuSet>().mask().replace(',', "")
        } else {
            String::new()
        };
        Overlay { yaml, arguments, cpus }
    }

    /// It is to run and does not: its files could not be written, or its script refused it or could
    /// not start it. Now and then it is tried again, for what was in the way may be gone.
    pub(crate) fn nudge(&mut self, now: Duration) -> bool {
        let wanted = match self.left {
            Some(Orders::Run(_)) => !self.seen.running,
            Some(Orders::Stop) => false,
            None => self.settings.enabled,
        };
        if !wanted {
            self.told = now;
        }
        let due = now.saturating_sub(self.told) >= AGAIN;
        if due {
            self.told = now;
        }
        due
    }

    /// The files could not be written.
    pub(crate) fn not_written(&mut self, why: String) {
        self.left = None;
        self.seen.trouble = Some(why);
    }

    /// Numbers of our queues.
    pub(crate) fn queue_numbers(&self) -> std::ops::RangeInclusive<u16> {
        let first = self.settings.queue_first;
        first..=first.saturating_add(self.threads.queues() - 1)
    }

    /// Twice a second. True when the gate is to be moved.
    pub(crate) fn look(&mut self, now: Duration, sight: Sight) -> bool {
        let before = self.condition().gate;
        if self.process.is_some() && sight.process.is_some() && sight.process != self.process {
            // It went and came back between two looks: one excuse to go is used up by that.
            let gap = Observation {
                running: false,
                answered: None,
                queues: vec![None; self.seen.queues.len()],
                ..self.seen.clone()
            };
            self.health.observe(now, &gap);
        }
        if sight.process.is_some() && sight.process != self.process {
            self.starts += 1;
            self.version.clear();
            self.seen.rules = None;
            self.seen.answered = None;
        }
        self.process = sight.process;
        self.seen.running = sight.process.is_some() || sight.testing;
        self.seen.refused = sight.refused;
        self.seen.queues = if self.in_the_way() {
            ips::queues_of(&sight.queues, self.queue_numbers())
        } else {
            Vec::new()
        };
        self.judge(now);
        self.condition().gate != before
    }

    fn judge(&mut self, now: Duration) {
        let before = self.condition().state;
        let Condition { state, why, .. } = self.health.observe(now, &self.seen);
        if *state != before {
            let level = if state.fails() { log::Level::Warn } else { log::Level::Info };
            log::log!(level, "inspection: {} ({why})", state.name());
        }
    }

    /// It answered on its command socket.
    pub(crate) fn hear(&mut self, now: Duration, word: Word) {
        self.seen.answered = Some(now);
        match word {
            Word::Uptime(uptime) => self.uptime = uptime,
            Word::Version(version) => self.version = version,
            Word::Rules(rules) => self.seen.rules = Some(rules),
            Word::Counters(counters) => self.count(*counters),
        }
    }

    /// Its counters, by whichever way they came.
    pub(crate) fn count(&mut self, counters: ips::Counters) {
        self.seen.capture_drops = counters.capture_drops;
        if counters.rules.is_some() {
            self.seen.rules = counters.rules;
        }
        self.counters = counters;
    }

    /// Whether its event stream is connected.
    pub(crate) fn connected(&mut self, connected: bool) {
        self.seen.events = connected;
    }

    pub(crate) fn seen(&self) -> &Observation {
        &self.seen
    }

    /// What of Suricata is not known yet since its last start.
    pub(crate) fn unasked(&self) -> bool {
        self.version.is_empty() || self.seen.rules.is_none()
    }

    /// The counters of our table. Counters of a table that has been replaced since are dropped:
    /// two readings may answer out of order.
    pub(crate) fn tally(&mut self, found: &InForce) {
        if found.table < self.table {
            return;
        }
        if found.table > self.table {
            self.table = found.table;
            self.tallies.values_mut().for_each(Tally::restart);
        }
        for (name, counter) in &found.counters {
            self.tallies.entry(name.clone()).or_default().read(*counter);
        }
    }

    /// One of them, since the daemon's start.
    pub(crate) fn tallied(&self, name: &str) -> Counter {
        self.tallies.get(name).map(Tally::sum).unwrap_or_default()
    }

    /// A source fired a drop rule: the block to be put in force, if there is to be one.
    pub(crate) fn fired(
        &mut self,
        now: Duration,
        address: IpAddr,
        rule: (u32, &str),
        own: impl Fn(IpAddr) -> bool,
    ) -> Option<ips::Block> {
        if !self.blocking() {
            return None;
        }
        match self.blocks.add(now, address, rule, own) {
            Blocked::Yes(block) => {
                log::warn!("{address} is blocked: rule {} fired", rule.0);
                Some(block)
            }
            Blocked::Already | Blocked::No(_) => None,
        }
    }
}

/// A block for nft.
pub(crate) fn element(block: &ips::Block, now: Duration) -> ruleset::Block {
    let seconds = |time: Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
    ruleset::Block {
        address: block.address,
        seconds: seconds(block.until.saturating_sub(block.since)),
        left: seconds(block.until.saturating_sub(now)),
        comment: format!("{} {}", block.sid, block.reason),
    }
}

/// A time of ours as Unix milliseconds.
pub(crate) fn unix_ms(at: Duration, now: Now) -> u64 {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let (ahead, ago) = (at.saturating_sub(now.mono), now.mono.saturating_sub(at));
    (now.unix_ms + ms(ahead)).saturating_sub(ms(ago))
}

pub(crate) const fn action(action: ips::Action) -> ruleset::Action {
    match action {
        ips::Action::Inspect => ruleset::Action::Inspect,
        ips::Action::None => ruleset::Action::None,
        ips::Action::Always => ruleset::Action::Always,
    }
}
