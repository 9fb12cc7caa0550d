// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps the configuration in use. Refuses a configuration that needs missing zones, ports or CPUs,
//! and retries it when the network changes.

use config::SettingsError;
use model::Engine;
use ruleset::{OnExit, Settings};
use serde_json::Value;

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::offload::flowtable::Source;
use package::Configuration;
pub use package::{FileReport, Problem};

mod package;
#[cfg(test)]
mod tests;

/// Outcome of an attempt to read the configuration.
#[derive(Debug)]
pub enum Event {
    /// Values of the UCI package fastpath.
    Read(Value),
    /// The configuration cannot be read, for this reason.
    Unreadable(String),
    /// The configuration cannot be read yet, for this reason.
    NotYet(String),
}

/// A request to rpcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read the configuration of fastpath, the firewall and SQM, and the interfaces.
    Read,
}

#[derive(Debug, Default)]
pub struct State {
    settings: Option<Settings>,
    /// Engine set by command. A new engine in the file clears it.
    commanded: Option<Engine>,
    /// Why the configuration on disk is not used; empty if it is.
    error: String,
    /// Problems of a configuration that is not used, or of ignored sections.
    problems: Vec<Problem>,
    /// Digest of the configuration in use; empty before the first configuration.
    digest: String,
    /// Digest of a newer configuration that is refused; empty if there is none.
    refused: String,
    /// Configuration that needs a device or zone that does not exist yet; retried later.
    unfit: Option<Value>,
}

impl State {
    #[must_use]
    pub fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref()
    }

    #[must_use]
    pub fn error(&self) -> &str {
        &self.error
    }

    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    pub(crate) fn refused(&self) -> &str {
        &self.refused
    }

    /// Sets the engine until the file names another one.
    pub(crate) fn command(&mut self, engine: Engine) {
        self.commanded = Some(engine);
    }

    /// Returns the settings with the engine set by command, if any, and the source of the engine.
    pub(crate) fn effective(&self) -> Option<(Settings, Source)> {
        let mut settings = self.settings.clone()?;
        let source = match self.commanded {
            Some(engine) => {
                settings.enabled = true;
                settings.engine = engine;
                Source::Command
            }
            None => Source::Config,
        };
        Some((settings, source))
    }

    /// Returns true if the daemon removes its table when it ends.
    #[must_use]
    pub fn removes_on_exit(&self) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.on_exit == OnExit::Remove)
    }

    fn use_settings(&mut self, settings: Settings) {
        // A new engine in the file overrides an earlier command. A reload for another reason, such
        // as a network change, does not.
        if self.settings.as_ref().is_some_and(|old| old.wanted() != settings.wanted()) {
            self.commanded = None;
        }
        self.settings = Some(settings);
    }
}

impl Core {
    pub fn configuration_event(&mut self, event: Event) -> Vec<AnyEffect> {
        match event {
            Event::Read(values) => self.configuration_read(&values),
            Event::Unreadable(why) => {
                self.configuration_unreadable(why);
                Vec::new()
            }
            Event::NotYet(why) => {
                log::debug!("{why}");
                Vec::new()
            }
        }
    }

    /// Applies the `values` of UCI package fastpath. An unusable configuration changes nothing and
    /// is reported until a usable one is read, or until the missing devices exist.
    pub(crate) fn configuration_read(&mut self, values: &Value) -> Vec<AnyEffect> {
        self.configuration.unfit = None;
        let read = Configuration::read(values).and_then(|(read, warnings)| {
            self.check(&read).inspect_err(|_| self.configuration.unfit = Some(values.clone()))?;
            Ok((read, warnings))
        });
        match read {
            Ok((configuration, warnings)) => {
                for warning in &warnings {
                    log::warn!("/etc/config/fastpath: {warning}");
                }
                self.configuration.error.clear();
                self.configuration.problems = Problem::of_sections(&warnings, values);
                self.configuration.refused.clear();
                self.configuration.digest = config::digest(values);
                self.use_configuration(&configuration)
            }
            Err(error) => {
                self.configuration.refused = config::digest(values);
                self.configuration.problems =
                    error.problems.iter().map(|problem| Problem::of(problem, values)).collect();
                let error = error.to_string();
                if error != self.configuration.error {
                    log::error!("/etc/config/fastpath is not used: {error}");
                }
                self.configuration.error = error;
                Vec::new()
            }
        }
    }

    /// Reports a configuration that cannot be read.
    pub(crate) fn configuration_unreadable(&mut self, why: String) {
        log::error!("/etc/config/fastpath is not used: {why}");
        self.configuration.unfit = None;
        self.configuration.refused.clear();
        self.configuration.problems = vec![Problem::of_file(&why)];
        self.configuration.error = why;
    }

    /// Checks that this router has the zones, ports and CPUs; unknown ones are assumed to exist.
    fn check(&self, configuration: &Configuration) -> Result<(), SettingsError> {
        let mut problems = Vec::new();
        if self.network.zones_known() {
            let places = self.network.places();
            problems.extend(crate::ips::check(&configuration.main.policies, &places));
        }
        if self.network.is_known() {
            problems.extend(ips::check_mode(&configuration.ips, &self.network.ports()).err());
        }
        problems.extend(self.cpu.check(&configuration.cpu, configuration.ips.enabled));
        if problems.is_empty() { Ok(()) } else { Err(SettingsError { problems }) }
    }

    fn use_configuration(&mut self, configuration: &Configuration) -> Vec<AnyEffect> {
        let inspection = configuration.ips.enabled;
        self.doctor.read_again();
        self.conntrack.set_shortest_refresh(configuration.main.refresh);
        self.conntrack.flows_mut().count_hosts(configuration.main.metrics_hosts);
        self.configuration.use_settings(configuration.main.clone());
        let mut effects: Vec<AnyEffect> =
            self.configure_ips(&configuration.ips, &configuration.main).into_iter().collect();
        self.cpu.configure(&configuration.cpu, inspection);
        self.latency.configure(&configuration.latency);
        self.rules.configure(&configuration.rules, inspection, self.now.unix_ms);
        effects.extend(self.configure_export(&configuration.exports));
        effects.extend(self.replan());
        effects
    }

    /// Replans for the changed network, and retries a configuration that did not fit.
    pub(crate) fn replan_for_network(&mut self) -> Vec<AnyEffect> {
        let mut effects = self.replan();
        if let Some(values) = self.configuration.unfit.take() {
            effects.extend(self.configuration_read(&values));
        }
        effects
    }
}
