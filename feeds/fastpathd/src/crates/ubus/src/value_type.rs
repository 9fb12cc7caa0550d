// SPDX-License-Identifier: GPL-2.0-or-later
//! Types of blobmsg values, and the limit of nesting.

/// Maximum nesting of tables and arrays for reading and writing, the default of json-c.
pub const MAX_DEPTH: usize = 32;

pub(crate) const UNSPEC: u8 = 0;
pub(crate) const ARRAY: u8 = 1;
pub(crate) const TABLE: u8 = 2;
pub(crate) const STRING: u8 = 3;
pub(crate) const INT64: u8 = 4;
pub(crate) const INT32: u8 = 5;
pub(crate) const INT16: u8 = 6;
pub(crate) const INT8: u8 = 7;
pub(crate) const DOUBLE: u8 = 8;
