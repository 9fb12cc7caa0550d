// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages of a transport session: headers, templates and data sets.

use crate::element::{Element, INTERFACE, Owner, REVERSE, Template, V4, V6};
use crate::queue::Queue;

/// Maximum size of a message in bytes; with UDP and IPv6 headers it fits an MTU of 1448.
pub const MAX_MESSAGE: usize = 1400;

const VERSION: u16 = 10;
const HEADER: usize = 16;
const SET_HEADER: usize = 4;
/// Set id of templates.
const TEMPLATES: u16 = 2;
/// Set id of options templates.
const OPTIONS: u16 = 3;
/// Set in the id of a field specifier if an enterprise number follows.
const ENTERPRISE_BIT: u16 = 1 << 15;

/// A transport session with one observation domain.
#[derive(Debug, Clone)]
pub struct Session {
    domain: u32,
    enterprise: u32,
    /// Number of sent data records.
    sequence: u32,
}

impl Session {
    #[must_use]
    pub fn new(domain: u32, enterprise: u32) -> Self {
        Self { domain, enterprise, sequence: 0 }
    }

    pub fn templates(&self, unix_s: u32, out: &mut Vec<u8>) {
        self.begin(unix_s, out);
        let set = begin_set(TEMPLATES, out);
        for template in [&V4, &V6] {
            self.template(template, out);
        }
        end_set(set, out);
        let set = begin_set(OPTIONS, out);
        self.template(&INTERFACE, out);
        end_set(set, out);
        end(out);
    }

    /// Moves as many records as fit from `queue` into a message in `out`. Returns their number; if
    /// it is 0, the message must not be sent.
    pub fn data(&mut self, unix_s: u32, queue: &mut Queue, out: &mut Vec<u8>) -> usize {
        self.begin(unix_s, out);
        let mut records: u32 = 0;
        let mut open: Option<(u16, usize)> = None;
        while let Some((template, length)) = queue.first() {
            let same = open.filter(|(of, _)| *of == template);
            let needed = length + if same.is_some() { 0 } else { SET_HEADER };
            if out.len() + needed > MAX_MESSAGE && records > 0 {
                break;
            }
            if same.is_none() {
                if let Some((_, set)) = open {
                    end_set(set, out);
                }
                open = Some((template, begin_set(template, out)));
            }
            queue.pop(out);
            records += 1;
        }
        if let Some((_, set)) = open {
            end_set(set, out);
        }
        end(out);
        self.sequence = self.sequence.wrapping_add(records);
        usize::try_from(records).unwrap_or_default()
    }

    /// Renumbers another session's message with `records` data records as the next message of this
    /// session.
    pub fn adopt(&mut self, message: &mut [u8], records: usize) {
        if let Some(sequence) = message.get_mut(8..12) {
            sequence.copy_from_slice(&self.sequence.to_be_bytes());
        }
        self.sequence = self.sequence.wrapping_add(u32::try_from(records).unwrap_or_default());
    }

    fn begin(&self, unix_s: u32, out: &mut Vec<u8>) {
        out.clear();
        out.extend(VERSION.to_be_bytes());
        out.extend([0, 0]);
        for number in [unix_s, self.sequence, self.domain] {
            out.extend(number.to_be_bytes());
        }
        debug_assert_eq!(out.len(), HEADER);
    }

    fn template(&self, template: &Template, out: &mut Vec<u8>) {
        let count = u16::try_from(template.fields.len()).unwrap_or_default();
        out.extend(template.id.to_be_bytes());
        out.extend(count.to_be_bytes());
        if template.scope > 0 {
            out.extend(template.scope.to_be_bytes());
        }
        for Element { owner, id, length, .. } in template.fields {
            let enterprise = match owner {
                Owner::Iana => None,
                Owner::Reverse => Some(REVERSE),
                Owner::Enterprise { .. } => Some(self.enterprise),
            };
            let bit = enterprise.map_or(0, |_| ENTERPRISE_BIT);
            out.extend((id | bit).to_be_bytes());
            out.extend(length.to_be_bytes());
            if let Some(enterprise) = enterprise {
                out.extend(enterprise.to_be_bytes());
            }
        }
    }
}

fn end(out: &mut [u8]) {
    let length = u16::try_from(out.len()).unwrap_or(u16::MAX);
    out[2..4].copy_from_slice(&length.to_be_bytes());
}

/// Starts a set; returns its position.
fn begin_set(id: u16, out: &mut Vec<u8>) -> usize {
    let at = out.len();
    out.extend(id.to_be_bytes());
    out.extend([0, 0]);
    at
}

fn end_set(at: usize, out: &mut [u8]) {
    let length = u16::try_from(out.len() - at).unwrap_or(u16::MAX);
    out[at + 2..at + 4].copy_from_slice(&length.to_be_bytes());
}
