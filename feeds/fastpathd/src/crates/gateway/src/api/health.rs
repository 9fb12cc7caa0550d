// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the findings of `status.health`. Crate `health` evaluates those that the doctor shares.

use config::exposure::Exposure;
use health::{Condition, Level};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::api::Subsystems;
use crate::configuration::Problem;
use crate::doctor::{Doctor, Summary};
use crate::network::wan::{Hindrance, Wan};

/// A finding of the API. `code` is the check's id if the doctor checks the same fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) code: &'static str,
    pub(crate) level: Level,
    pub(crate) params: Map<String, Value>,
    /// English text; the page translates by `code` and `params`.
    pub(crate) text: String,
    /// Exposures of `system-wan-open`; empty for other findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) open: Vec<Open>,
}

/// A zone, or the router itself, that is open to the Internet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Open {
    /// Source zone, which leads to the Internet.
    pub(crate) zone: String,
    /// Reachable zone; `*` for every zone, empty for the router itself.
    pub(crate) to: String,
}

impl Finding {
    fn of(condition: Condition, text: String) -> Self {
        let Condition { code, level, params } = condition;
        Self { code, level, params, text, open: Vec::new() }
    }
}

/// Returns all findings, worst first.
pub(crate) fn findings(state: Subsystems<'_>, wans: &[Wan]) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(open_to_internet(&state.network.firewall().exposures));
    let configuration = state.configuration;
    found.extend(refused(configuration.error()).or_else(|| left_out(configuration.problems())));
    found.extend(shared(state));
    let mut add = |code, level, params: Value, text: String| {
        let params = if let Value::Object(params) = params { params } else { Map::new() };
        found.push(Finding { code, level, params, text, open: Vec::new() });
    };
    let engine = state.offload.flowtable().report(state.now);
    let differs = engine.wanted != engine.active;
    let is_configured = state.configuration.settings().is_some();
    if is_configured && !engine.why.is_empty() && state.offload.flowtable().is_settled() && !differs
    {
        let text = format!("The last change was refused: {}", engine.why);
        add("nft-refused", Level::Error, json!({"why": engine.why}), text);
    }
    let missing = state.offload.ebpf().why();
    if !missing.text.is_empty() && engine.wanted == engine.active {
        let text = format!("Not every device has an eBPF program: {missing}");
        let (codes, mut params) = (missing.codes(), missing.params);
        params.insert("inner".to_owned(), codes.into());
        params.insert("why".to_owned(), missing.text.into());
        add("ebpf-partly", Level::Warning, params.into(), text);
    }
    if state.sys.facts().forwarding == Some(false) {
        let text = "Forwarding of IPv4 is off (net.ipv4.ip_forward).";
        add("forwarding-off", Level::Warning, Value::Null, text.to_owned());
    }
    for wan in wans.iter().filter(|w| !w.up) {
        let name = &wan.name;
        let params = json!({"name": name, "port": wan.port, "hindrance": wan.hindrance,
            "device": wan.device, "error": wan.error});
        let (problem, level) = match wan.hindrance {
            Hindrance::Disconnected => ("wan-disconnected", Level::Warning),
            Hindrance::None | Hindrance::PortDown | Hindrance::NoLink | Hindrance::Failed => {
                ("wan-down", Level::Error)
            }
        };
        add(problem, level, params, format!("{name} is {}", wan.why_down()));
    }
    let resyncs = state.conntrack.refresh().resyncs();
    if state.conntrack.refresh().lost_lately(state.now.mono) {
        let text = format!(
            "Connection events were lost {resyncs} times since the start; everything was read \
             again."
        );
        add("resync", Level::Notice, json!({"n": resyncs}), text);
    }
    let unlisted = state.conntrack.flows().unlisted();
    if unlisted > 0 {
        let text = format!("The flow table is full: {unlisted} connections are not in it.");
        add("flows-full", Level::Warning, json!({"n": unlisted}), text);
    }
    config::sort::by_key(&mut found, |f| std::cmp::Reverse(f.level));
    found
}

pub(crate) fn doctor(state: Subsystems<'_>, conditions: &[Finding]) -> Doctor {
    state.doctor.answer(doctor_summary(state, conditions))
}

pub(crate) fn doctor_summary(state: Subsystems<'_>, conditions: &[Finding]) -> Option<Summary> {
    state.doctor.summary(|id| has_ended(state, id, conditions))
}

/// Returns true if the finding has ended. Only for checks that the daemon evaluates itself.
fn has_ended(state: Subsystems<'_>, id: &str, conditions: &[Finding]) -> bool {
    match id {
        "accounting-off" | "conntrack-full" | "flowtable-differs" | "flowtable-fw4" => {
            conditions.iter().all(|condition| condition.code != id)
        }
        "ips-away" => {
            let state = state.ips.inspection().condition().state;
            health::inspection(state.name()).is_none()
        }
        "latency-missing" => !state.latency.is_missing(),
        // The daemon is running if it answers.
        "system-daemon" => true,
        _ => false,
    }
}

/// Returns `config-refused`; `None` if `why` is empty.
fn refused(why: &str) -> Option<Finding> {
    let text = format!("/etc/config/fastpath is not used: {why}");
    let params = Map::from_iter([("why".to_owned(), why.into())]);
    let condition = Condition { code: "config-refused", level: Level::Error, params };
    (!why.is_empty()).then(|| Finding::of(condition, text))
}

/// Returns `config-left-out` if sections of the configuration are ignored.
fn left_out(problems: &[Problem]) -> Option<Finding> {
    let why = problems.iter().map(|problem| &*problem.text).collect::<Vec<_>>().join("; ");
    let text = format!("/etc/config/fastpath is used without a section: {why}");
    let params = Map::from_iter([("why".to_owned(), why.into())]);
    let condition = Condition { code: "config-left-out", level: Level::Warning, params };
    (!problems.is_empty()).then(|| Finding::of(condition, text))
}

/// Returns the findings that the doctor also reports; both call the same functions.
fn shared(state: Subsystems<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |condition: Option<Condition>, text: String| {
        found.extend(condition.map(|condition| Finding::of(condition, text)));
    };
    let engine = state.offload.flowtable().report(state.now);
    if state.configuration.settings().is_some() && state.offload.flowtable().is_settled() {
        let (wanted, active) = (engine.wanted, engine.active);
        let text = format!("The engine is {active} although {wanted} is wanted: {}", engine.why);
        add(health::engine(wanted, active, &engine.why), text);
    }
    let facts = state.sys.facts();
    let text = "Connection accounting is off: flows have no byte counts and no rates. Set \
                net.netfilter.nf_conntrack_acct to 1.";
    add(health::accounting(facts.accounting != Some(false)), text.to_owned());
    let text = "The firewall's own flow offloading is on; its rule comes first and takes flows \
                away from ours. Set flow_offloading to 0 in /etc/config/firewall.";
    add(health::firewall_offload(state.network.firewall().own_offload), text.to_owned());
    let (count, limit) = (state.conntrack_total(), facts.conntrack_max);
    let text = format!("Conntrack is nearly full: {count} of {limit}.");
    add(health::conntrack(count, limit), text);
    found
}

/// Returns `system-wan-open` if firewall policies or rules admit the whole Internet.
fn open_to_internet(exposures: &[Exposure]) -> Option<Finding> {
    let condition = health::internet(exposures)?;
    let mut open = Vec::new();
    for Exposure { zone, opening, section: _, kind: _, packets: _ } in exposures {
        let found = Open { zone: zone.clone(), to: opening.target().to_owned() };
        if !open.contains(&found) {
            open.push(found);
        }
    }
    let reachable = |open: &Open| match open.to.as_str() {
        "" => format!("the router itself from zone {}", open.zone),
        "*" => format!("every zone from zone {}", open.zone),
        to => format!("zone {to} from zone {}", open.zone),
    };
    let reached: Vec<String> = open.iter().map(reachable).collect();
    let text = format!(
        "Open to the Internet: anybody there reaches {}. Close it in the firewall.",
        reached.join(", ")
    );
    Some(Finding { open, ..Finding::of(condition, text) })
}
