// SPDX-License-Identifier: GPL-2.0-or-later
//! Blobs, the tagged binary format of ubus messages: a four-byte big-endian head (one bit
//! "extended", seven bits of id, 24 bits of length including the head), the payload, and zeros up
//! to a multiple of four.

use crate::{DecodeError, EncodeError};

const HEAD: usize = 4;
const EXTENDED: u32 = 0x8000_0000;
const LENGTH: u32 = 0x00ff_ffff;

#[derive(Clone, Copy)]
pub(crate) struct Blob<'a> {
    pub(crate) id: u8,
    pub(crate) extended: bool,
    pub(crate) payload: &'a [u8],
}

impl Blob<'_> {
    pub(crate) fn u32(&self) -> Result<u32, DecodeError> {
        let bytes = self.payload.try_into().map_err(|_| self.size("a 32-bit number"))?;
        Ok(u32::from_be_bytes(bytes))
    }

    pub(crate) fn bool(&self) -> Result<bool, DecodeError> {
        match self.payload {
            [byte] => Ok(*byte != 0),
            _ => Err(self.size("a truth value")),
        }
    }

    /// Returns the text up to the first NUL. Invalid UTF-8 becomes U+FFFD.
    pub(crate) fn text(&self) -> Result<String, DecodeError> {
        c_string(self.payload).ok_or_else(|| self.size("a string"))
    }

    pub(crate) fn size(&self, what: &'static str) -> DecodeError {
        DecodeError::Size { what, len: self.payload.len() }
    }
}

/// Returns the text up to the first NUL. `None` if the last byte is not a NUL.
pub(crate) fn c_string(bytes: &[u8]) -> Option<String> {
    if bytes.last() != Some(&0) {
        return None;
    }
    let text = bytes.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

pub(crate) struct Blobs<'a> {
    rest: &'a [u8],
}

impl<'a> Blobs<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Blobs { rest: bytes }
    }
}

impl<'a> Iterator for Blobs<'a> {
    type Item = Result<Blob<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.rest);
        let Some((head, _)) = rest.split_first_chunk::<HEAD>() else {
            return Some(Err(DecodeError::Truncated { left: rest.len() }));
        };
        let head = u32::from_be_bytes(*head);
        let len = (head & LENGTH) as usize;
        if len < HEAD || len > rest.len() {
            return Some(Err(DecodeError::Length { len, left: rest.len() }));
        }
        // libubox accepts a last attribute without padding.
        self.rest = rest.get(len.next_multiple_of(HEAD)..).unwrap_or_default();
        let id = ((head & !EXTENDED) >> 24) as u8;
        Some(Ok(Blob { id, extended: head & EXTENDED != 0, payload: &rest[HEAD..len] }))
    }
}

#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

/// An attribute that is still being written.
pub(crate) struct Open {
    start: usize,
    head: u32,
}

impl Writer {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn open(&mut self, id: u8, extended: bool) -> Open {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEAD]);
        Open { start, head: (u32::from(id) << 24) | if extended { EXTENDED } else { 0 } }
    }

    pub(crate) fn put(&mut self, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
    }

    pub(crate) fn put_text(&mut self, text: &str) -> Result<(), EncodeError> {
        if text.contains('\0') {
            return Err(EncodeError::Nul { text: text.to_owned() });
        }
        self.put(text.as_bytes());
        self.put(&[0]);
        Ok(())
    }

    /// Appends zeros up to the next multiple of four, where the next attribute starts.
    pub(crate) fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(HEAD), 0);
    }

    pub(crate) fn close(&mut self, open: &Open) -> Result<(), EncodeError> {
        let len = self.bytes.len() - open.start;
        if len > crate::MAX_MESSAGE {
            return Err(EncodeError::TooLarge { len });
        }
        let head = open.head | u32::try_from(len).map_err(|_| EncodeError::TooLarge { len })?;
        self.bytes[open.start..open.start + HEAD].copy_from_slice(&head.to_be_bytes());
        self.pad();
        Ok(())
    }

    pub(crate) fn attribute(&mut self, id: u8, payload: &[u8]) -> Result<(), EncodeError> {
        let open = self.open(id, false);
        self.put(payload);
        self.close(&open)
    }
}
