// SPDX-License-Identifier: GPL-2.0-or-later
//! Time series kept in rings: 1 s for 5 minutes, 10 s for an hour, 1 min for a day.

use serde::Serialize;
use serde_json::Value;

use crate::parse::{Object, QueryError};

/// What a series counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Series {
    /// Bits per second by path.
    #[default]
    Rate,
    /// Number of flows by path.
    Flows,
}

/// The request of `history`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryQuery {
    /// What to count.
    pub series: Series,
    /// Seconds a sample stands for: 1, 10 or 60.
    pub step_s: u32,
    /// Only samples after this Unix ms.
    pub from_ms: u64,
}

impl HistoryQuery {
    /// Reads the request of `history`: an object or null.
    ///
    /// # Errors
    /// Names the field that is unknown, of the wrong type or out of range, and its value.
    pub fn parse(request: &Value) -> Result<Self, QueryError> {
        let object = Object::new("", request)?;
        object.only(&["series", "step_s", "from_ms"])?;
        let series = |word: &str| match word {
            "rate" => Some(Series::Rate),
            "flows" => Some(Series::Flows),
            _ => None,
        };
        let step_s = object.integer("step_s", 1, 60)?.unwrap_or(1);
        if ![1, 10, 60].contains(&step_s) {
            return Err(object.bad("step_s", "1, 10 or 60"));
        }
        Ok(Self {
            series: object.word("series", series, "rate or flows")?.unwrap_or_default(),
            step_s,
            from_ms: object.integer("from_ms", 0, u64::MAX)?.unwrap_or(0),
        })
    }
}

/// The reply of `history`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct History {
    /// What is counted.
    pub series: Series,
    /// Seconds a sample stands for.
    pub step_s: u32,
    /// Names of the fields of a row.
    pub cols: [&'static str; 6],
    /// Oldest first: Unix ms of the sample's end, then a value for each path.
    pub rows: Vec<[u64; 6]>,
}
