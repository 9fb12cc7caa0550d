// SPDX-License-Identifier: GPL-2.0-or-later
//! The values found before, in `/var/run/fastpath/cpu.found`: recorded when the plan first changes
//! them, restored when it does not set them any more.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

use crate::force::{Difference, compare};
use crate::machine::{Knob, Machine};
use crate::plan::CpuPlan;
use crate::set::CpuSet;

/// The values that were there before ours. The daemon keeps it as JSON in [`Found::PATH`], which
/// does not survive a reboot, as the values do not; the file's existence also shows
/// `OpenWrt`'s packet steering to stay away (see [`crate::Steering`]).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    values: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Value {
    knob: Knob,
    cpus: CpuSet,
}

/// The file does not have the daemon's format.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the file is damaged; the settings before the plan are unknown")]
pub struct Damaged;

impl Found {
    /// Where the daemon keeps it.
    pub const PATH: &str = "/var/run/fastpath/cpu.found";

    /// Reads the format of its [`Serialize`]. Without derive: serde's generated code is far larger.
    ///
    /// # Errors
    /// When anything in it is missing or cannot be.
    pub fn read(text: &[u8]) -> Result<Self, Damaged> {
        let all: Json = serde_json::from_slice(text).map_err(|_| Damaged)?;
        let mut values = Vec::new();
        for value in all["values"].as_array().ok_or(Damaged)? {
            values.push(Value::read(value).ok_or(Damaged)?);
        }
        Ok(Self { values })
    }

    /// Remembers values that the plan is going to change and are not remembered yet, before
    /// [`crate::lines()`]. True if anything was added, so that the file is to be written.
    pub fn remember(&mut self, plan: &CpuPlan, machine: &Machine) -> bool {
        let before = self.values.len();
        for (knob, cpus) in machine.knobs() {
            let known = self.values.iter().any(|value| value.knob == knob);
            if !known && plan.wants.contains_key(&knob) {
                self.values.push(Value { knob, cpus });
            }
        }
        self.values.len() > before
    }

    /// Values to be restored, because the plan does not set them any more: of a
    /// plan that is not active, everything. Interrupts and threads that now have another name
    /// are others and left alone.
    #[must_use]
    pub fn due(&self, plan: &CpuPlan, machine: &Machine) -> Vec<Difference> {
        let given_up = self.values.iter().filter(|value| !plan.wants.contains_key(&value.knob));
        let wants: BTreeMap<Knob, CpuSet> =
            given_up.map(|value| (value.knob.clone(), value.cpus.clone())).collect();
        compare(&wants, machine)
    }

    /// Forgets restored values after they have been applied. When none are left, the file is to be
    /// removed.
    pub fn settle(&mut self, plan: &CpuPlan) {
        self.values.retain(|value| plan.wants.contains_key(&value.knob));
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl Value {
    fn read(value: &Json) -> Option<Self> {
        let (kind, of) = value["knob"].as_object()?.iter().next()?;
        let number = |name: &str| u32::try_from(of[name].as_u64()?).ok();
        let text = |name: &str| of[name].as_str().map(str::to_owned);
        let knob = match kind.as_str() {
            "irq" => Knob::Irq { irq: number("irq")?, name: text("name")? },
            "rps" => Knob::Rps { device: text("device")?, queue: number("queue")? },
            "xps" => Knob::Xps { device: text("device")?, queue: number("queue")? },
            "thread" => Knob::Thread { pid: number("pid")?, name: text("name")? },
            _ => return None,
        };
        Some(Self { knob, cpus: value["cpus"].as_str()?.parse().ok()? })
    }
}
