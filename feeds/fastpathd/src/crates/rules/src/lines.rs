// SPDX-License-Identifier: GPL-2.0-or-later
//! Splits a rule file into rules and comments, with continued lines joined: longest rule 8192
//! bytes, longest line 64 KiB, UTF-8 only.

use std::io::{self, BufRead};

use thiserror::Error;

/// The longest rule taken, in bytes. Suricata itself cuts at 8192.
pub(crate) const LONGEST_RULE: usize = 8192;
/// The longest comment or continued line read as one, in bytes.
const LONGEST_LINE: usize = 64 * 1024;
/// Editors of Windows begin a file with it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line of a rule file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Meant as a rule: joined if it was continued with a backslash at the end.
    Rule {
        /// Number of its first line, from 1.
        number: u32,
        /// Without line ends and continuation marks.
        text: String,
    },
    /// Without its first `#`.
    Comment(String),
    /// Meant as a rule, but its bytes are not UTF-8.
    NotText {
        /// Number of its first line, from 1.
        number: u32,
    },
}

/// Why a file cannot be read on.
#[derive(Debug, Error)]
pub enum LineError {
    /// A rule or comment without end.
    #[error("is longer than {limit} bytes")]
    TooLong {
        /// Number of its first line, from 1.
        number: u32,
        /// The most that is taken.
        limit: usize,
    },
    /// The reader's error.
    #[error(transparent)]
    Read(#[from] io::Error),
}

/// Reads lines; empty ones are skipped.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    number: u32,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Lines from the reader's place on, the first being number 1.
    pub fn new(reader: R) -> Self {
        Self { reader, number: 0, buffer: Vec::new() }
    }

    /// The next line that is not empty; none at the end.
    ///
    /// # Errors
    /// A line too long, or the reader's error.
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
            // As in Suricata: a comment is not continued.
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

    /// Appends one line of the file without its end; false at the end of the file. `first` is the
    /// line that this one continues, or 0.
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
            let taken = end.unwrap_or(chunk.len());
            if self.buffer.len() + taken > LONGEST_LINE {
                let number = if first == 0 { self.number } else { first };
                return Err(LineError::TooLong { number, limit: LONGEST_LINE });
            }
            self.buffer.extend_from_slice(&chunk[..taken]);
            self.reader.consume(taken + usize::from(end.is_some()));
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
#[path = "lines_tests.rs"]
mod tests;
