// SPDX-License-Identifier: GPL-2.0-or-later
//! Every change leaves lines in the router's log: who, what became of it, what it changed.

use std::fmt::Write as _;
use std::process::Command;

use plugin::process::{self, Limits};

use crate::diff;
use crate::draft::Draft;
use crate::record::Head;

/// Lines of a change that are told one by one.
const MOST_LINES: usize = 40;

/// Notes that a change was `what` (`applied`, `confirmed`, …), with its lines if it is new.
pub(crate) fn note(head: &Head, what: &str, draft: Option<&Draft>) {
    let Head { id, user, .. } = head;
    let mut text = format!("change {id} of {user}: {what}\n");
    let lines = draft.map(|draft| diff::text(&diff::lines(draft))).unwrap_or_default();
    for line in lines.iter().take(MOST_LINES) {
        let _ = writeln!(text, "change {id} of {user}: {line}");
    }
    if lines.len() > MOST_LINES {
        let _ = writeln!(text, "change {id} of {user}: and {} more", lines.len() - MOST_LINES);
    }
    send(&text);
}

/// A line that is about no change.
pub(crate) fn say(text: &str) {
    send(&format!("{}\n", text.escape_debug()));
}

/// Each line a message. A change is not refused for want of a log.
fn send(text: &str) {
    let mut logger = Command::new("logger");
    logger.args(["-t", "fastpath-change", "-p", "daemon.notice"]);
    let _ = process::run(&mut logger, text.as_bytes(), Limits::short(5));
}
