// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses `nft -j list table inet fastpath` and compares it with a plan.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};

use config::Network;
use serde_json::Value;

use crate::block::{BlockElement, SETS};
use crate::paused;
use crate::plan::Plan;
use crate::render::own;
use crate::rules::{OWN, comments, is_gate};

/// A named counter; 0 when the table is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counter {
    pub packets: u64,
    /// Bytes, from the IP header on.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InForce {
    /// Handle of the table, 0 without a table; ascending.
    pub table: u64,
    pub devices: BTreeSet<String>,
    pub own: BTreeSet<(String, String)>,
    /// Sets and maps of hosts, and their elements.
    pub hosts: BTreeSet<(&'static str, String)>,
    /// `flags offload` is set; `None` if nft does not print the flags.
    pub hardware: Option<bool>,
    /// Comments of the rules by chain, in order; omits chains without rules.
    pub rules: BTreeMap<String, Vec<String>>,
    /// With inspection `inspected`, `uninspected`, `refused`, `bypassed` and `spent`, with blocks
    /// `blocked`.
    pub counters: BTreeMap<String, Counter>,
    /// Blocked sources; `None` if the table has no sets for them.
    pub blocks: Option<Vec<BlockElement>>,
}

impl InForce {
    /// Parses a listing; missing objects are empty and match no plan.
    #[must_use]
    pub fn parse(listing: &Value) -> Self {
        let mut found = Self::default();
        let objects = listing.get("nftables").and_then(Value::as_array);
        for object in objects.into_iter().flatten() {
            if let Some(table) = object.get("table") {
                found.table = number(table, "handle");
            }
            if let Some(flowtable) = object.get("flowtable") {
                found.devices = texts(flowtable.get("dev"));
                // nft up to at least 1.1.3 does not print the flags of a flowtable.
                found.hardware =
                    flowtable.get("flags").map(|flags| texts(Some(flags)).contains("offload"));
            }
            if let Some(rule) = object.get("rule") {
                let chain = text(rule, "chain").to_owned();
                found.rules.entry(chain).or_default().push(text(rule, "comment").to_owned());
            }
            if let Some(counter) = object.get("counter") {
                let [packets, bytes] = ["packets", "bytes"].map(|unit| number(counter, unit));
                let counted = Counter { packets, bytes };
                found.counters.insert(text(counter, "name").to_owned(), counted);
            }
            let set = object.get("set").or_else(|| object.get("map"));
            found.hosts.extend(set.map(paused::parse).unwrap_or_default());
            if let Some(own) = object.get("set").filter(|set| text(set, "name") == OWN) {
                let elements = own.get("elem").and_then(Value::as_array);
                found.own = elements.into_iter().flatten().filter_map(own_element).into_set();
            }
            if let Some(set) = object.get("set").filter(|set| is_ours(set)) {
                let elements = set.get("elem").and_then(Value::as_array).into_iter().flatten();
                found.blocks.get_or_insert_default().extend(elements.filter_map(element));
            }
        }
        found
    }

    #[must_use]
    pub fn matches(&self, plan: &Plan) -> bool {
        self.differs(plan).is_none()
    }

    pub(crate) fn differs(&self, plan: &Plan) -> Option<String> {
        self.rules_differ(plan)
            .or_else(|| self.gate_differs(plan))
            .or_else(|| self.devices_differ(plan))
    }

    pub(crate) fn devices_differ(&self, plan: &Plan) -> Option<String> {
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(", ");
        if self.devices != plan.devices {
            let (have, want) = (names(&self.devices), names(&plan.devices));
            return Some(format!("its devices are {{ {have} }} instead of {{ {want} }}"));
        }
        let (have, want) = (&self.own, &own(plan));
        if have != want {
            return Some(format!("the router's addresses are {have:?} instead of {want:?}"));
        }
        let (have, want) = (&self.hosts, &paused::elements(plan));
        (have != want).then(|| format!("the sets of hosts are {have:?} instead of {want:?}"))
    }

    /// Returns the devices of the ingress chains. The kernel removes missing devices from them.
    pub(crate) fn guarded(&self) -> BTreeSet<&str> {
        let devices = self.own.iter().map(|(device, _)| device);
        devices.filter(|device| self.devices.contains(*device)).map(String::as_str).into_set()
    }

    /// Returns a difference other than in devices and gates, which needs a new table.
    pub(crate) fn rules_differ(&self, plan: &Plan) -> Option<String> {
        if self.hardware.is_some_and(|hardware| hardware != plan.hardware) {
            return Some("its offload flag is not as planned".to_owned());
        }
        let want = comments(plan);
        let mut others = want.iter().filter(|(chain, _)| !is_gate(chain));
        others.find_map(|(chain, want)| self.chain_differs(chain, want))
    }

    pub(crate) fn gate_differs(&self, plan: &Plan) -> Option<String> {
        let want = comments(plan);
        let mut gates = want.iter().filter(|(chain, _)| is_gate(chain));
        gates.find_map(|(chain, want)| self.chain_differs(chain, want))
    }

    fn chain_differs(&self, chain: &str, want: &[String]) -> Option<String> {
        let have = self.rules.get(chain).map(Vec::as_slice).unwrap_or_default();
        (have != want).then(|| format!("the rules of {chain} are {have:?} instead of {want:?}"))
    }
}

fn own_element(element: &Value) -> Option<(String, String)> {
    let both = element.get("concat")?.as_array()?;
    let [device, mac] = both.as_slice() else { return None };
    Some((device.as_str()?.to_owned(), mac.as_str()?.to_owned()))
}

fn is_ours(set: &Value) -> bool {
    SETS.iter().any(|(name, _)| *name == text(set, "name"))
}

/// Parses an element of a set. nft prints an element without timeout and comment as an address;
/// such elements belong to other programs.
fn element(element: &Value) -> Option<BlockElement> {
    let element = element.get("elem")?;
    let seconds = |key| number(element, key).try_into().unwrap_or(u32::MAX);
    Some(BlockElement {
        source: source(element.get("val")?)?,
        seconds: seconds("timeout"),
        left: seconds("expires"),
        comment: text(element, "comment").to_owned(),
    })
}

/// Parses an address or `{"prefix": {"addr": …, "len": …}}`.
fn source(value: &Value) -> Option<Network> {
    let Some(prefix) = value.get("prefix") else {
        return value.as_str()?.parse().ok().map(Network::host);
    };
    Network::of(text(prefix, "addr").parse().ok()?, number(prefix, "len").try_into().ok()?)
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(object: &Value, key: &str) -> u64 {
    object.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// Returns the texts of a list. nft prints a list with one element as the element.
fn texts(value: Option<&Value>) -> BTreeSet<String> {
    match value {
        Some(Value::String(one)) => std::iter::once(one.clone()).into_set(),
        Some(Value::Array(many)) => {
            many.iter().filter_map(Value::as_str).map(str::to_owned).into_set()
        }
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests;
