// SPDX-License-Identifier: GPL-2.0-or-later
//! Sections of a package by type, and the problems in them. Anonymous sections have labels such as
//! `@exclude[1]`.

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

use crate::fault::Fault;
use crate::section::{Problem, Section};

/// The configuration cannot be used. Displays one problem per line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct SettingsError {
    /// In the order of the file.
    pub problems: Vec<Problem>,
}

impl SettingsError {
    fn of(section: &str, fault: Fault) -> Self {
        let [option, value] = [String::new(), String::new()];
        let section = section.to_owned();
        Self { problems: vec![Problem { section, option, value, fault: Box::new(fault) }] }
    }
}

/// Returns UCI's name of a section with the label `@exclude[1]`.
#[must_use]
pub fn section_name(values: &Value, label: &str) -> Option<String> {
    let (kind, place) = label.strip_prefix('@')?.strip_suffix(']')?.split_once('[')?;
    let package = uci::Package::read(values.as_object()?);
    let section = package.of(kind).nth(place.parse().ok()?)?;
    Some(section.name.clone())
}

#[derive(Debug)]
pub struct Package<'a> {
    /// Remaining sections, in the order of the file.
    sections: Vec<Section<'a>>,
    /// Problems, each with the index of its section in the file.
    errors: Vec<(usize, Problem)>,
    warnings: Vec<(usize, Problem)>,
}

impl<'a> Package<'a> {
    /// Reads the `values` of `ubus call uci get {"config":"fastpath"}`, or of [`crate::parse_uci`].
    pub fn new(values: &'a Value) -> Result<Self, SettingsError> {
        let all = values.as_object();
        let all = all.ok_or_else(|| SettingsError::of("", Fault::NoSections))?;
        let mut found = Vec::new();
        for (name, section) in all {
            let options = section.as_object();
            let options = options.ok_or_else(|| SettingsError::of(name, Fault::NotSection))?;
            let kind = options.get(".type").and_then(Value::as_str);
            let kind = kind.ok_or_else(|| SettingsError::of(name, Fault::NoType))?;
            found.push((name, kind, options));
        }
        // JSON objects do not guarantee the order of the file.
        crate::sort::by_key(&mut found, |(_, _, options)| {
            options.get(".index").and_then(Value::as_u64)
        });
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let named = found.into_iter().enumerate().map(|(index, (name, kind, options))| {
            let place = places.entry(kind).or_default();
            let anonymous = options.get(".anonymous").and_then(Value::as_bool).unwrap_or(false);
            let label = if anonymous { format!("@{kind}[{place}]") } else { name.clone() };
            *place += 1;
            Section::new(index, label, name, kind, options)
        });
        Ok(Self { sections: named.collect(), errors: Vec::new(), warnings: Vec::new() })
    }

    /// Removes and returns the sections of a type, in the order of the file. Each must be closed
    /// with [`Package::close`].
    pub fn take(&mut self, kind: &str) -> Vec<Section<'a>> {
        let (taken, left) = std::mem::take(&mut self.sections)
            .into_iter()
            .partition(|section: &Section<'_>| section.kind() == kind);
        self.sections = left;
        taken
    }

    /// Takes the first section of a type, and warns of further ones.
    pub fn take_one(&mut self, kind: &str) -> Option<Section<'a>> {
        let mut taken = self.take(kind).into_iter();
        let first = taken.next();
        for second in taken {
            let problem = second.problem("", "", Fault::TypeTwice);
            self.warnings.push((second.index(), problem));
        }
        first
    }

    /// Records the errors of a section, and warns of options that were not read.
    pub fn close(&mut self, section: Section<'a>) {
        let index = section.index();
        let warnings = match section.unused.as_slice() {
            [] => section.left_over(),
            unused => unused.to_vec(),
        };
        self.warnings.extend(warnings.into_iter().map(|problem| (index, problem)));
        self.errors.extend(section.errors.into_iter().map(|problem| (index, problem)));
    }

    /// Returns the warnings, including sections that were not taken.
    ///
    /// # Errors
    /// Returns all errors instead if there are any.
    pub fn finish(mut self) -> Result<Vec<Problem>, SettingsError> {
        for section in &self.sections {
            let problem = section.problem("", "", Fault::UnknownType);
            self.warnings.push((section.index(), problem));
        }
        let in_order = |mut problems: Vec<(usize, Problem)>| {
            crate::sort::by_key(&mut problems, |(index, _)| *index);
            problems.into_iter().map(|(_, problem)| problem).collect::<Vec<_>>()
        };
        if self.errors.is_empty() {
            Ok(in_order(self.warnings))
        } else {
            Err(SettingsError { problems: in_order(self.errors) })
        }
    }
}
