// SPDX-License-Identifier: GPL-2.0-or-later
//! Saves alerts as JSON lines, newest first, and restores them. Restored texts are truncated like
//! texts of events; lines that are not alerts are skipped.

use serde::{Deserialize, Serialize};

use super::alert::Alert;
use crate::text::bounded;

pub const MAX_FILE_LEN: usize = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Saved<A> {
    id: u64,
    connection: u64,
    #[serde(flatten)]
    alert: A,
}

pub(super) fn write<'a>(newest_first: impl Iterator<Item = (u64, &'a Alert)>) -> String {
    let mut text = String::new();
    for (id, alert) in newest_first {
        let saved = Saved { id, connection: alert.flow, alert };
        let Ok(line) = serde_json::to_string(&saved) else { continue };
        if text.len() + line.len() + 1 > MAX_FILE_LEN {
            break;
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Parses alerts, newest first. Skips alerts whose id does not decrease.
pub(super) fn read(text: &str) -> Vec<(u64, Alert)> {
    let mut found: Vec<(u64, Alert)> = Vec::new();
    for line in text.lines() {
        let Ok(saved) = serde_json::from_slice::<Saved<Alert>>(line.as_bytes()) else { continue };
        let previous = found.last().map_or(MAX_ID, |(id, _)| *id);
        if saved.id != 0 && saved.id < previous {
            found.push((saved.id, restore(saved)));
        }
    }
    found
}

/// Limit of restored ids, so that new ids cannot overflow.
const MAX_ID: u64 = 1 << 53;

fn restore(Saved { alert, connection, id: _ }: Saved<Alert>) -> Alert {
    Alert {
        signature: bounded(alert.signature, 256),
        category: bounded(alert.category, 128),
        proto: bounded(alert.proto, 16),
        app: bounded(alert.app, 32),
        target: bounded(alert.target, 256),
        device: bounded(alert.device, 16),
        flow: connection,
        ..alert
    }
}
