// SPDX-License-Identifier: GPL-2.0-or-later
//! Inspection and blocks, without I/O: instructs Suricata's script, evaluates probes, adds queues
//! and policies to the plan, and sums up counters. Crate `ips` judges the health.

use config::sort::Collect;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use config::{Network, Problem};
use flows::Now;
use ips::{
    Blocked, Blocks, Health, InspectionCondition, Observation, Offered, Overflow, Queue,
    QueueTotals, State,
};
use model::{Action, FailPolicy, Gate, InspectionMode};
use ruleset::{Counter, InForce, Policy, Queues, Segments};

/// Suricata's configuration, written for its init script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuricataFiles {
    pub yaml: String,
    pub arguments: String,
    /// CPU mask of all threads, for taskset; empty for any CPU.
    pub cpus: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instruction {
    Run(SuricataFiles),
    Stop,
}

/// A probe of Suricata, taken twice a second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeSample {
    /// All queues of the kernel that have a listener.
    pub queues: Vec<Queue>,
    pub process: Option<u32>,
    /// Suricata's configuration is being tested.
    pub testing: bool,
    /// Error of the last test of the configuration.
    pub refused: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CommandReply {
    Uptime(Duration),
    Version(String),
    Rules(ips::RuleCounts),
    Counters(Box<ips::SuricataCounters>),
}

/// Interval between notifications of the script while Suricata is down.
const RETRY_INTERVAL: Duration = Duration::from_secs(20);
/// Time for Suricata's first start, before its absence is a warning.
const FIRST_START: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Inspection {
    pub(super) settings: ips::Settings,
    pub(super) policies: Vec<Policy>,
    marks: Option<ruleset::Marks>,
    /// A host is always inspected, whatever the policies.
    pub(super) hosts_always: bool,
    pub(crate) threads: ips::Threads,
    health: Health,
    seen: Observation,
    /// Time when Suricata last ran, or its script was last notified.
    notified: Duration,
    /// The last instruction that was written; `None` before the first and after a failure.
    instructed: Option<Instruction>,
    pub(crate) blocks: Blocks,
    pub(super) version: String,
    pub(super) uptime: Duration,
    pub(super) counters: ips::SuricataCounters,
    queue_totals: QueueTotals,
    overflow: Overflow,
    process: Option<u32>,
    /// Packets have been inspected since inspection was switched on.
    worked: bool,
    /// The current failure was logged as a warning.
    warned: bool,
    pub(super) starts: u32,
    /// Number of the table that was read last, see [`InForce::table`].
    table: u64,
    /// Sums since the first reading, whose counts belong to a previous daemon; `None` before it.
    totals: Option<BTreeMap<String, RunningTotal>>,
}

/// Sum of a counter over consecutive tables. The counter of a new table starts at zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RunningTotal {
    sum: Counter,
    last: Counter,
}

impl RunningTotal {
    fn read(&mut self, now: Counter) {
        if now.packets < self.last.packets || now.bytes < self.last.bytes {
            self.restart();
        }
        self.sum.packets += now.packets - self.last.packets;
        self.sum.bytes += now.bytes - self.last.bytes;
        self.last = now;
    }

    /// Expects the counter to start at zero.
    fn restart(&mut self) {
        self.last = Counter::default();
    }
}

impl Inspection {
    pub(crate) fn new(now: Duration) -> Self {
        let settings = ips::Settings::default();
        Self {
            blocks: Blocks::new(&settings),
            settings,
            policies: Vec::new(),
            marks: None,
            hosts_always: false,
            threads: ips::Threads::default(),
            health: Health::new(now),
            // No rules of this daemon are in force yet.
            seen: Observation { gate: Gate::Open, ..Observation::default() },
            notified: Duration::ZERO,
            instructed: None,
            version: String::new(),
            uptime: Duration::ZERO,
            counters: ips::SuricataCounters::default(),
            queue_totals: QueueTotals::default(),
            overflow: Overflow::default(),
            process: None,
            worked: false,
            warned: false,
            starts: 0,
            table: 0,
            totals: None,
        }
    }

    /// Applies new settings. Returns the sources that are no longer blocked.
    pub(super) fn configure(
        &mut self,
        settings: &ips::Settings,
        main: &ruleset::Settings,
        now: Duration,
    ) -> Vec<Network> {
        self.settings = settings.clone();
        self.policies.clone_from(&main.policies);
        self.marks = main.marks().ok();
        self.seen.enabled = self.settings.enabled;
        self.seen.mode = self.settings.mode;
        self.seen.fail = self.settings.fail;
        self.seen.queue_length = self.settings.queue_length;
        if !self.settings.enabled {
            // Suricata is no longer probed, so clear the observation.
            let (gate, overflow) = (self.seen.gate, self.seen.overflow);
            self.seen = Observation { enabled: false, gate, overflow, ..Observation::default() };
            self.process = None;
            self.judge(now);
        }
        let block = self.blocking();
        self.blocks.configure(&ips::Settings { block, ..self.settings.clone() })
    }

    pub(crate) fn condition(&self) -> &InspectionCondition {
        self.health.condition()
    }

    /// Returns true if sources that trigger a drop rule are blocked.
    pub(crate) fn blocking(&self) -> bool {
        self.settings.enabled && self.settings.block
    }

    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.settings.enabled
    }

    /// Returns true if packets are to be queued for Suricata.
    pub(crate) fn is_inline(&self) -> bool {
        self.settings.enabled && self.settings.mode == InspectionMode::Nfq
    }

    /// Returns true if the default, a policy or a host's setting inspects connections to their end.
    fn any_always(&self) -> bool {
        self.hosts_always
            || self.settings.default == Action::Always
            || self.active().any(|policy| policy.action == Action::Always)
    }

    fn active(&self) -> impl Iterator<Item = &Policy> {
        self.policies.iter().filter(|policy| policy.enabled)
    }

    pub(crate) fn plan(&self, segments: &Segments) -> ruleset::Protection {
        let inspection =
            self.marks.filter(|_| self.is_inline()).map(|marks| self.inspection(marks, segments));
        let blocks = self.blocking().then_some(self.settings.block_limit);
        ruleset::Protection { inspection, blocks }
    }

    fn inspection(&self, marks: ruleset::Marks, segments: &Segments) -> ruleset::InspectionRules {
        let settings = &self.settings;
        ruleset::InspectionRules {
            marks,
            fail_open: settings.fail == FailPolicy::Open,
            default: settings.default,
            policies: self.active().map(|policy| policy.on(segments)).collect(),
            exempt: settings.exempt.clone(),
            budget_bytes: settings.budget_bytes,
            budget_packets: settings.budget_packets.into(),
            queues: Queues {
                first: settings.queue_first,
                count: self.threads.queues(),
                spread: settings.spread,
            },
            gate: self.condition().gate,
        }
    }

    /// Returns the instruction for the init script, if it has changed.
    pub(super) fn instruct(
        &mut self,
        now: Duration,
        home: &[Network],
        store: &std::path::Path,
        ports: &[ips::CapturePort],
    ) -> Option<Instruction> {
        self.seen.trouble = None;
        let mut wanted = Instruction::Stop;
        if self.settings.enabled {
            match ips::check_mode(&self.settings, ports) {
                Ok(()) => wanted = Instruction::Run(self.render(home, store)),
                Err(problem) => self.seen.trouble = Some(problem.to_string()),
            }
        }
        if self.instructed.as_ref() == Some(&wanted) {
            return None;
        }
        self.seen.asked = matches!(wanted, Instruction::Run(_)).then_some(now);
        self.instructed = Some(wanted.clone());
        Some(wanted)
    }

    fn render(&self, home: &[Network], store: &std::path::Path) -> SuricataFiles {
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
            // taskset covers Suricata's main thread, too, which loads rules and is in no CPU set.
            all.collect::<cpu::CpuSet>().mask().replace(',', "")
        } else {
            String::new()
        };
        SuricataFiles { yaml, arguments, cpus }
    }

    /// Returns true if Suricata should run but has been down for `RETRY_INTERVAL`.
    pub(super) fn retry_due(&mut self, now: Duration) -> bool {
        let wanted = match self.instructed {
            Some(Instruction::Run(_)) => !self.seen.running,
            Some(Instruction::Stop) => false,
            None => self.settings.enabled,
        };
        if !wanted {
            self.notified = now;
        }
        let due = now.saturating_sub(self.notified) >= RETRY_INTERVAL;
        if due {
            self.notified = now;
        }
        due
    }

    pub(super) fn configuration_write_failed(&mut self, why: String) {
        self.instructed = None;
        self.seen.trouble = Some(why);
    }

    pub(crate) fn queue_numbers(&self) -> std::ops::RangeInclusive<u16> {
        let first = self.settings.queue_first;
        first..=self.threads.last_queue(first)
    }

    /// Handles a probe, twice a second. Returns true if the gate has to change.
    pub(super) fn probed(&mut self, now: Duration, sample: ProbeSample) -> bool {
        let before = self.condition().gate;
        if self.process.is_some() && sample.process.is_some() && sample.process != self.process {
            // Suricata restarted between two probes, which counts as a failure.
            let gap = Observation {
                running: false,
                answered: None,
                queues: vec![None; self.seen.queues.len()],
                ..self.seen.clone()
            };
            self.health.observe(now, &gap);
        }
        if sample.process.is_some() && sample.process != self.process {
            self.starts += 1;
            self.version.clear();
            self.seen.rules = None;
            self.seen.answered = None;
        }
        self.process = sample.process;
        self.seen.running = sample.process.is_some() || sample.testing;
        self.seen.refused = sample.refused;
        self.seen.queues = if self.is_inline() {
            ips::queues_of(&sample.queues, self.queue_numbers())
        } else {
            Vec::new()
        };
        // Read all queues: at the first probe the number of our queues may be unknown.
        self.queue_totals.read(&sample.queues);
        self.judge(now);
        self.condition().gate != before
    }

    /// Sets the gate of the rules in force, for the next probe.
    pub(super) fn gate_in_force(&mut self, gate: Gate) {
        self.seen.gate = gate;
    }

    fn judge(&mut self, now: Duration) {
        let before = self.condition().state;
        let InspectionCondition { state, why, since, .. } = self.health.observe(now, &self.seen);
        self.worked = self.seen.enabled && (self.worked || state.works());
        // Before Suricata first works, every state but a refusal is part of its start.
        let is_first_start = !self.worked
            && *state != State::RulesRejected
            && now.saturating_sub(*since) < FIRST_START;
        let warns = state.fails() && !is_first_start;
        if warns && !self.warned || *state != before {
            let level = if warns { log::Level::Warn } else { log::Level::Info };
            log::log!(level, "inspection: {} ({why})", state.name());
        }
        self.warned = warns;
    }

    pub(super) fn replied(&mut self, now: Duration, reply: CommandReply) {
        self.seen.answered = Some(now);
        match reply {
            CommandReply::Uptime(uptime) => self.uptime = uptime,
            CommandReply::Version(version) => self.version = version,
            CommandReply::Rules(rules) => self.seen.rules = Some(rules),
            CommandReply::Counters(counters) => self.set_counters(*counters),
        }
    }

    /// Sets Suricata's counters, from the command socket or the event stream.
    pub(super) fn set_counters(&mut self, counters: ips::SuricataCounters) {
        self.seen.capture_drops = counters.capture_drops;
        if counters.rules.is_some() {
            self.seen.rules = counters.rules;
        }
        self.counters = counters;
    }

    pub(super) fn connected(&mut self, connected: bool) {
        self.seen.events = connected;
    }

    pub(crate) fn suricata_counters(&self) -> &ips::SuricataCounters {
        &self.counters
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn restarts(&self) -> u32 {
        self.starts.saturating_sub(1)
    }

    pub(crate) fn active_blocks(&self, now: Duration) -> usize {
        self.blocks.list().into_iter().filter(|block| block.until > now).count()
    }

    pub(crate) fn queue_totals(&self) -> &QueueTotals {
        &self.queue_totals
    }

    #[must_use]
    pub fn seen(&self) -> &Observation {
        &self.seen
    }

    /// Returns true if version or rules are unknown since Suricata's last start.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.version.is_empty() || self.seen.rules.is_none()
    }

    /// Adds the counters of our table. Ignores counters of a table that has been replaced, since
    /// two readings may arrive out of order.
    pub(crate) fn add_counters(&mut self, found: &InForce) {
        if found.table < self.table {
            return;
        }
        let Some(totals) = &mut self.totals else {
            let first = |last: Counter| RunningTotal { last, ..RunningTotal::default() };
            let counters = found.counters.iter();
            self.totals = Some(counters.map(|(name, now)| (name.clone(), first(*now))).into_map());
            self.table = found.table;
            return;
        };
        if found.table > self.table {
            self.table = found.table;
            totals.values_mut().for_each(RunningTotal::restart);
        }
        for (name, counter) in &found.counters {
            totals.entry(name.clone()).or_default().read(*counter);
        }
    }

    /// Returns a counter of our table, since the daemon's start.
    pub(crate) fn counter(&self, name: &str) -> Counter {
        let total = self.totals.as_ref().and_then(|totals| totals.get(name));
        total.map(|total| total.sum).unwrap_or_default()
    }

    /// Compares the packets that rules sent with the packets that the queues received.
    pub(super) fn offered(&mut self, found: &InForce, [before, after]: [Vec<Queue>; 2]) {
        let (table, sent) = (found.table, found.counters.get("inspected"));
        let sent = sent.map_or(0, |counter| counter.packets);
        self.overflow.read(Offered { table, sent, before, after }, self.queue_numbers());
        self.seen.overflow = self.overflow.passed();
    }

    /// Returns the number of packets that passed a full queue, since the daemon's start.
    pub(crate) fn overflow(&self) -> u64 {
        self.overflow.passed()
    }

    /// Returns the numbers of inspected and uninspected packets.
    pub(crate) fn inspected(&self) -> [u64; 2] {
        let [sent, open] = ["inspected", "uninspected"].map(|name| self.counter(name).packets);
        [sent.saturating_sub(self.overflow()), open + self.overflow()]
    }

    /// Handles a source that triggered a drop rule. Returns the block to be applied, if any.
    pub(super) fn offended(
        &mut self,
        now: Duration,
        address: IpAddr,
        rule: (u32, &str),
        own: impl Fn(Network) -> bool,
    ) -> Option<ips::Block> {
        if !self.blocking() {
            return None;
        }
        match self.blocks.add(now, address, rule, own) {
            Blocked::Yes(block) => {
                log::warn!("{} is blocked: rule {} fired", block.source.brief(), rule.0);
                Some(block)
            }
            Blocked::Already | Blocked::No(_) => None,
        }
    }
}

/// Returns the problems of enabled policies that name missing zones.
pub(crate) fn check(policies: &[Policy], segments: &Segments) -> Vec<Problem> {
    let active = policies.iter().filter(|policy| policy.enabled);
    active.flat_map(|policy| policy.check(segments)).collect()
}

pub(crate) fn unix_ms(at: Duration, now: Now) -> u64 {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let (ahead, ago) = (at.saturating_sub(now.mono), now.mono.saturating_sub(at));
    (now.unix_ms + ms(ahead)).saturating_sub(ms(ago))
}
