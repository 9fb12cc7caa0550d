// SPDX-License-Identifier: GPL-2.0-or-later
//! Time series of rates and flows: 5 minutes by second, an hour by 10 s, a day by minute.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::Value;

use crate::accounts::{ByPath, PATHS};
use crate::parse::{QueryError, Request};
use crate::path::Path;
use crate::time::Millis;

config::named! {
    #[derive(Default, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Series {
        /// Bits per second by path.
        #[default]
        Rate = "rate",
        /// Number of flows by path.
        Flows = "flows",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryQuery {
    pub series: Series,
    /// Seconds per sample: 1, 10 or 60.
    pub step_s: u32,
    /// Only samples after this time, Unix ms.
    pub from_ms: u64,
}

impl HistoryQuery {
    /// Parses an object or null.
    ///
    /// # Errors
    /// Names the field that is unknown, has the wrong type or is out of range.
    pub fn parse(request: &Value) -> Result<Self, QueryError> {
        let object = Request::new("", request)?;
        object.only(&["series", "step_s", "from_ms"])?;
        let series = object.word("series", Series::from_name, "rate or flows")?;
        let step_s = object.integer("step_s", 1, 60)?.unwrap_or(1);
        if ![1, 10, 60].contains(&step_s) {
            return Err(object.bad("step_s", "1, 10 or 60"));
        }
        Ok(Self {
            series: series.unwrap_or_default(),
            step_s,
            from_ms: object.integer("from_ms", 0, u64::MAX)?.unwrap_or(0),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct History {
    pub series: Series,
    pub step_s: u32,
    pub cols: [&'static str; 6],
    /// End of the sample in Unix ms, then a value per path; oldest row first.
    pub rows: Vec<[u64; 6]>,
}

/// Samples with the same step, oldest first.
#[derive(Debug)]
struct Ring {
    step: Millis,
    most: usize,
    samples: VecDeque<Sample>,
    open: Open,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Millis,
    rate: ByPath<f32>,
    flows: ByPath<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Open {
    index: Millis,
    count: u32,
    rate: ByPath<f64>,
    flows: ByPath<u64>,
}

impl Ring {
    fn new(step: Millis, most: usize) -> Self {
        Self { step, most, samples: VecDeque::new(), open: Open::default() }
    }

    /// Adds values to the current step. The mean of a completed step becomes a sample.
    fn push(&mut self, now: Millis, rate: &ByPath<f64>, flows: &ByPath<u64>) {
        let index = now.div_euclid(self.step);
        if self.open.count > 0 && self.open.index != index {
            if self.samples.len() == self.most {
                self.samples.pop_front();
            }
            self.samples.push_back(self.open.mean(self.step));
            self.open = Open::default();
        }
        self.open.index = index;
        self.open.count += 1;
        for i in 0..PATHS {
            self.open.rate[i] += rate[i];
            self.open.flows[i] += flows[i];
        }
    }
}

impl Open {
    #[expect(clippy::cast_possible_truncation, reason = "compact: a chart needs no more")]
    fn mean(&self, step: Millis) -> Sample {
        let count = f64::from(self.count.max(1));
        Sample {
            at: (self.index + 1) * step,
            rate: self.rate.map(|sum| (sum / count) as f32),
            flows: self.flows.map(|sum| (sum / u64::from(self.count.max(1))) as u32),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Rings([Ring; 3]);

impl Default for Rings {
    fn default() -> Self {
        Self([Ring::new(1000, 300), Ring::new(10_000, 360), Ring::new(60_000, 1440)])
    }
}

impl Rings {
    pub(crate) fn push(&mut self, now: Millis, rate: &ByPath<f64>, flows: &ByPath<u64>) {
        for ring in &mut self.0 {
            ring.push(now, rate, flows);
        }
    }

    /// Answers `query`. `unix_ms` converts monotonic time to Unix ms.
    pub(crate) fn answer(&self, query: &HistoryQuery, unix_ms: impl Fn(Millis) -> u64) -> History {
        let step = Millis::from(query.step_s) * 1000;
        let samples = self.0.iter().find(|ring| ring.step == step).map(|ring| &ring.samples);
        let rows = samples
            .into_iter()
            .flatten()
            .map(|sample| sample.row(query.series, unix_ms(sample.at)))
            .filter(|row| row[0] > query.from_ms)
            .collect();
        let cols = ["at_ms", "slow", "inspect", "flowtable", "hardware", "ebpf"];
        History { series: query.series, step_s: query.step_s, cols, rows }
    }
}

impl Sample {
    fn row(&self, series: Series, at_ms: u64) -> [u64; 6] {
        let mut row = [at_ms; 6];
        for (path, cell) in Path::FORWARDING.into_iter().zip(&mut row[1..]) {
            let i = path as usize;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "rates are finite and not negative, and `as` saturates"
            )]
            let rate = self.rate[i].round() as u64;
            *cell = match series {
                Series::Rate => rate,
                Series::Flows => u64::from(self.flows[i]),
            };
        }
        row
    }
}
