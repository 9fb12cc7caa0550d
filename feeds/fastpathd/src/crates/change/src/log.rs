// SPDX-License-Identifier: GPL-2.0-or-later
//! Every change leaves lines in the router's log: who, what became of it, what it changed.

use std::fmt::Write as _;
use std::io::Write;
use std::process::{Command, Stdio};

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
    // A change is not refused for want of a log.
    let _ = send(&text);
}

/// A line that is about no change.
pub(crate) fn say(text: &str) {
    let _ = send(&format!("{}\n", text.escape_debug()));
}

/// Each line a message.
fn send(text: &str) -> std::io::Result<()> {
    let mut logger = Command::new("logger")
        .args(["-t", "fastpath-change", "-p", "daemon.notice"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut input) = logger.stdin.take() {
        input.write_all(text.as_bytes())?;
    }
    logger.wait().map(|_| ())
}
