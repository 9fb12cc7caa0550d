// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the answer of `exports`.

use config::Cause;
use serde::Serialize;

use crate::export::{Export, ExportReason, State};

/// All collectors (`exports.json`).
#[derive(Debug, Serialize)]
pub(crate) struct Exports {
    exports: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    kind: &'static str,
    protocol: &'static str,
    host: String,
    port: u16,
    state: &'static str,
    since_ms: u64,
    sent: u64,
    lost: u64,
    queued: u64,
    why: String,
    cause: Cause,
}

pub(crate) fn exports(state: &State) -> Exports {
    let row = |Export { settings, progress, .. }: &Export| {
        let cause = progress.reason.as_ref().map(ExportReason::cause).unwrap_or_default();
        Row {
            name: settings.name().to_owned(),
            kind: settings.kind().name(),
            protocol: settings.protocol().name(),
            host: settings.collector().ip().to_string(),
            port: settings.collector().port(),
            state: progress.state.name(),
            since_ms: progress.since_ms,
            sent: progress.sent,
            lost: progress.lost,
            queued: progress.queued,
            why: cause.text.clone(),
            cause,
        }
    };
    Exports { exports: state.exports.iter().map(row).collect() }
}
