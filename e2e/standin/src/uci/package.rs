// SPDX-License-Identifier: GPL-2.0-or-later
//! A parsed configuration file.

use std::fmt::Write;

use ::uci::{Statement, anonymous_name, statements};

use super::syntax::{SyntaxError, quote};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `option name 'value'`.
    Text(String),
    /// `list name 'value'`, repeated for each value.
    List(Vec<String>),
}

impl Value {
    /// Returns the value of an `option`; `None` for a `list`.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::List(_) => None,
        }
    }

    /// Returns the values of a `list`; empty for an `option`.
    #[must_use]
    pub fn list(&self) -> Vec<&str> {
        match self {
            Value::Text(_) => Vec::new(),
            Value::List(values) => values.iter().map(String::as_str).collect(),
        }
    }

    /// Returns the values of a `list`, or of an `option` split at whitespace.
    #[must_use]
    pub fn words(&self) -> Vec<&str> {
        match self {
            Value::Text(text) => text.split_whitespace().collect(),
            Value::List(values) => values.iter().map(String::as_str).collect(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Generated for anonymous sections.
    pub name: String,
    pub anonymous: bool,
    /// Section type, the word after `config`.
    pub kind: String,
    pub options: Vec<(String, Value)>,
}

impl Section {
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&Value> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub fn set(&mut self, name: &str, value: &str) {
        let value = Value::Text(value.to_owned());
        match self.options.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.options.push((name.to_owned(), value)),
        }
    }

    /// Adds a value to a list. A plain option becomes a list.
    pub fn add(&mut self, name: &str, value: &str) {
        let Some((_, known)) = self.options.iter_mut().find(|(known, _)| known == name) else {
            self.options.push((name.to_owned(), Value::List(vec![value.to_owned()])));
            return;
        };
        match known {
            Value::List(values) => values.push(value.to_owned()),
            Value::Text(first) => {
                *known = Value::List(vec![std::mem::take(first), value.to_owned()]);
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub sections: Vec<Section>,
    /// Number of sections created so far, used in generated names.
    made: usize,
}

impl Package {
    /// Parses a file.
    ///
    /// # Errors
    /// Returns an error if libuci would reject the file.
    pub fn parse(name: &str, text: &(impl AsRef<[u8]> + ?Sized)) -> Result<Package, SyntaxError> {
        let read = statements(text);
        let read = read.map_err(|error| SyntaxError { package: name.to_owned(), error })?;
        let mut package = Package { name: name.to_owned(), ..Package::default() };
        let mut at = 0;
        for statement in read {
            match statement {
                Statement::Section { kind, name, anonymous } => {
                    let known = if anonymous { None } else { package.index(&name) };
                    at = known.unwrap_or(package.sections.len());
                    if known.is_none() {
                        package.push(&kind, (!anonymous).then_some(&*name));
                    }
                }
                Statement::Option { name, value } => package.sections[at].set(&name, &value),
                Statement::Entry { name, value } => package.sections[at].add(&name, &value),
            }
        }
        Ok(package)
    }

    pub fn push(&mut self, kind: &str, name: Option<&str>) -> String {
        self.made += 1;
        let anonymous = name.is_none();
        let name = name.map_or_else(|| anonymous_name(self.made, kind), str::to_owned);
        let section =
            Section { name: name.clone(), anonymous, kind: kind.to_owned(), options: Vec::new() };
        self.sections.push(section);
        name
    }

    #[must_use]
    pub fn index(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|section| section.name == name)
    }

    #[must_use]
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    #[must_use]
    pub fn export(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            let name = if section.anonymous { String::new() } else { quote(&section.name) };
            let blank = if section.anonymous { "" } else { " " };
            let _ = writeln!(text, "\nconfig {}{blank}{name}", section.kind);
            for (option, value) in &section.options {
                let (word, values) = match value {
                    Value::Text(text) => ("option", std::slice::from_ref(text)),
                    Value::List(values) => ("list", values.as_slice()),
                };
                for value in values {
                    let _ = writeln!(text, "\t{word} {option} {}", quote(value));
                }
            }
        }
        text + "\n"
    }
}
