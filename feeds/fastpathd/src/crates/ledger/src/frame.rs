// SPDX-License-Identifier: GPL-2.0-or-later
//! Frames: length, CRC-32 and a book. Pages are files of frames.

use crate::book::{Book, Entry, Key, Stamp, Sums};
use crate::code::{Reader, number};

/// Version 1 had UTC days, counted from the epoch.
const VERSION: u8 = 2;
const DAY_LEN: [u32; 2] = [96, 1];
/// Bytes of length and checksum.
const PREFIX_LEN: usize = 8;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Header {
    /// Serial number of the page.
    pub(crate) serial: u64,
    /// First quarter hour of the day for which the page was begun.
    pub(crate) day: u32,
    /// Serial number of the write.
    pub(crate) write: u64,
    /// The next write, to another page, contains this book, too. So the frame counts only while it
    /// is the last one of all pages.
    pub(crate) loose: bool,
}

pub(crate) fn encode(header: Header, book: &Book, to: &mut Vec<u8>) {
    let start = to.len();
    to.extend([0; PREFIX_LEN]);
    to.extend([VERSION, u8::from(header.loose)]);
    for value in [header.serial, header.day.into(), header.write] {
        number(to, value);
    }
    book.encode(to);
    let body = start + PREFIX_LEN;
    let len = u32::try_from(to.len() - body).unwrap_or(u32::MAX);
    let sum = crc32fast::hash(&to[body..]);
    to[start..start + 4].copy_from_slice(&len.to_le_bytes());
    to[start + 4..body].copy_from_slice(&sum.to_le_bytes());
}

/// Decodes the frames of a page up to the first invalid one. Returns them and their length.
pub(crate) fn decode(bytes: &[u8]) -> (Vec<(Header, Book)>, usize) {
    let mut frames = Vec::new();
    let valid = each(bytes, |header, body, day_len| {
        frames.push((header, Book::decode(body, day_len)?));
        Some(())
    });
    (frames, valid)
}

/// Visits the cells of all frames that are not loose, and returns their events.
pub(crate) fn visit(bytes: &[u8], visit: &mut dyn FnMut(Stamp, Key, Sums)) -> Vec<Entry> {
    let mut events = Vec::new();
    each(bytes, |header, body, day_len| {
        if !header.loose {
            events.extend(Book::visit(body, day_len, visit)?);
        }
        Some(())
    });
    events
}

/// Passes each frame to `take` with the length of its days, up to the first invalid one. Returns
/// the length of the valid frames.
fn each(bytes: &[u8], mut take: impl FnMut(Header, &mut Reader<'_>, u32) -> Option<()>) -> usize {
    let mut reader = Reader(bytes);
    loop {
        let valid = bytes.len() - reader.0.len();
        let taken = next(&mut reader)
            .and_then(|(header, mut body, day_len)| take(header, &mut body, day_len));
        if taken.is_none() {
            return valid;
        }
    }
}

fn next<'a>(reader: &mut Reader<'a>) -> Option<(Header, Reader<'a>, u32)> {
    let word = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.try_into().ok()?));
    let len = word(reader.take(4)?)?;
    let sum = word(reader.take(4)?)?;
    let body = reader.take(usize::try_from(len).ok()?)?;
    if crc32fast::hash(body) != sum {
        return None;
    }
    let mut body = Reader(body);
    let day_len = *DAY_LEN.get(usize::from(body.byte()?.checked_sub(1)?))?;
    let loose = body.byte()? != 0;
    let [serial, day, write] = [body.number()?, body.number()?, body.number()?];
    let day = u32::try_from(day).ok()?.checked_mul(day_len)?;
    Some((Header { serial, day, write, loose }, body, day_len))
}
