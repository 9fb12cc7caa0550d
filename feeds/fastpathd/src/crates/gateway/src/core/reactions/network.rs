// SPDX-License-Identifier: GPL-2.0-or-later
//! Reacts to changes of the network: routes and queues of flows, plans, and hosts that move.

use serde_json::Value;
use topology::{Change, RouteAnswer, RouteBatch, RouteQuery};

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::network::{Changed, Effect, Event};

impl Core {
    pub(crate) fn network_event(&mut self, event: Event) -> Vec<AnyEffect> {
        let mut effects = match event {
            Event::Changed(changes) => self.network_changed(changes),
            Event::InterfacesChanged => vec![Effect::ReadInterfaces.into()],
            Event::Interfaces(dump) => self.interfaces_read(&dump),
            Event::Firewall(values) => {
                self.firewall_read(&values);
                Vec::new()
            }
            Event::Reservations(values) => {
                self.network.reservations_read(&values);
                Vec::new()
            }
            Event::Lines(values) => {
                self.network.lines_read(&values);
                Vec::new()
            }
            Event::RoutesAnswered(batch, answers) => self.routes_answered(&batch, answers),
            Event::SsidsSwitched(result) => {
                self.devices.ssids.switched(result, self.now.mono);
                Vec::new()
            }
        };
        effects.extend(self.network.ask_routes().map(AnyEffect::from));
        effects.extend(self.flows_strayed());
        effects
    }

    pub(crate) fn firewall_read(&mut self, values: &Value) {
        self.network.firewall_read(values);
    }

    pub(crate) fn interfaces_read(&mut self, dump: &Value) -> Vec<AnyEffect> {
        // Policies name zones, and the devices of a zone may have changed, so replan.
        if self.network.interfaces_read(dump, self.now) {
            self.replan_for_network()
        } else {
            Vec::new()
        }
    }

    pub(crate) fn roaming_second(&mut self) -> Vec<AnyEffect> {
        if self.network.roaming_second(self.now) { self.replan() } else { Vec::new() }
    }

    pub(crate) fn mtu6_second(&mut self, read: &[(String, u32)]) -> Vec<AnyEffect> {
        let changes = self.network.mtu6_changes(read);
        if changes.is_empty() { Vec::new() } else { self.network_changed(changes) }
    }

    pub(crate) fn network_changed(&mut self, changes: Vec<Change>) -> Vec<AnyEffect> {
        let Some(Changed { dependencies, moved, rerouted, in_flowtable, shrunk }) =
            self.network.change(changes, self.now)
        else {
            return Vec::new();
        };
        // Mark flows first: until their entries are removed, packets take the wrong route.
        if rerouted {
            self.conntrack.flows_mut().routes_changed(self.now, self.network.view());
        }
        let mut effects = self.dependencies_changed(&dependencies);
        effects.extend(self.replan_for_network());
        let (topology, flows) = (self.network.topology(), self.conntrack.flows());
        let renewals = [
            self.offload.stations_moved(&moved, topology, flows, self.now),
            self.offload.rerouted(&in_flowtable, flows, self.now),
            shrunk.then(|| self.offload.mtu_shrunk(flows, self.now)).flatten(),
        ];
        effects.extend(renewals.into_iter().flatten().map(AnyEffect::from));
        effects
    }

    /// Handles the kernel's answers to route lookups; `None` if the lookups failed. Rerouted flows
    /// leave the engine, and flows that waited for an answer may be offloaded.
    pub(crate) fn routes_answered(
        &mut self,
        batch: &RouteBatch,
        answers: Option<Vec<(RouteQuery, RouteAnswer)>>,
    ) -> Vec<AnyEffect> {
        let moved = self.network.routes_answered(batch, answers);
        let flows = self.conntrack.flows_mut();
        if moved {
            flows.routes_changed(self.now, self.network.view());
        }
        flows.routes_answered(self.now, self.network.view());
        self.serve_ebpf()
    }
}

#[cfg(test)]
mod tests;
