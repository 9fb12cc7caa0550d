// SPDX-License-Identifier: GPL-2.0-or-later
//! Queue of encoded records in a ring buffer.

use std::collections::VecDeque;

use crate::element::INTERFACE;
use crate::flow::{self, Flow};

/// Prefix of each record: template id and length, 16 bits each.
const HEAD: usize = 4;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queue {
    bytes: VecDeque<u8>,
    records: usize,
    /// Reused to avoid an allocation per record.
    scratch: Vec<u8>,
}

impl Queue {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.records
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Size of all records with their prefixes, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    pub fn push(&mut self, flow: &Flow<'_>) {
        self.add(flow.template().id, |out| flow.write(out));
    }

    pub fn push_interface(&mut self, index: u32, name: &str) {
        self.add(INTERFACE.id, |out| {
            out.extend(index.to_be_bytes());
            flow::text(name, out);
        });
    }

    fn add(&mut self, template: u16, write: impl FnOnce(&mut Vec<u8>)) {
        self.scratch.clear();
        write(&mut self.scratch);
        let length = u16::try_from(self.scratch.len()).unwrap_or(u16::MAX);
        self.bytes.extend(template.to_be_bytes());
        self.bytes.extend(length.to_be_bytes());
        self.bytes.extend(&self.scratch);
        self.records += 1;
    }

    /// Appends records of `other` up to `max_bytes` in total; returns the number of dropped
    /// records.
    pub fn append(&mut self, other: &Self, max_bytes: usize) -> usize {
        let mut at = 0;
        let mut records = 0;
        while let Some((_, length)) = other.head(at) {
            if self.bytes.len() + at + HEAD + length > max_bytes {
                break;
            }
            at += HEAD + length;
            records += 1;
        }
        self.bytes.extend(other.bytes.range(..at));
        self.records += records;
        other.records - records
    }

    /// Returns template id and length of the first record.
    pub(crate) fn first(&self) -> Option<(u16, usize)> {
        self.head(0)
    }

    fn head(&self, at: usize) -> Option<(u16, usize)> {
        let byte = |offset: usize| self.bytes.get(at + offset).copied();
        let template = u16::from_be_bytes([byte(0)?, byte(1)?]);
        let length = u16::from_be_bytes([byte(2)?, byte(3)?]);
        Some((template, usize::from(length)))
    }

    pub(crate) fn pop(&mut self, out: &mut Vec<u8>) {
        let Some((_, length)) = self.first() else { return };
        out.extend(self.bytes.range(HEAD..HEAD + length));
        self.bytes.drain(..HEAD + length);
        self.records -= 1;
    }
}
