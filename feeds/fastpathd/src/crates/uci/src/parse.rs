// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses UCI's file format, strictly: quotes, escapes, comments, names of anonymous sections,
//! sections of one name.
//!
//! Stricter than libuci where a typing error would go unnoticed: a quote must be closed, a
//! semicolon must be quoted, and an option belongs to a section.

use thiserror::Error;

use crate::package::{Options, Package, Section, Setting};

/// A line that is not UCI.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct ParseError {
    /// Line of the file, from 1.
    pub line: usize,
    /// The problem there.
    pub what: String,
}

/// Reads a file of `/etc/config`. Anonymous sections get a name by their position (`cfg01`),
/// where uci makes up a longer one.
///
/// # Errors
/// The first line that is not UCI.
pub fn parse(text: &str) -> Result<Package, ParseError> {
    let mut file = File::default();
    let mut words = Words { rest: text, line: 1 };
    while let Some((line, statement)) = words.statement()? {
        let statement: Vec<&str> = statement.iter().map(String::as_str).collect();
        file.take(&statement).map_err(|what| ParseError { line, what })?;
    }
    Ok(Package { sections: file.sections })
}

/// The name that [`parse`] gives to the section at this position if it has none.
#[must_use]
pub fn anonymous_name(index: usize) -> String {
    format!("cfg{:02x}", index + 1)
}

/// Splits text into statements, and those into tokens.
struct Words<'a> {
    rest: &'a str,
    line: usize,
}

impl Words<'_> {
    /// The tokens of the next statement, with the number of the line where it begins.
    fn statement(&mut self) -> Result<Option<(usize, Vec<String>)>, ParseError> {
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

    /// A token: pieces in single quotes, in double quotes or bare, without space between them.
    fn word(&mut self) -> Result<String, ParseError> {
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

    fn quoted(&mut self, quote: char, word: &mut String) -> Result<(), ParseError> {
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
        Err(ParseError { line: opened, what: format!("the quote {quote} is never closed") })
    }

    fn escaped(&mut self, word: &mut String) -> Result<(), ParseError> {
        let Some(c) = self.rest.chars().next() else {
            return Err(self.fail("a backslash with nothing after it"));
        };
        word.push(c);
        self.bump();
        Ok(())
    }

    fn fail(&self, what: &str) -> ParseError {
        ParseError { line: self.line, what: what.to_owned() }
    }
}

/// The sections read so far.
#[derive(Default)]
struct File {
    sections: Vec<Section>,
    /// The section that the following options belong to.
    current: Option<usize>,
}

impl File {
    fn take(&mut self, statement: &[&str]) -> Result<(), String> {
        match statement {
            [] | ["package", _] => Ok(()),
            ["config", kind] | ["config", kind, ""] => self.open(kind, None),
            ["config", kind, name] => self.open(kind, Some(name)),
            ["option", name, value] => {
                let setting = Setting::Text((*value).to_owned());
                self.options(name)?.insert((*name).to_owned(), setting);
                Ok(())
            }
            ["list", name, value] => {
                let options = self.options(name)?;
                // As in libuci, a list begins with the value of an option of its name.
                let mut list = match options.remove(*name) {
                    Some(Setting::Text(text)) => vec![text],
                    Some(Setting::List(list)) => list,
                    None => Vec::new(),
                };
                list.push((*value).to_owned());
                options.insert((*name).to_owned(), Setting::List(list));
                Ok(())
            }
            [word @ ("package" | "config" | "option" | "list"), rest @ ..] => {
                Err(format!("'{word}' with {} arguments", rest.len()))
            }
            [word, ..] => Err(format!(
                "'{}' is not one of package, config, option, list",
                word.escape_debug()
            )),
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
        let key = name.map_or_else(|| anonymous_name(index), str::to_owned);
        if let Some(known) = self.sections.iter().position(|section| section.name == key) {
            self.current = Some(known);
            // uci merges sections of one name.
            return if self.sections[known].kind == kind {
                Ok(())
            } else {
                Err(format!("section '{key}' was of another type before"))
            };
        }
        self.current = Some(index);
        self.sections.push(Section {
            name: key,
            anonymous: name.is_none(),
            kind: kind.to_owned(),
            options: Options::new(),
        });
        Ok(())
    }

    /// The options of the current section.
    fn options(&mut self, option: &str) -> Result<&mut Options, String> {
        if !is_name(option) {
            return Err(format!("'{}' cannot be the name of an option", option.escape_debug()));
        }
        self.current
            .and_then(|index| self.sections.get_mut(index))
            .map(|section| &mut section.options)
            .ok_or_else(|| format!("option '{option}' before any section"))
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
