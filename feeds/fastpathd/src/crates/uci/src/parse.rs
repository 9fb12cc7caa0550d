// SPDX-License-Identifier: GPL-2.0-or-later
//! UCI's file format, strictly.
//!
//! Stricter than libuci where a slip of the pen would go unnoticed: a quote must be closed, a
//! semicolon must be quoted, and an option belongs to a section.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use thiserror::Error;

/// A line that is not UCI.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct UciError {
    /// Line of the file, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// Reads a file of `/etc/config` into the shape of `uci get`'s `values`: an object of sections,
/// each with `.anonymous`, `.type`, `.name`, `.index`, options as strings and lists as arrays.
/// Anonymous sections are named by their place (`cfg01`), where uci has a longer name.
///
/// # Errors
/// The first line that is not UCI.
pub fn parse_uci(text: &str) -> Result<Value, UciError> {
    let mut file = File::default();
    let mut words = Words { rest: text, line: 1 };
    while let Some((line, statement)) = words.statement()? {
        let statement: Vec<&str> = statement.iter().map(String::as_str).collect();
        file.take(&statement).map_err(|what| UciError { line, what })?;
    }
    Ok(Value::Object(file.sections.into_iter().map(|(name, of)| (name, of.into())).collect()))
}

/// Splits text into statements, and those into words.
struct Words<'a> {
    rest: &'a str,
    line: usize,
}

impl Words<'_> {
    /// The words of the next line that has any, with the number of the line it begins on.
    fn statement(&mut self) -> Result<Option<(usize, Vec<String>)>, UciError> {
        let mut words = Vec::new();
        loop {
            let line = self.line;
            match self.rest.chars().next() {
                None if words.is_empty() => return Ok(None),
                None => return Ok(Some((line, words))),
                Some('\n') => {
                    self.bump();
                    if !words.is_empty() {
                        return Ok(Some((line, words)));
                    }
                }
                Some(c) if c.is_ascii_whitespace() => self.bump(),
                Some('#') => {
                    self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
                }
                Some(_) => words.push(self.word()?),
            }
        }
    }

    fn bump(&mut self) {
        let mut chars = self.rest.chars();
        self.line += usize::from(chars.next() == Some('\n'));
        self.rest = chars.as_str();
    }

    /// A word: pieces in single quotes, in double quotes or bare, without space between them.
    fn word(&mut self) -> Result<String, UciError> {
        let mut word = String::new();
        while let Some(c) = self.rest.chars().next() {
            match c {
                '\'' | '"' => self.quoted(c, &mut word)?,
                '\\' => {
                    self.bump();
                    self.escaped(&mut word)?;
                }
                ';' => return Err(self.fail("a semicolon outside of quotes")),
                '#' => break,
                c if c.is_ascii_whitespace() => break,
                c => {
                    word.push(c);
                    self.bump();
                }
            }
        }
        Ok(word)
    }

    fn quoted(&mut self, quote: char, word: &mut String) -> Result<(), UciError> {
        let opened = self.line;
        self.bump();
        while let Some(c) = self.rest.chars().next() {
            self.bump();
            match c {
                c if c == quote => return Ok(()),
                '\\' if quote == '"' => self.escaped(word)?,
                c => word.push(c),
            }
        }
        Err(UciError { line: opened, what: format!("the quote {quote} is never closed") })
    }

    fn escaped(&mut self, word: &mut String) -> Result<(), UciError> {
        let Some(c) = self.rest.chars().next() else {
            return Err(self.fail("a backslash with nothing after it"));
        };
        word.push(c);
        self.bump();
        Ok(())
    }

    fn fail(&self, what: &str) -> UciError {
        UciError { line: self.line, what: what.to_owned() }
    }
}

/// The sections read so far.
#[derive(Default)]
struct File {
    sections: BTreeMap<String, Map<String, Value>>,
    /// Name of the section that options belong to now.
    current: Option<String>,
}

impl File {
    fn take(&mut self, statement: &[&str]) -> Result<(), String> {
        match statement {
            [] | ["package", _] => Ok(()),
            ["config", kind] | ["config", kind, ""] => self.open(kind, None),
            ["config", kind, name] => self.open(kind, Some(name)),
            ["option", name, value] => {
                self.section(name)?.insert((*name).to_owned(), json!(value));
                Ok(())
            }
            ["list", name, value] => {
                append(self.section(name)?.entry(*name).or_insert(json!([])), value);
                Ok(())
            }
            [word @ ("package" | "config" | "option" | "list"), rest @ ..] => {
                Err(format!("'{word}' with {} words after it", rest.len()))
            }
            [word, ..] => {
                Err(format!("'{}' is none of package, config, option, list", word.escape_debug()))
            }
        }
    }

    fn open(&mut self, kind: &str, name: Option<&str>) -> Result<(), String> {
        if !is_name(&kind.replace('-', "_")) {
            return Err(format!("'{}' cannot be the type of a section", kind.escape_debug()));
        }
        if let Some(name) = name.filter(|name| !is_name(name)) {
            return Err(format!("'{}' cannot be the name of a section", name.escape_debug()));
        }
        let index = self.sections.len();
        let key = name.map_or_else(|| format!("cfg{:02x}", index + 1), str::to_owned);
        self.current = Some(key.clone());
        if let Some(have) = self.sections.get(&key) {
            // uci merges sections of one name.
            return if have.get(".type") == Some(&json!(kind)) {
                Ok(())
            } else {
                Err(format!("section '{key}' was of another type before"))
            };
        }
        let mut section = Map::new();
        section.insert(".anonymous".into(), json!(name.is_none()));
        section.insert(".type".into(), json!(kind));
        section.insert(".name".into(), json!(key));
        section.insert(".index".into(), json!(index));
        self.sections.insert(key, section);
        Ok(())
    }

    /// The section that the option belongs to.
    fn section(&mut self, option: &str) -> Result<&mut Map<String, Value>, String> {
        if !is_name(option) {
            return Err(format!("'{}' cannot be the name of an option", option.escape_debug()));
        }
        self.current
            .as_ref()
            .and_then(|name| self.sections.get_mut(name))
            .ok_or_else(|| format!("option '{option}' before any section"))
    }
}

/// A list that follows an option of its name takes the option's value in, as in libuci.
fn append(have: &mut Value, value: &str) {
    match have {
        Value::Array(list) => list.push(json!(value)),
        other => *other = json!([other.take(), value]),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
#[path = "uci_tests.rs"]
mod tests;
