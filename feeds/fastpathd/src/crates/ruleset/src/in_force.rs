// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses `nft -j list table inet fastpath` and compares it with a plan: offload flag, devices,
//! comments of rules, gates. Also reads counters and blocks.

use std::collections::{BTreeMap, BTreeSet};

use config::Network;
use serde_json::Value;

use crate::block::{BlockElement, SETS};
use crate::plan::Plan;
use crate::render::own;
use crate::rules::{OWN, comments, is_gate};

/// A named counter, counting since the table was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counter {
    pub packets: u64,
    /// Bytes, from the IP header on.
    pub bytes: u64,
}

/// Our table in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InForce {
    /// Handle of the table, 0 without a table. The kernel assigns ascending handles.
    pub table: u64,
    /// Devices of the flowtable.
    pub devices: BTreeSet<String>,
    /// The router's addresses by device.
    pub own: BTreeSet<(String, String)>,
    /// True with `flags offload`; `None` if this nft does not print the flags.
    pub hardware: Option<bool>,
    /// Comments of the rules by chain, in order. A chain without rules is left out.
    pub rules: BTreeMap<String, Vec<String>>,
    /// Named counters: `inspected`, `uninspected`, `refused`, `bypassed` and `spent` with
    /// inspection, `blocked` with blocks.
    pub counters: BTreeMap<String, Counter>,
    /// Blocked sources; `None` if the table has no sets for them.
    pub blocks: Option<Vec<BlockElement>>,
}

impl InForce {
    /// Parses a listing. Missing objects stay empty and then match no plan.
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
            if let Some(own) = object.get("set").filter(|set| text(set, "name") == OWN) {
                let elements = own.get("elem").and_then(Value::as_array);
                found.own = elements.into_iter().flatten().filter_map(own_element).collect();
            }
            if let Some(set) = object.get("set").filter(|set| is_ours(set)) {
                let elements = set.get("elem").and_then(Value::as_array).into_iter().flatten();
                found.blocks.get_or_insert_default().extend(elements.filter_map(element));
            }
        }
        found
    }

    /// Reports whether the table is as planned.
    #[must_use]
    pub fn matches(&self, plan: &Plan) -> bool {
        self.differs(plan).is_none()
    }

    /// Returns the difference from the plan as text.
    pub(crate) fn differs(&self, plan: &Plan) -> Option<String> {
        self.differs_for_good(plan)
            .or_else(|| self.gate_differs(plan))
            .or_else(|| self.devices_differ(plan))
    }

    /// Returns a difference in the devices, or in the router's addresses behind them.
    pub(crate) fn devices_differ(&self, plan: &Plan) -> Option<String> {
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(", ");
        if self.devices != plan.devices {
            let (have, want) = (names(&self.devices), names(&plan.devices));
            return Some(format!("its devices are {{ {have} }} instead of {{ {want} }}"));
        }
        let (have, want) = (&self.own, &own(plan));
        (have != want).then(|| format!("the router's addresses are {have:?} instead of {want:?}"))
    }

    /// Returns the devices of the chains around the flowtable. The kernel removes missing devices
    /// from these chains, as it does from the flowtable.
    pub(crate) fn guarded(&self) -> BTreeSet<&str> {
        let devices = self.own.iter().map(|(device, _)| device);
        devices.filter(|device| self.devices.contains(*device)).map(String::as_str).collect()
    }

    /// Returns a difference that needs a new table, other than in devices and gates.
    pub(crate) fn differs_for_good(&self, plan: &Plan) -> Option<String> {
        if self.hardware.is_some_and(|hardware| hardware != plan.hardware) {
            return Some("its offload flag is not as planned".to_owned());
        }
        let want = comments(plan);
        let mut others = want.iter().filter(|(chain, _)| !is_gate(chain));
        others.find_map(|(chain, want)| self.chain_differs(chain, want))
    }

    /// Returns a difference in the gates.
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

/// Parses an element of a set. nft prints an element without timeout and comment as its address;
/// such an element is not ours.
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
        Some(Value::String(one)) => BTreeSet::from([one.clone()]),
        Some(Value::Array(many)) => {
            many.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests;
