// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON-like values in blobmsg form. Encoding is in `serializer.rs`.
//!
//! | JSON | blobmsg |
//! | --- | --- |
//! | null | unspec, no payload |
//! | true, false | int8 |
//! | integer that fits 32 bits | int32 |
//! | any other integer | int64; above `i64::MAX` it becomes `i64::MAX`, as in libubox |
//! | other number | double |
//! | string, array, object | string, array, table |

use serde::Serialize;
use serde_json::Value;

use crate::blob::{Blob, Blobs, c_string};
use crate::value_type::{
    ARRAY, DOUBLE, INT8, INT16, INT32, INT64, MAX_DEPTH, STRING, TABLE, UNSPEC,
};
use crate::{DecodeError, EncodeError, Map, serializer};

/// A table with one field: its name and its value.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a, T>(pub &'a str, pub T);

impl<T: Serialize> Serialize for Field<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, &self.1)])
    }
}

/// A table in blobmsg form. May be malformed, because a broker forwards it without decoding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blobmsg(Vec<u8>);

impl Blobmsg {
    #[must_use]
    pub fn from_wire(bytes: &[u8]) -> Self {
        Blobmsg(bytes.to_vec())
    }

    /// Returns the encoded fields, without the head of a table.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Encodes a map or a struct.
    pub fn encode<T: Serialize + ?Sized>(table: &T) -> Result<Self, EncodeError> {
        let bytes = serializer::table(table)?;
        if bytes.len() > crate::MAX_MESSAGE {
            return Err(EncodeError::TooLarge { len: bytes.len() });
        }
        Ok(Blobmsg(bytes))
    }

    /// Decodes the table. If a name occurs twice, the last field counts.
    pub fn decode(&self) -> Result<Map, DecodeError> {
        table(&self.0, MAX_DEPTH)
    }
}

fn table(bytes: &[u8], depth: usize) -> Result<Map, DecodeError> {
    let depth = depth.checked_sub(1).ok_or(DecodeError::TooDeep)?;
    let mut map = Map::new();
    for blob in Blobs::new(bytes) {
        let (name, value) = named(blob?, depth)?;
        map.insert(name, value);
    }
    Ok(map)
}

fn named(blob: Blob<'_>, depth: usize) -> Result<(String, Value), DecodeError> {
    let (name, payload) =
        if blob.extended { split_name(blob.payload)? } else { (String::new(), blob.payload) };
    Ok((name, value(Blob { payload, ..blob }, depth)?))
}

/// Splits a field into its name (length, text, NUL, padding) and its value.
fn split_name(payload: &[u8]) -> Result<(String, &[u8]), DecodeError> {
    let (len, rest) = payload.split_first_chunk::<2>().ok_or(DecodeError::Name)?;
    let len = usize::from(u16::from_be_bytes(*len));
    let name = rest.get(..=len).and_then(c_string).ok_or(DecodeError::Name)?;
    let value = payload.get((2 + len + 1).next_multiple_of(4)..).ok_or(DecodeError::Name)?;
    Ok((name, value))
}

fn value(blob: Blob<'_>, depth: usize) -> Result<Value, DecodeError> {
    match blob.id {
        UNSPEC => Ok(Value::Null),
        ARRAY => array(blob.payload, depth),
        TABLE => table(blob.payload, depth).map(Value::Object),
        STRING => blob.text().map(Value::String),
        INT64 => fixed(blob, "a 64-bit number").map(|bytes| i64::from_be_bytes(bytes).into()),
        INT32 => fixed(blob, "a 32-bit number").map(|bytes| i32::from_be_bytes(bytes).into()),
        INT16 => fixed(blob, "a 16-bit number").map(|bytes| i16::from_be_bytes(bytes).into()),
        INT8 => blob.bool().map(Value::Bool),
        // JSON has neither NaN nor infinities, so they become null, as in JavaScript.
        DOUBLE => {
            fixed(blob, "a double").map(|bytes| f64::from_bits(u64::from_be_bytes(bytes)).into())
        }
        id => Err(DecodeError::Type { id }),
    }
}

fn array(bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let depth = depth.checked_sub(1).ok_or(DecodeError::TooDeep)?;
    let values: Result<Vec<Value>, DecodeError> =
        Blobs::new(bytes).map(|blob| Ok(named(blob?, depth)?.1)).collect();
    values.map(Value::Array)
}

fn fixed<const N: usize>(blob: Blob<'_>, what: &'static str) -> Result<[u8; N], DecodeError> {
    blob.payload.try_into().map_err(|_| blob.size(what))
}
