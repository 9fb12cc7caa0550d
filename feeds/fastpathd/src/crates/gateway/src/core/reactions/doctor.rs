// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the doctor after changes of the router's state.

use crate::core::Core;
use crate::doctor::{Event, Marks};
use crate::effect::Effect as AnyEffect;

impl Core {
    /// Returns the engine, the inspection state and the WAN states, on which checks depend.
    fn router_state(&self) -> String {
        let engine = self.offload.flowtable().active().name();
        let inspection = self.ips.inspection().condition().state.name();
        let wans = self.network.wans(self.sys.rates(), self.now);
        let up = wans.iter().map(|wan| format!(" {} {}", wan.name, wan.up));
        format!("{engine} {inspection}{}", up.collect::<String>())
    }

    pub(crate) fn doctor_second(&mut self, marks: Marks) -> Vec<AnyEffect> {
        let cpus = self.sys.load();
        #[expect(clippy::cast_precision_loss, reason = "a router has few CPUs")]
        let load = cpus.iter().map(|cpu| cpu.busy).sum::<f64>() / cpus.len().max(1) as f64;
        let effects = self.doctor.second(marks, self.router_state(), load, self.now.mono);
        effects.into_iter().map(Into::into).collect()
    }

    pub(crate) fn doctor_event(&mut self, event: Event) -> Vec<AnyEffect> {
        self.doctor.event(event, self.now);
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
