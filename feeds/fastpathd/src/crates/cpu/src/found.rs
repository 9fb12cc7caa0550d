// SPDX-License-Identifier: GPL-2.0-or-later
//! Values from before the plan, in `/var/run/fastpath/cpu.found`: recorded before the plan changes
//! them, and restored when the plan stops setting them.

use config::sort::Collect;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

use crate::force::{Difference, compare};
use crate::machine::{Knob, Machine};
use crate::plan::CpuPlan;
use crate::set::CpuSet;

/// Values from before the plan, stored as JSON in [`Found::PATH`]. The file is lost at reboot, as
/// are the kernel's values. Its existence also suspends `OpenWrt`'s packet steering (see
/// [`crate::Steering`]).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    values: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Value {
    knob: Knob,
    cpus: CpuSet,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the file is damaged; the settings before the plan are unknown")]
pub struct Damaged;

impl Found {
    pub const PATH: &str = "/var/run/fastpath/cpu.found";

    /// Parses the file without serde's derived code, which is far larger.
    pub fn read(text: &[u8]) -> Result<Self, Damaged> {
        let all: Json = serde_json::from_slice(text).map_err(|_| Damaged)?;
        let mut values = Vec::new();
        for value in all["values"].as_array().ok_or(Damaged)? {
            values.push(Value::read(value).ok_or(Damaged)?);
        }
        Ok(Self { values })
    }

    /// Records values that the plan is about to change. Returns whether the file must be written.
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

    /// Returns the values to restore because the plan stopped setting them; all of them for an
    /// inactive plan. Skips interrupts and threads whose name has changed.
    #[must_use]
    pub fn due(&self, plan: &CpuPlan, machine: &Machine) -> Vec<Difference> {
        let released = self.values.iter().filter(|value| !plan.wants.contains_key(&value.knob));
        let wants: BTreeMap<Knob, CpuSet> =
            released.map(|value| (value.knob.clone(), value.cpus.clone())).into_map();
        compare(&wants, machine)
    }

    /// Drops restored values. The caller removes the file if [`Found::is_empty`] afterwards.
    pub fn settle(&mut self, plan: &CpuPlan) {
        self.values.retain(|value| plan.wants.contains_key(&value.knob));
    }

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
