// SPDX-License-Identifier: GPL-2.0-or-later
//! Groups flows by host, service, VLAN, path or traffic type.

use std::cmp::Ordering;
use std::net::IpAddr;

use hashbrown::HashMap;
use model::TrafficType;

use crate::flow::Flow;
use crate::intern::Number;
use crate::network::inside_ends;
use crate::page::{OpenHost, TopRow};
use crate::path::{Path, Reason};
use crate::proto::{self, TCP, UDP};
use crate::query::{Group, Sort};
use crate::rows::whole;
use crate::table::FlowTable;

pub(crate) const COLS: &[&str] =
    &["key", "name", "flows", "offloaded", "bytes", "up_bps", "down_bps", "ratio"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum GroupKey {
    Host(IpAddr),
    Service(u8, u16),
    Vlan(u16),
    Path(Path),
    Traffic(TrafficType),
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    /// Number of a host name; for a VLAN, number of a side.
    name: Number,
    flows: u64,
    offloaded: u64,
    bytes: u64,
    offloaded_bytes: u64,
    up_bps: f32,
    down_bps: f32,
    fast_bps: f32,
    excluded: u64,
    excluded_bps: f32,
}

impl Sum {
    /// Adds a flow. `turned` swaps the directions.
    fn add(&mut self, flow: &Flow, path: Path, name: Number, turned: bool, fast_bps: f32) {
        if self.name == 0 {
            self.name = name;
        }
        self.flows += 1;
        self.offloaded += u64::from(path.offloaded());
        self.bytes = self.bytes.saturating_add(flow.bytes());
        self.offloaded_bytes = self.offloaded_bytes.saturating_add(flow.offloaded_bytes);
        let (up, down) = (flow.up_bps, flow.down_bps);
        let (up, down) = if turned { (down, up) } else { (up, down) };
        self.up_bps += up;
        self.down_bps += down;
        self.fast_bps += fast_bps;
        if flow.reason == Some(Reason::Excluded) {
            self.excluded += 1;
            self.excluded_bps += flow.bps();
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a ratio needs no 16 digits")]
    fn ratio(&self) -> f64 {
        if self.bytes == 0 {
            return 0.0;
        }
        (self.offloaded_bytes as f64 / self.bytes as f64).min(1.0)
    }
}

pub(crate) type Line = (GroupKey, Sum);

#[derive(Debug)]
pub(crate) struct Sums<'a> {
    table: &'a FlowTable,
    by: Group,
    lines: HashMap<GroupKey, Sum>,
}

impl<'a> Sums<'a> {
    pub(crate) fn new(table: &'a FlowTable, by: Group) -> Self {
        Self { table, by, lines: HashMap::new() }
    }

    pub(crate) fn add(&mut self, flow: &Flow) {
        match self.by {
            Group::None => {}
            Group::Host => self.add_host(flow),
            Group::Service => self.add_to(service(flow), flow, 0, false),
            Group::Vlan => self.add_vlan(flow),
            Group::Path => self.add_to(GroupKey::Path(self.table.shown(flow).0), flow, 0, false),
            Group::Traffic => {
                for one in self.table.traffic(flow).iter() {
                    self.add_to(GroupKey::Traffic(one), flow, 0, false);
                }
            }
        }
    }

    fn add_to(&mut self, key: GroupKey, flow: &Flow, name: Number, turned: bool) {
        let (path, _) = self.table.shown(flow);
        let fast_bps = self.table.fast_bps(flow);
        self.lines.entry(key).or_default().add(flow, path, name, turned, fast_bps);
    }

    fn add_host(&mut self, flow: &Flow) {
        let [initiator, responder] =
            [flow.initiator, flow.responder].map(|number| self.table.side(number));
        let [initiator, responder] = inside_ends(initiator, responder);
        if responder {
            self.add_to(GroupKey::Host(flow.reply.src), flow, flow.dst_name, true);
        }
        if initiator {
            self.add_to(GroupKey::Host(flow.orig.src), flow, flow.src_name, false);
        }
    }

    fn add_vlan(&mut self, flow: &Flow) {
        let vlan = |number| self.table.side(number).map_or(0, |side| side.vlan);
        let (from, to) = (vlan(flow.initiator), vlan(flow.responder));
        if from != 0 || to == 0 {
            self.add_to(GroupKey::Vlan(from), flow, flow.initiator, false);
        }
        if to != 0 && to != from {
            self.add_to(GroupKey::Vlan(to), flow, flow.responder, true);
        }
    }

    pub(crate) fn into_list(self) -> Vec<Line> {
        self.lines.into_iter().collect()
    }
}

fn service(flow: &Flow) -> GroupKey {
    let port = if matches!(flow.orig.proto, TCP | UDP) { flow.reply.sport } else { 0 };
    GroupKey::Service(flow.orig.proto, port)
}

/// Returns the ascending comparison of groups by a column; `None` if groups lack the column.
pub(crate) fn comparison(sort: Sort) -> Option<fn(&FlowTable, &Line, &Line) -> Ordering> {
    Some(match sort {
        Sort::Key => |_, a: &Line, b: &Line| a.0.cmp(&b.0),
        Sort::Name => |table, a, b| name(table, a).cmp(name(table, b)),
        Sort::Flows => |_, a, b| a.1.flows.cmp(&b.1.flows),
        Sort::Offloaded => |_, a, b| a.1.offloaded.cmp(&b.1.offloaded),
        Sort::Bytes => |_, a, b| a.1.bytes.cmp(&b.1.bytes),
        Sort::Bps => |_, a, b| {
            let bps = |line: &Line| line.1.up_bps + line.1.down_bps;
            bps(a).total_cmp(&bps(b)).then(a.1.bytes.cmp(&b.1.bytes))
        },
        Sort::UpBps => |_, a, b| a.1.up_bps.total_cmp(&b.1.up_bps),
        Sort::DownBps => |_, a, b| a.1.down_bps.total_cmp(&b.1.down_bps),
        Sort::Ratio => |_, a, b| a.1.ratio().total_cmp(&b.1.ratio()),
        _ => return None,
    })
}

fn name<'a>(table: &'a FlowTable, (key, sum): &Line) -> &'a str {
    match *key {
        GroupKey::Host(_) => table.name(sum.name),
        GroupKey::Service(proto, port) => proto::service(proto, port),
        GroupKey::Vlan(_) => table.side(sum.name).map_or("", |side| &*side.zone),
        GroupKey::Path(_) | GroupKey::Traffic(_) => "",
    }
}

pub(crate) fn open_host((key, sum): &Line) -> Option<OpenHost> {
    let GroupKey::Host(address) = *key else { return None };
    Some(OpenHost {
        address,
        flows: sum.flows,
        offloaded: sum.offloaded,
        up_bps: whole(sum.up_bps),
        down_bps: whole(sum.down_bps),
    })
}

pub(crate) fn top_row<'a>(table: &'a FlowTable, line: &Line) -> TopRow<'a> {
    let (key, sum) = line;
    TopRow {
        key: match *key {
            GroupKey::Host(address) => address.to_string(),
            GroupKey::Service(proto, 0) => proto::name(proto),
            GroupKey::Service(proto, port) => format!("{}/{port}", proto::name(proto)),
            GroupKey::Vlan(vlan) => vlan.to_string(),
            GroupKey::Path(path) => path.name().to_owned(),
            GroupKey::Traffic(one) => one.name().to_owned(),
        },
        name: name(table, line),
        flows: sum.flows,
        offloaded: sum.offloaded,
        bytes: sum.bytes,
        up_bps: whole(sum.up_bps),
        down_bps: whole(sum.down_bps),
        ratio: (sum.ratio() * 1e4).round() / 1e4,
        fast_bps: whole(sum.fast_bps),
        excluded: sum.excluded,
        excluded_bps: whole(sum.excluded_bps),
    }
}
