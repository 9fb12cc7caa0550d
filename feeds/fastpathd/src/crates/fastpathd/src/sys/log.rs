// SPDX-License-Identifier: GPL-2.0-or-later
//! Log lines. procd passes standard output on to the system log as `daemon.info` and standard
//! error as `daemon.err`: only errors and warnings go to standard error.

use std::io::Write;

use log::{Level, LevelFilter, Log, Metadata, Record};

struct Stdio;

impl Log for Stdio {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            write(record, &mut std::io::stdout(), &mut std::io::stderr());
        }
    }

    fn flush(&self) {}
}

/// Characters of a line that are logged.
const LONGEST: usize = 1000;

/// The text on one line: a caller's arguments and names from the network may be part of it.
fn on_one_line(text: &str) -> String {
    let turns = |c: char| {
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}')
    };
    let mut line = String::new();
    for c in text.trim_end().chars().take(LONGEST) {
        if c.is_control() || turns(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}

/// A whole line with one write, so that a reader never gets half of one.
fn write<'a>(record: &Record<'_>, out: &'a mut (dyn Write + 'a), err: &'a mut (dyn Write + 'a)) {
    let (to, prefix) = match record.level() {
        Level::Error => (err, "error: "),
        Level::Warn => (err, "warning: "),
        Level::Info => (out, ""),
        Level::Debug | Level::Trace => (out, "debug: "),
    };
    // If the other end is gone, there is nowhere to report it.
    let line = on_one_line(&record.args().to_string());
    let _ = to.write_all(format!("{prefix}{line}\n").as_bytes());
}

/// Starts logging; `verbose` adds debug lines.
pub(crate) fn start(verbose: bool) {
    static SINK: Stdio = Stdio;
    // Fails only when a logger is set already, which then serves as well.
    let _ = log::set_logger(&SINK);
    log::set_max_level(if verbose { LevelFilter::Debug } else { LevelFilter::Info });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line() {
        let mut out = Vec::new();
        let forged = "refused: 'x\nfastpathd: all is well \u{1b}[2J\u{202e}'\n";
        let args = [forged.to_owned(), "y".repeat(60_000)];
        for text in &args {
            let mut record = Record::builder();
            let args = format_args!("{text}");
            write(&record.level(Level::Info).args(args).build(), &mut out, &mut Vec::new());
        }
        let said = String::from_utf8_lossy(&out);
        let lines: Vec<&str> = said.lines().collect();
        let escaped = r"refused: 'x\nfastpathd: all is well \u{1b}[2J\u{202e}'";
        assert_eq!(lines, [escaped, &format!("{}…", "y".repeat(LONGEST))]);
    }

    #[test]
    fn only_faults_go_where_procd_expects_them() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        for level in Level::iter() {
            let mut record = Record::builder();
            write(&record.level(level).args(format_args!("{level}")).build(), &mut out, &mut err);
        }
        assert_eq!(String::from_utf8_lossy(&err), "error: ERROR\nwarning: WARN\n");
        assert_eq!(String::from_utf8_lossy(&out), "INFO\ndebug: DEBUG\ndebug: TRACE\n");
    }
}
