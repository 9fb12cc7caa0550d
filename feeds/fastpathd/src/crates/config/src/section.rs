// SPDX-License-Identifier: GPL-2.0-or-later
//! A section of the configuration, and the problems found in it.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::fault::Fault;

/// One problem in the configuration. Displays as
/// `section 'main', option 'engine', value 'warp': is not one of …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Name of the section, or a label such as `@exclude[0]`.
    pub section: String,
    /// Name of the option. Empty for a problem of the section itself.
    pub option: String,
    /// Masked value. Empty if there is none.
    pub value: String,
    /// Boxed to keep `Err` small.
    pub fault: Box<Fault>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "section '{}'", self.section)?;
        if !self.option.is_empty() {
            let value = self.value.escape_debug();
            write!(f, ", option '{}', value '{value}'", self.option.escape_debug())?;
        }
        write!(f, ": {}", self.fault)
    }
}

#[derive(Debug)]
pub struct Section<'a> {
    index: usize,
    label: String,
    name: &'a str,
    kind: &'a str,
    options: &'a Map<String, Value>,
    asked: BTreeSet<&'static str>,
    pub(crate) errors: Vec<Problem>,
    /// Why the section is ignored; empty if it is used.
    pub(crate) unused: Vec<Problem>,
}

impl<'a> Section<'a> {
    pub(crate) fn new(
        index: usize,
        label: String,
        name: &'a str,
        kind: &'a str,
        options: &'a Map<String, Value>,
    ) -> Self {
        Self {
            index,
            label,
            name,
            kind,
            options,
            asked: BTreeSet::new(),
            errors: Vec::new(),
            unused: Vec::new(),
        }
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn kind(&self) -> &str {
        self.kind
    }

    /// Returns UCI's name, which is a generated one for an anonymous section.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the name, or a label such as `@exclude[0]` for an anonymous section.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    #[must_use]
    pub fn is_good(&self) -> bool {
        self.errors.is_empty()
    }

    #[must_use]
    pub fn problem(&self, option: &str, value: &str, fault: Fault) -> Problem {
        Problem {
            section: self.label.clone(),
            option: option.to_owned(),
            value: crate::secret::shown(self.kind, option, value),
            fault: Box::new(fault),
        }
    }

    pub fn error(&mut self, option: &str, value: &str, fault: Fault) {
        self.errors.push(self.problem(option, value, fault));
    }

    /// Ignores the whole section with a warning. The rest of the package remains in use.
    pub fn leave_out(&mut self, option: &str, value: &str, fault: Fault) {
        self.unused.push(self.problem(option, value, fault));
    }

    /// Ignores the whole section if it has errors, which become warnings.
    pub fn leave_out_if_bad(&mut self) {
        self.unused.append(&mut self.errors);
    }

    /// Returns the text of an option. `None` if the option is missing or empty.
    pub fn text(&mut self, option: &'static str) -> Option<&'a str> {
        self.asked.insert(option);
        match self.options.get(option)? {
            Value::String(text) => Some(text.as_str()).filter(|text| !text.is_empty()),
            other => {
                self.error(option, &other.to_string(), Fault::ListGiven);
                None
            }
        }
    }

    /// Parses an option, and records the error of `parse`.
    pub fn value<T>(
        &mut self,
        option: &'static str,
        parse: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Option<T> {
        let text = self.text(option)?;
        match parse(text) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.error(option, text, fault);
                None
            }
        }
    }

    /// Returns the entries of a list, or the words of a text, which `OpenWrt` treats alike.
    pub fn list(&mut self, option: &'static str) -> Vec<&'a str> {
        self.asked.insert(option);
        match self.options.get(option) {
            None => Vec::new(),
            Some(Value::String(text)) => text.split_whitespace().collect(),
            Some(Value::Array(entries)) => {
                let texts: Vec<&str> = entries.iter().filter_map(Value::as_str).collect();
                if texts.len() != entries.len() {
                    self.error(option, "", Fault::ListEntry);
                }
                texts
            }
            Some(other) => {
                self.error(option, &other.to_string(), Fault::NotList);
                Vec::new()
            }
        }
    }

    /// Records an error for each option that was not read.
    pub fn refuse_left_over(&mut self) {
        for Problem { option, value, .. } in self.left_over() {
            self.error(&option, &value, Fault::NotOption);
        }
    }

    /// Returns a warning for each option that was not read, for example a misspelt one.
    pub(crate) fn left_over(&self) -> Vec<Problem> {
        let unknown = |name: &&String| {
            !name.starts_with('.') && !self.asked.iter().any(|asked| asked == name)
        };
        self.options
            .keys()
            .filter(unknown)
            .map(|name| {
                let value = self.options.get(name).and_then(Value::as_str).unwrap_or_default();
                self.problem(name, value, Fault::UnknownOption)
            })
            .collect()
    }
}
