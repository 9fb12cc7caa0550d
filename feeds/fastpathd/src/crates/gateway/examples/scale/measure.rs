// SPDX-License-Identifier: GPL-2.0-or-later
//! Measures CPU time and peak memory of the flow table on a recorded dump.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ctnetlink::Entry;
use flows::{EngineState, FlowTable, FlowsQuery, InspectionState, Network, Now, Side, TopQuery};
use model::{Action, Connection, DevicePolicy, Engine, Gate, NextHop, Routing, TrafficTypes};
use serde_json::{Value, json};

use crate::copies::{batch_len, batches};
use crate::{Failure, yardstick};

/// Runs per measurement. The shortest run counts, because other load only adds time.
const RUNS: usize = 9;

/// Measurements. Times are milliseconds of CPU time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) flows: f64,
    /// Decoding and merging a whole dump into a full table.
    pub(crate) refresh: f64,
    /// Refresh in which every flow has new bytes.
    pub(crate) busy: f64,
    pub(crate) first: f64,
    /// Refresh after a new network generation.
    pub(crate) moved: f64,
    pub(crate) page: f64,
    pub(crate) groups: f64,
    /// 1000 finds by both ends.
    pub(crate) find: f64,
    /// Peak resident memory, MB.
    pub(crate) memory: f64,
    pub(crate) yard: f64,
}

impl Figures {
    pub(crate) fn to_line(self) -> String {
        let Self { flows, refresh, busy, first, moved, page, groups, find, memory, yard } = self;
        format!("{flows} {refresh} {busy} {first} {moved} {page} {groups} {find} {memory} {yard}")
    }

    pub(crate) fn best(&self, other: &Self) -> Self {
        Self {
            flows: self.flows,
            refresh: self.refresh.min(other.refresh),
            busy: self.busy.min(other.busy),
            first: self.first.min(other.first),
            moved: self.moved.min(other.moved),
            page: self.page.min(other.page),
            groups: self.groups.min(other.groups),
            find: self.find.min(other.find),
            memory: self.memory.min(other.memory),
            yard: self.yard.min(other.yard),
        }
    }

    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let mut numbers = line.split_whitespace().map(|word| word.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self {
            flows: next()?,
            refresh: next()?,
            busy: next()?,
            first: next()?,
            moved: next()?,
            page: next()?,
            groups: next()?,
            find: next()?,
            memory: next()?,
            yard: next()?,
        })
    }
}

pub(crate) fn measure(file: &Path) -> Result<Figures, Failure> {
    let mut net = SampleNetwork::new();
    let mut clock = Clock(1);
    // Measure memory first, because later steps raise the peak. Two refreshes in batches and a page
    // are typical of the daemon.
    let mut table = new_table();
    for _ in 0..2 {
        refresh_from(file, &mut table, clock.tick(), &net)?;
        page_of(&table, &pages()[0], clock.tick())?;
    }
    let memory = memory_mb("VmHWM:")?;
    let dump = std::fs::read(file)?;
    let mut figures = Figures { flows: count(table.len()), memory, ..Figures::default() };
    figures.refresh = best(|| refresh(&dump, &mut table, clock.tick(), &net, 0));
    figures.moved = best(|| {
        net.generation += 1;
        refresh(&dump, &mut table, clock.tick(), &net, 0);
    });
    let mut grown = 0;
    figures.busy = best(|| {
        grown += 1500;
        refresh(&dump, &mut table, clock.tick(), &net, grown);
        std::hint::black_box(table.take_host_growth());
    });
    let mut fresh = Vec::new();
    figures.first = best(|| {
        let mut table = new_table();
        refresh(&dump, &mut table, clock.tick(), &net, 0);
        // Keep only the first table, so that later runs include the drop.
        fresh.push(table);
        fresh.truncate(1);
    });
    (figures.page, figures.groups) = ask(&table, clock.tick())?;
    figures.find = find(&dump, &table);
    figures.yard = best(|| {
        std::hint::black_box(yardstick::once());
    });
    Ok(figures)
}

/// Returns the times of the slowest page and the slowest grouping.
fn ask(table: &FlowTable, now: Now) -> Result<(f64, f64), Failure> {
    let (mut page, mut groups) = (0_f64, 0_f64);
    for request in pages() {
        let matched = page_of(table, &request, now)?;
        let time = best(|| page_of(table, &request, now).map(|_| ()).unwrap_or_default());
        eprintln!("{time:7.2} ms {matched:6} matched {request}");
        let grouped = request.get("group").is_some();
        let slowest = if grouped { &mut groups } else { &mut page };
        *slowest = slowest.max(time);
    }
    for by in ["host", "service"] {
        let query = TopQuery::parse(&json!({ "by": by }))?;
        let time = best(|| drop(table.top(&query)));
        eprintln!("{time:7.2} ms top by {by}");
        groups = groups.max(time);
    }
    Ok((page, groups))
}

/// Measures 1000 finds by the ends that alerts contain.
fn find(dump: &[u8], table: &FlowTable) -> f64 {
    let mut entries = Vec::new();
    ctnetlink::entries(dump, &mut entries);
    let step = (entries.len() / 1000).max(1);
    let wanted: Vec<&Entry> = entries.iter().step_by(step).take(1000).collect();
    best(|| {
        for Entry { orig, reply, .. } in &wanted {
            let opener = SocketAddr::new(orig.src, orig.sport);
            let server = SocketAddr::new(reply.src, reply.sport);
            std::hint::black_box(table.find(orig.proto, server, opener));
        }
    })
}

pub(crate) fn pages() -> Vec<Value> {
    vec![
        json!({ "limit": 200 }),
        json!({ "limit": 200, "sort": "bytes", "filter": { "text": "10.10.1" } }),
        json!({ "limit": 200, "sort": "src", "desc": false, "filter": { "text": "wan 443 tcp" } }),
        json!({ "limit": 200, "sort": "age_s", "filter": { "text": "2001:db8" } }),
        json!({ "limit": 200, "sort": "src_name", "filter": { "text": "desk" } }),
        json!({ "limit": 200, "sort": "dst", "offset": 5000, "filter": { "text": "1" } }),
        json!({ "limit": 200, "filter": { "path": ["slow"], "proto": ["udp"], "family": 4 } }),
        json!({ "limit": 200, "filter": { "text": "nothing has this" } }),
        json!({ "limit": 200, "group": "host", "sort": "bytes" }),
        json!({ "limit": 200, "group": "service", "sort": "flows" }),
    ]
}

fn page_of(table: &FlowTable, request: &Value, now: Now) -> Result<usize, Failure> {
    let page = table.query(&FlowsQuery::parse(request)?, now)?;
    serde_json::to_vec(&page)?;
    Ok(page.matched)
}

fn new_table() -> FlowTable {
    let mut table = FlowTable::new();
    table.engine(
        EngineState { engine: Engine::Flowtable, ..EngineState::default() },
        Clock(1).now(),
    );
    table.inspection(inspection(), Clock(1).now());
    table
}

/// Returns policies and exempt networks that never match, so that each lookup checks all of them.
fn inspection() -> InspectionState {
    let line = |n: u16| DevicePolicy {
        from: Some([format!("br-lan.{n}")].into()),
        to: Some(["pppoe-wan".to_owned()].into()),
        action: Action::Inspect,
        ..DevicePolicy::default()
    };
    let exempt = |n: u8| config::Network::of(IpAddr::from([10, 200, n, 0]), 24);
    InspectionState {
        gate: Some(Gate::Queue),
        bypass: 0x4000_0000,
        spent: 0x2000_0000,
        policies: (100..108).map(line).collect(),
        default: Action::Inspect,
        exempt: (0..8).filter_map(exempt).collect(),
        hosts: Default::default(),
        budget_bytes: 1 << 20,
        budget_packets: 0,
    }
}

/// Merges a dump whose counters are larger than recorded by `grown` bytes and packets of 1500.
fn refresh(dump: &[u8], table: &mut FlowTable, now: Now, net: &SampleNetwork, grown: u64) {
    let mut batch = Vec::new();
    table.dump_begin(now);
    let mut rest = dump;
    while !rest.is_empty() {
        let len = batch_len(rest);
        batch.clear();
        ctnetlink::entries(&rest[..len], &mut batch);
        for entry in &mut batch {
            for counters in [&mut entry.orig_counters, &mut entry.reply_counters] {
                let counters = counters.get_or_insert_default();
                counters.bytes += grown;
                counters.packets += grown / 1500;
            }
            table.merge(entry, now, net);
        }
        rest = &rest[len..];
    }
    table.dump_end(now, true);
}

/// Merges a dump from a file, with at most two batches in memory.
fn refresh_from(
    file: &Path,
    table: &mut FlowTable,
    now: Now,
    net: &SampleNetwork,
) -> Result<(), Failure> {
    let mut batch = Vec::new();
    table.dump_begin(now);
    batches(file, |bytes| {
        batch.clear();
        ctnetlink::entries(bytes, &mut batch);
        for entry in &batch {
            table.merge(entry, now, net);
        }
        Ok(())
    })?;
    table.dump_end(now, true);
    Ok(())
}

/// Returns the shortest of [`RUNS`] runs in milliseconds of thread CPU time.
fn best(mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let start = cpu_time();
        run();
        cpu_time().saturating_sub(start).as_secs_f64() * 1000.0
    };
    (0..RUNS).map(time).fold(f64::INFINITY, f64::min)
}

pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

pub(crate) fn count(flows: usize) -> f64 {
    u32::try_from(flows).map_or(f64::NAN, f64::from)
}

/// Returns a field of this process' status, such as `VmHWM:`.
pub(crate) fn memory_mb(name: &str) -> Result<f64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kb: f64 = line.and_then(|line| line.trim().strip_suffix(" kB")).unwrap_or("?").parse()?;
    Ok(kb / 1024.0)
}

struct Clock(u64);

impl Clock {
    fn now(&self) -> Now {
        let unix_ms = 1_800_000_000_000 + self.0 * 1000;
        Now { mono: Duration::from_secs(self.0), unix_ms }
    }

    fn tick(&mut self) -> Now {
        self.0 += 1;
        self.now()
    }
}

struct SampleNetwork {
    generation: u64,
    lan: [Side; 2],
    wan: Side,
    names: Vec<String>,
}

impl SampleNetwork {
    fn new() -> Self {
        let side = |device: &str, vlan, zone: &str, port: &str| Side {
            device: Rc::from(device),
            vlan,
            zone: Rc::from(zone),
            outer: zone == "wan",
            port: Rc::from(port),
            in_flowtable: true,
            in_ebpf: false,
            neighbour: true,
            tunnel: false,
            traffic: TrafficTypes::default(),
            shaped: false,
            encapsulated: false,
            redirected: false,
            hardware: Some(true),
            unseen: false,
        };
        Self {
            generation: 1,
            lan: [side("br-lan.10", 10, "lan", "lan1"), side("br-lan.20", 20, "guest", "lan2")],
            wan: side("pppoe-wan", 35, "wan", "wan"),
            names: (0..256).map(|n| format!("desk{n}.lan")).collect(),
        }
    }
}

impl Network for SampleNetwork {
    fn is_local(&self, _: IpAddr) -> bool {
        false
    }

    fn side(&self, address: IpAddr, _: Option<NextHop>) -> Option<Side> {
        Some(match address {
            IpAddr::V4(v4) if v4.octets()[0] == 10 => {
                self.lan[usize::from(v4.octets()[3] & 1)].clone()
            }
            IpAddr::V6(v6) if v6.segments()[0] == 0xfd00 => self.lan[0].clone(),
            _ => self.wan.clone(),
        })
    }

    fn routing(&self, _: &Connection, _: u32) -> Routing {
        Routing::Destination
    }

    fn name(&self, address: IpAddr) -> Option<&str> {
        let IpAddr::V4(v4) = address else { return None };
        let [first, .., last] = v4.octets();
        (first == 10).then(|| self.names[usize::from(last)].as_str())
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}
