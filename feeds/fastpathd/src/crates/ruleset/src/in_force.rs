// SPDX-License-Identifier: GPL-2.0-or-later
//! What is in the kernel, as nft tells it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::plan::Plan;
use crate::render::comments;

/// What of ours is in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InForce {
    /// Devices of the flowtable.
    pub devices: BTreeSet<String>,
    /// The flowtable has `flags offload`; none where this nft does not tell.
    pub hardware: Option<bool>,
    /// Comments of the rules of our chain, in order.
    pub rules: Vec<String>,
}

impl InForce {
    /// Reads `nft -j list table inet fastpath`. What it lacks is empty: then it matches no
    /// plan.
    #[must_use]
    pub fn parse(listing: &Value) -> Self {
        let mut found = Self::default();
        let objects = listing.get("nftables").and_then(Value::as_array);
        for object in objects.into_iter().flatten() {
            if let Some(flowtable) = object.get("flowtable") {
                found.devices = texts(flowtable.get("dev"));
                // nft up to 1.1.3 at least prints no flags of a flowtable.
                found.hardware =
                    flowtable.get("flags").map(|flags| texts(Some(flags)).contains("offload"));
            }
            if let Some(rule) = object.get("rule").filter(|rule| of_our_chain(rule)) {
                let comment = rule.get("comment").and_then(Value::as_str);
                found.rules.push(comment.unwrap_or_default().to_owned());
            }
        }
        found
    }

    /// Whether this is what the plan asks for.
    #[must_use]
    pub fn matches(&self, plan: &Plan) -> bool {
        self.differs(plan).is_none()
    }

    /// What differs from the plan, in words; none if nothing does.
    pub(crate) fn differs(&self, plan: &Plan) -> Option<String> {
        if let Some(what) = self.differs_but_for_devices(plan) {
            return Some(what);
        }
        (self.devices != plan.devices).then(|| {
            let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(", ");
            let (have, want) = (names(&self.devices), names(&plan.devices));
            format!("its devices are {{ {have} }} instead of {{ {want} }}")
        })
    }

    pub(crate) fn differs_but_for_devices(&self, plan: &Plan) -> Option<String> {
        if self.hardware.is_some_and(|hardware| hardware != plan.hardware) {
            return Some("its flag offload is not as planned".to_owned());
        }
        let want = comments(plan);
        (self.rules != want).then(|| format!("its rules are {:?} instead of {want:?}", self.rules))
    }
}

fn of_our_chain(rule: &Value) -> bool {
    rule.get("chain").and_then(Value::as_str) == Some("fastpath")
}

/// nft prints a list of one as the one.
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
#[path = "in_force_tests.rs"]
mod tests;
