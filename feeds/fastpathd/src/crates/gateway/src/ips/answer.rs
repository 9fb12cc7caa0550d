// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the answers of `ips`, `alerts` and `blocks`, and the notification `alert`.

use config::sort::Collect;
use std::net::IpAddr;

use config::Cause;
use flows::{FlowTable, Network, Now, QueryError, Request};
use ips::{AlertFilter, Page, Row, Visibility};
use ruleset::Policy;
use serde::Serialize;
use serde_json::Value;

use crate::ips::State;
use crate::ips::flow_context::FlowContext;
use crate::ips::inspection::unix_ms;
use crate::network;
use crate::network::view::NetworkView;
use crate::rules::{RulesView, Updates};

/// Inspection in `status` and `tick`.
#[derive(Debug, Serialize)]
pub(crate) struct Summary<'a> {
    state: &'static str,
    why: &'a str,
    cause: &'a Cause,
    alerts: u64,
    alerts_kept: usize,
    alerts_since_ms: i64,
    blocks: usize,
    rules_ms: u64,
}

pub(crate) fn summary(state: &State, rules_ms: u64) -> Summary<'_> {
    let condition = state.inspection.condition();
    let (alerts_kept, alerts_since_ms) = state.events.alerts.kept();
    Summary {
        state: condition.state.name(),
        why: &condition.why.text,
        cause: &condition.why,
        alerts: state.events.alerts.last(),
        alerts_kept,
        alerts_since_ms,
        blocks: state.inspection.blocks.len(),
        rules_ms,
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct IpsView<'a> {
    state: &'static str,
    since_ms: u64,
    why: &'a str,
    cause: &'a Cause,
    enabled: bool,
    mode: &'static str,
    fail: &'static str,
    block: bool,
    suricata: Suricata<'a>,
    queues: Vec<QueueView>,
    management_cpus: Vec<u32>,
    counters: Counters,
    events: Events,
    visible: Vec<VisibleView>,
    rules: RulesView<'a>,
    policy: PolicyView<'a>,
}

#[derive(Debug, Serialize)]
struct Suricata<'a> {
    version: &'a str,
    running: bool,
    uptime_s: u64,
    restarts: u32,
    refused: &'a str,
}

#[derive(Debug, Serialize)]
struct QueueView {
    queue: u16,
    cpu: i64,
    bound: bool,
    depth: u32,
    handled: u32,
    dropped: u64,
}

#[derive(Debug, Serialize)]
struct Counters {
    inspected_packets: u64,
    inspected_bytes: u64,
    uninspected_packets: u64,
    uninspected_bytes: u64,
    accepted: u64,
    blocked: u64,
    alerts: u64,
    bypassed_flows: u64,
    spent_flows: u64,
    queue_drops: u64,
}

#[derive(Debug, Serialize)]
struct Events {
    connected: bool,
    #[serde(flatten)]
    counts: ips::Counts,
}

#[derive(Debug, Serialize)]
struct VisibleView {
    kind: &'static str,
    flows: u64,
    bytes: u64,
    handshakes: u64,
    named: u64,
    fingerprinted: u64,
}

#[derive(Debug, Serialize)]
struct PolicyView<'a> {
    default: &'static str,
    budget_bytes: u64,
    budget_packets: u32,
    exempt: Vec<String>,
    zones: Vec<&'a str>,
    vlans: Vec<u16>,
    policies: Vec<RuleView<'a>>,
}

#[derive(Debug, Serialize)]
struct RuleView<'a> {
    section: &'a str,
    name: &'a str,
    enabled: bool,
    src: &'a str,
    dest: &'a str,
    src_vlan: u16,
    dest_vlan: u16,
    action: &'static str,
}

pub(crate) fn ips<'a>(
    state: &'a State,
    rules: &'a Updates,
    network: &'a network::State,
    now: Now,
) -> IpsView<'a> {
    let inspection = &state.inspection;
    let condition = inspection.condition();
    let settings = &inspection.settings;
    let threads = &inspection.threads;
    IpsView {
        state: condition.state.name(),
        since_ms: unix_ms(condition.since, now),
        why: &condition.why.text,
        cause: &condition.why,
        enabled: settings.enabled,
        mode: settings.mode.name(),
        fail: settings.fail.name(),
        block: settings.block,
        suricata: suricata(state),
        queues: if inspection.is_inline() { queues(state) } else { Vec::new() },
        management_cpus: if threads.affinity { threads.management.clone() } else { Vec::new() },
        counters: counters(state),
        events: Events { connected: state.events.connected, counts: state.events.counts },
        visible: Visibility::ALL.into_iter().map(|kind| visible(state, kind)).collect(),
        rules: rules.view(inspection.seen().rules.unwrap_or_default()),
        policy: policy(state, network),
    }
}

fn suricata(state: &State) -> Suricata<'_> {
    let inspection = &state.inspection;
    let seen = inspection.seen();
    Suricata {
        version: &inspection.version,
        running: seen.running && seen.answered.is_some(),
        uptime_s: if seen.running { inspection.uptime.as_secs() } else { 0 },
        restarts: inspection.restarts(),
        refused: seen.refused.as_deref().unwrap_or_default(),
    }
}

fn queues(state: &State) -> Vec<QueueView> {
    let inspection = &state.inspection;
    let placed = inspection.threads.placed();
    inspection
        .queue_numbers()
        .zip(placed)
        .enumerate()
        .map(|(index, (number, cpu))| {
            let queue = inspection.seen().queues.get(index).copied().flatten();
            QueueView {
                queue: number,
                cpu: cpu.map_or(-1, i64::from),
                bound: queue.is_some(),
                depth: queue.map_or(0, |queue| queue.depth),
                handled: queue.map_or(0, |queue| queue.handled),
                dropped: queue.map_or(0, |queue| queue.dropped()),
            }
        })
        .collect()
}

fn counters(state: &State) -> Counters {
    let inspection = &state.inspection;
    let counted = |name: &str| inspection.counter(name);
    let suricata = &inspection.counters;
    let queues = inspection.seen().queues.iter().flatten();
    let [inspected_packets, uninspected_packets] = inspection.inspected();
    Counters {
        inspected_packets,
        inspected_bytes: counted("inspected").bytes,
        uninspected_packets,
        uninspected_bytes: counted("uninspected").bytes,
        accepted: suricata.accepted,
        blocked: suricata.blocked,
        alerts: suricata.alerts,
        bypassed_flows: counted("bypassed").packets,
        spent_flows: counted("spent").packets,
        queue_drops: queues.map(ips::Queue::dropped).sum::<u64>() + suricata.capture_drops,
    }
}

fn visible(state: &State, kind: Visibility) -> VisibleView {
    let visible = &state.events.visible;
    let volume = visible.volume(kind);
    let tls = kind == Visibility::Tls;
    VisibleView {
        kind: kind.name(),
        flows: volume.flows,
        bytes: volume.bytes,
        handshakes: if tls { visible.handshakes } else { 0 },
        named: if tls { visible.named } else { 0 },
        fingerprinted: if tls { visible.fingerprinted } else { 0 },
    }
}

fn policy<'a>(state: &'a State, network: &'a network::State) -> PolicyView<'a> {
    let settings = &state.inspection.settings;
    let vlans = network.topology().links().filter_map(|link| link.kind.vlan());
    PolicyView {
        default: settings.default.name(),
        budget_bytes: settings.budget_bytes,
        budget_packets: settings.budget_packets,
        exempt: settings.exempt.iter().map(ToString::to_string).collect(),
        zones: network.firewall().zones().collect(),
        vlans: vlans.into_set().into_iter().collect(),
        policies: state.inspection.policies.iter().map(rule).collect(),
    }
}

fn rule(policy: &Policy) -> RuleView<'_> {
    RuleView {
        section: &policy.id,
        name: &policy.name,
        enabled: policy.enabled,
        src: policy.src.as_deref().unwrap_or_default(),
        dest: policy.dest.as_deref().unwrap_or_default(),
        src_vlan: policy.src_vlan.unwrap_or(0),
        dest_vlan: policy.dest_vlan.unwrap_or(0),
        action: policy.action.name(),
    }
}

#[derive(Debug, Serialize)]
pub struct News<'a> {
    last: u64,
    new: u64,
    alerts: Vec<Row<'a>>,
}

pub(crate) fn news<'a>(
    state: &'a State,
    flows: &FlowTable,
    network: &NetworkView,
    since: u64,
) -> News<'a> {
    const MAX: usize = 10;
    let filter = AlertFilter { since, ..AlertFilter::default() };
    let page = page(state, flows, network, &filter, MAX);
    News { last: page.last, new: page.last.saturating_sub(since), alerts: page.alerts }
}

fn page<'a>(
    state: &'a State,
    flows: &FlowTable,
    network: &NetworkView,
    filter: &AlertFilter,
    limit: usize,
) -> Page<'a> {
    let context = FlowContext { flows, network };
    state.events.alerts.page(filter, limit, state.events.counts.alerts, &context)
}

pub(crate) fn alerts<'a>(
    state: &'a State,
    flows: &FlowTable,
    network: &NetworkView,
    args: &Value,
) -> Result<Page<'a>, QueryError> {
    const LIMIT: usize = 100;
    const MAX: usize = 500;
    let request = Request::new("", args)?;
    let filter = request.value("filter").map_or(Ok(AlertFilter::default()), parse)?;
    let since = request.integer("since", 0, u64::MAX)?.unwrap_or(0);
    let limit = request.integer("limit", 1, MAX)?.unwrap_or(LIMIT);
    Ok(page(state, flows, network, &AlertFilter { since, ..filter }, limit))
}

fn parse(wanted: &Value) -> Result<AlertFilter, QueryError> {
    let wanted = Request::new("filter", wanted)?;
    wanted.only(&["text", "action", "severity", "address", "sid", "flow", "from_ms", "to_ms"])?;
    let blocked = |word: &str| match word {
        "blocked" => Some(true),
        "allowed" => Some(false),
        _ => None,
    };
    Ok(AlertFilter {
        text: wanted.text("text", 128)?.map(str::to_owned),
        blocked: wanted.word("action", blocked, "allowed or blocked")?,
        severity: wanted.integer("severity", 0, u32::MAX)?,
        addresses: wanted.word("address", flows::addresses, "an address")?.unwrap_or_default(),
        sid: wanted.integer("sid", 0, u32::MAX)?,
        flow: wanted.integer("flow", 0, u64::MAX)?,
        from_ms: wanted.integer("from_ms", 0, i64::MAX)?.unwrap_or(0),
        to_ms: wanted.integer("to_ms", 0, i64::MAX)?,
        since: 0,
    })
}

#[derive(Debug, Serialize)]
pub(crate) struct BlocksView {
    enabled: bool,
    time_s: u64,
    limit: u32,
    refused: u64,
    packets: u64,
    blocks: Vec<BlockView>,
}

#[derive(Debug, Serialize)]
struct BlockView {
    address: String,
    name: String,
    sid: u32,
    reason: String,
    since_ms: u64,
    until_ms: u64,
}

pub(crate) fn blocks(state: &State, network: &NetworkView, now: Now) -> BlocksView {
    let inspection = &state.inspection;
    let settings = &inspection.settings;
    let name = |address: IpAddr| network.name(address).unwrap_or_default().to_owned();
    let active = inspection.blocks.list().into_iter().filter(|b| b.until > now.mono);
    BlocksView {
        enabled: inspection.blocking(),
        time_s: settings.block_time.as_secs(),
        limit: settings.block_limit,
        refused: inspection.blocks.refused() + state.events.not_offenders,
        packets: inspection.counter("blocked").packets,
        blocks: active
            .map(|block| BlockView {
                address: block.source.brief(),
                name: name(block.source.address),
                sid: block.sid,
                reason: block.reason.clone(),
                since_ms: unix_ms(block.since, now),
                until_ms: unix_ms(block.until, now),
            })
            .collect(),
    }
}
