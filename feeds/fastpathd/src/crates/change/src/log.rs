// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines about changes in the router's log, name `fastpath-change`: user, result and edits, how
//! many at most; into `/dev/kmsg` while logd does not run.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use plugin::process::{self, Limits};

use crate::diff;
use crate::draft::Draft;
use crate::record::Head;

/// Lines of a change that are logged one by one.
const MOST_LINES: usize = 40;
/// Characters of such a line.
const LONGEST: usize = 500;

/// Notes that a change was `what` (`applied`, `confirmed`, …), with its lines if it is new.
pub(crate) fn note(head: &Head, what: &str, draft: Option<&Draft>) {
    let Head { id, user, .. } = head;
    let user = user.escape_debug();
    let mut text = format!("change {id} of {user}: {what}\n");
    let lines = draft.map(|draft| diff::text(&diff::lines(draft))).unwrap_or_default();
    for line in lines.iter().take(MOST_LINES) {
        // Labels and names of options are as the edits have them.
        let line: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
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

/// Where logd listens, once it runs.
const LOGD: &str = "/dev/log";
/// The kernel's log, which logd reads when it starts.
const KERNEL: &str = "/dev/kmsg";
/// daemon.notice
const PRIORITY: u8 = 29;

/// Each line is a message. At boot we run before logd, and messages from logger would be lost.
fn send(text: &str) {
    // Changes of unit tests are not those of this machine.
    if cfg!(test) {
        return;
    }
    // A missing log is not a reason to refuse a change.
    if Path::new(LOGD).exists() {
        send_to_logd(text);
    } else {
        let _ = send_to_kernel(KERNEL, text);
    }
}

/// The kernel takes each write as one message.
fn send_to_kernel(kernel: impl AsRef<Path>, text: &str) -> std::io::Result<()> {
    let mut log = OpenOptions::new().append(true).open(kernel)?;
    for line in text.lines() {
        log.write_all(format!("<{PRIORITY}>fastpath-change: {line}\n").as_bytes())?;
    }
    Ok(())
}

fn send_to_logd(text: &str) {
    let mut logger = Command::new("logger");
    logger.args(["-t", "fastpath-change", "-p", "daemon.notice"]);
    let _ = process::run(&mut logger, text.as_bytes(), Limits::short(5));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_gets_a_message_a_line() {
        let file = std::env::temp_dir().join(format!("change-kmsg-{}", std::process::id()));
        std::fs::write(&file, "").expect("a file for the test");
        send_to_kernel(&file, "change 7 of ann: power-cut\nand more\n").expect("written");
        let said = std::fs::read_to_string(&file).expect("the file");
        std::fs::remove_file(&file).expect("the file");
        let lines = ["change 7 of ann: power-cut", "and more"];
        assert_eq!(said, lines.map(|line| format!("<29>fastpath-change: {line}\n")).concat());
    }
}
