// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the fields of a request by type, range and length; errors name the field and its value.
//! Defaults and limits of the requests are in `query.rs` and `history.rs`.

use serde_json::{Map, Value};

/// Why a request is invalid. The field is named as in `filter.path`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The request, or a part of it, must be an object.
    #[error("{field}: expected an object, not {value}")]
    NoObject {
        /// The field.
        field: String,
        /// Its value.
        value: String,
    },
    /// The field is unknown.
    #[error("{field}: unknown field")]
    Unknown {
        /// The field.
        field: String,
    },
    /// Wrong type, unknown value or out of range.
    #[error("{field}: expected {wanted}, not {value}")]
    Bad {
        /// The field.
        field: String,
        /// The allowed values.
        wanted: String,
        /// Its value.
        value: String,
    },
    /// The field must be there.
    #[error("{field}: is missing")]
    Missing {
        /// The field.
        field: String,
    },
    /// The field conflicts with another one of the request.
    #[error("{field}: {value} cannot be combined with {other}")]
    Conflict {
        /// The field.
        field: String,
        /// Its value.
        value: String,
        /// The other field.
        other: String,
    },
}

/// The arguments of a request, or an object among them; null counts as empty.
pub struct Request<'a> {
    name: &'static str,
    fields: Option<&'a Map<String, Value>>,
}

impl<'a> Request<'a> {
    /// The object `value`, as errors name it; empty: the request itself.
    ///
    /// # Errors
    /// It is not an object.
    pub fn new(name: &'static str, value: &'a Value) -> Result<Self, QueryError> {
        let fields = match value {
            Value::Null => None,
            Value::Object(fields) => Some(fields),
            other => {
                let field = if name.is_empty() { "request" } else { name };
                return Err(QueryError::NoObject { field: field.into(), value: short(other) });
            }
        };
        Ok(Self { name, fields })
    }

    /// Refuses every field that is not in `known`.
    ///
    /// # Errors
    /// There is another one.
    pub fn only(&self, known: &[&str]) -> Result<(), QueryError> {
        let mut names = self.fields.into_iter().flat_map(Map::keys);
        match names.find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(QueryError::Unknown { field: self.field(name) }),
            None => Ok(()),
        }
    }

    /// A field, unchanged.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.fields?.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn bool(&self, name: &str) -> Result<Option<bool>, QueryError> {
        self.get(name, "true or false", Value::as_bool)
    }

    /// An integer from `least` to `most`.
    ///
    /// # Errors
    /// It is not one.
    pub fn integer<T>(&self, name: &str, least: T, most: T) -> Result<Option<T>, QueryError>
    where
        T: TryFrom<u64> + PartialOrd + std::fmt::Display + Copy,
    {
        let inside = |number: &T| *number >= least && *number <= most;
        let read = |value: &Value| T::try_from(value.as_u64()?).ok().filter(inside);
        self.get(name, &format!("an integer from {least} to {most}"), read)
    }

    /// A list of pairs of zones; `*` becomes none.
    ///
    /// # Errors
    /// It is not one, or is empty.
    pub fn zone_pairs(&self, name: &str) -> Result<Option<Vec<[Option<&'a str>; 2]>>, QueryError> {
        let zone = |value: &'a Value| value.as_str().map(|zone| (zone != "*").then_some(zone));
        let pair = |value: &'a Value| match value.as_array()?.as_slice() {
            [from, to] => Some([zone(from)?, zone(to)?]),
            _ => None,
        };
        self.get(name, "a list of pairs of zones", |value| {
            let pairs = value.as_array().filter(|pairs| !pairs.is_empty())?;
            pairs.iter().map(pair).collect()
        })
    }

    /// A string of at most `most` characters.
    ///
    /// # Errors
    /// It is not one.
    pub fn text(&self, name: &str, most: usize) -> Result<Option<&'a str>, QueryError> {
        let fits = |text: &&str| text.chars().count() <= most;
        let wanted = format!("a string of at most {most} characters");
        self.get(name, &wanted, |value| value.as_str().filter(fits))
    }

    /// A string, read by `read`.
    ///
    /// # Errors
    /// `read` does not know it.
    pub fn word<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        wanted: &str,
    ) -> Result<Option<T>, QueryError> {
        self.get(name, wanted, |value| value.as_str().and_then(&read))
    }

    /// A list of names; a missing one is empty.
    pub(crate) fn words<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        wanted: &str,
    ) -> Result<Vec<T>, QueryError> {
        let Some(value) = self.value(name) else { return Ok(Vec::new()) };
        let list = value.as_array().ok_or_else(|| self.bad(name, "a list"))?;
        let read_one = |(index, value): (usize, &Value)| {
            value.as_str().and_then(&read).ok_or_else(|| QueryError::Bad {
                field: self.field(&format!("{name}[{index}]")),
                wanted: wanted.into(),
                value: short(value),
            })
        };
        list.iter().enumerate().map(read_one).collect()
    }

    /// A field that must be there.
    ///
    /// # Errors
    /// It is not.
    pub fn required<T>(&self, name: &str, read: Option<T>) -> Result<T, QueryError> {
        read.ok_or_else(|| QueryError::Missing { field: self.field(name) })
    }

    pub(crate) fn bad(&self, name: &str, wanted: &str) -> QueryError {
        QueryError::Bad {
            field: self.field(name),
            wanted: wanted.into(),
            value: self.value(name).map_or_else(String::new, short),
        }
    }

    fn get<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, QueryError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.bad(name, wanted))
    }

    fn field(&self, name: &str) -> String {
        if self.name.is_empty() { name.into() } else { format!("{}.{name}", self.name) }
    }
}

/// The value as JSON, truncated so that an error fits on one line.
fn short(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
