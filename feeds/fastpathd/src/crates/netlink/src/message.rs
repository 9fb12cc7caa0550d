// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads and writes messages (`struct nlmsghdr`), and extracts the text of an extended
//! acknowledgement.

use crate::attribute::attribute;
use crate::error::Refusal;

/// Size of `struct nlmsghdr`.
pub const HEADER: usize = 16;

/// `NLM_F_REQUEST`.
pub const REQUEST: u16 = 1;
/// `NLM_F_ACK`: the kernel acknowledges success, too.
pub const ACK: u16 = 4;
/// `NLM_F_DUMP`.
pub const DUMP: u16 = 0x300;
/// `NLM_F_EXCL`.
pub const EXCL: u16 = 0x200;
/// `NLM_F_CREATE`.
pub const CREATE: u16 = 0x400;

/// `NLM_F_DUMP_INTR`.
const DUMP_INTR: u16 = 0x10;
/// `NLM_F_CAPPED`: the error has only the header of the request, not the payload.
const CAPPED: u16 = 0x100;
/// `NLM_F_ACK_TLVS`: attributes of the extended acknowledgement follow the error.
const ACK_TLVS: u16 = 0x200;

const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Lowest type of a family; lower types are control messages (`NLMSG_MIN_TYPE`).
const MIN_TYPE: u16 = 16;
/// `NLMSGERR_ATTR_MSG`.
const ERROR_TEXT: u16 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// `nlmsg_type`.
    pub kind: u16,
    /// `nlmsg_flags`.
    pub flags: u16,
    /// `nlmsg_seq`: the sequence number of the request; 0 in events.
    pub seq: u32,
    pub payload: &'a [u8],
}

impl Message<'_> {
    /// Returns the result if this message ends an answer (`NLMSG_DONE`, `NLMSG_ERROR`), otherwise
    /// `None`.
    #[must_use]
    pub fn end(&self) -> Option<Result<(), Refusal>> {
        if !matches!(self.kind, ERROR | DONE) {
            return None;
        }
        let code = self.payload.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
        Some(match code {
            0.. => Ok(()),
            code => Err(Refusal { errno: code.saturating_neg(), text: self.error_text() }),
        })
    }

    /// Reports whether this is not a control message.
    #[must_use]
    pub const fn is_content(&self) -> bool {
        self.kind >= MIN_TYPE
    }

    /// Reports whether the table changed during the dump, so that objects may be missing
    /// (`NLM_F_DUMP_INTR`).
    #[must_use]
    pub const fn is_interrupted(&self) -> bool {
        self.flags & DUMP_INTR != 0
    }

    /// Returns the text of the extended acknowledgement. In `NLMSG_ERROR`, a copy of the request or
    /// of its header precedes the text.
    fn error_text(&self) -> Option<String> {
        if self.flags & ACK_TLVS == 0 {
            return None;
        }
        let rest = self.payload.get(4..)?;
        let attributes = if self.kind == DONE {
            rest
        } else {
            let length = u32::from_ne_bytes(*rest.first_chunk()?);
            let length = if self.flags & CAPPED == 0 { usize::try_from(length).ok()? } else { 0 };
            rest.get(length.max(HEADER).checked_next_multiple_of(4)?..)?
        };
        let text = attribute(attributes, ERROR_TEXT)?;
        Some(String::from_utf8_lossy(text).trim_end_matches('\0').to_owned())
    }
}

/// Iterates over messages. Stops at the first incomplete message.
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl Messages<'_> {
    /// Reports whether the iteration stopped at an incomplete message.
    #[must_use]
    pub const fn is_truncated(&self) -> bool {
        !self.rest.is_empty()
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let header = self.rest.first_chunk::<HEADER>()?;
        let [l0, l1, l2, l3, k0, k1, f0, f1, s0, s1, s2, s3, ..] = *header;
        let length = usize::try_from(u32::from_ne_bytes([l0, l1, l2, l3])).ok()?;
        let payload = self.rest.get(HEADER..length)?;
        self.rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Message {
            kind: u16::from_ne_bytes([k0, k1]),
            flags: u16::from_ne_bytes([f0, f1]),
            seq: u32::from_ne_bytes([s0, s1, s2, s3]),
            payload,
        })
    }
}

#[must_use]
pub const fn messages(bytes: &[u8]) -> Messages<'_> {
    Messages { rest: bytes }
}

/// Begins a message. The caller appends the payload and calls [`finish`].
#[must_use]
pub fn begin() -> Vec<u8> {
    vec![0; HEADER]
}

/// Fills in the header and pads the message.
#[must_use]
pub fn finish(mut message: Vec<u8>, kind: u16, flags: u16, seq: u32) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    message[0..4].copy_from_slice(&length.to_ne_bytes());
    message[4..6].copy_from_slice(&kind.to_ne_bytes());
    message[6..8].copy_from_slice(&flags.to_ne_bytes());
    message[8..12].copy_from_slice(&seq.to_ne_bytes());
    message.resize(message.len().next_multiple_of(4), 0);
    message
}

#[must_use]
pub fn message(kind: u16, flags: u16, seq: u32, payload: &[u8]) -> Vec<u8> {
    let mut message = begin();
    message.extend(payload);
    finish(message, kind, flags, seq)
}

#[cfg(test)]
mod tests;
