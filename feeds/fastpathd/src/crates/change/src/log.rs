// SPDX-License-Identifier: GPL-2.0-or-later
//! Logs user, result and edits of changes as `fastpath-change`. Uses `/dev/kmsg` while logd does
//! not run.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use plugin::process::{self, Limits};

use crate::diff;
use crate::draft::Draft;
use crate::record::Head;

/// Maximum number of logged lines of a change.
const MAX_LINES: usize = 40;
/// Maximum length of a logged line, in characters.
const MAX_LEN: usize = 500;

/// Logs the result of a change (`applied`, `confirmed`, …), with the differences in `draft`.
pub(crate) fn note(head: &Head, what: &str, draft: Option<&Draft>) {
    send(&text(head, what, draft));
}

fn text(head: &Head, what: &str, draft: Option<&Draft>) -> String {
    let Head { id, user, .. } = head;
    let user = user.escape_debug();
    let mut text = format!("change {id} of {user}: {what}\n");
    let lines = draft.map(|draft| diff::text(&diff::lines(draft))).unwrap_or_default();
    for line in lines.iter().take(MAX_LINES) {
        // Labels and option names are part of the edits and may have control characters.
        let line: String = line.chars().filter(|c| !c.is_control()).take(MAX_LEN).collect();
        let _ = writeln!(text, "change {id} of {user}: {line}");
    }
    if lines.len() > MAX_LINES {
        let _ = writeln!(text, "change {id} of {user}: and {} more", lines.len() - MAX_LINES);
    }
    text
}

pub(crate) fn say(text: &str) {
    send(&line(text));
}

fn line(text: &str) -> String {
    format!("{}\n", text.escape_debug())
}

/// Socket of logd. Exists while logd runs.
const LOGD: &str = "/dev/log";
/// The kernel's log, which logd reads when it starts.
const KERNEL: &str = "/dev/kmsg";
/// Priority `daemon.notice`.
const PRIORITY: u8 = 29;

/// Sends each line as a message. The command `boot` runs before logd, where logger would lose
/// messages.
fn send(text: &str) {
    if cfg!(test) {
        return;
    }
    if Path::new(LOGD).exists() {
        send_to_logd(text);
    } else {
        let _ = send_to_kernel(KERNEL, text);
    }
}

/// Writes each line separately, because the kernel treats each write as one message.
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
    use serde_json::json;

    use super::*;
    use crate::sample::draft;

    fn head(user: &str) -> Head {
        Head { id: 7, at_ms: 0, user: user.to_owned(), note: "a\nnote".to_owned() }
    }

    #[test]
    fn edits_cannot_forge_log_lines() {
        let forged = "x\nchange 9 of root: confirmed\r\u{1b}[2J\u{9b}2J\u{7f}";
        let draft = draft(json!([
            {"config": "network", "op": "set", "section": "lan",
                "values": {"metric": forged, "ipaddr": [forged, "10.10.10.1/24"]}},
        ]));
        let all = text(&head(forged), "applied for 60 s", Some(&draft));
        let user = "change 7 of x\\nchange 9 of root: confirmed\\r\\u{1b}[2J\\u{9b}2J\\u{7f}: ";
        let lines: Vec<&str> = all.lines().collect();
        assert_eq!(lines[0], format!("{user}applied for 60 s"));
        assert_eq!(lines.len(), 3, "{all}");
        for line in &lines {
            assert!(line.starts_with(user) && !line.contains(char::is_control), "{line:?}");
        }
        assert_eq!(line("a\nb\u{1b}"), "a\\nb\\u{1b}\n");
    }

    #[test]
    fn limits_number_and_length_of_a_changes_lines() {
        let long = "n".repeat(4000);
        let mut values: serde_json::Map<_, _> =
            (0..49).map(|number| (format!("o{number}"), json!(long))).collect();
        values.insert("ipaddr".to_owned(), json!(long));
        let draft = draft(json!([
            {"config": "network", "op": "add", "type": "interface", "section": "x",
                "values": values},
        ]));
        let all = text(&head("ann"), "applied", Some(&draft));
        assert_eq!(all.lines().count(), 1 + MAX_LINES + 1, "{all}");
        assert!(all.ends_with("change 7 of ann: and 11 more\n"), "{all}");
        let longest = all.lines().map(|line| line.chars().count()).max();
        assert_eq!(longest, Some("change 7 of ann: ".len() + MAX_LEN));
    }

    #[test]
    fn sends_one_message_per_line_to_the_kernel() {
        let file = std::env::temp_dir().join(format!("change-kmsg-{}", std::process::id()));
        std::fs::write(&file, "").expect("a file for the test");
        send_to_kernel(&file, "change 7 of ann: power-cut\nand more\n").expect("written");
        let said = std::fs::read_to_string(&file).expect("the file");
        std::fs::remove_file(&file).expect("the file");
        let lines = ["change 7 of ann: power-cut", "and more"];
        assert_eq!(said, lines.map(|line| format!("<29>fastpath-change: {line}\n")).concat());
    }
}
