// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses UCI's file format. Accepts and rejects the same files as libuci, because services do not
//! start with a file that libuci rejects. `tests/libuci.txt` has recorded answers of libuci.
//!
//! Three rules of libuci are surprising. A semicolon ends a statement, but an unquoted word before
//! it drops the rest of the line. An empty value does not change an option. A NUL byte ends its
//! line, and the size of libuci's growing buffer determines where reading continues.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::package::{Options, Package, Section, Setting};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("line {line}: {fault}")]
pub struct ParseError {
    /// First line of the statement, from 1.
    pub line: usize,
    pub fault: ParseFault,
}

/// Fault of a statement. Texts do not quote the file, which may contain secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ParseFault {
    #[error("the line begins with none of package, config, option and list")]
    Command,
    #[error("a name or a type is missing")]
    Few,
    #[error("there are more words than the statement has; a value with spaces needs quotes")]
    Many,
    #[error("a name has characters other than letters, digits and _")]
    Name,
    #[error("a section's type has characters other than printable ASCII")]
    Type,
    #[error("an option stands before the first section")]
    First,
    #[error("a section of this name has another type further up")]
    Retyped,
    #[error("a quote is never closed")]
    Quote,
}

impl ParseFault {
    pub const ALL: [Self; 8] = [
        Self::Command,
        Self::Few,
        Self::Many,
        Self::Name,
        Self::Type,
        Self::First,
        Self::Retyped,
        Self::Quote,
    ];

    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Command => "uci-command",
            Self::Few => "uci-few",
            Self::Many => "uci-many",
            Self::Name => "uci-name",
            Self::Type => "uci-type",
            Self::First => "uci-first",
            Self::Retyped => "uci-retyped",
            Self::Quote => "uci-quote",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// Opens the section of this name, or creates it. An anonymous section is always new.
    Section {
        kind: String,
        /// Name of the section, generated like in libuci if it is anonymous.
        name: String,
        anonymous: bool,
    },
    Option {
        name: String,
        value: String,
    },
    /// Appends to a list of the open section.
    Entry {
        name: String,
        value: String,
    },
}

/// Parses a file of `/etc/config`.
///
/// # Errors
/// The first statement that libuci rejects.
pub fn parse(text: &(impl AsRef<[u8]> + ?Sized)) -> Result<Package, ParseError> {
    let mut package = Package::default();
    let mut open = 0;
    for statement in statements(text)? {
        match statement {
            Statement::Section { kind, name, anonymous } => {
                let mut named = package.sections.iter().map(|section| &section.name);
                let known = if anonymous { None } else { named.position(|known| *known == name) };
                open = known.unwrap_or(package.sections.len());
                if known.is_none() {
                    let options = Options::new();
                    package.sections.push(Section { name, anonymous, kind, options });
                }
            }
            Statement::Option { name, value } => {
                package.sections[open].options.insert(name, Setting::Text(value));
            }
            Statement::Entry { name, value } => {
                let options = &mut package.sections[open].options;
                let mut list = options.remove(&name).map(Setting::into_texts).unwrap_or_default();
                list.push(value);
                options.insert(name, Setting::List(list));
            }
        }
    }
    Ok(package)
}

/// Returns the statements of a file. Omits statements without effect.
///
/// # Errors
/// See [`parse()`].
pub fn statements(text: &(impl AsRef<[u8]> + ?Sized)) -> Result<Vec<Statement>, ParseError> {
    let mut reader = Reader { rest: text.as_ref(), ..Reader::default() };
    let mut file = File::default();
    while !reader.rest.is_empty() {
        reader.begin();
        let line = reader.line;
        reader.statements(&mut file).map_err(|fault| ParseError { line, fault })?;
    }
    Ok(file.statements)
}

/// Returns the name that libuci generates for an anonymous section. `number` is its position in the
/// file, from 1.
#[must_use]
pub fn anonymous_name(number: usize, kind: &str) -> String {
    let add = |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte));
    let hash = kind.bytes().fold(5381, add);
    format!("cfg{number:02x}{:04x}", hash & 0xffff)
}

#[derive(Default)]
struct File {
    statements: Vec<Statement>,
    sections: usize,
    kinds: BTreeMap<String, String>,
}

impl File {
    fn open(&mut self, kind: String, name: String) -> Result<(), ParseFault> {
        let anonymous = name.is_empty();
        let name = if anonymous { anonymous_name(self.sections + 1, &kind) } else { name };
        let known = self.kinds.get(&name);
        check(anonymous || known.is_none_or(|known| *known == kind), ParseFault::Retyped)?;
        if anonymous || known.is_none() {
            self.sections += 1;
            self.kinds.entry(name.clone()).or_insert_with(|| kind.clone());
        }
        self.statements.push(Statement::Section { kind, name, anonymous });
        Ok(())
    }
}

/// Models libuci's line buffer, where NUL bytes end words.
#[derive(Default)]
struct Reader<'a> {
    /// Unread bytes of the file.
    rest: &'a [u8],
    /// Content of the buffer up to the first NUL byte.
    text: Vec<u8>,
    at: usize,
    /// Size of libuci's buffer in bytes.
    size: usize,
    /// Line where `text` begins.
    line: usize,
    read: usize,
}

impl Reader<'_> {
    fn begin(&mut self) {
        self.line = self.read + 1;
        self.at = 0;
        self.fill();
    }

    /// Reads a line at the current position, in pieces like libuci's `fgets`.
    fn fill(&mut self) {
        self.text.truncate(self.at);
        if self.size == 0 {
            self.size = 32;
        }
        if self.at + 1 >= self.size {
            self.size *= 2;
        }
        loop {
            let room = self.rest.len().min(self.size - self.text.len() - 1);
            let end = self.rest[..room].iter().position(|byte| *byte == b'\n');
            let (piece, rest) = self.rest.split_at(end.map_or(room, |end| end + 1));
            self.rest = rest;
            self.read += usize::from(end.is_some());
            let counted = piece.iter().position(|byte| *byte == 0).unwrap_or(piece.len());
            self.text.extend(&piece[..counted]);
            if counted == 0 || self.text.ends_with(b"\n") {
                return;
            }
            self.size *= 2;
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.byte().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn statements(&mut self, file: &mut File) -> Result<(), ParseFault> {
        self.skip_space();
        while let Some(command) = self.command()? {
            match command {
                Command::Package => {
                    let name = self.required()?;
                    check(is_package(&name), ParseFault::Name)?;
                    self.end()?;
                }
                Command::Config => {
                    let kind = self.required()?;
                    check(kind.bytes().all(|byte| byte.is_ascii_graphic()), ParseFault::Type)?;
                    let name = self.word()?;
                    check(name.is_empty() || is_name(&name), ParseFault::Name)?;
                    self.end()?;
                    file.open(kind, name)?;
                }
                Command::Option | Command::List => {
                    check(!file.statements.is_empty(), ParseFault::First)?;
                    let name = self.required()?;
                    check(is_name(&name), ParseFault::Name)?;
                    let value = self.word()?;
                    self.end()?;
                    if command == Command::List {
                        file.statements.push(Statement::Entry { name, value });
                    } else if !value.is_empty() {
                        file.statements.push(Statement::Option { name, value });
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads the command of the next statement. `None` at the end of the line.
    fn command(&mut self) -> Result<Option<Command>, ParseFault> {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let rest = self.text.get(self.at..).unwrap_or_default();
        let start = rest.iter().take_while(|byte| blank(byte)).count();
        let word: Vec<u8> = rest[start..].iter().copied().take_while(|byte| !blank(byte)).collect();
        let command = match &word[..] {
            [] | [b'#', ..] => return Ok(None),
            b"p" | b"package" => Command::Package,
            b"c" | b"config" => Command::Config,
            b"o" | b"option" => Command::Option,
            b"l" | b"list" => Command::List,
            _ => return Err(ParseFault::Command),
        };
        self.at += start + word.len() + 1;
        Ok(Some(command))
    }

    fn required(&mut self) -> Result<String, ParseFault> {
        check(self.at <= self.text.len(), ParseFault::Few)?;
        let word = self.word()?;
        check(!word.is_empty(), ParseFault::Few)?;
        Ok(word)
    }

    fn end(&mut self) -> Result<(), ParseFault> {
        let word = self.word()?;
        check(word.is_empty(), ParseFault::Many)
    }

    /// Reads the next word. Returns an empty word at the end of the statement.
    fn word(&mut self) -> Result<String, ParseFault> {
        self.skip_space();
        let start = self.at;
        if self.byte() == Some(b';') {
            self.at += 1;
            return Ok(String::new());
        }
        let mut word = Vec::new();
        loop {
            match self.byte() {
                Some(b'\'') => self.single(&mut word)?,
                Some(b'"') => self.double(&mut word)?,
                Some(b'#') => self.text.truncate(self.at),
                // libuci overwrites the semicolon with the NUL byte that ends the unquoted word.
                Some(b';') if start + word.len() == self.at => self.text.truncate(self.at),
                Some(b';') | None => break,
                Some(b'\\') => {
                    self.at += 1;
                    self.escaped(&mut word);
                }
                Some(byte) => {
                    word.push(byte);
                    self.at += 1;
                }
            }
            if self.byte().is_some_and(is_space) {
                self.at += 1;
                break;
            }
        }
        Ok(String::from_utf8_lossy(&word).into_owned())
    }

    fn single(&mut self, word: &mut Vec<u8>) -> Result<(), ParseFault> {
        self.at += 1;
        loop {
            match self.quoted()? {
                b'\'' => return Ok(()),
                byte => word.push(byte),
            }
        }
    }

    fn double(&mut self, word: &mut Vec<u8>) -> Result<(), ParseFault> {
        self.at += 1;
        loop {
            match self.quoted()? {
                b'"' => return Ok(()),
                b'\\' => self.escaped(word),
                byte => word.push(byte),
            }
        }
    }

    /// Reads the next byte between quotes, which may span lines.
    fn quoted(&mut self) -> Result<u8, ParseFault> {
        if self.byte().is_none() {
            self.fill();
        }
        let byte = self.byte().ok_or(ParseFault::Quote)?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads the byte after a backslash. A backslash at the end of a line continues the line.
    fn escaped(&mut self, word: &mut Vec<u8>) {
        match self.text.get(self.at..).unwrap_or_default() {
            [] | [b'\n', ..] | [b'\r', b'\n'] => self.fill(),
            [byte, ..] => {
                word.push(*byte);
                self.at += 1;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Command {
    Package,
    Config,
    Option,
    List,
}

fn check(is: bool, fault: ParseFault) -> Result<(), ParseFault> {
    if is { Ok(()) } else { Err(fault) }
}

/// Matches C's `isspace`.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'\x0b'
}

/// Returns whether `text` is a valid section or option name.
#[must_use]
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns whether `text` is a valid name of a package.
#[must_use]
pub fn is_package(text: &str) -> bool {
    is_name(&text.replace('-', "_"))
}

#[cfg(test)]
mod tests;
