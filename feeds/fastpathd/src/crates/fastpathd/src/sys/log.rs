// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes log lines. procd logs standard output as `daemon.info` and standard error as
//! `daemon.err`, so warnings are sent to logd directly.

use std::io::Write;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use log::{Level, LevelFilter, Log, Metadata, Record};

const SYSLOG: &str = "/dev/log";
const WARNING: &str = "<28>";

/// Logger to standard output and error, and to logd if procd started the daemon.
#[derive(Debug)]
struct Sink {
    logd: Option<(UnixDatagram, PathBuf)>,
}

impl Sink {
    fn to(syslog: Option<&Path>) -> Self {
        let open = |path: &Path| {
            let socket = UnixDatagram::unbound().ok()?;
            // A slow logd must not block the daemon.
            socket.set_nonblocking(true).ok()?;
            Some((socket, path.to_owned()))
        };
        Self { logd: syslog.and_then(open) }
    }

    /// Sends a warning to logd. Returns false without logd or after a failure.
    fn warn(&self, line: &str) -> bool {
        let text = format!("{WARNING}fastpathd[{}]: {line}", std::process::id());
        let Some((socket, path)) = &self.logd else { return false };
        // An unconnected socket survives a restart of logd.
        socket.send_to(text.as_bytes(), path).is_ok()
    }
}

impl Log for Sink {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            write(record, self, &mut std::io::stdout(), &mut std::io::stderr());
        }
    }

    fn flush(&self) {}
}

const MAX_LEN: usize = 1000;

/// Escapes control and bidirectional characters, because texts may contain names from the network.
fn to_one_line(text: &str) -> String {
    let is_bidi = |c: char| {
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}')
    };
    let mut line = String::new();
    for c in text.trim_end().chars().take(MAX_LEN) {
        if c.is_control() || is_bidi(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
    if text.chars().nth(MAX_LEN).is_some() {
        line.push('…');
    }
    line
}

/// Writes a line with one call, so that readers never get a partial line.
fn write<'a>(
    record: &Record<'_>,
    sink: &Sink,
    out: &'a mut (dyn Write + 'a),
    err: &'a mut (dyn Write + 'a),
) {
    let line = to_one_line(&record.args().to_string());
    if record.level() == Level::Warn && sink.warn(&line) {
        return;
    }
    let (to, prefix) = match record.level() {
        Level::Error => (err, "error: "),
        Level::Warn => (err, "warning: "),
        Level::Info => (out, ""),
        Level::Debug | Level::Trace => (out, "debug: "),
    };
    let _ = to.write_all(format!("{prefix}{line}\n").as_bytes());
}

/// Returns whether procd started this process, directly or in a jail.
fn is_service() -> bool {
    std::os::unix::process::parent_id() == 1
        || std::env::var_os("container").is_some_and(|name| name == "ujail")
}

pub(crate) fn start(verbose: bool) {
    static SINK: OnceLock<Sink> = OnceLock::new();
    let sink = SINK.get_or_init(|| Sink::to(is_service().then_some(Path::new(SYSLOG))));
    // Fails only if a logger is already set.
    let _ = log::set_logger(sink);
    log::set_max_level(if verbose { LevelFilter::Debug } else { LevelFilter::Info });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_escaped_and_truncated_to_one_line() {
        let mut out = Vec::new();
        let forged = "refused: 'x\nfastpathd: all is well \u{1b}[2J\u{202e}'\n";
        let args = [forged.to_owned(), "y".repeat(60_000)];
        for text in &args {
            let mut record = Record::builder();
            let args = format_args!("{text}");
            let record = record.level(Level::Info).args(args).build();
            write(&record, &Sink::to(None), &mut out, &mut Vec::new());
        }
        let said = String::from_utf8_lossy(&out);
        let lines: Vec<&str> = said.lines().collect();
        let escaped = r"refused: 'x\nfastpathd: all is well \u{1b}[2J\u{202e}'";
        assert_eq!(lines, [escaped, &format!("{}…", "y".repeat(MAX_LEN))]);
    }

    #[test]
    fn sends_warnings_to_logd_and_other_levels_to_the_standard_streams() {
        let path = std::env::temp_dir().join(format!("fastpathd-log-{}", std::process::id()));
        let logd = UnixDatagram::bind(&path).unwrap();
        let service = Sink::to(Some(&path));
        for (sink, errors) in [
            (&service, "error: ERROR\n"),
            (&Sink::to(None), "error: ERROR\nwarning: WARN\n"),
            (&Sink::to(Some(Path::new("/nonexistent"))), "error: ERROR\nwarning: WARN\n"),
        ] {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            for level in Level::iter() {
                let mut record = Record::builder();
                let args = format_args!("{level}");
                write(&record.level(level).args(args).build(), sink, &mut out, &mut err);
            }
            assert_eq!(String::from_utf8_lossy(&err), errors);
            assert_eq!(String::from_utf8_lossy(&out), "INFO\ndebug: DEBUG\ndebug: TRACE\n");
        }
        let mut said = [0; 100];
        let length = logd.recv(&mut said).unwrap();
        let expected = format!("<28>fastpathd[{}]: WARN", std::process::id());
        assert_eq!(str::from_utf8(&said[..length]).unwrap(), expected);
        drop(logd);
        assert!(!service.warn("late"));
        std::fs::remove_file(&path).unwrap();
    }
}
