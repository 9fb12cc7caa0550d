// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads all sections of `/etc/config/fastpath`, and formats problems for the API and `--check
//! --json`. Each section's options and defaults are in the `settings.rs` of its crate.

use config::{Package, SettingsError};
use health::Acceptance;
use model::InspectionMode;
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Configuration {
    pub(crate) main: ruleset::Settings,
    pub(crate) ips: ips::Settings,
    pub(crate) cpu: cpu::Settings,
    pub(crate) latency: latency::Settings,
    pub(crate) rules: rules::Settings,
    pub(crate) exports: Vec<crate::export::Settings>,
    pub(crate) devices: crate::devices::settings::Settings,
}

impl Configuration {
    /// Parses `values` of `fastpath.config get`. The warnings name ignored options.
    pub(crate) fn read(values: &Value) -> Result<(Self, Vec<config::Problem>), SettingsError> {
        let mut package = Package::new(values)?;
        let configuration = Self {
            main: ruleset::Settings::read(&mut package),
            ips: ips::Settings::read(&mut package),
            cpu: cpu::Settings::read(&mut package),
            latency: latency::Settings::read(&mut package),
            rules: rules::Settings::read(&mut package),
            exports: crate::export::Settings::read(&mut package),
            devices: crate::devices::settings::Settings::read(&mut package),
        };
        crate::notification::check(&mut package);
        // Only the doctor uses these sections; reading them avoids a warning about an unknown type.
        let _ = Acceptance::read(&mut package);
        let warnings = package.finish()?;
        if configuration.ips.enabled && configuration.ips.mode == InspectionMode::Nfq {
            let one = |problem| SettingsError { problems: vec![problem] };
            configuration.main.marks().map_err(one)?;
        }
        Ok((configuration, warnings))
    }
}

/// A problem in `/etc/config/fastpath`, as the API and `--check --json` show it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Problem {
    config: &'static str,
    /// Name of the section in UCI; empty for the file itself.
    section: String,
    /// Name of the option; empty for the whole section.
    option: String,
    /// Configured value, with secrets removed.
    value: String,
    code: &'static str,
    /// Parameters of the translated text.
    params: Map<String, Value>,
    pub text: String,
}

impl Problem {
    /// Converts a problem. `values` resolve its section label to the name in UCI.
    #[must_use]
    pub fn of(problem: &config::Problem, values: &Value) -> Self {
        let config::Problem { section: label, option, value, fault } = problem;
        let mut params = fault.params();
        params.insert("value".to_owned(), value.as_str().into());
        Self {
            config: "fastpath",
            section: config::section_name(values, label).unwrap_or_else(|| label.clone()),
            option: option.clone(),
            value: value.clone(),
            code: fault.code(),
            params,
            text: problem.to_string(),
        }
    }

    /// Returns the `warnings` about ignored sections.
    pub(crate) fn of_sections(warnings: &[config::Problem], values: &Value) -> Vec<Self> {
        let is_unused = |problem: &Self| {
            problem.code == config::Fault::RedisRemoved.code()
                || values[&problem.section][".type"] == crate::notification::TYPE
        };
        warnings.iter().map(|warning| Self::of(warning, values)).filter(is_unused).collect()
    }

    #[must_use]
    pub fn of_file(why: &str) -> Self {
        let fault = config::Fault::Unreadable { why: why.to_owned() };
        Self {
            config: "fastpath",
            code: fault.code(),
            params: fault.params(),
            text: fault.to_string(),
            ..Self::default()
        }
    }
}

/// Result of checking a file without the state of the network.
#[derive(Debug, Default, Serialize)]
pub struct FileReport {
    /// Problems that make the daemon ignore the file or one of its sections.
    pub problems: Vec<Problem>,
    /// Warnings about a usable file.
    pub warnings: Vec<Problem>,
}

impl FileReport {
    #[must_use]
    pub fn of(values: &Value) -> Self {
        let listed = |problems: &[config::Problem]| {
            problems.iter().map(|problem| Problem::of(problem, values)).collect()
        };
        match Configuration::read(values) {
            Ok((_, warnings)) => Self {
                problems: Problem::of_sections(&warnings, values),
                warnings: listed(&warnings),
            },
            Err(error) => Self { problems: listed(&error.problems), warnings: Vec::new() },
        }
    }
}
