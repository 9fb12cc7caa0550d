// SPDX-License-Identifier: GPL-2.0-or-later
//! `/etc/config/fastpath` as a whole: the crate that reads each section, and the form of a problem
//! in the API and in `--check --json`. Options and defaults are in the `settings.rs` of the crates
//! `ruleset`, `ips`, `cpu`, `latency`, `rules`, `ipfix`, `logs` and `health`.

use config::{Package, SettingsError};
use health::Acceptance;
use model::InspectionMode;
use serde::Serialize;
use serde_json::{Map, Value};

/// All sections, each checked by the crate it belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Configuration {
    pub(crate) main: ruleset::Settings,
    pub(crate) ips: ips::Settings,
    pub(crate) cpu: cpu::Settings,
    pub(crate) latency: latency::Settings,
    pub(crate) rules: rules::Settings,
    pub(crate) exports: Vec<crate::export::Settings>,
}

impl Configuration {
    /// Reads `values` of `fastpath.config get` of `fastpath`. Warnings name the ignored options.
    pub(crate) fn read(values: &Value) -> Result<(Self, Vec<config::Problem>), SettingsError> {
        let mut package = Package::new(values)?;
        let configuration = Self {
            main: ruleset::Settings::read(&mut package),
            ips: ips::Settings::read(&mut package),
            cpu: cpu::Settings::read(&mut package),
            latency: latency::Settings::read(&mut package),
            rules: rules::Settings::read(&mut package),
            exports: crate::export::Settings::read(&mut package),
        };
        // The doctor reads them by itself.
        let _ = Acceptance::read(&mut package);
        let warnings = package.finish()?;
        if configuration.ips.enabled && configuration.ips.mode == InspectionMode::Nfq {
            let one = |problem| SettingsError { problems: vec![problem] };
            configuration.main.marks().map_err(one)?;
        }
        Ok((configuration, warnings))
    }
}

/// Something wrong in `/etc/config/fastpath`, as the API and `--check --json` show it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    config: &'static str,
    /// As uci names it; empty: the file itself.
    section: String,
    /// Empty: all of the section.
    option: String,
    /// As found, without secrets.
    value: String,
    code: &'static str,
    /// Values that fill the page's text for the code.
    params: Map<String, Value>,
    pub(crate) text: String,
}

impl Problem {
    /// `values` name the section that was read as the `problem` calls it.
    pub(crate) fn of(problem: &config::Problem, values: &Value) -> Self {
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

    /// The `warnings` about sections that are not used.
    pub(crate) fn of_sections(warnings: &[config::Problem], values: &Value) -> Vec<Self> {
        let unused = |warning: &&config::Problem| *warning.fault == config::Fault::RedisRemoved;
        warnings.iter().filter(unused).map(|warning| Self::of(warning, values)).collect()
    }

    /// The file cannot be read at all.
    pub(crate) fn of_file(why: &str) -> Self {
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

/// The problems of a file on its own, without the network.
#[derive(Debug, Default, Serialize)]
pub(crate) struct FileReport {
    /// The file, or a section of it, would not be used.
    pub(crate) problems: Vec<Problem>,
    /// It would be used in part.
    pub(crate) warnings: Vec<Problem>,
}

impl FileReport {
    pub(crate) fn of(values: &Value) -> Self {
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
