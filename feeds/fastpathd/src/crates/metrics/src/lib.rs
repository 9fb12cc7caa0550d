// SPDX-License-Identifier: GPL-2.0-or-later
//! Metric families of the ubus method `metrics`. Values are strings, because the collector's Lua
//! 5.1 only has doubles and prints 14 digits.

use std::borrow::Cow;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// Only increases, and restarts at 0 with its source.
    Counter,
    Gauge,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Whole(u64),
    /// Usually seconds.
    Real(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Whole(value as u64)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Whole(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(out),
            // Prometheus requires `+Inf` and `-Inf`.
            Self::Real(value) if value.is_infinite() => {
                out.write_str(if *value > 0.0 { "+Inf" } else { "-Inf" })
            }
            Self::Real(value) => value.fmt(out),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

type Label<'a> = (&'static str, Cow<'a, str>);

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample<'a> {
    labels: Labels<'a>,
    value: Value,
}

#[derive(Debug, Clone, PartialEq)]
struct Labels<'a>(Box<[Label<'a>]>);

impl Serialize for Labels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// All series of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Family<'a> {
    name: &'static str,
    #[serde(rename = "type")]
    kind: Type,
    help: &'static str,
    samples: Vec<Sample<'a>>,
}

impl<'a> Family<'a> {
    /// Adds a series. The labels must be unique within the family.
    pub fn add<const N: usize>(
        &mut self,
        labels: [(&'static str, &'a str); N],
        value: impl Into<Value>,
    ) {
        self.add_owned(labels.map(|(name, value)| (name, Cow::Borrowed(value))), value);
    }

    /// Like [`add`](Self::add), with owned label values.
    pub fn add_owned<const N: usize>(
        &mut self,
        labels: [(&'static str, Cow<'a, str>); N],
        value: impl Into<Value>,
    ) {
        let labels = Labels(Box::new(labels));
        self.samples.push(Sample { labels, value: value.into() });
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Metrics<'a> {
    families: Vec<Family<'a>>,
}

impl<'a> Metrics<'a> {
    /// Adds a family of counters, whose name must end in `_total`.
    pub fn counter(&mut self, name: &'static str, help: &'static str) -> &mut Family<'a> {
        self.family(name, Type::Counter, help)
    }

    pub fn gauge(&mut self, name: &'static str, help: &'static str) -> &mut Family<'a> {
        self.family(name, Type::Gauge, help)
    }

    #[must_use]
    pub fn without_empty(mut self) -> Self {
        self.families.retain(|family| !family.samples.is_empty());
        self
    }

    fn family(&mut self, name: &'static str, kind: Type, help: &'static str) -> &mut Family<'a> {
        let at = self.families.len();
        self.families.push(Family { name, kind, help, samples: Vec::new() });
        &mut self.families[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serializes_name_type_help_and_samples() {
        let mut metrics = Metrics::default();
        let family = metrics.counter("fastpath_bytes_total", "Bytes.");
        family.add([("path", "slow"), ("direction", "up")], u64::MAX);
        metrics.gauge("fastpath_up", "Whether it is up.").add([], true);
        metrics.gauge("fastpath_info", "Nothing is known.");
        let metrics = metrics.without_empty();
        assert_eq!(
            serde_json::to_value(&metrics).unwrap(),
            serde_json::json!({"families": [
                {"name": "fastpath_bytes_total", "type": "counter", "help": "Bytes.", "samples": [
                    {"labels": {"path": "slow", "direction": "up"},
                     "value": "18446744073709551615"}]},
                {"name": "fastpath_up", "type": "gauge", "help": "Whether it is up.",
                 "samples": [{"labels": {}, "value": "1"}]},
            ]})
        );
    }

    #[test]
    fn formats_values_for_prometheus() {
        let text = |value: Value| value.to_string();
        assert_eq!(text(0.25.into()), "0.25");
        assert_eq!(text(1e9.into()), "1000000000");
        assert_eq!(text(1e-9.into()), "0.000000001");
        assert_eq!(text(f64::NAN.into()), "NaN");
        assert_eq!(text(f64::INFINITY.into()), "+Inf");
        assert_eq!(text(f64::NEG_INFINITY.into()), "-Inf");
    }
}
