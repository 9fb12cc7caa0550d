// SPDX-License-Identifier: GPL-2.0-or-later
//! Saves the alerts of the rings as a text, one JSON object per line, newest first, and restores
//! them. Restored texts are bounded like texts of events; lines that are not alerts are skipped.

use serde::{Deserialize, Serialize};

use super::alert::{Alert, Direction};
use crate::text::bounded;

/// Maximum length of the text, bytes.
pub const MAX_FILE_LEN: usize = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Saved {
    id: u64,
    at_ms: i64,
    blocked: bool,
    rule: [u32; 3],
    severity: u32,
    src: String,
    dst: String,
    ports: [u16; 2],
    flow: u64,
    signature: String,
    category: String,
    proto: String,
    app: String,
    direction: String,
    target: String,
    device: String,
}

/// Writes the newest alerts that fit.
pub(super) fn write<'a>(newest_first: impl Iterator<Item = (u64, &'a Alert)>) -> String {
    let mut text = String::new();
    for (id, alert) in newest_first {
        let Ok(line) = serde_json::to_string(&save(id, alert)) else { continue };
        if text.len() + line.len() + 1 > MAX_FILE_LEN {
            break;
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Reads alerts, newest first. Skips those with an id that is not smaller than the previous one.
pub(super) fn read(text: &str) -> Vec<(u64, Alert)> {
    let mut found: Vec<(u64, Alert)> = Vec::new();
    for line in text.lines() {
        let Ok(saved) = serde_json::from_str::<Saved>(line) else { continue };
        let above = found.last().map_or(LAST, |(id, _)| *id);
        if saved.id != 0 && saved.id < above {
            found.push((saved.id, restore(saved)));
        }
    }
    found
}

/// Limit of restored ids, so that new ids cannot overflow.
const LAST: u64 = 1 << 53;

fn save(id: u64, alert: &Alert) -> Saved {
    let text = |end: Option<std::net::IpAddr>| end.map(|end| end.to_string()).unwrap_or_default();
    Saved {
        id,
        at_ms: alert.at_ms,
        blocked: alert.blocked,
        rule: [alert.gid, alert.sid, alert.rev],
        severity: alert.severity,
        src: text(alert.src),
        dst: text(alert.dst),
        ports: [alert.sport, alert.dport],
        flow: alert.flow,
        signature: alert.signature.clone(),
        category: alert.category.clone(),
        proto: alert.proto.clone(),
        app: alert.app.clone(),
        direction: alert.direction.map_or("", Direction::name).to_owned(),
        target: alert.target.clone(),
        device: alert.device.clone(),
    }
}

fn restore(saved: Saved) -> Alert {
    let ([gid, sid, rev], [sport, dport]) = (saved.rule, saved.ports);
    Alert {
        at_ms: saved.at_ms,
        blocked: saved.blocked,
        gid,
        sid,
        rev,
        signature: bounded(saved.signature, 256),
        category: bounded(saved.category, 128),
        severity: saved.severity,
        proto: bounded(saved.proto, 16),
        app: bounded(saved.app, 32),
        src: saved.src.parse().ok(),
        sport,
        dst: saved.dst.parse().ok(),
        dport,
        direction: Direction::from_name(&saved.direction),
        target: bounded(saved.target, 256),
        device: bounded(saved.device, 16),
        flow: saved.flow,
        offence: None,
    }
}
