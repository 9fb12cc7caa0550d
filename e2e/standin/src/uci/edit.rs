// SPDX-License-Identifier: GPL-2.0-or-later
//! Edits of a configuration, applied in memory and recorded as changes.

use serde_json::Value as Json;
use ubus::{Map, Status};

use super::delta::{Command, Delta};
use super::package::{Package, Value};
use ::uci::is_name;

pub(super) struct Edit {
    pub(super) package: Package,
    pub(super) deltas: Vec<Delta>,
}

impl Edit {
    pub(super) fn new(package: Package) -> Edit {
        Edit { package, deltas: Vec::new() }
    }

    fn note(&mut self, command: Command, section: &str, option: Option<&str>, value: Option<&str>) {
        let delta = Delta::new(command, section, option, value);
        delta.apply(&mut self.package);
        self.deltas.push(delta);
    }

    pub(super) fn add_section(&mut self, kind: &str, name: Option<&str>) -> String {
        if let Some(name) = name {
            let same = self.package.section(name).is_some_and(|known| known.kind == kind);
            if !same {
                self.note(Command::Set, name, None, Some(kind));
            }
            name.to_owned()
        } else {
            let name = self.package.push(kind, None);
            self.deltas.push(Delta::new(Command::Add, &name, None, Some(kind)));
            name
        }
    }

    pub(super) fn fill(&mut self, section: &str, values: &Map) -> Result<(), Status> {
        let mut outcome = Ok(());
        for (option, value) in values {
            let done = if is_name(option) {
                self.put(section, option, value)
            } else {
                Err(Status::InvalidArgument)
            };
            outcome = outcome.and(done);
        }
        outcome
    }

    fn put(&mut self, section: &str, option: &str, value: &Json) -> Result<(), Status> {
        let Json::Array(values) = value else {
            let text = format(value).ok_or(Status::InvalidArgument)?;
            self.note(Command::Set, section, Some(option), Some(&text));
            return Ok(());
        };
        let mut outcome = Ok(());
        for value in values {
            match format(value) {
                Some(text) => self.note(Command::ListAdd, section, Some(option), Some(&text)),
                None => outcome = Err(Status::InvalidArgument),
            }
        }
        outcome
    }

    /// Sets options of a section. Lists replace the old values; unchanged values are not recorded.
    pub(super) fn merge(&mut self, section: &str, values: &Map) -> Result<(), Status> {
        let mut outcome = Ok(());
        for (option, value) in values {
            // Like rpcd, continue after an error and return the last one.
            if let Err(status) = self.merge_one(section, option, value) {
                outcome = Err(status);
            }
        }
        outcome
    }

    fn merge_one(&mut self, section: &str, option: &str, value: &Json) -> Result<(), Status> {
        if !is_name(option) {
            return Err(Status::InvalidArgument);
        }
        let known = self.package.section(section).ok_or(Status::NotFound)?.option(option).cloned();
        if let Json::Array(values) = value {
            if known.is_some() {
                self.note(Command::Remove, section, Some(option), None);
            }
            let texts: Vec<String> = values.iter().filter_map(format).collect();
            for text in &texts {
                self.note(Command::ListAdd, section, Some(option), Some(text));
            }
            return if texts.is_empty() { Err(Status::InvalidArgument) } else { Ok(()) };
        }
        let text = format(value);
        if matches!(known, Some(Value::List(_))) {
            self.note(Command::Remove, section, Some(option), None);
        }
        let text = text.ok_or(Status::InvalidArgument)?;
        if known != Some(Value::Text(text.clone())) {
            self.note(Command::Set, section, Some(option), Some(&text));
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, section: &str, option: Option<&str>) -> Result<(), Status> {
        let known = self.package.section(section).ok_or(Status::NotFound)?;
        if option.is_some_and(|option| known.option(option).is_none()) {
            return Err(Status::NotFound);
        }
        self.note(Command::Remove, section, option, None);
        Ok(())
    }

    pub(super) fn rename(&mut self, section: &str, name: &str) -> Result<(), Status> {
        self.package.section(section).ok_or(Status::NotFound)?;
        self.note(Command::Rename, section, None, Some(name));
        Ok(())
    }

    /// Moves sections to the front, in the given order.
    pub(super) fn order(&mut self, sections: &[Json]) -> Result<(), Status> {
        for (to, section) in sections.iter().enumerate() {
            let name = section.as_str().ok_or(Status::InvalidArgument)?;
            let at = self.package.index(name).ok_or(Status::NotFound)?;
            if at != to {
                self.note(Command::Order, name, None, Some(&to.to_string()));
            }
        }
        Ok(())
    }
}

/// Formats a JSON value for UCI. Booleans become 1 or 0.
fn format(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        // rpcd formats 32-bit numbers as unsigned and rejects fractions.
        Json::Number(number) => {
            let wide = number.as_i64()?;
            Some(match i32::try_from(wide) {
                Ok(narrow) => narrow.cast_unsigned().to_string(),
                Err(_) => wide.cast_unsigned().to_string(),
            })
        }
        Json::Bool(truth) => Some(u8::from(*truth).to_string()),
        _ => None,
    }
}
