// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads and validates the fields of a request.

use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("{field}: expected an object, not {value}")]
    NoObject {
        /// Dotted path; `request` for the request itself.
        field: String,
        value: String,
    },
    #[error("{field}: unknown field")]
    Unknown {
        /// Dotted path, for example `filter.path`.
        field: String,
    },
    /// The value has the wrong type, is unknown or out of range.
    #[error("{field}: expected {wanted}, not {value}")]
    Bad { field: String, wanted: String, value: String },
    #[error("{field}: is missing")]
    Missing { field: String },
    #[error("{field}: {value} cannot be combined with {other}")]
    Conflict { field: String, value: String, other: String },
}

pub struct Request<'a> {
    name: &'static str,
    fields: Option<&'a Map<String, Value>>,
}

impl<'a> Request<'a> {
    /// Reads an object; null counts as empty. `name` is its name in errors, empty for the request
    /// itself.
    ///
    /// # Errors
    /// Fails if `value` is neither an object nor null.
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

    /// Rejects fields that are not in `known`.
    pub fn only(&self, known: &[&str]) -> Result<(), QueryError> {
        let mut names = self.fields.into_iter().flat_map(Map::keys);
        match names.find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(QueryError::Unknown { field: self.field(name) }),
            None => Ok(()),
        }
    }

    /// Returns a field; `None` if missing or null.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.fields?.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn bool(&self, name: &str) -> Result<Option<bool>, QueryError> {
        self.get(name, "true or false", Value::as_bool)
    }

    pub fn integer<T>(&self, name: &str, least: T, most: T) -> Result<Option<T>, QueryError>
    where
        T: TryFrom<u64> + PartialOrd + std::fmt::Display + Copy,
    {
        let inside = |number: &T| *number >= least && *number <= most;
        let read = |value: &Value| T::try_from(value.as_u64()?).ok().filter(inside);
        self.get(name, &format!("an integer from {least} to {most}"), read)
    }

    /// Reads a list of pairs of zones; `*` becomes `None`.
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

    pub fn text(&self, name: &str, most: usize) -> Result<Option<&'a str>, QueryError> {
        let fits = |text: &&str| text.chars().count() <= most;
        let wanted = format!("a string of at most {most} characters");
        self.get(name, &wanted, |value| value.as_str().filter(fits))
    }

    pub fn word<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        wanted: &str,
    ) -> Result<Option<T>, QueryError> {
        self.get(name, wanted, |value| value.as_str().and_then(&read))
    }

    /// Parses a list of names; a missing list is empty.
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

    /// Returns the value of a required field, or an error if it is missing.
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

/// Returns the value as JSON, truncated for errors.
fn short(value: &Value) -> String {
    const MAX: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
