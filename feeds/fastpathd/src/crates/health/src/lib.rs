// SPDX-License-Identifier: GPL-2.0-or-later
//! Conditions that both the daemon's `status.health` and the doctor report, and the severities and
//! acceptance of findings. Texts and fixes belong to daemon and doctor.

mod acceptance;
mod severity;

pub use acceptance::{Acceptance, object};
use config::exposure::Exposure;
use serde::Serialize;
use serde_json::{Map, Value};
pub use severity::Severity;
use uci::Package;

config::named! {
    /// Severity in `status.health`, in ascending order.
    #[derive(PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Level {
        Notice = "notice",
        /// Slow or unsafe.
        Warning = "warning",
        /// Broken.
        Error = "error",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Code in `status.health` and id of the doctor's check.
    pub code: &'static str,
    pub level: Level,
    pub params: Map<String, Value>,
}

impl Condition {
    fn new(code: &'static str, level: Level) -> Self {
        Self { code, level, params: Map::new() }
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }
}

/// Usage of the conntrack table, in percent, above which new connections may soon be dropped.
const FULL_PERCENT: u64 = 80;

/// Reports disabled accounting (`net.netfilter.nf_conntrack_acct`): flows have no byte counts.
#[must_use]
pub fn accounting(counts: bool) -> Option<Condition> {
    (!counts).then(|| Condition::new("accounting-off", Level::Error))
}

/// Reports a conntrack table at 80 % or more of `limit`. A limit of 0 is unknown.
#[must_use]
pub fn conntrack(count: u64, limit: u64) -> Option<Condition> {
    let full = limit > 0 && count * 100 >= limit * FULL_PERCENT;
    full.then(|| {
        Condition::new("conntrack-full", Level::Warning).with("count", count).with("limit", limit)
    })
}

/// Reports that the active engine differs from the configured one.
#[must_use]
pub fn engine(wanted: &str, active: &str, why: &str) -> Option<Condition> {
    (wanted != active).then(|| {
        Condition::new("flowtable-differs", Level::Error)
            .with("wanted", wanted)
            .with("active", active)
            .with("why", why)
    })
}

#[must_use]
pub fn offloading_section(firewall: &Value) -> Option<String> {
    let package = firewall.as_object().map(Package::read)?;
    let mut defaults = package.of("defaults");
    defaults.find(|of| of.is_on("flow_offloading", false)).map(|of| of.name.clone())
}

/// Returns case and severity of degraded inspection. `state` is from the reply of `ips`.
#[must_use]
pub fn inspection(state: &str) -> Option<(&'static str, Severity)> {
    match state {
        "failing-open" => Some(("open", Severity::Error)),
        "failing-closed" => Some(("closed", Severity::Error)),
        "rules-rejected" => Some(("rejected", Severity::Error)),
        "inline-degraded" => Some(("degraded", Severity::Warning)),
        "starting" => Some(("starting", Severity::Info)),
        _ => None,
    }
}

/// Reports that fw4's own offloading is configured or in force.
#[must_use]
pub fn firewall_offload(on: bool) -> Option<Condition> {
    on.then(|| Condition::new("flowtable-fw4", Level::Warning))
}

/// Reports firewall settings that expose the router, or zones behind it, to the Internet.
#[must_use]
pub fn internet(exposures: &[Exposure]) -> Option<Condition> {
    (!exposures.is_empty()).then(|| Condition::new("system-wan-open", Level::Error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reports_a_conntrack_table_from_80_percent() {
        assert_eq!(conntrack(799, 1000), None);
        let full = conntrack(800, 1000).unwrap();
        assert_eq!((full.code, full.level), ("conntrack-full", Level::Warning));
        assert_eq!(Value::Object(full.params), json!({"count": 800, "limit": 1000}));
        assert_eq!(conntrack(5, 0), None, "the limit is unknown");
    }

    #[test]
    fn reports_the_engine_only_if_it_differs() {
        assert_eq!(engine("ebpf", "ebpf", "nft: busy"), None);
        let differs = engine("ebpf", "off", "nft: busy").unwrap();
        let params = json!({"wanted": "ebpf", "active": "off", "why": "nft: busy"});
        assert_eq!(Value::Object(differs.params), params);
    }

    #[test]
    fn names_the_section_that_enables_fw4_offloading() {
        let firewall = |value: &str| {
            let section = json!({".type": "defaults", ".name": "cfg01", "flow_offloading": value});
            json!({"cfg01": section})
        };
        assert_eq!(offloading_section(&firewall("1")).as_deref(), Some("cfg01"));
        assert_eq!(offloading_section(&firewall("0")), None);
        assert_eq!(offloading_section(&json!([1])), None);
    }
}
