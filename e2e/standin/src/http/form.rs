// SPDX-License-Identifier: GPL-2.0-or-later
//! HTML form data.

use std::collections::BTreeMap;

use hyper::header::{CONTENT_TYPE, HeaderMap};

/// Parses `name=value&name=value`. Invalid UTF-8 is replaced.
pub(crate) fn fields(bytes: &[u8]) -> BTreeMap<String, String> {
    let pair = |pair: &[u8]| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        Some((decoded(&pair[..at]), decoded(&pair[at + 1..])))
    };
    bytes.split(|byte| *byte == b'&').filter_map(pair).collect()
}

fn decoded(bytes: &[u8]) -> String {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (first, digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                plain.push(byte);
                rest = &rest[2..];
            }
            (b'+', _) => plain.push(b' '),
            (byte, _) => plain.push(*byte),
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// A part of `multipart/form-data`.
pub(crate) struct Part<'a> {
    pub(crate) name: String,
    pub(crate) data: &'a [u8],
}

/// Returns the boundary from `Content-Type`.
pub(crate) fn boundary(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let rest = kind.strip_prefix("multipart/form-data;")?;
    let (_, boundary) = rest.split_once('=')?;
    Some(boundary.trim_matches('"').to_owned())
}

/// Returns the parts in order. Truncated and unnamed parts are dropped.
pub(crate) fn parts<'a>(bytes: &'a [u8], boundary: &str) -> Vec<Part<'a>> {
    let first = format!("--{boundary}");
    let next = format!("\r\n--{boundary}");
    let mut parts = Vec::new();
    let mut rest = bytes.strip_prefix(first.as_bytes()).unwrap_or_default();
    while let Some(end) = find(rest, next.as_bytes()) {
        parts.extend(part(&rest[..end]));
        rest = &rest[end + next.len()..];
    }
    parts
}

fn part(bytes: &[u8]) -> Option<Part<'_>> {
    let bytes = bytes.strip_prefix(b"\r\n")?;
    let end = find(bytes, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let (_, name) = head.split_once("name=\"")?;
    let (name, _) = name.split_once('"')?;
    Some(Part { name: name.to_owned(), data: &bytes[end + 4..] })
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
