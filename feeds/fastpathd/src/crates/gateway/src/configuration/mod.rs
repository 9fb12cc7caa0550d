// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps the configuration in use, and retries a refused one when the network changes.

use config::SettingsError;
use model::Engine;
use ruleset::{OnExit, Settings};
use serde_json::Value;

use crate::offload::flowtable::Source;
pub(crate) use package::Configuration;
pub use package::{FileReport, Problem};

mod package;

#[derive(Debug)]
pub enum Event {
    Read(Value),
    Unreadable(String),
    /// The configuration cannot be read yet, for this reason.
    NotYet(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read the configuration of fastpath, the firewall and SQM, and the interfaces.
    Read,
}

#[derive(Debug, Default)]
pub struct State {
    settings: Option<Settings>,
    /// Engine set with the method `engine`; cleared when the file names another engine.
    commanded: Option<Engine>,
    /// Reason for not using the configuration on disk; empty if it is in use.
    error: String,
    /// Problems of a refused configuration, or of ignored sections.
    problems: Vec<Problem>,
    /// Digest of the configuration in use; empty before the first configuration.
    digest: String,
    /// Digest of a newer configuration that is refused; empty if there is none.
    refused: String,
    /// Configuration that needs a missing device or zone; retried when the network changes.
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

    /// Overrides the engine until the file names another one.
    pub(crate) fn command(&mut self, engine: Engine) {
        self.commanded = Some(engine);
    }

    /// Returns the settings in force, and the source of their engine.
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

    /// Returns true if the daemon removes its table on exit.
    #[must_use]
    pub fn removes_on_exit(&self) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.on_exit == OnExit::Remove)
    }

    pub(crate) fn use_settings(&mut self, settings: Settings) {
        // A command survives reloads with the same engine, such as after a network change.
        if self.settings.as_ref().is_some_and(|old| old.wanted() != settings.wanted()) {
            self.commanded = None;
        }
        self.settings = Some(settings);
    }

    /// Takes the configuration that was refused for a missing device or zone, to retry it.
    pub(crate) fn take_unfit(&mut self) -> Option<Value> {
        self.unfit.take()
    }

    /// Parses `values` of the UCI package fastpath. `check` tests them against this router. Returns
    /// `None` for an unusable configuration; the previous one stays in force.
    pub(crate) fn read(
        &mut self,
        values: &Value,
        check: impl FnOnce(&Configuration) -> Result<(), SettingsError>,
    ) -> Option<Configuration> {
        self.unfit = None;
        let read = Configuration::read(values).and_then(|(read, warnings)| {
            check(&read).inspect_err(|_| self.unfit = Some(values.clone()))?;
            Ok((read, warnings))
        });
        match read {
            Ok((configuration, warnings)) => {
                for warning in &warnings {
                    log::warn!("/etc/config/fastpath: {warning}");
                }
                self.error.clear();
                self.problems = Problem::of_sections(&warnings, values);
                self.refused.clear();
                self.digest = config::digest(values);
                Some(configuration)
            }
            Err(error) => {
                self.refused = config::digest(values);
                self.problems =
                    error.problems.iter().map(|problem| Problem::of(problem, values)).collect();
                let error = error.to_string();
                if error != self.error {
                    log::error!("/etc/config/fastpath is not used: {error}");
                }
                self.error = error;
                None
            }
        }
    }

    pub(crate) fn unreadable(&mut self, why: String) {
        log::error!("/etc/config/fastpath is not used: {why}");
        self.unfit = None;
        self.refused.clear();
        self.problems = vec![Problem::of_file(&why)];
        self.error = why;
    }
}
