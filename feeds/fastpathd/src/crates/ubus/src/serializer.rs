// SPDX-License-Identifier: GPL-2.0-or-later
//! Encodes serde values as blobmsg in one pass.

use serde::Serialize;
use serde::ser;
use serde_json::Value;

use crate::EncodeError;
use crate::blob::{Open, Writer};
use crate::value_type::{ARRAY, DOUBLE, INT8, INT32, INT64, MAX_DEPTH, STRING, TABLE, UNSPEC};

type Result<T> = std::result::Result<T, EncodeError>;

impl ser::Error for EncodeError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Value { message: message.to_string() }
    }
}

/// Encodes the fields of `value`, a map or a struct, without the head of a table.
pub(crate) fn table<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let mut out = Writer::default();
    value.serialize(Field { out: &mut out, name: None, depth: MAX_DEPTH })?;
    Ok(out.into_bytes())
}

/// A value to encode. `name` is `None` for the whole message.
struct Field<'w> {
    out: &'w mut Writer,
    name: Option<&'w str>,
    depth: usize,
}

impl<'w> Field<'w> {
    fn open(&mut self, id: u8) -> Result<Option<Open>> {
        let Some(name) = self.name else {
            return if id == TABLE { Ok(None) } else { Err(EncodeError::NotTable) };
        };
        let open = self.out.open(id, true);
        let length =
            u16::try_from(name.len()).map_err(|_| EncodeError::TooLarge { len: name.len() })?;
        self.out.put(&length.to_be_bytes());
        self.out.put_text(name)?;
        self.out.pad();
        Ok(Some(open))
    }

    fn scalar(mut self, id: u8, write: impl FnOnce(&mut Writer) -> Result<()>) -> Result<()> {
        let open = self.open(id)?;
        write(self.out)?;
        open.map_or(Ok(()), |open| self.out.close(&open))
    }

    fn bytes(self, id: u8, payload: &[u8]) -> Result<()> {
        self.scalar(id, |out| {
            out.put(payload);
            Ok(())
        })
    }

    fn compound(mut self, id: u8) -> Result<Compound<'w>> {
        let depth = self.depth.checked_sub(1).ok_or(EncodeError::TooDeep)?;
        let inner = self.open(id)?;
        Ok(Compound { out: self.out, outer: None, inner, key: String::new(), depth })
    }

    /// Encodes a variant with content as a table with one field.
    fn variant(self, name: &'static str, id: u8) -> Result<Compound<'w>> {
        let table = self.compound(TABLE)?;
        let content = Field { out: table.out, name: Some(name), depth: table.depth };
        let content = content.compound(id)?;
        Ok(Compound { outer: table.inner, ..content })
    }
}

macro_rules! widened {
    ($($method:ident $kind:ident),*) => {$(
        fn $method(self, value: $kind) -> Result<()> {
            self.serialize_i64(value.into())
        }
    )*};
}

impl<'w> ser::Serializer for Field<'w> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Compound<'w>;
    type SerializeTuple = Compound<'w>;
    type SerializeTupleStruct = Compound<'w>;
    type SerializeTupleVariant = Compound<'w>;
    type SerializeMap = Compound<'w>;
    type SerializeStruct = Compound<'w>;
    type SerializeStructVariant = Compound<'w>;

    fn serialize_bool(self, value: bool) -> Result<()> {
        self.bytes(INT8, &[u8::from(value)])
    }

    widened!(serialize_i8 i8, serialize_i16 i16, serialize_i32 i32);
    widened!(serialize_u8 u8, serialize_u16 u16, serialize_u32 u32);

    fn serialize_i64(self, value: i64) -> Result<()> {
        match i32::try_from(value) {
            Ok(narrow) => self.bytes(INT32, &narrow.to_be_bytes()),
            Err(_) => self.bytes(INT64, &value.to_be_bytes()),
        }
    }

    fn serialize_u64(self, value: u64) -> Result<()> {
        self.serialize_i64(i64::try_from(value).unwrap_or(i64::MAX))
    }

    fn serialize_u128(self, value: u128) -> Result<()> {
        self.serialize_i64(i64::try_from(value).unwrap_or(i64::MAX))
    }

    fn serialize_f32(self, value: f32) -> Result<()> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<()> {
        if value.is_finite() {
            self.bytes(DOUBLE, &value.to_bits().to_be_bytes())
        } else {
            self.serialize_unit()
        }
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        self.scalar(STRING, |out| out.put_text(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<()> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.bytes(UNSPEC, &[])
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        let mut table = self.compound(TABLE)?;
        table.field(variant, value)?;
        table.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'w>> {
        self.compound(ARRAY)
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'w>> {
        self.compound(ARRAY)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound<'w>> {
        self.compound(ARRAY)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'w>> {
        self.variant(variant, ARRAY)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'w>> {
        self.compound(TABLE)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Compound<'w>> {
        self.compound(TABLE)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'w>> {
        self.variant(variant, TABLE)
    }
}

/// An unfinished array or table.
struct Compound<'w> {
    out: &'w mut Writer,
    /// Enclosing table of a variant with content.
    outer: Option<Open>,
    inner: Option<Open>,
    key: String,
    depth: usize,
}

impl Compound<'_> {
    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        value.serialize(Field { out: &mut *self.out, name: Some(name), depth: self.depth })
    }

    fn close(self) -> Result<()> {
        [self.inner, self.outer].iter().flatten().try_for_each(|open| self.out.close(open))
    }
}

/// Implements arrays, whose elements have empty names.
macro_rules! elements {
    ($($kind:ident $method:ident),*) => {$(
        impl ser::$kind for Compound<'_> {
            type Ok = ();
            type Error = EncodeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.field("", value)
            }

            fn end(self) -> Result<()> {
                self.close()
            }
        }
    )*};
}

elements!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

macro_rules! fields {
    ($($kind:ident),*) => {$(
        impl ser::$kind for Compound<'_> {
            type Ok = ();
            type Error = EncodeError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<()> {
                self.field(name, value)
            }

            fn end(self) -> Result<()> {
                self.close()
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.key = match serde_json::to_value(key).map_err(ser::Error::custom)? {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(ser::Error::custom("a key must be a text"));
            }
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let name = std::mem::take(&mut self.key);
        self.field(&name, value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}
