// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads gzip, tar or plain text from an untrusted source, within limits.
//!
//! Archives are read as streams, and names from an archive never become paths. Names that lead out
//! of a folder are rejected nevertheless, because no rule set has them.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};
use thiserror::Error;

use crate::fault::SourceFault;

#[derive(Debug, Clone, Copy)]
pub struct ArchiveLimits {
    /// Unpacked bytes, including headers and trailing data.
    pub bytes: u64,
    pub entries: u32,
    /// Length of an entry's name in bytes.
    pub name: usize,
}

impl ArchiveLimits {
    /// Limits unpacked bytes, with 4096 entries and names of 200 bytes.
    #[must_use]
    pub fn of_bytes(bytes: u64) -> Self {
        Self { bytes, entries: 4096, name: 200 }
    }
}

#[derive(Debug, Error)]
pub enum ArchiveError {
    /// A decompression bomb, or too large for this router.
    #[error("it unpacks to more than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("it has more than {limit} entries")]
    TooMany { limit: u32 },
    /// A name or kind of entry that no rule set has.
    #[error("entry '{name}' {fault}")]
    Entry { name: String, fault: SourceFault },
    #[error("it is neither gzip, tar nor text")]
    Format,
    #[error("it is truncated{}", inside(within))]
    Truncated {
        /// Path of the entry; empty outside of entries.
        within: String,
    },
    #[error("it cannot be unpacked: {0}")]
    Damaged(#[source] io::Error),
    #[error("{file} line {line}: {fault}")]
    Line {
        file: String,
        /// Line of the file, from 1.
        line: u32,
        fault: SourceFault,
    },
}

fn inside(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" within {name}") }
}

#[derive(Debug)]
pub(crate) enum Refusal {
    Line { line: u32, fault: SourceFault },
    Read(io::Error),
}

/// Receives path and contents of each file, and need not read all contents.
pub(crate) type Visitor<'a> = dyn FnMut(&str, &mut dyn BufRead) -> Result<(), Refusal> + 'a;

/// Reads a whole archive and passes its files to `visit`. Plain text is one file named
/// `plain_name`. Returns the unpacked bytes.
///
/// # Errors
/// Fails if the archive is rejected; the caller must discard the files visited so far.
pub(crate) fn read(
    packed: impl BufRead,
    plain_name: &str,
    limits: &ArchiveLimits,
    visit: &mut Visitor<'_>,
) -> Result<u64, ArchiveError> {
    let left = Cell::new(limits.bytes);
    let (head, rest) = peek(packed, 2).map_err(ArchiveError::Damaged)?;
    let packed = BufReader::new(Cursor::new(head.clone()).chain(rest));
    if head == [0x1f, 0x8b] {
        let plain = Limited { inner: MultiGzDecoder::new(packed), left: &left };
        unpacked(plain, plain_name, limits, visit)?;
    } else {
        unpacked(Limited { inner: packed, left: &left }, plain_name, limits, visit)?;
    }
    Ok(limits.bytes - left.get())
}

fn unpacked(
    reader: impl Read,
    plain_name: &str,
    limits: &ArchiveLimits,
    visit: &mut Visitor<'_>,
) -> Result<(), ArchiveError> {
    let broken = |error| damage(error, "", limits);
    let (head, rest) = peek(reader, 512).map_err(broken)?;
    let is_tar = head.get(257..262) == Some(b"ustar");
    // Old tar formats have no magic, but their name field contains zero bytes, unlike text.
    let is_text = !head.contains(&0);
    let mut reader = BufReader::new(Cursor::new(head).chain(rest));
    if is_tar {
        return tar(reader, limits, visit);
    }
    if is_text {
        visit(plain_name, &mut reader).map_err(|refusal| refused(refusal, plain_name, limits))?;
    }
    // Read to the end, to detect truncation and decompression bombs.
    io::copy(&mut reader, &mut io::sink()).map_err(broken)?;
    if is_text { Ok(()) } else { Err(ArchiveError::Format) }
}

fn tar(
    reader: impl Read,
    limits: &ArchiveLimits,
    visit: &mut Visitor<'_>,
) -> Result<(), ArchiveError> {
    let mut archive = Archive::new(reader);
    let mut name = String::new();
    {
        let mut long_name = None;
        let entries = archive.entries().map_err(|error| damage(error, "", limits))?;
        // The crate would read long names of any length into memory, so use raw entries.
        for (count, entry) in (0u32..).zip(entries.raw(true)) {
            if count >= limits.entries {
                return Err(ArchiveError::TooMany { limit: limits.entries });
            }
            let mut entry = entry.map_err(|error| damage(error, &name, limits))?;
            match entry.header().entry_type() {
                EntryType::XGlobalHeader => {}
                EntryType::GNULongName => {
                    let text = small(&mut entry, limits)?;
                    long_name = Some(text.split(|byte| *byte == 0).next().unwrap_or(&[]).to_vec());
                }
                EntryType::XHeader => long_name = pax_path(&small(&mut entry, limits)?)?,
                kind => {
                    let bytes = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
                    name = checked_name(&bytes, limits)?;
                    one_entry(kind, &name, entry, limits, visit)?;
                }
            }
        }
    }
    let mut rest = archive.into_inner();
    io::copy(&mut rest, &mut io::sink()).map_err(|error| damage(error, &name, limits))?;
    Ok(())
}

fn one_entry(
    kind: EntryType,
    name: &str,
    entry: Entry<'_, impl Read>,
    limits: &ArchiveLimits,
    visit: &mut Visitor<'_>,
) -> Result<(), ArchiveError> {
    let fault = match kind {
        EntryType::Directory => return Ok(()),
        EntryType::Regular | EntryType::Continuous => {
            let size = entry.size();
            let mut file = BufReader::new(Whole { inner: entry, left: size });
            return visit(name, &mut file).map_err(|refusal| refused(refusal, name, limits));
        }
        EntryType::Symlink => SourceFault::SymbolicLink,
        EntryType::Link | EntryType::GNULongLink => SourceFault::HardLink,
        EntryType::Char | EntryType::Block => SourceFault::Device,
        EntryType::Fifo => SourceFault::Pipe,
        _ => SourceFault::Kind,
    };
    Err(ArchiveError::Entry { name: shown(name.as_bytes()), fault })
}

/// Returns the contents of an entry that describes the next one.
fn small(
    entry: &mut Entry<'_, impl Read>,
    limits: &ArchiveLimits,
) -> Result<Vec<u8>, ArchiveError> {
    const MAX: u64 = 8192;
    let name = shown(&entry.path_bytes());
    if entry.size() > MAX {
        return Err(ArchiveError::Entry { name, fault: SourceFault::LongHeader { limit: MAX } });
    }
    let mut contents = Vec::new();
    entry.read_to_end(&mut contents).map_err(|error| damage(error, &name, limits))?;
    Ok(contents)
}

/// Returns the path in a pax header: records of `LENGTH KEY=VALUE` and a newline.
fn pax_path(mut records: &[u8]) -> Result<Option<Vec<u8>>, ArchiveError> {
    let wrong = |fault| ArchiveError::Entry { name: shown(b"pax header"), fault };
    let mut path = None;
    while !records.is_empty() {
        let space = records.iter().position(|byte| *byte == b' ');
        let space = space.ok_or_else(|| wrong(SourceFault::NoLength))?;
        let length = std::str::from_utf8(&records[..space]).ok().and_then(|n| n.parse().ok());
        let record = length.filter(|end| *end > space + 1).and_then(|end: usize| {
            let (record, rest) = records.split_at_checked(end)?;
            Some((record.get(space + 1..)?.strip_suffix(b"\n")?, rest))
        });
        let (record, rest) = record.ok_or_else(|| wrong(SourceFault::WrongLength))?;
        records = rest;
        if let Some(value) = record.strip_prefix(b"path=") {
            path = Some(value.to_vec());
        } else if record.starts_with(b"size=") || record.starts_with(b"GNU.sparse") {
            return Err(wrong(SourceFault::OtherSize));
        }
    }
    Ok(path)
}

/// Checks that a name does not lead out of a folder, and removes a leading `./`.
fn checked_name(bytes: &[u8], limits: &ArchiveLimits) -> Result<String, ArchiveError> {
    let wrong = |fault| ArchiveError::Entry { name: shown(bytes), fault };
    let name = std::str::from_utf8(bytes).map_err(|_| wrong(SourceFault::NameNotText))?;
    if name.is_empty() || name.len() > limits.name {
        return Err(wrong(SourceFault::NameLength));
    }
    if name.chars().any(char::is_control) {
        return Err(wrong(SourceFault::NameControl));
    }
    if name.starts_with('/') || name.contains('\\') {
        return Err(wrong(SourceFault::Absolute));
    }
    if name.split('/').any(|part| part == "..") {
        return Err(wrong(SourceFault::Outside));
    }
    Ok(name.trim_start_matches("./").to_owned())
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().take(120).flat_map(char::escape_debug).collect()
}

fn refused(refusal: Refusal, file: &str, limits: &ArchiveLimits) -> ArchiveError {
    match refusal {
        Refusal::Line { line, fault } => {
            ArchiveError::Line { file: shown(file.as_bytes()), line, fault }
        }
        Refusal::Read(error) => damage(error, file, limits),
    }
}

fn damage(error: io::Error, within: &str, limits: &ArchiveLimits) -> ArchiveError {
    match error.kind() {
        io::ErrorKind::FileTooLarge => ArchiveError::TooLarge { limit: limits.bytes },
        io::ErrorKind::UnexpectedEof => {
            ArchiveError::Truncated { within: shown(within.as_bytes()) }
        }
        _ => ArchiveError::Damaged(error),
    }
}

/// Reads up to `count` bytes; returns them and the remaining reader.
fn peek<R: Read>(mut reader: R, count: u64) -> io::Result<(Vec<u8>, R)> {
    let mut head = Vec::new();
    reader.by_ref().take(count).read_to_end(&mut head)?;
    Ok((head, reader))
}

/// Reader that fails with `FileTooLarge` when it exceeds `left` bytes.
struct Limited<'a, R> {
    inner: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.get().checked_sub(count as u64) {
            Some(left) => {
                self.left.set(left);
                Ok(count)
            }
            None => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }
}

/// Reader of an entry that fails with `UnexpectedEof` if the entry is truncated.
struct Whole<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.saturating_sub(count as u64);
        if count == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
