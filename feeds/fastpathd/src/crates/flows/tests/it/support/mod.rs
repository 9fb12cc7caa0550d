// SPDX-License-Identifier: GPL-2.0-or-later
//! A router with two VLANs and a WAN, and conntrack entries, for tests.

pub(crate) mod offload;

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ctnetlink::{Counters, Entry, Status, TcpState, Tuple};
use flows::{
    EngineState, FlowDetail, FlowPage, FlowTable, FlowsQuery, InspectionState, Network, Now, Side,
};
use model::{Action, Connection, Engine, Gate, NextHop, Routing, TrafficTypes};
use serde_json::{Value, json};

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
/// Unix time at the start of the monotonic clock.
pub(crate) const START_MS: u64 = 1_800_000_000_000;

pub(crate) fn at(seconds: f64) -> Now {
    let mono = Duration::from_secs_f64(seconds);
    Now { mono, unix_ms: START_MS + u64::try_from(mono.as_millis()).expect("small") }
}

pub(crate) fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

pub(crate) fn side(device: &str, vlan: u16, zone: &str, port: &str) -> Side {
    Side {
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
    }
}

/// Device index of the guest network; any other index is the WAN.
pub(crate) const GUEST: u32 = 20;

/// 10.10.0.0/16 and `fd00:10::/32` are in VLAN 10, and 10.20.0.0/16 is in VLAN 20. 10.0.0.1 and
/// 100.64.0.1 belong to the router, 172.16.0.0/16 has no route, and the WAN has the default route.
pub(crate) struct Net {
    pub(crate) generation: u64,
    pub(crate) lan: Side,
    pub(crate) guest: Side,
    pub(crate) wan: Side,
    pub(crate) desk: &'static str,
    /// A routing rule matches this address.
    pub(crate) policy: Option<IpAddr>,
    /// Routing of packets of `policy` by mark.
    pub(crate) routing: fn(u32) -> Routing,
}

impl Default for Net {
    fn default() -> Self {
        Self {
            generation: 1,
            lan: side("br-lan.10", 10, "lan", "lan1"),
            guest: side("br-lan.20", 20, "guest", "lan2"),
            wan: side("pppoe-wan", 35, "wan", "wan"),
            desk: "desk",
            policy: None,
            routing: |_| Routing::Unknown,
        }
    }
}

impl Network for Net {
    fn is_local(&self, address: IpAddr) -> bool {
        ["10.0.0.1", "100.64.0.1"].contains(&address.to_string().as_str())
    }

    fn side(&self, address: IpAddr, next_hop: Option<NextHop>) -> Option<Side> {
        if let Some(NextHop { device, .. }) = next_hop {
            return Some(if device == GUEST { self.guest.clone() } else { self.wan.clone() });
        }
        let text = address.to_string();
        let below = |prefix: &str| text.starts_with(prefix);
        if below("172.16.") {
            return None;
        }
        Some(if below("10.10.") || below("fd00:10:") {
            self.lan.clone()
        } else if below("10.20.") {
            self.guest.clone()
        } else {
            self.wan.clone()
        })
    }

    fn routing(&self, connection: &Connection, mark: u32) -> Routing {
        let ends = [connection.orig.src, connection.reply.src];
        let ruled = self.policy.is_some_and(|policy| ends.contains(&policy));
        if ruled { (self.routing)(mark) } else { Routing::Destination }
    }

    fn name(&self, address: IpAddr) -> Option<&str> {
        (address.to_string() == "10.10.0.2").then_some(self.desk)
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}

pub(crate) fn tuple(proto: u8, src: &str, sport: u16, dst: &str, dport: u16) -> Tuple {
    Tuple { src: address(src), dst: address(dst), proto, sport, dport }
}

/// Returns an established connection without NAT, with counters 0.
pub(crate) fn entry(id: u32, orig: Tuple) -> Entry {
    let Tuple { src, dst, proto, sport, dport } = orig;
    Entry {
        id,
        zone: 0,
        orig,
        reply: Tuple { src: dst, dst: src, proto, sport: dport, dport: sport },
        status: Status::SEEN_REPLY | Status::CONFIRMED | Status::ASSURED,
        timeout_s: Some(100),
        mark: 0,
        tcp_state: (proto == TCP).then_some(TcpState::Established),
        helper: false,
        seq_adjust: false,
        orig_counters: Some(Counters::default()),
        reply_counters: Some(Counters::default()),
        start_ns: None,
    }
}

pub(crate) fn web(id: u32) -> Entry {
    let port = 40_000 + u16::try_from(id % 20_000).expect("small");
    entry(id, tuple(TCP, "10.10.0.2", port, "192.0.2.80", 443))
}

pub(crate) fn counted(mut entry: Entry, up: u64, down: u64) -> Entry {
    let counters = |bytes| Some(Counters { packets: bytes / 1000, bytes });
    (entry.orig_counters, entry.reply_counters) = (counters(up), counters(down));
    entry
}

pub(crate) fn with_status(mut entry: Entry, bits: Status) -> Entry {
    entry.status = entry.status | bits;
    entry
}

pub(crate) fn offloaded(entry: Entry) -> Entry {
    let mut entry = with_status(entry, Status::OFFLOAD);
    (entry.timeout_s, entry.tcp_state) = (None, None);
    entry
}

/// Returns the entry without counters, as in an event.
pub(crate) fn uncounted(mut entry: Entry) -> Entry {
    (entry.orig_counters, entry.reply_counters) = (None, None);
    entry
}

/// Returns a table with the flowtable engine after one empty dump.
pub(crate) fn watching() -> FlowTable {
    let mut table = FlowTable::new();
    table.engine(flowtable(), at(0.0));
    dump(&mut table, 0.0, &[]);
    table
}

pub(crate) fn flowtable() -> EngineState {
    EngineState { engine: Engine::Flowtable, ..EngineState::default() }
}

pub(crate) fn with_programs() -> Net {
    let mut net = Net::default();
    for side in [&mut net.lan, &mut net.guest, &mut net.wan] {
        (side.in_flowtable, side.in_ebpf) = (false, true);
    }
    net
}

pub(crate) fn dump(table: &mut FlowTable, seconds: f64, entries: &[Entry]) {
    dump_in(table, seconds, entries, &Net::default());
}

pub(crate) fn dump_in(table: &mut FlowTable, seconds: f64, entries: &[Entry], net: &Net) {
    table.dump_begin(at(seconds));
    for entry in entries {
        table.merge(entry, at(seconds), net);
    }
    table.dump_end(at(seconds), true);
}

pub(crate) fn rows(table: &FlowTable, seconds: f64, query: &Value) -> Vec<Value> {
    let query = FlowsQuery::parse(query).expect("a query");
    let page = table.query(&query, at(seconds)).expect("a page");
    let object = |row: Vec<Value>| -> Value {
        page.cols.iter().map(ToString::to_string).zip(row).collect::<serde_json::Map<_, _>>().into()
    };
    cells(&page).into_iter().map(object).collect()
}

pub(crate) fn cells(page: &FlowPage<'_>) -> Vec<Vec<Value>> {
    let rows = serde_json::to_value(&page.rows).expect("JSON");
    serde_json::from_value(rows).expect("rows")
}

pub(crate) fn named(detail: &FlowDetail<'_>) -> Value {
    serde_json::to_value(detail).expect("JSON")["flow"].take()
}

pub(crate) fn only(table: &FlowTable, seconds: f64) -> Value {
    let rows = rows(table, seconds, &json!({}));
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows[0].clone()
}

pub(crate) fn verdict(row: &Value) -> (&str, &str) {
    (row["path"].as_str().expect("a path"), row["reason"].as_str().expect("a reason"))
}

pub(crate) const BYPASS: u32 = 0x4000_0000;
pub(crate) const SPENT: u32 = 0x2000_0000;
pub(crate) const BUDGET: u64 = 1_000_000;

/// Returns settings that inspect everything, with a budget of [`BUDGET`] bytes.
pub(crate) fn inspection() -> InspectionState {
    InspectionState {
        gate: Some(Gate::Queue),
        bypass: BYPASS,
        spent: SPENT,
        policies: Vec::new(),
        default: Action::Inspect,
        exempt: Vec::new(),
        hosts: Default::default(),
        budget_bytes: BUDGET,
        budget_packets: 0,
    }
}

/// Returns a table with the flowtable engine and inspection after one empty dump.
pub(crate) fn inspecting() -> FlowTable {
    let mut table = watching();
    table.inspection(inspection(), at(0.0));
    table
}

pub(crate) fn marked(entry: Entry, mark: u32) -> Entry {
    Entry { mark, ..entry }
}

/// Returns the bytes credited to the slow path, to inspection and to the flowtable.
pub(crate) fn credited(table: &FlowTable) -> [u64; 3] {
    let paths = table.totals().paths;
    [paths.slow.bytes, paths.inspect.bytes, paths.flowtable.bytes]
}
