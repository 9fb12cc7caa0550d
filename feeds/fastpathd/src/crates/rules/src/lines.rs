// SPDX-License-Identifier: GPL-2.0-or-later
//! Splits a rule file into rules and comments, and joins continuation lines.

use std::io::{self, BufRead};

use thiserror::Error;

/// Maximum length of a rule in bytes; Suricata truncates longer rules.
pub(crate) const MAX_RULE_LEN: usize = 8192;
/// Maximum length of a comment or of joined lines in bytes.
const MAX_LINE_LEN: usize = 64 * 1024;
/// UTF-8 byte order mark at the start of a file, written by Windows editors.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A rule, joined from lines that end with a backslash.
    Rule {
        /// First line of the rule, from 1.
        number: u32,
        text: String,
    },
    /// A comment without the leading `#`.
    Comment(String),
    /// A rule that is not UTF-8, or contains a zero byte.
    NotText { number: u32 },
}

#[derive(Debug, Error)]
pub enum LineError {
    #[error("is longer than {limit} bytes")]
    TooLong { number: u32, limit: usize },
    #[error(transparent)]
    Read(#[from] io::Error),
}

#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    number: u32,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub fn new(reader: R) -> Self {
        Self { reader, number: 0, buffer: Vec::new() }
    }

    /// Returns the next non-empty line; `None` at the end.
    pub fn next_line(&mut self) -> Result<Option<Line>, LineError> {
        self.buffer.clear();
        let mut first = 0;
        loop {
            let start = self.buffer.len();
            if !self.read_physical(first)? {
                return Ok(if first == 0 { None } else { self.finished(first) });
            }
            first = if first == 0 { self.number } else { first };
            let comment = first == self.number
                && self.buffer.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'#');
            // Comments have no continuation, as in Suricata.
            if !comment && self.buffer[start..].ends_with(b"\\") {
                self.buffer.pop();
                continue;
            }
            match self.finished(first) {
                None => {
                    self.buffer.clear();
                    first = 0;
                }
                some => return Ok(some),
            }
        }
    }

    /// Appends one physical line without its newline; returns false at the end of the file. `first`
    /// is the number of the first joined line, or 0.
    fn read_physical(&mut self, first: u32) -> Result<bool, LineError> {
        let (mut any, start) = (false, self.buffer.len());
        loop {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            if !any {
                self.number = self.number.saturating_add(1);
                any = true;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(chunk.len());
            if self.buffer.len() + length > MAX_LINE_LEN {
                let number = if first == 0 { self.number } else { first };
                return Err(LineError::TooLong { number, limit: MAX_LINE_LEN });
            }
            self.buffer.extend_from_slice(&chunk[..length]);
            self.reader.consume(length + usize::from(end.is_some()));
            if end.is_some() {
                break;
            }
        }
        if self.number == 1 && self.buffer.starts_with(BYTE_ORDER_MARK) {
            self.buffer.drain(..BYTE_ORDER_MARK.len());
        }
        if self.buffer[start.min(self.buffer.len())..].ends_with(b"\r") {
            self.buffer.pop();
        }
        Ok(any)
    }

    fn finished(&self, number: u32) -> Option<Line> {
        let bytes = self.buffer.trim_ascii();
        if let Some(comment) = bytes.strip_prefix(b"#") {
            return Some(Line::Comment(String::from_utf8_lossy(comment).into_owned()));
        }
        if bytes.is_empty() {
            return None;
        }
        Some(match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Line::Rule { number, text: text.to_owned() },
            _ => Line::NotText { number },
        })
    }
}

#[cfg(test)]
mod tests;
