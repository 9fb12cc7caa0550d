// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks a configuration against this router, and passes it to all subsystems.

use config::SettingsError;
use serde_json::Value;

use crate::configuration::{Configuration, Event};
use crate::core::Core;
use crate::effect::Effect;

impl Core {
    pub(crate) fn configuration_event(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Read(values) => return self.configuration_read(&values),
            Event::Unreadable(why) => self.configuration.unreadable(why),
            Event::NotYet(why) => log::debug!("{why}"),
        }
        Vec::new()
    }

    /// Applies `values` of the UCI package fastpath if this router can use them.
    pub(crate) fn configuration_read(&mut self, values: &Value) -> Vec<Effect> {
        let (network, cpu) = (&self.network, &self.cpu);
        let read = self.configuration.read(values, |read| check(read, network, cpu));
        read.map(|configuration| self.use_configuration(&configuration)).unwrap_or_default()
    }

    fn use_configuration(&mut self, configuration: &Configuration) -> Vec<Effect> {
        let inspection = configuration.ips.enabled;
        self.doctor.read_again();
        self.conntrack.set_min_refresh(configuration.main.refresh);
        self.conntrack.flows_mut().count_hosts(configuration.main.metrics_hosts);
        self.history.configure(configuration.main.history, configuration.main.history_probes);
        self.configuration.use_settings(configuration.main.clone());
        let mut effects: Vec<Effect> =
            self.configure_ips(&configuration.ips, &configuration.main).into_iter().collect();
        self.cpu.configure(&configuration.cpu, inspection);
        self.latency.configure(&configuration.latency);
        let rules = self.rules.configure(&configuration.rules, inspection, self.now.unix_ms);
        effects.extend(rules.map(Effect::from));
        effects.extend(self.configure_export(&configuration.exports));
        self.devices.configure(&configuration.devices, self.network.topology());
        effects.extend(self.replan());
        effects
    }

    /// Replans after a network change, and retries a configuration that was refused.
    pub(crate) fn replan_for_network(&mut self) -> Vec<Effect> {
        let mut effects = self.replan();
        if let Some(values) = self.configuration.take_unfit() {
            effects.extend(self.configuration_read(&values));
        }
        effects
    }
}

/// Checks that the configured zones, ports and CPUs exist, once the router's are known.
fn check(
    configuration: &Configuration,
    network: &crate::network::State,
    cpu: &crate::cpu::State,
) -> Result<(), SettingsError> {
    let mut problems = Vec::new();
    if network.zones_known() {
        problems.extend(crate::ips::check(&configuration.main.policies, &network.segments()));
    }
    if network.is_known() {
        problems.extend(ips::check_mode(&configuration.ips, &network.ports()).err());
    }
    problems.extend(cpu.check(&configuration.cpu, configuration.ips.enabled));
    if problems.is_empty() { Ok(()) } else { Err(SettingsError { problems }) }
}

#[cfg(test)]
mod tests;
