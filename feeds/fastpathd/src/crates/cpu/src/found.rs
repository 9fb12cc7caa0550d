// SPDX-License-Identifier: GPL-2.0-or-later
//! What was set before: remembered at the first take-over, given back when switched off.

use std::collections::BTreeMap;

use config::order;
use serde::{Deserialize, Serialize};

use crate::force::{Difference, compare};
use crate::machine::{Knob, Machine};
use crate::plan::Plan;
use crate::set::CpuSet;

/// The values that were there before ours. The daemon keeps it as JSON in [`Found::PATH`], which
/// does not survive a reboot, as the values do not; the file's being there also tells
/// `OpenWrt`'s packet steering to stay away (see [`crate::Steering`]).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    values: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    knob: Knob,
    cpus: CpuSet,
}

impl Found {
    /// Where the daemon keeps it.
    pub const PATH: &str = "/var/run/fastpath/cpu.found";

    /// Remembers what the plan is going to change and is not remembered yet, before
    /// [`crate::lines()`]. True if anything was added, so that the file is to be written.
    pub fn remember(&mut self, plan: &Plan, machine: &Machine) -> bool {
        let before = self.values.len();
        for (knob, cpus) in machine.knobs() {
            let known = self.values.iter().any(|value| value.knob == knob);
            if !known && plan.wants.contains_key(&knob) {
                self.values.push(Value { knob, cpus });
            }
        }
        self.values.len() > before
    }

    /// What is to be given back, because the plan does not want it otherwise any more: of a
    /// plan that is not active, everything. Interrupts and threads that now have another name
    /// are others and left alone.
    #[must_use]
    pub fn due(&self, plan: &Plan, machine: &Machine) -> Vec<Difference> {
        let given_up = self.values.iter().filter(|value| !plan.wants.contains_key(&value.knob));
        let wants: BTreeMap<Knob, CpuSet> =
            order::map(given_up.map(|value| (value.knob.clone(), value.cpus.clone())));
        compare(&wants, machine)
    }

    /// Forgets what was due, after it has been applied. When nothing is left, the file is to be
    /// removed.
    pub fn settle(&mut self, plan: &Plan) {
        self.values.retain(|value| plan.wants.contains_key(&value.knob));
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}
