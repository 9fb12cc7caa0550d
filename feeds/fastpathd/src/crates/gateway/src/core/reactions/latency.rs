// SPDX-License-Identifier: GPL-2.0-or-later
//! Plans the queues of the WAN, and reports the devices with our CAKE filters to the eBPF engine.

use ::latency::{Applied, Failure};
use model::Engine;

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::latency::{Event, PlanInputs};

impl Core {
    pub(crate) fn latency_event(&mut self, event: Event) -> Vec<AnyEffect> {
        match event {
            Event::Sqm(values) => {
                self.latency.set_sqm(&values);
                self.plan_latency().into_iter().collect()
            }
            Event::Done(result) => self.latency_done(result),
        }
    }

    pub(crate) fn latency_done(&mut self, result: Result<Applied, Failure>) -> Vec<AnyEffect> {
        let next = self.latency.done(result, self.now);
        let (feeds, topology) = (self.latency.hosts(), self.network.topology());
        self.offload.ebpf_mut().set_feeds_cake(feeds, topology, self.now);
        let mut effects: Vec<AnyEffect> = next.into_iter().map(Into::into).collect();
        effects.extend(self.serve_ebpf());
        effects
    }

    pub(crate) fn plan_latency(&mut self) -> Option<AnyEffect> {
        if !self.network.is_complete(self.now) {
            return None;
        }
        let engine = self.configuration.effective().map(|(settings, _)| settings.wanted());
        let inputs = PlanInputs {
            firewall: self.network.firewall(),
            interfaces: self.network.view().interfaces(),
            topology: self.network.topology(),
            hardware: engine == Some(Engine::FlowtableHw) && !self.offload.hardware_is_unused(),
        };
        self.latency.plan(inputs, self.now).map(AnyEffect::from)
    }

    pub(crate) fn latency_second(&mut self) -> Option<AnyEffect> {
        if !self.latency.is_planned() {
            return self.plan_latency();
        }
        self.latency.second(self.now).map(AnyEffect::from)
    }
}

#[cfg(test)]
mod tests;
