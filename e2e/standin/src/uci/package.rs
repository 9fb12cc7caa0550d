// SPDX-License-Identifier: GPL-2.0-or-later
//! One configuration file in memory.

use std::fmt::Write;

use super::syntax::{self, SyntaxError, is_name, is_type, quote};

/// Value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `option name 'value'`.
    Text(String),
    /// `list name 'value'`, once for each.
    List(Vec<String>),
}

impl Value {
    /// The value of an `option`.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::List(_) => None,
        }
    }

    /// The values of a `list`; nothing for an `option`.
    #[must_use]
    pub fn list(&self) -> Vec<&str> {
        match self {
            Value::Text(_) => Vec::new(),
            Value::List(values) => values.iter().map(String::as_str).collect(),
        }
    }

    /// The values of either, an `option` split at blanks.
    #[must_use]
    pub fn words(&self) -> Vec<&str> {
        match self {
            Value::Text(text) => text.split_whitespace().collect(),
            Value::List(values) => values.iter().map(String::as_str).collect(),
        }
    }
}

/// `config TYPE 'name'` and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name; an anonymous section has one that is made up.
    pub name: String,
    /// Whether the file gives it no name.
    pub anonymous: bool,
    /// The word after `config`.
    pub kind: String,
    /// Options in the order of the file.
    pub options: Vec<(String, Value)>,
}

impl Section {
    /// The option's value.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&Value> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Sets an option to one value.
    pub fn set(&mut self, name: &str, value: &str) {
        let value = Value::Text(value.to_owned());
        match self.options.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.options.push((name.to_owned(), value)),
        }
    }

    /// Adds a value to a list, which an option with one value becomes.
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

/// A configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// Name of the file.
    pub name: String,
    /// Sections in the order of the file.
    pub sections: Vec<Section>,
    /// Sections there have ever been: it is part of a made-up name.
    made: usize,
}

impl Package {
    /// Reads a file's text.
    ///
    /// # Errors
    /// Where libuci would refuse the file.
    pub fn parse(name: &str, text: &str) -> Result<Package, SyntaxError> {
        let error = |(line, what)| SyntaxError { package: name.to_owned(), line, what };
        let mut package = Package { name: name.to_owned(), ..Package::default() };
        let mut current = None;
        for statement in syntax::statements(text).map_err(error)? {
            let fail = |what| error((statement.line, what));
            let mut words = statement.words.iter().map(String::as_str);
            match words.next().unwrap_or_default() {
                "p" | "package" => {
                    // Its name is that of the file, whatever it says.
                    words.next();
                }
                "c" | "config" => {
                    let kind = words.next().ok_or_else(|| fail("a section without a type"))?;
                    let section = words.next().filter(|word| !word.is_empty());
                    if !is_type(kind) || section.is_some_and(|name| !is_name(name)) {
                        return Err(fail("a name with characters that are not allowed"));
                    }
                    current = Some(package.open(kind, section));
                }
                word @ ("o" | "option" | "l" | "list") => {
                    let at: usize = current.ok_or_else(|| fail("an option before any section"))?;
                    let option = words.next().filter(|word| is_name(word));
                    let option = option.ok_or_else(|| fail("an option without a proper name"))?;
                    let value = words.next().unwrap_or_default();
                    match word {
                        // An empty value does not count.
                        "o" | "option" if value.is_empty() => {}
                        "o" | "option" => package.sections[at].set(option, value),
                        _ => package.sections[at].add(option, value),
                    }
                }
                _ => return Err(fail("an unknown statement")),
            }
            if words.next().is_some() {
                return Err(fail("too many arguments for the statement"));
            }
        }
        Ok(package)
    }

    /// Index of the section that a `config` statement opens: a known name is opened again.
    fn open(&mut self, kind: &str, name: Option<&str>) -> usize {
        if let Some(at) = name.and_then(|name| self.index(name)) {
            kind.clone_into(&mut self.sections[at].kind);
            at
        } else {
            self.push(kind, name);
            self.sections.len() - 1
        }
    }

    /// Appends a section and returns its name.
    pub fn push(&mut self, kind: &str, name: Option<&str>) -> String {
        self.made += 1;
        let anonymous = name.is_none();
        let name = name.map_or_else(|| made_up_name(self.made, kind), str::to_owned);
        let section =
            Section { name: name.clone(), anonymous, kind: kind.to_owned(), options: Vec::new() };
        self.sections.push(section);
        name
    }

    /// Position of the section of that name.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|section| section.name == name)
    }

    /// The section of that name.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The file's text.
    #[must_use]
    pub fn export(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            let name = if section.anonymous { String::new() } else { quote(&section.name) };
            let blank = if section.anonymous { "" } else { " " };
            // Writing to a string cannot fail.
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

/// The name that libuci makes up: the section's number among all of its file and a hash (D. J.
/// Bernstein's) of its type.
fn made_up_name(number: usize, kind: &str) -> String {
    let hash = kind.bytes().fold(5381_u32, |hash, byte| {
        // A C char is signed, but a type is ASCII.
        hash.wrapping_mul(33).wrapping_add(u32::from(byte))
    });
    format!("cfg{number:02x}{:04x}", hash & 0xffff)
}
